"""SCAFFOLD (Karimireddy et al., 2020): sharp rates, steps for which option I diverges, and the bias of its law.

The claims judge none of its numbered theorems: I and II are the paper's two options for c_i.
``scaffold/option-1-diverges`` (``option_1.py``) restates their step size.
"""
