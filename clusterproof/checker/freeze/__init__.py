"""Write claims of the running program as texts for the kernel, which does not trust this code."""

from clusterproof.checker.freeze.claims import Frozen, freeze, may_be_rewritten

__all__ = ["Frozen", "freeze", "may_be_rewritten"]
