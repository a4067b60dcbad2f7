"""Readers of the published file formats; whatever the bytes are, they answer or refuse in one line."""
