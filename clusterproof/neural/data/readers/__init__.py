"""Readers of the published files, whose SHA-256 was compared before."""
