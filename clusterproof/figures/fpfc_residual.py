"""The run of ``clusterproof run fpfc`` with the bounds on its mean residual."""

from __future__ import annotations

import clusterproof.figures.style as style
from clusterproof.experiments.run_defaults import default_run
from clusterproof.figures.illustration import Illustration
from clusterproof.figures.pages import page_figure
from clusterproof.theory.runs.compare import compare


def draw(seed: int) -> style.Figure:
    """Draw the page's picture."""
    return page_figure(compare(*default_run("fpfc", seed)))


FIGURE = Illustration(
    "fpfc-residual",
    "FPFC's mean residual below the bound as printed and the repaired one, and its groups",
    draw,
    ("fpfc/theorem-1-models", "fpfc/repaired-models", "fpfc/one-term"),
)
