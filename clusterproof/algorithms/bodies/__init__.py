"""Base classes of rounds that several algorithms share."""
