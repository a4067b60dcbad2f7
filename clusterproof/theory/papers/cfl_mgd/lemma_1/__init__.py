"""Lemma 1, on wrong choices of a cluster: equations (21) to (30)."""
