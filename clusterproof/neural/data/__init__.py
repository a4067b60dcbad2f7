"""Real image data: which sets there are, how they are fetched, verified and read."""
