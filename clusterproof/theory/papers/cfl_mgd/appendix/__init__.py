"""Claims about the appendix, (A1) to (A42)."""
