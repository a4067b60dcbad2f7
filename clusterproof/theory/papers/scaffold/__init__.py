"""SCAFFOLD (Karimireddy et al., 2020): sharp rates, where option I diverges, and the bias of its law.

None of its numbered theorems is judged: I and II are the paper's two options for c_i. Their step size, restated, stands
in ``scaffold/option-1-diverges`` (``option_1.py``).
"""
