"""Default settings of runs for the command ``run`` and for figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clusterproof import common, running
from clusterproof.synthetic import Mixture, RegressionMixture

REGRESSION: dict[str, Any] = {
    "clusters": 3,
    "clients": 100,
    "dimension": 20,
    "condition_number": 4.0,
    "separation": 1.6,
    "noise": 0.2,
    "samples": 10_000,
    "proportions": [5, 3, 2],
}
"""Settings for regressions. The values have the following reasons.

With separation 2, the optima would have norms above 1, which Theorem 1 of CFL-MGD excludes. With 100 samples, noise
would hide the linear decrease of the error. With equal shares, the effect of the smallest share would not be visible.
"""

QUADRATIC: dict[str, Any] = {
    "clusters": 4,
    "clients": 40,
    "dimension": 5,
    "condition_number": 4.0,
    "separation": 4.0,
    "spread": 0.05,
    "local_steps": 10,
    "strength": 1.0,
    "smoothing": 0.5,
    "concavity": 3.7,
    "augmentation": 10.0,
    "threshold": 0.5,
}
"""With these values, FPFC finds the groups, and the hypotheses of FPFC's Theorem 1 hold.

With 3 local steps the hypotheses hold, as well, but C_1 < 0.
"""

ONE_MODEL: dict[str, Any] = {
    "clusters": 3,
    "clients": 100,
    "dimension": 20,
    "condition_number": 4.0,
    "separation": 1.6,
    "proportions": [5, 3, 2],
    "local_steps": 5,
    "step_size": 0.1,
}
"""The Hessians differ, so clients drift if they take several local steps. L = 1."""

SKIPPING = ONE_MODEL | {"clients": 20, "dimension": 5, "step_size": 0.5, "probability": 0.5}
"""The task is small, because ProxSkip's rates are rates of expectations, which need many runs.

The rates hold for the models of ProxSkip, but not for the control variates.
"""


PERSONAL: dict[str, Any] = {
    "clusters": 3,
    "clients": 30,
    "dimension": 5,
    "condition_number": 4.0,
    "separation": 2.0,
    "spread": 0.3,
}
"""The clients have different Hessians and minimisers, so each method has a different fixed point."""

CUT: dict[str, Any] = {
    "clusters": 3,
    "clients": 30,
    "dimension": 5,
    "separation": 4.0,
    "step_size": 0.5,
    "warm_up": 60,
}
"""The Hessians are I and a cluster's clients are equal, so the pooled model converges before the first split."""

MAP: dict[str, Any] = {
    "clusters": 4,
    "clients": 24,
    "dimension": 5,
    "condition_number": 4.0,
    "separation": 4.0,
    "spread": 0.2,
}
"""Clients of a cluster differ, but less than clusters do. So the clustering needs the map, and succeeds."""

RACE: dict[str, Any] = {
    "clusters": 4,
    "clients": 40,
    "dimension": 20,
    "separation": 1.0,
    "noise": 0.5,
    "samples": 20,
    "step_size": 0.1,
    "empty_cluster": "when-empty",
}
"""Settings for the comparison of GL-CFL with IFCA. The initial models are about Delta from the optima."""

Start = Callable[[Any, Mixture, int, int | None], np.ndarray | None]
"""Function of algorithm, task, seed and number of replicates that returns initial models, or None.

If it returns None, the task draws the initial models.
"""


@dataclass(frozen=True)
class Defaults:
    """Defaults of a run on one task."""

    task: str = "regression"
    rounds: int = 50
    replicates: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    start: Start | None = None

    def with_settings(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Replace some of the settings. If there are not three clusters, the default shares are dropped."""
        dropped = {"proportions"} if given.get("clusters", 3) != 3 else set()
        return {**{name: value for name, value in self.settings.items() if name not in dropped}, **given}


def one_start(method: Any, task: Mixture, seed: int, _: int | None) -> np.ndarray:
    """Return the same initial models for all replicates, (P, d)."""
    return np.asarray(running.run(method, task, rounds=0, seed=seed).models[0])


def starts_apart(method: Any, task: Mixture, seed: int, replicates: int | None) -> np.ndarray | None:
    """Draw models at distance about Delta from a regression's pooled optimum, (replicates, P, d)."""
    if not isinstance(task, RegressionMixture):
        return None
    shape = (*(() if replicates is None else (replicates,)), method.model_count(task), task.dimension)
    drawn = common.generator(seed, "run", "starts").standard_normal(shape)
    separation = task.separation if task.clusters > 1 else 1.0
    return np.asarray(task.pooled_optimum + separation * drawn / np.sqrt(task.dimension))


WITHOUT_THEOREMS = ("feddyn", "fednova", "fedavgm", "fedadam", "fedyogi", "ditto", "pfedme")
"""Methods for which we have no theorem about the mean over runs."""

PAGES = {
    "cfl-mgd": Defaults("regression", 60, 500, REGRESSION, one_start),
    "ifca": Defaults("regression", 120, 500, REGRESSION, one_start),
    "fpfc": Defaults("quadratic", 300, None, QUADRATIC),
    "per-fedavg": Defaults("quadratic", 100, None, PERSONAL),
    "fedbcd": Defaults("quadratic", 100, None, PERSONAL),
    "local": Defaults("quadratic", 100, None, PERSONAL),
    "gradient-loss": Defaults("regression", 25, 40, RACE, starts_apart),
    "cfl": Defaults("quadratic", 150, None, CUT),
    "sofl": Defaults("quadratic", 60, None, MAP),
    **dict.fromkeys(
        ("fedavg", "fedprox", "scaffold"), Defaults("quadratic", 100, None, ONE_MODEL, one_start)
    ),
    **dict.fromkeys(WITHOUT_THEOREMS, Defaults("quadratic", 100, None, ONE_MODEL)),
    "fedlin": Defaults(
        "quadratic", 100, None, ONE_MODEL | {"step_size": 1 / 30}, one_start
    ),  # 1 / (6 L K), as printed
    "proxskip": Defaults("quadratic", 60, 500, SKIPPING, one_start),
}
"""Defaults of the algorithms with a separate default task."""


def defaults_of(algorithm: str, task: str | None = None) -> Defaults:
    """Return the defaults of an algorithm's run on a task, by default on the algorithm's default task."""
    page = PAGES.get(algorithm, Defaults())
    return page if task in (None, page.task) else Defaults(str(task), start=page.start)
