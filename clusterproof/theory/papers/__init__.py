"""Every statement of every paper, found by its number."""
