"""Lemma 2, on one step of momentum: equations (31) to (38), and what replaces it."""
