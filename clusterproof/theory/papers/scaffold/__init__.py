"""Claims on SCAFFOLD (Karimireddy et al., 2020): best possible rates, divergence of option I, and stationary bias.

No claim checks a numbered theorem of the paper. I and II are the paper's two options for c_i. Only
``scaffold/option-1-diverges`` (``option_1.py``) uses a condition of the theorems, the bound on the step size.
"""
