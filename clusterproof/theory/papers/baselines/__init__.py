"""Claims on fixed points of the baselines on quadratics, and on CFL (Sattler et al., 2020)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={"cfl": ["simplex", "stationary_cosines"]},
)
