"""Measure the hypotheses of CFL-MGD's theory on a training run."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submod_attrs={"diagnose": ["Diagnostician"]})
