"""Pages fit a screen of 28 lines of 80 columns, whatever the options, and print for every kind of task."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from clusterproof import theory
from clusterproof.algorithms import ALGORITHMS, CFL, FedBCD, GradientLoss, Local, PerFedAvg, SoFL, run
from clusterproof.synthetic import QuadraticMixture, RegressionMixture
from clusterproof.synthetic.softmax import SoftmaxMixture

TASKS = [
    QuadraticMixture.random(clusters=3, clients=12, dimension=3, condition_number=4.0, spread=0.3),
    QuadraticMixture.random(
        clusters=5, clients=20, dimension=3, condition_number=4.0, spread=0.3, separation=1e-4
    ),
    RegressionMixture.random(
        clusters=4, clients=12, dimension=3, samples=100_000, noise=0.123456, separation=1234.5
    ),
    RegressionMixture.random(clusters=2, clients=12, dimension=3, data="population"),
]
SOME: list[tuple[type, dict[str, list[Any]]]] = [
    (
        PerFedAvg,
        {
            "gradient": ["first-order", "second-order"],
            "local_steps": [1, 12],
            "inner_step_size": [None, 0.123456, 1.2],
            "participation": [1.0, 0.3],
        },
    ),
    (
        FedBCD,
        {"proximal": [None, 0.123456], "server_step_size": [1.0, 0.123456], "local_steps": [1, 12]},
    ),
    (
        FedBCD,
        {"variant": ["separate"], "pull": [None, 0.123456], "local_steps": [1, 12], "step_size": [0.5, 2.3]},
    ),
    (Local, {"local_steps": [1, 12], "participation": [1.0, 0.3]}),
    (
        CFL,
        {
            "linkage": ["single", "complete"],
            "local_steps": [1, 12],
            "noise_ratio": [None, 0.123456],
            "participation": [1.0, 0.7],
            "warm_up": [3],
        },
    ),
    (
        SoFL,
        {
            "method": ["fedavg", "per-fedavg", "fedprox"],
            "cluster_count": ["silhouette", "elbow"],
            "schedule": ["robbins-monro"],
            "pretraining": [3],
            "learning_rate": [0.123456],
        },
    ),
    (
        GradientLoss,
        {
            "weight": [0.123456],
            "similarity": ["cosine", "euclidean"],
            "sign": ["as-printed"],
            "loss_reduction": ["mean"],
            "empty_cluster": ["never", "when-empty"],
            "participation": [1.0, 0.7],
            "clusters": [None, 8],
        },
    ),
]


def variants() -> list[Any]:
    found = []
    for kind, options in SOME:
        for values in product(*options.values()):
            given = {"step_size": 0.123456} | dict(zip(options, values, strict=True))
            found.append(kind(**given))
    return found


def check_size(page: Any) -> None:
    lines = str(page).splitlines()
    assert len(lines) <= 28, str(page)
    assert max(map(len, lines)) <= 80, str(page)
    labels = [one.label for _, shown in page.sections for one in shown]
    assert max(map(len, labels)) <= 9
    page.frame()


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("kind", list(dict.fromkeys(kind for kind, _ in SOME)))
def test_every_page_fits(kind: type) -> None:
    """Each variant on one task, with one run, a few, or many."""
    for place, algorithm in enumerate(one for one in variants() if isinstance(one, kind)):
        task = TASKS[(place + place // 4) % 4]
        runs = (None, 2, 21)[place % 3] if kind is not SoFL else None
        check_size(theory.compare(task, run(algorithm, task, rounds=8, replicates=runs, seed=place)))


class WithBoth(SoftmaxMixture):
    """As GL-CFL asks: losses and gradients of all models."""

    def losses_and_gradients(self, models: Any, clients: Any, generator: np.random.Generator) -> Any:
        points = [np.repeat(model[None], len(clients), axis=0) for model in models]
        gradients = [self.gradients(point, clients, generator) for point in points]
        return self.losses(models, clients, generator), np.stack(gradients, axis=1)


@pytest.mark.parametrize(
    "algorithm", ["cfl", "per-fedavg", "local", "gradient-loss", "ifca", "fpfc", "fedavg"]
)
def test_a_task_without_known_optima_has_a_page_without_errors(algorithm: str) -> None:
    task = WithBoth(clients=6, clusters=2, features=3, classes=2, largest=30)
    options = {"clusters": 2} if algorithm in ("gradient-loss", "ifca") else {}
    page = theory.compare(task, run(ALGORITHMS[algorithm](step_size=0.1, **options), task, rounds=4))  # type: ignore[arg-type]
    assert str(page).startswith(f"{algorithm} on softmax with unknown optima")
    assert "2 clusters: 3 and 3 of m = 6 clients" in str(page)
    labels = [one.label for _, shown in page.sections for one in shown]
    assert "Error" not in labels
    assert ("Groups" in labels) == (algorithm in ("cfl", "gradient-loss", "ifca", "fpfc"))
    check_size(page)
