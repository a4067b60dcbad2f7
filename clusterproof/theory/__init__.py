"""Claims about federated learning, bounds on runs, and stored verdicts. Names are imported on first use."""

from clusterproof.public_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
