"""Clusterproof checks the theory of clustered federated learning.

The public names of its folders are gathered here and imported on first use; ``__init__.pyi`` lists them::

    import clusterproof
    clusterproof.check("cfl-mgd/lemma-2")
"""

from typing import Any

from clusterproof.public_names import attach

_import_name, __dir__, __all__ = attach(__name__, __file__)


def __getattr__(name: str) -> Any:
    """Import a public name; the claims about tables, which ``theory`` does not depend on, are registered first."""
    if name == "__version__":
        from importlib import metadata

        return metadata.version(__name__)
    if name in ("theory", "catalogue", "check", "claims", "replay", "bound", "assert_holds", "compare"):
        import clusterproof.experiments.tables.gradient_loss.claims  # noqa: F401 - stating claims registers them
    return _import_name(name)
