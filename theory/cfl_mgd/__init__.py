"""Statements of Zhao et al. (2023), Electronics 12, 1972, and what repairs them."""

import importlib

STATEMENTS = (
    "equations_1_2",
    "equations_3_4_7",
    "equations_5_6",
    "algorithm_choices",
    "algorithm_line_8",
    "algorithm_averages",
    "algorithm_line_20",
    "equations_8_9_10",
    "assumptions_1_2",
    "assumption_3",
    "assumption_3_ball",
    "assumption_4",
    "assumption_5",
    "model_averaging_chain",
    "model_averaging_bound",
    "model_averaging_rate",
    "lemma_1",
    "lemma_1_proof",
    "lemma_1_tails",
    "lemma_2",
    "per_step_contraction",
    "asymptotic_rate",
    "equation_32",
    "lemma_2_split",
    "theorem_1",
    "theorem_1_small_constant",
    "theorem_1_probability",
    "remark_1",
    "division_by_clients",
    "model_averaging",
    "lemma_1_cantelli",
    "lemma_1_exact",
    "lemma_h",
    "theorem_a",
    "theorem_b",
    "corollary_b1",
    "theorem_c",
    "theorem_c_prime",
)
"""Modules with one statement each: in the order of the paper, then what is ours."""

for _statement in STATEMENTS:
    importlib.import_module(f"{__name__}.{_statement}")
