"""The checker: the language of claims, the kernel that decides, the search and its reports; imported on first use."""

from clusterproof.public_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
