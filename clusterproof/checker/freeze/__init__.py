"""From claims of the running program to the texts that the kernel reads: trusted with nothing."""

from clusterproof.checker.freeze.claims import Frozen, freeze, may_be_rewritten

__all__ = ["Frozen", "freeze", "may_be_rewritten"]
