"""The run of ``clusterproof run cfl-mgd`` with the bounds on its error."""

from __future__ import annotations

import clusterproof.figures.style as style
from clusterproof.experiments.run_defaults import default_run
from clusterproof.figures.illustration import Illustration
from clusterproof.figures.pages import page_figure
from clusterproof.theory.runs.compare import compare


def draw(seed: int) -> style.Figure:
    """Draw the page's picture."""
    return page_figure(compare(*default_run("cfl-mgd", seed)))


FIGURE = Illustration(
    "error-per-round",
    "Error of CFL-MGD round by round below the paper's bound and the repaired one",
    draw,
    ("cfl-mgd/theorem-1", "cfl-mgd/theorem-d"),
)
