"""Statements about where IFCA (Ghosh et al., 2020) may start, compared with CFL-MGD.

Of the papers only the radius sqrt(mu / L) Delta / 4 of a start is judged (``success.py``); ``basin.py`` has ours.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={"basin": ["misassigned"]},
)
