"""A run of FPFC with the bounds on its mean residual."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any

from msgspec import Meta

import clusterproof.figures.style as style
from clusterproof.experiments.synthetic_runs import run_with
from clusterproof.figures.illustration import Count, Illustration, Kappa, NotNegative, Positive
from clusterproof.figures.pages import draw_page
from clusterproof.theory.runs.compare import compare
from clusterproof.theory.runs.page import Page


class FPFCResidual(Illustration):
    """The run of ``clusterproof run fpfc``.

    Parameters
    ----------
    kappa
        Condition number of the losses.
    clusters
        Number of clusters.
    clients
        Number of clients.
    dimension
        Number of parameters of a model.
    separation
        Least distance of two clusters' optima.
    spread
        Deviation of a client's minimiser from its cluster's, in each coordinate.
    strength
        Strength lambda of the penalty.
    concavity
        The penalty's a.
    smoothing
        The penalty's xi.
    augmentation
        Strength rho of the augmented Lagrangian.
    local_steps
        Number of local steps in a round.
    rounds
        Number of rounds.
    """

    name = "fpfc-residual"
    title = "FPFC's mean residual below the bound as printed and the repaired one, and its groups"
    alt = (
        "Left: on log axes the mean squared residual falls like one over the number of rounds, below the printed "
        "bound and the repaired one. Right: the number of groups reaches the true one and stays there."
    )
    claims = ("fpfc/theorem-1-models", "fpfc/repaired-models", "fpfc/one-term")

    kappa: Kappa = 4.0
    clusters: Annotated[int, Meta(ge=1, le=100)] = 4
    clients: Annotated[int, Meta(ge=1, le=1000)] = 40
    dimension: Annotated[int, Meta(ge=1, le=1000)] = 5
    separation: Positive = 4.0
    spread: NotNegative = 0.05
    strength: Positive = 1.0
    concavity: Annotated[float, Meta(gt=2, le=1e6)] = 3.7
    smoothing: Positive = 0.5
    augmentation: Positive = 10.0
    local_steps: Count = 10
    rounds: Annotated[int, Meta(ge=2, le=100_000)] = 300

    def compute(self) -> Page:
        """Run FPFC, and compare the run with the theorems about it."""
        settings: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        settings["condition_number"] = settings.pop("kappa")
        seed, rounds = settings.pop("seed"), settings.pop("rounds")
        return compare(*run_with("fpfc", seed, settings, rounds=rounds))

    def draw(self, data: Page) -> style.Figure:
        """Draw the page's picture."""
        return draw_page(data, self.caption)
