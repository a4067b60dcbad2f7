"""Claims on SCAFFOLD (Karimireddy et al., 2020): best possible rates, divergence of option I, and stationary bias.

The claims check no numbered theorem of the paper. I and II are the paper's two options for c_i.
``scaffold/option-1-diverges`` (``option_1.py``) restates the step size of the theorems.
"""
