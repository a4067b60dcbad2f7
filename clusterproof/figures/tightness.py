"""How far Theorem D is above what runs show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import numpy as np
from msgspec import Meta

import clusterproof.figures.style as style
from clusterproof.figures.illustration import Illustration, Momentum
from clusterproof.theory.bounds.audit_settings import (
    NAMES,
    Experiment,
    experiment,
    run_errors,
    starting_models,
)
from clusterproof.theory.bounds.gaussian import gaussian_dynamics
from clusterproof.theory.bounds.theorem_d import theorem_d


class Row(NamedTuple):
    """A setting's runs beside the bound."""

    trial: Experiment
    ratios: np.ndarray
    """Bound over observed quantile of the error after the last round, (P,)."""
    failures: int
    """Number of runs in which some cluster's last error exceeds the bound."""


@dataclass(frozen=True, kw_only=True)
class Tightness(Illustration):
    """Theorem D's bound over the observed quantile, setting by setting.

    Parameters
    ----------
    replicates
        Runs of a row.
    quantile
        Of the last errors, with which the bound is compared.
    settings
        Names of ``clusterproof.theory.bounds.audit_settings``, each with the momentum, or None for the tuned one.
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
        """Run the settings, and compare the last errors with Theorem D."""
        return [self._row(experiment(name, momentum)) for name, momentum in self.settings]

    def _row(self, trial: Experiment) -> Row:
        """Run one setting, and compare its last errors with Theorem D."""
        dynamics, norms = gaussian_dynamics(trial.regression, trial.algorithm), np.array(trial.setting.start)
        bound = theorem_d(dynamics, norms, rounds=trial.rounds, failure=trial.setting.failure).last_reach
        start = starting_models(trial, self.seed, self.replicates, "figures/tightness")
        last = run_errors(trial, self.seed, start)[-1]
        ratios = bound / np.quantile(last, self.quantile, axis=0)
        return Row(trial, ratios, int((last > bound).any(axis=-1).sum()))

    def draw(self, data: list[Row]) -> style.Figure:
        """Draw the ratio of bound and observed quantile, setting by setting."""
        figure, (panel,) = style.new_figure(self.caption(self._words(data)), height=4.2)
        look: style.Look = {**style.SOLID[0], "linestyle": "none"}
        for number, row in enumerate(data):
            panel.plot(row.ratios, np.full(len(row.ratios), number), **look, gid=f"row {number}")
        panel.axvline(1, color=style.BLACK, linestyle="--", linewidth=1)
        panel.text(1.01, -0.55, "bound = observed", fontsize=7.5, va="center")
        panel.set_xlim(0.9, 1.05 * max(row.ratios.max() for row in data))
        panel.set_yticks(range(len(data)), [_row_name(row.trial) for row in data])
        panel.set_ylim(len(data) - 0.5, -0.85)
        panel.grid(axis="x", color="#DDDDDD", linewidth=0.6)
        panel.set_axisbelow(True)
        title = "Theorem D after the last round over what runs reach, one mark a cluster"
        style.label_axes(
            panel, title, f"bound / observed {100 * self.quantile:g} % quantile of the error", ""
        )
        return figure

    def _words(self, rows: list[Row]) -> str:
        described = {}
        for trial, _, _ in rows:
            name, _, _ = trial.name.partition(",")
            described[name] = (
                f"{NAMES[name].capitalize()}: {style.describe(trial.regression)}, $T = {trial.rounds}$."
            )
        first = rows[0].trial
        delta = ", ".join(f"{value:g}" for value in first.setting.failure)
        return (
            f"Option I on Gaussian regression, $L = \\eta = 1$, $\\Delta = {first.task.separation:g}$, "
            f"start at half the basin radius (the bound knows no more), $\\delta$ = ({delta}), {self.replicates} runs "
            f"a row; {sum(row.failures for row in rows)} of {len(rows) * self.replicates} break the bound. "
            f"{' '.join(described.values())}"
        )


def _row_name(trial: Experiment) -> str:
    setting, _, _ = trial.name.partition(",")
    return rf"{NAMES[setting]}, $\beta = {trial.algorithm.momentum:.3g}$"
