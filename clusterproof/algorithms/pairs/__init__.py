"""FPFC's pairs of clients: storage and updates."""
