"""Claims about the starts from which IFCA (Ghosh et al., 2020) succeeds, and comparisons with CFL-MGD.

From the papers, the claims check only the radius sqrt(mu / L) Delta / 4 for a start (``success.py``). Our own radius is
in ``basin.py``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={"basin": ["misassigned"]},
)
