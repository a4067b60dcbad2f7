"""Where the baselines rest on quadratics, and statements about CFL (Sattler et al., 2020)."""

import importlib

STATEMENTS = ("averaging", "personal", "clustered", "cfl_stationary", "cfl_cut")
"""Modules with the statements that belong together."""

for _statement in STATEMENTS:
    importlib.import_module(f"{__name__}.{_statement}")
