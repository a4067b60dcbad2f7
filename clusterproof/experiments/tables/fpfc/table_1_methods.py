"""Runs of the methods of FPFC's Table 1 on one data set, and their measurements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from clusterproof.algorithms import CFL, FPFC, IFCA, Local, PerFedAvg, Randomness
from clusterproof.algorithms.averaging import choose_clusters
from clusterproof.algorithms.base import Algorithm, State
from clusterproof.algorithms.fpfc import FusionState, group_averages
from clusterproof.algorithms.metrics import adjusted_rand_index, cluster_count
from clusterproof.algorithms.pairs import connected_groups
from clusterproof.experiments.tables.fpfc.table_1_baselines import (
    AbsentAsZeroCFL,
    FineTunedFedAvg,
    SharedIFCA,
    WeightedFedAvg,
)
from clusterproof.synthetic.softmax import SoftmaxMixture
from clusterproof.synthetic.softmax_sample import Sample

STEP_SIZE, LOCAL_STEPS, PARTICIPATION, MODELS = 0.1, 10, 0.3, 4
"""Value for all methods in the public code."""

THRESHOLDS = (0.001, 0.1, 0.5, 1.0, 2.0, 3.0, 4.0)
"""Values of nu at which a run of FPFC is evaluated."""

OTHER_DATA = 40
"""Number of data sets of the same law with which a seed's data set is compared."""

FIT_STEPS, FIT_GRADIENT = 1000, 1e-5
"""Fit of a cluster's pooled model: largest number of steps, and largest entry of the final gradient."""

Result: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Training:
    """Training parameters of all methods, by default those of the public code.

    Attributes
    ----------
    step_size
        Step size alpha.
    local_steps
        Steps, or passes, of a client in a round.
    participation
        Share of the clients in a round.
    augmentation
        Augmentation rho of FPFC.
    """

    step_size: float = STEP_SIZE
    local_steps: int = LOCAL_STEPS
    participation: float = PARTICIPATION
    augmentation: float = 1.0

    @property
    def meta_steps(self) -> int:
        """Steps of Per-FedAvg, of two gradients each."""
        return max(1, self.local_steps // 2)


@dataclass(frozen=True)
class Scenario:
    """One data set and the length of a run.

    Attributes
    ----------
    seed
        Seed of the data and of the run; all methods have the same data, start and participants.
    rounds
        Number of rounds of methods with partial participation.
    data
        Arguments of the task except for the seed.
    training
        Training parameters.
    """

    seed: int
    rounds: int
    data: Mapping[str, Any]
    training: Training = Training()

    def task(self, batch_size: int | None = None) -> SoftmaxMixture:
        """Data in passes over mini-batches, or whole."""
        unit = "step" if batch_size is None else "epoch"
        return SoftmaxMixture(
            **self.data, precision="single", batch_size=batch_size, local_unit=unit, seed=self.seed
        )

    @property
    def randomness(self) -> Randomness:
        """Streams of a run, the same for every method."""
        return Randomness.from_seed(self.seed, "fpfc/table-1")


def algorithm_of(run: str, training: Training, **options: Any) -> Algorithm[Any]:
    """Return the algorithm of a run.

    Parameters
    ----------
    run
        Name of the run, one of ``RUNS`` that trains by rounds.
    training
        Training parameters.
    options
        Arguments of the run in addition to the data.
    """
    work: dict[str, Any] = {"step_size": training.step_size, "participation": training.participation}
    match run:
        case "local":
            return Local(step_size=training.step_size, local_steps=training.local_steps)
        case "fedavg" | "fine-tuned":
            kind = WeightedFedAvg if run == "fedavg" else FineTunedFedAvg
            return kind(**work, local_steps=training.local_steps)
        case "per-fedavg":
            inner: dict[str, Any] = {
                "inner_step_size": training.step_size,
                "local_steps": training.meta_steps,
            }
            return PerFedAvg(**work, **inner, gradient=options["gradient"])
        case "ifca":
            shared, steps = (SharedIFCA, 1) if options["published"] else (IFCA, training.local_steps)
            return shared(**work, clusters=MODELS, averaging="model", local_steps=steps)
        case "cfl":
            if options["everybody"]:
                work["participation"] = 1.0
            if options["published"]:
                return AbsentAsZeroCFL(**work, mean_threshold=0.5, client_threshold=1.0)
            return CFL(**work)
        case "fpfc":
            return FPFC(
                **work,
                local_steps=training.local_steps,
                penalty=options["penalty"],
                strength=options["strength"],
                augmentation=training.augmentation,
                reuse_memory=True,
            )
    raise ValueError(f"{run} is not run in rounds")


def rounds_of(rounds: int, training: Training, *, all_clients: bool = False) -> int:
    """Return the rounds of a run; with full participation, as many as have the same number of uploads."""
    return max(1, round(training.participation * rounds)) if all_clients else rounds


def run_local(experiment: Scenario) -> Result:
    """Run LOCAL: every client trains separately in every round."""
    task = experiment.task()
    state = _train(algorithm_of("local", experiment.training), task, experiment)
    return {"accuracy": _accuracy(task, state.models)}


def run_one_model(
    experiment: Scenario, *, run: str, batch_size: int | None = None, gradient: str | None = None
) -> Result:
    """Run an algorithm with one model, from which clients make the models that they are tested with."""
    task = experiment.task(batch_size)
    algorithm = algorithm_of(run, experiment.training, gradient=gradient)
    received = np.repeat(_train(algorithm, task, experiment).models, task.clients, axis=0)
    personal = algorithm.personalise(received, np.arange(task.clients), task, experiment.randomness)
    return {"accuracy": _accuracy(task, personal)}


def run_ifca(experiment: Scenario, *, published: bool) -> Result:
    """Run IFCA from independent models, as the code does, or with the members' mean and all local steps.

    As published, a client is tested with the model that it last chose, or with the first model if it never
    participated; otherwise with the model of smallest training loss at the end.
    """
    task = experiment.task()
    algorithm = algorithm_of("ifca", experiment.training, published=published)
    start = experiment.randomness.initialisation.standard_normal((MODELS, task.dimension))
    chosen = np.zeros(task.clients, dtype=np.int64)

    def note(state: State) -> None:
        chosen[np.asarray(state.clients)] = np.asarray(state.assignments)

    state = _train(algorithm, task, experiment, start=start.astype(np.float32), after=note)
    if not published:
        all_clients = np.arange(task.clients)
        chosen = choose_clusters(task, state.models, all_clients, experiment.randomness.assignment)
    return {
        "accuracy": _accuracy(task, state.models[chosen]),
        **_clustering(chosen, task),
    }


def run_cfl(experiment: Scenario, *, published: bool, everybody: bool) -> Result:
    """Run CFL, a pass in batches of 50: as the code does, or as ours, whose thresholds follow the updates.

    With full participation there are fewer rounds, with the same number of uploads.
    """
    task = experiment.task(batch_size=50)
    algorithm = algorithm_of("cfl", experiment.training, published=published, everybody=everybody)
    rounds = rounds_of(experiment.rounds, experiment.training, all_clients=everybody)
    state = _train(algorithm, task, experiment, rounds=rounds)
    return {
        "accuracy": _accuracy(task, state.models),
        **_clustering(state.assignments, task),
    }


def run_fpfc(experiment: Scenario, *, penalty: str, strength: float) -> Result:
    """Run FPFC, group by several thresholds, and average within groups by samples."""
    task = experiment.task()
    algorithm = algorithm_of("fpfc", experiment.training, penalty=penalty, strength=strength)
    assert isinstance(algorithm, FPFC)
    state = _train(algorithm, task, experiment)
    assert isinstance(state, FusionState)
    lengths = algorithm.difference_lengths(state)
    found = {}
    for threshold in THRESHOLDS:
        groups = connected_groups(lengths <= threshold)
        averaged = group_averages(state.models, groups, task.sizes.astype(state.models.dtype))
        found[f"{threshold:g}"] = {
            "accuracy": _accuracy(task, averaged),
            **_clustering(groups, task),
        }
    return {
        "own_accuracy": _accuracy(task, state.models),
        "thresholds": found,
    }


def run_oracle(experiment: Scenario) -> Result:
    """Fit one model to the pooled samples of each true cluster."""
    task = experiment.task()
    models = np.empty((task.clients, task.dimension), dtype=np.float32)
    for cluster in range(task.clusters):
        members = np.flatnonzero(task.labels == cluster)
        models[members] = pooled_fit(task, members)
    return {"accuracy": _accuracy(task, models)}


def pooled_fit(task: SoftmaxMixture, members: np.ndarray) -> np.ndarray:
    """Minimise a cluster's pooled loss; return the model (d,)."""
    from scipy.optimize import minimize

    data = [task.training_data(int(client)) for client in members]
    features = np.concatenate([np.column_stack([x, np.ones(len(x))]) for x, _ in data]).T.astype(float)
    targets = np.concatenate([classes for _, classes in data])
    # with uncorrelated features, a tenth of the steps suffices
    root = np.linalg.cholesky(features @ features.T / features.shape[1])
    pooled = Sample.of(np.linalg.solve(root, features), targets, task.classes)

    def evaluate(flat: np.ndarray) -> tuple[float, np.ndarray]:
        matrix = flat.reshape(task.classes, -1)
        return pooled.loss(matrix), pooled.gradient(matrix).ravel()

    options = {"maxiter": FIT_STEPS, "gtol": FIT_GRADIENT, "ftol": 0.0, "maxcor": 20}
    start = np.zeros(task.dimension)
    solution = minimize(evaluate, start, jac=True, method="L-BFGS-B", options=options)
    return np.linalg.solve(root.T, solution.x.reshape(task.classes, -1).T).T.ravel()


def run_data(experiment: Scenario) -> Result:
    """Score the classifiers that made the data, and those of other data sets of the law, on small samples."""
    task = experiment.task()
    settings = {**experiment.data, "largest": 300}
    others = [
        SoftmaxMixture(**settings, seed=1000 * (experiment.seed + 1) + number) for number in range(OTHER_DATA)
    ]
    return {
        "accuracy": _accuracy(task, task.generating_models[task.labels]),
        "others": [_accuracy(other, other.generating_models[other.labels]) for other in others],
    }


RUNS: dict[str, Callable[..., Result]] = {
    "local": run_local,
    "fedavg": partial(run_one_model, run="fedavg", batch_size=100),
    "fine-tuned": partial(run_one_model, run="fine-tuned", batch_size=100),
    "per-fedavg": partial(run_one_model, run="per-fedavg"),
    "ifca": run_ifca,
    "cfl": run_cfl,
    "fpfc": run_fpfc,
    "oracle": run_oracle,
    "data": run_data,
}
"""Runs of units by name."""


def _train(
    algorithm: Algorithm[Any],
    task: SoftmaxMixture,
    experiment: Scenario,
    *,
    rounds: int | None = None,
    start: np.ndarray | None = None,
    after: Callable[[Any], None] | None = None,
) -> Any:
    """Run an algorithm, call ``after`` with the state of each round, and return the last state."""
    randomness = experiment.randomness
    first = task.initial_models(algorithm.model_count(task), (), randomness.initialisation)
    state = algorithm.initialise(first if start is None else start, task)
    for _ in range(experiment.rounds if rounds is None else rounds):
        state = algorithm.step(state, task, randomness)
        if after is not None:
            after(state)
    return state


def _accuracy(task: SoftmaxMixture, models: np.ndarray) -> float:
    """Return the unweighted mean over clients of the test accuracies of their models (m, d), in percent."""
    return 100 * float(task.accuracies(models, np.arange(task.clients)).mean())


def _clustering(assignments: np.ndarray, task: SoftmaxMixture) -> Result:
    return {
        "clusters": cluster_count(assignments),
        "index": float(adjusted_rand_index(assignments, task.labels)),
    }
