"""How long a run of CFL-MGD's Table 2 is, with which steps, and what it is measured by."""

from typing import Any

from clusterproof.experiments.store import Unit
from clusterproof.experiments.tables.cfl_mgd.table_2_runs import compute
from clusterproof.experiments.tables.training_run import (
    image_task,
    make_algorithm,
    served_by_test_loss,
    served_by_training_data,
    snapshots,
)

SETTINGS: dict[str, Any] = {
    "data": "digits",
    "partition": {"name": "rotations", "clusters": 2, "clients": 12, "samples": 60},
    "network": {"name": "mlp", "hidden": [8]},
    "task": {"dtype": "float64"},
    "rounds": 3,
    "every": 1,
    "decay": 1.0,
    "test_assignment": "test-loss",
}
FEDAVG = {"algorithm": "fedavg", "step_size": 0.5, "local_steps": 5}


def accuracies(decay: float) -> list[float]:
    """After each round."""
    unit = Unit("FedAvg", 0, {**SETTINGS, "algorithm": FEDAVG, "decay": decay})
    return [record["accuracy"] for record in compute(unit)["curve"]]


def test_steps_decay_from_round_to_round() -> None:
    """By a factor so small that nothing moves after the first round."""
    plain, still = accuracies(1.0), accuracies(1e-12)
    assert still == [plain[0]] * 3
    assert len(set(plain)) == 3


def test_clients_are_served_as_the_settings_say() -> None:
    algorithm = {"algorithm": "ifca", "averaging": "model", "step_size": 0.3}
    task = image_task(SETTINGS, 1)
    *_, look = snapshots(make_algorithm(algorithm), task, rounds=3, seed=1, every=1)
    records = {}
    for given, measure in (
        ({"test_assignment": "test-loss"}, served_by_test_loss),
        ({"test_assignment": "train"}, served_by_training_data),
    ):
        found = compute(Unit("IFCA", 1, {**SETTINGS, "algorithm": algorithm, **given}))["curve"][-1]
        assert found == {"round": 3, **measure(look)}
        records[measure] = found["accuracy"]
    assert len(set(records.values())) == 2
