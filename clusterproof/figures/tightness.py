"""Ratio between the bound of Theorem D and the errors of runs."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

import numpy as np
from msgspec import Meta

import clusterproof.figures.style as style
from clusterproof.figures.illustration import Illustration, Momentum
from clusterproof.theory.bounds import audit_settings
from clusterproof.theory.bounds.audit_settings import NAMES, Experiment
from clusterproof.theory.bounds.gaussian import gaussian_dynamics
from clusterproof.theory.bounds.theorem_d import theorem_d


class Row(NamedTuple):
    """Comparison of the bound with the runs of one setting.

    Attributes
    ----------
    setting
        Key of ``NAMES``.
    ratios
        Bound divided by the observed quantile of the error after the last round, (P,).
    failures
        Number of runs in which the final error of some cluster exceeds the bound.
    """

    setting: str
    trial: Experiment
    ratios: np.ndarray
    failures: int


class Tightness(Illustration):
    """Bound of Theorem D divided by the observed quantile, for each setting.

    Parameters
    ----------
    replicates
        Number of runs per row.
    quantile
        Quantile of the final errors that is compared with the bound.
    settings
        Names from ``clusterproof.theory.bounds.audit_settings``, each with a momentum, or None for the tuned
        momentum.
    """

    name = "tightness"
    title = "How far Theorem D is above what runs show"
    alt = (
        "In each of the settings, a row, one mark a cluster shows the bound over the observed quantile of the error: "
        "all are between 1 and 3."
    )
    claims = ("cfl-mgd/theorem-d",)

    replicates: Annotated[int, Meta(ge=2, le=100_000)] = 400
    quantile: Annotated[float, Meta(ge=0.5, lt=1)] = 0.95
    settings: tuple[tuple[Literal["S1", "S2", "S3", "S3+"], Momentum | None], ...] = (
        ("S1", 0.0),
        ("S1", None),
        ("S2", 0.0),
        ("S2", 0.5),
        ("S2", None),
        ("S3", 0.0),
        ("S3", None),
        ("S3+", None),
    )

    def compute(self) -> list[Row]:
        """Run all settings, and compare the final errors with Theorem D."""
        return [
            self._row(name, audit_settings.experiment(name, momentum)) for name, momentum in self.settings
        ]

    def _row(self, name: str, trial: Experiment) -> Row:
        """Run one setting, and compare the final errors with Theorem D."""
        dynamics, norms = gaussian_dynamics(trial.regression, trial.algorithm), np.array(trial.setting.start)
        bound = theorem_d(dynamics, norms, rounds=trial.rounds, failure=trial.setting.failure).last_reach
        start = audit_settings.starting_models(trial, self.seed, self.replicates, "figures/tightness")
        last = audit_settings.run_errors(trial, self.seed, start)[-1]
        ratios = bound / np.quantile(last, self.quantile, axis=0)
        return Row(name, trial, ratios, int((last > bound).any(axis=-1).sum()))

    def draw(self, data: list[Row]) -> style.Figure:
        """Draw the ratio of bound and observed quantile for each setting."""
        described = {
            row.setting: f"{NAMES[row.setting].capitalize()}: {style.describe(row.trial.regression)}, "
            f"$T = {row.trial.rounds}$."
            for row in data
        }
        first = data[0].trial
        delta = ", ".join(f"{value:g}" for value in first.setting.failure)
        words = (
            f"Option I on Gaussian regression, $L = \\eta = 1$, $\\Delta = {first.task.separation:g}$, "
            f"start at half the basin radius (the bound knows no more), $\\delta$ = ({delta}), {self.replicates} runs "
            f"a row; {sum(row.failures for row in data)} of {len(data) * self.replicates} break the bound. "
            f"{' '.join(described.values())}"
        )
        figure, (panel,) = style.new_figure(self.caption(words), height=4.2)
        look: style.Look = {**style.SOLID[0], "linestyle": "none"}
        for number, row in enumerate(data):
            panel.plot(row.ratios, np.full(len(row.ratios), number), **look, gid=f"row {number}")
        panel.axvline(1, color=style.BLACK, linestyle="--", linewidth=1)
        panel.text(1.01, -0.55, "bound = observed", fontsize=7.5, va="center")
        panel.grid(axis="x", color="#DDDDDD", linewidth=0.6)
        panel.set_axisbelow(True)
        title = "Theorem D after the last round over what runs reach, one mark a cluster"
        ratio = f"bound / observed {100 * self.quantile:g} % quantile of the error"
        names = [rf"{NAMES[row.setting]}, $\beta = {row.trial.algorithm.momentum:.3g}$" for row in data]
        axes: style.Look = {
            "yticks": range(len(data)),
            "yticklabels": names,
            "ylim": (len(data) - 0.5, -0.85),
        }
        highest = max(row.ratios.max() for row in data)
        style.label_axes(panel, title, ratio, "", xlim=(0.9, 1.05 * highest), **axes)
        return figure
