"""Runs of CFL-MGD and IFCA with one model per cluster, on tasks with known optima."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.bounds.hypotheses import Hypothesis, all_met
from clusterproof.theory.papers.cfl_mgd import on_runs
from clusterproof.theory.runs.factor import SlowestFactor, slowest_factor
from clusterproof.theory.runs.gaussian_regression import Law, compare_law, law_needs
from clusterproof.theory.runs.run import Run


class ClusterRun(Run):
    """A run of CFL-MGD or IFCA."""

    @property
    def is_ifca(self) -> bool:
        """Whether the algorithm's name is IFCA."""
        return self.name == "ifca"

    @property
    def exact(self) -> bool:
        """Whether the task is a regression with exact losses and gradients."""
        return getattr(self.task, "data", "") == "population" and isinstance(self.task, RegressionMixture)

    @property
    def start(self) -> float:
        """The largest initial error."""
        return float(self.errors[0].max())

    @cached_property
    def law_needs(self) -> tuple[Hypothesis, ...]:
        """Hypotheses under which the run can be compared with its exact distribution."""
        return tuple(law_needs(self.task, self.trace))

    @cached_property
    def law(self) -> Law | None:
        """Comparison of the run with its exact distribution (law), or None if the comparison is not possible."""
        if not all_met(self.law_needs):
            return None
        assert isinstance(self.task, RegressionMixture)
        with np.errstate(all="ignore"):
            return compare_law(self.task, self.trace)

    @property
    def law_differs(self) -> bool:
        """Whether the distribution of the run differs from the distribution of its algorithm."""
        return self.law is not None and (self.law.path_differs or self.law.noise_differs)

    @cached_property
    def factor(self) -> SlowestFactor | None:
        """The factor by which the error of the slowest cluster decreases in a round."""
        return slowest_factor(self)

    @cached_property
    def printed(self) -> on_runs.OnRun:
        """The numbers in Theorem 1 for this run."""
        return on_runs.on_run(self.task, self.trace)
