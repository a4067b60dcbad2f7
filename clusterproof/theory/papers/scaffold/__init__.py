"""SCAFFOLD (Karimireddy et al., 2020): printed and sharp rates, where option I diverges, and the bias of its law."""
