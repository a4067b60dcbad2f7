"""Clusterproof checks the theory of clustered federated learning.

The public names of its folders are gathered here and imported on first use; ``__init__.pyi`` lists them::

    import clusterproof
    clusterproof.check("cfl-mgd/lemma-2")
"""

import lazy_loader

CLAIMS_BESIDE = ("clusterproof.tables",)
"""Rooms above ``theory`` whose modules called ``claims`` state claims, on what was measured there: ``theory`` finds
them here, and depends on none of them."""

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
