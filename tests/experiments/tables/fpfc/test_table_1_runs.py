"""The runs of FPFC's Table 1 on small data: what each records, by rounds of the algorithm and plain counting."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from clusterproof.algorithms import CFL, FPFC, IFCA, Local, PerFedAvg, Randomness
from clusterproof.experiments.store import Unit
from clusterproof.experiments.tables.fpfc.table_1 import METHODS, SMALL_DATA, compute
from clusterproof.experiments.tables.fpfc.table_1_baselines import (
    AbsentAsZeroCFL,
    FineTunedFedAvg,
    SharedIFCA,
    WeightedFedAvg,
)
from clusterproof.experiments.tables.fpfc.table_1_methods import (
    Scenario,
    Training,
    algorithm_of,
    rounds_of,
    run_cfl,
    run_ifca,
    run_one_model,
)
from clusterproof.synthetic.softmax import SoftmaxMixture

SEED = 1
ALL_CLIENTS = np.arange(20)


def scenario(rounds: int, **training: Any) -> Scenario:
    return Scenario(SEED, rounds, SMALL_DATA, Training(**training))


def data(**more: Any) -> SoftmaxMixture:
    return SoftmaxMixture(**{**SMALL_DATA, **more}, precision="single", seed=SEED)


def after_rounds(
    algorithm: Any, task: Any, models: np.ndarray | None, rounds: int, look: Callable[[Any], None]
) -> Any:
    """The last state, and what there is to see of every one."""
    randomness = Randomness.from_seed(SEED, "fpfc/table-1")
    first = task.initial_models(algorithm.model_count(task), (), randomness.initialisation)
    state = algorithm.initialise(first if models is None else models, task)
    for _ in range(rounds):
        state = algorithm.step(state, task, randomness)
        look(state)
    return state


def percent(task: SoftmaxMixture, models: np.ndarray) -> float:
    return 100 * float(np.mean([task.accuracies(models[i : i + 1], np.array([i]))[0] for i in ALL_CLIENTS]))


def test_one_model_is_trained_with_the_batch_size_that_is_asked_for() -> None:
    """Ten passes over a client's data; clients count by their samples."""
    task, rounds = data(batch_size=7, local_unit="epoch"), 2
    algorithm = WeightedFedAvg(step_size=0.1, local_steps=10, participation=0.3)
    state = after_rounds(algorithm, task, None, rounds, lambda state: None)
    found = run_one_model(scenario(rounds), run="fedavg", batch_size=7)
    assert found["accuracy"] == pytest.approx(percent(task, np.repeat(state.models, 20, axis=0)))


WORK: dict[str, Any] = {"step_size": 0.25, "participation": 0.4}
ALL: dict[str, Any] = {**WORK, "participation": 1.0}
META: dict[str, Any] = {**WORK, "inner_step_size": 0.25, "local_steps": 3}
SHARED: dict[str, Any] = {**WORK, "clusters": 4, "averaging": "model"}
AS_CODED: dict[str, Any] = {"mean_threshold": 0.5, "client_threshold": 1.0}
FUSION: dict[str, Any] = {**WORK, "local_steps": 7, "augmentation": 1.5, "reuse_memory": True}
ALGORITHMS: dict[str, Any] = {
    "local": Local(step_size=0.25, local_steps=7),
    "fedavg": WeightedFedAvg(**WORK, local_steps=7),
    "fine-tuned": FineTunedFedAvg(**WORK, local_steps=7),
    "per-fedavg, first-order": PerFedAvg(**META, gradient="first-order"),
    "per-fedavg, second-order": PerFedAvg(**META, gradient="second-order"),
    "ifca, published": SharedIFCA(**SHARED, local_steps=1),
    "ifca, members' mean": IFCA(**SHARED, local_steps=7),
    "cfl, absent as zero": AbsentAsZeroCFL(**WORK, **AS_CODED),
    "cfl, everybody": AbsentAsZeroCFL(**ALL, **AS_CODED),
    "cfl, absent left out": CFL(**WORK),
    "fpfc-l1, lambda 0.2": FPFC(**FUSION, penalty="l1", strength=0.2),
    "fpfc-l1, lambda 0.6": FPFC(**FUSION, penalty="l1", strength=0.6),
    "fpfc, lambda 0.7": FPFC(**FUSION, penalty="scad", strength=0.7),
}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_row_is_of_its_algorithm_with_what_is_chosen(name: str) -> None:
    """Seven local steps are three of two gradients; with all clients there are 0.4 of the rounds, and one at least."""
    training = Training(step_size=0.25, local_steps=7, participation=0.4, augmentation=1.5)
    found = algorithm_of(METHODS[name].run, training, **METHODS[name].options)
    assert (type(found), found) == (type(ALGORITHMS[name]), ALGORITHMS[name])
    assert [rounds_of(10, training), rounds_of(10, training, all_clients=True)] == [10, 4]
    assert rounds_of(1, training, all_clients=True) == Training(local_steps=1).meta_steps == 1
    with pytest.raises(ValueError, match="fedsgd"):
        algorithm_of("fedsgd", training)


@pytest.mark.parametrize("published", [True, False])
def test_ifca_tests_a_client_with_the_model_that_it_chose(published: bool) -> None:
    """As coded with the one of its last round, or the first; else with the best of all at the end."""
    task, rounds = data(), 3
    work: dict[str, Any] = {"step_size": 0.1, "clusters": 4, "averaging": "model", "participation": 0.3}
    algorithm = SharedIFCA(**work, local_steps=1) if published else IFCA(**work, local_steps=10)
    drawn = Randomness.from_seed(SEED, "fpfc/table-1").initialisation.standard_normal((4, task.dimension))
    last = dict.fromkeys(ALL_CLIENTS.tolist(), 0)

    def note(state: Any) -> None:
        last.update(zip(state.clients.tolist(), state.assignments.tolist(), strict=True))

    state = after_rounds(algorithm, task, drawn.astype(np.float32), rounds, note)
    if not published:
        for i in ALL_CLIENTS.tolist():
            losses = [
                task.losses(model[None], np.array([i]), np.random.default_rng(0))[0, 0]
                for model in state.models
            ]
            last[i] = int(np.argmin(losses))
    chosen = [last[i] for i in ALL_CLIENTS.tolist()]
    found = run_ifca(scenario(rounds), published=published)
    assert found["clusters"] == len(set(chosen)) < 5
    assert found["accuracy"] == pytest.approx(percent(task, state.models[chosen]))


@pytest.mark.parametrize(("published", "everybody"), [(True, False), (True, True), (False, False)])
def test_cfl_counts_its_clusters(published: bool, everybody: bool) -> None:
    """Steps so large that clusters are split; with full participation three tenths of the rounds."""
    rounds = 30
    task = data(batch_size=50, local_unit="epoch")
    work: dict[str, Any] = {"step_size": 0.1, "participation": 1.0 if everybody else 0.3}
    algorithm = (
        AbsentAsZeroCFL(**work, mean_threshold=0.5, client_threshold=1.0) if published else CFL(**work)
    )
    state = after_rounds(algorithm, task, None, 9 if everybody else rounds, lambda state: None)
    found = run_cfl(scenario(rounds), published=published, everybody=everybody)
    assert found["clusters"] == len(set(state.assignments.tolist()))
    assert found["accuracy"] == pytest.approx(percent(data(), state.models))


def test_a_run_trains_as_its_unit_says() -> None:
    """With steps of nearly nothing nobody leaves the start."""
    settings = {"run": "local", "rounds": 2, "data": SMALL_DATA}
    still = compute(Unit("local", SEED, {**settings, "training": {"step_size": 1e-12}}))
    task = data()
    start = task.initial_models(1, (), Randomness.from_seed(SEED, "fpfc/table-1").initialisation)
    assert still["accuracy"] == pytest.approx(percent(task, np.repeat(start, 20, axis=0)))
    assert compute(Unit("local", SEED, settings))["accuracy"] != still["accuracy"]
