"""Mathematics that several statements use: exact laws, recursions and tails of the smallest tasks."""
