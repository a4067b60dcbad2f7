"""Statements about SCAFFOLD (Karimireddy et al., 2020)."""
