"""The appendix: (A1) to (A42)."""
