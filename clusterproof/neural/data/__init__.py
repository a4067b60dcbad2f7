"""Real image data: list, download, verify and read the available data sets."""
