"""Tables of CFL-MGD."""
