"""Claims about the initial models from which IFCA (Ghosh et al., 2020) succeeds, and comparisons with CFL-MGD.

Of the papers' statements, the claims check only that initial models may have the distance sqrt(mu / L) Delta / 4 from
the optima (``success.py``). Our own radius is in ``basin.py``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={"basin": ["misassigned"]},
)
