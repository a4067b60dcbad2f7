"""Curves of networks, from the stored runs of the papers' tables."""
