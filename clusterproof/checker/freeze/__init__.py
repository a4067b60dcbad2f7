"""Convert claims of the running program to texts for the kernel. The kernel does not trust this code."""

from clusterproof.checker.freeze.claims import Frozen, freeze, may_be_rewritten

__all__ = ["Frozen", "freeze", "may_be_rewritten"]
