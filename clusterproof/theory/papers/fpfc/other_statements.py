"""Statements of FPFC that no claim answers, or no claim alone."""

OTHER_STATEMENTS = {
    "what it costs is in algorithms/costs.py": ("algorithm 1, line 4: models are sent back",),
    "table: fpfc/table-1; the rows are measured, and runs of ours neither prove nor refute them": (
        "table 1: accuracy, clusters and index",
    ),
    "table: fpfc/figure-1": ("figure 1: MNIST and Fashion-MNIST",),
    "table: fpfc/table-1; a statement on the paper's own runs, which our runs neither prove nor refute": (
        "conclusions: FPFC outperforms all six baselines",
    ),
    "no measure of expensive is named, and nothing follows from it for the models": (
        "introduction: CFL seeks an optimal bipartition, which is expensive",
    ),
}
"""Places and their statements, by the table or figure that answers them, or by the reason why there is no answer."""
