"""Claims about the starts from which IFCA (Ghosh et al., 2020) succeeds, compared with CFL-MGD.

Of the papers, the claims judge only the radius sqrt(mu / L) Delta / 4 for a start (``success.py``); ``basin.py`` has
our radius.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={"basin": ["misassigned"]},
)
