"""Statements about where IFCA (Ghosh et al., 2020) may start, and CFL-MGD beside it."""
