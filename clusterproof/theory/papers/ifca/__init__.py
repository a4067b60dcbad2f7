"""Claims about where IFCA (Ghosh et al., 2020) may start, compared with CFL-MGD.

The claims judge only the papers' radius sqrt(mu / L) Delta / 4 of a start (``success.py``); ``basin.py`` has our
radius.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={"basin": ["misassigned"]},
)
