"""Curves of networks, from the runs that are stored beside the papers' tables."""
