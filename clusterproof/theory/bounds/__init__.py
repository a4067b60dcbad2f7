"""Bounds on the error of a run, with explicit constants. Claims, and pages of runs, use these repaired theorems."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={"best_momentum": ["best_for_horizon", "fastest", "noise_floor"]},
)
