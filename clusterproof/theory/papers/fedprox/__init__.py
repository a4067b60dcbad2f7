"""FedProx: the gain of a round (Li et al., 2020)."""
