"""SCAFFOLD: sharp one-round rates, where option I diverges, and the bias of its stationary law."""
