"""Exact distributions, recursions and tail probabilities for small tasks, for use in several claims."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "affine_rounds": ["drift_constant", "round_map"],
        "heavy_ball": ["propagators", "spectral_rate"],
        "scalar_clusters": ["exact_path"],
    },
)
