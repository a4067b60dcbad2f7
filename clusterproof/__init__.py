"""Clusterproof verifies the theory of federated learning on convex problems, clustered methods first.

This module gathers the public names of the folders and imports them on first use; ``__init__.pyi`` lists them::

    import clusterproof
    clusterproof.check("cfl-mgd/lemma-2")
"""

from typing import Any

from clusterproof.library import set_library
from clusterproof.public_names import attach

set_library("clusterproof.theory")

_import_name, __dir__, __all__ = attach(__name__, __file__)


def __getattr__(name: str) -> Any:
    """Import a public name."""
    if name == "__version__":
        from importlib import metadata

        return metadata.version(__name__)
    return _import_name(name)
