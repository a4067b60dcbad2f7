"""Image data sets: descriptions, downloads, checks and readers."""
