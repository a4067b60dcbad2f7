"""Claims about the method: equations (1) to (10) and Algorithm 1."""
