"""Runs of FPFC: the constants of Theorem 1 for a run, and residuals."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.bounds.hypotheses import Hypothesis, all_met
from clusterproof.theory.papers.fpfc.measured import objective
from clusterproof.theory.papers.fpfc.runs import ResidualSeries, mean_bound, residual_series
from clusterproof.theory.papers.fpfc.theorem_1 import Constants, printed_needs, printed_setting
from clusterproof.theory.runs.bound import FAILURE
from clusterproof.theory.runs.run import Run


class FusionRun(Run):
    """A run of FPFC."""

    @cached_property
    def setting(self) -> Constants:
        """Constants of Theorem 1 for this run."""
        return printed_setting(Constants(self.algorithm, self.task.clients, self.client_smoothness, 0.0))

    @property
    def sure(self) -> bool:
        """Whether the bounds hold for every run, and not only in expectation."""
        return self.setting.participation == 1

    @cached_property
    def needs(self) -> tuple[Hypothesis, ...]:
        """Hypotheses of Theorem 1, with misprinted exponents corrected."""
        return printed_needs(self.setting)

    @property
    def admissible(self) -> bool:
        """Whether all hypotheses are satisfied."""
        return all_met(self.needs)

    @cached_property
    def series(self) -> ResidualSeries:
        """Residuals of the run after each round."""
        assert isinstance(self.task, QuadraticMixture)
        return residual_series(self.algorithm, self.task, self.trace)

    @cached_property
    def height(self) -> np.ndarray:
        """Upper bound on F(w^0) - F*, (R,).

        The bound replaces F* by the sum of the clients' minima, which is 0 for quadratics.
        """
        task: Any = self.task
        start = np.broadcast_to(self.models[0][:, :1], (self.runs, task.clients, task.dimension))
        return np.asarray(objective(self.algorithm, task, start))

    def printed(self, factor: float) -> np.ndarray:
        """Return the bound ``factor`` D_0 / K after the last round, (R,), for all runs or for 95 % of runs."""
        assert isinstance(self.task, QuadraticMixture)
        given = self.setting, self.task, self.trace, self.series.models[1:]
        return self.last(mean_bound(*given, factor, "", FAILURE, self.setting.start).bound)

    def last(self, bounds: np.ndarray) -> np.ndarray:
        """Return the bounds after the last round, (R,)."""
        return np.broadcast_to(np.reshape(bounds, (self.rounds + 1, -1))[-1], self.runs)

    def scope(self) -> Iterator[Hypothesis]:
        """Yield the hypotheses of Theorem 1 on the algorithm and the task, without the conditions on parameters."""
        algorithm, task = self.algorithm, self.task
        waits = algorithm.pair_rule == "both" and algorithm.participation < 1
        yield Hypothesis("--penalty", "=", "scad", algorithm.penalty)
        yield Hypothesis("--start", "=", "common", algorithm.start)
        yield Hypothesis("pairs with a participant updated", "=", True, not waits)
        yield Hypothesis("rounds", ">", 0, self.rounds)
        yield Hypothesis("clients", ">=", 2, task.clients)
        yield Hypothesis("quadratic losses", "=", True, isinstance(task, QuadraticMixture))
