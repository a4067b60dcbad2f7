"""Statements about where IFCA (Ghosh et al., 2020) may start, and CFL-MGD beside it."""

import importlib

STATEMENTS = ("basin", "success_probability", "beside_cfl_mgd")
"""Modules with the statements about one thing each."""

for _statement in STATEMENTS:
    importlib.import_module(f"{__name__}.{_statement}")
