"""SCAFFOLD (Karimireddy et al., 2020): sharp rates, where option I diverges, and the bias of its law."""
