"""Real image data: the available sets, and how they are fetched, verified and read."""
