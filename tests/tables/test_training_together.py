"""Seeds of a table's method in one batch on a GPU: the same rows as seed by seed."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import seed_batches
import torch
from pretended_device import COUNTS, pretended_device

from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.arrays import to_numpy
from clusterproof.algorithms.parts import starts
from clusterproof.tables import training_together
from clusterproof.tables.cfl_mgd import table_2_runs
from clusterproof.tables.cfl_mgd.table_2_runs import compute, compute_together
from clusterproof.tables.machine import devices
from clusterproof.tables.machine.devices import SEEDS_TOGETHER, seeds_together
from clusterproof.tables.machine.engines import LocalProcesses, Work
from clusterproof.tables.machine.store import Outcome, Unit
from clusterproof.tables.machine.workers import compute_batch, compute_unit
from clusterproof.tables.training_run import (
    Snapshot,
    image_task,
    make_algorithm,
    served_by_test_loss,
    snapshots,
)
from clusterproof.tables.training_together import image_replicates, train_together

pytestmark = pytest.mark.slow(reason="trains seeds in a batch on a device that is pretended")

DIGITS: dict[str, Any] = {
    "data": "digits",
    "partition": {"name": "rotations", "clusters": 2, "clients": 12, "samples": 30},
    "network": {"name": "mlp", "hidden": [16, 8]},
    "task": {"dtype": "float64"},
    "decay": 0.99,
    "rounds": 5,
    "every": 2,
}
COMMON = {"step_size": 0.3, "local_steps": 2, "participation": 0.5}
METHODS = {
    "FedAvg": {"algorithm": "fedavg", **COMMON},
    "IFCA": {"algorithm": "ifca", "averaging": "model", **COMMON},
    "IFCA, redrawn": {"algorithm": "ifca", "averaging": "model", "least_share": 0.2, **COMMON},
    "IFCA, tried": {"algorithm": "ifca", "averaging": "model", "restarts": 2, "trial_rounds": 1, **COMMON},
    "CFL-MGD": {"algorithm": "cfl-mgd", "averaging": "model", "momentum": 0.9, **COMMON},
    "one model": {"algorithm": "cfl-mgd", "averaging": "model", "momentum": 0.9, "clusters": 1, **COMMON},
    "everybody": {**COMMON, "algorithm": "fedbcd", "participation": 1.0},
    "FedBCD": {"algorithm": "fedbcd", **COMMON},
}
BATCHES = {"batch_size": 7, "local_unit": "epoch"}
CONVOLUTIONS = {"name": "cnn", "channels": [2, 3], "hidden": [5], "padding": [2, 2]}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """As the workers of a table have; more would wait for each other on products as small as these."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def units(method: str, seeds: Sequence[int] = (0, 1, 4), **changed: Any) -> list[Unit]:
    return [Unit(method, seed, {**DIGITS, "algorithm": METHODS[method], **changed}) for seed in seeds]


def on_the_device(unit: Unit) -> Unit:
    return Unit(unit.method, unit.seed, {**unit.settings, "device": "cuda"})


def agree(found: Any, known: Any) -> None:
    assert isinstance(found, Mapping), found
    assert found["device"] == "cuda"
    assert len(found["curve"]) == len(known["curve"]) >= 1
    for ours, theirs in zip(found["curve"], known["curve"], strict=True):
        assert ours.keys() == theirs.keys()
        for name, value in theirs.items():
            assert ours[name] == pytest.approx(value, rel=0, abs=1e-10), name


@pytest.mark.parametrize("method", METHODS)
def test_every_seed_has_its_own_row(method: str) -> None:
    """Measured in the same rounds; starts that are drawn again are drawn by each seed alone."""
    wanted = units(method)
    with pretended_device():
        found = compute_together([on_the_device(unit) for unit in wanted])
    for unit, own in zip(wanted, found, strict=True):
        agree(own, compute(unit))
    assert len({str(one) for one in found}) == 3


@pytest.mark.parametrize(
    "changed",
    [
        {"task": {**DIGITS["task"], **BATCHES}},
        {
            "task": {**DIGITS["task"], **BATCHES},
            "network": CONVOLUTIONS,
        },
        {"test_assignment": "train"},
    ],
    ids=["mini-batches", "convolutions", "served by training data"],
)
def test_so_it_has_with_other_settings(changed: dict[str, Any]) -> None:
    wanted = units("CFL-MGD", rounds=3, **changed)
    with pretended_device():
        found = compute_together([on_the_device(unit) for unit in wanted])
    for unit, own in zip(wanted, found, strict=True):
        agree(own, compute(unit))


@pytest.mark.parametrize(("step_size", "seeds", "survive"), [(100.0, (1, 0, 2), {0}), (60.0, (0, 1), set())])
def test_a_seed_that_diverges_ends_alone(step_size: float, seeds: tuple[int, ...], survive: set[int]) -> None:
    """In its own round and with the words that its own run has; the others have the rows that they have alone."""
    changed = {
        "algorithm": {**METHODS["FedBCD"], "step_size": step_size, "local_steps": 3},
        "rounds": 5 if not survive else 4,
    }
    wanted = units("FedBCD", seeds, **changed)
    with np.errstate(all="ignore"), pretended_device():
        found = compute_together([on_the_device(unit) for unit in wanted])
    lines = set()
    for unit, own in zip(wanted, found, strict=True):
        if unit.seed in survive:
            with np.errstate(all="ignore"):
                agree(own, compute(unit))
            continue
        with np.errstate(all="ignore"), pytest.raises(InvalidArgument) as caught:
            compute(unit)
        assert isinstance(own, InvalidArgument)
        assert str(own) == str(caught.value)
        lines.add(str(own))
    assert len(lines) == 2


def test_a_seed_that_cannot_begin_or_be_measured_ends_alone(plant: Any) -> None:
    wanted = units("IFCA")
    with pretended_device():
        task = image_replicates({**wanted[0].settings, "device": "cuda"}, [0, 1, 4])
        assert task is not None

        def measure(look: Snapshot) -> Mapping[str, Any]:
            if look.seed == 1 and look.round == 4:
                raise ValueError("no measure")
            return served_by_test_loss(look)

        algorithm = make_algorithm(METHODS["IFCA"])
        curves = train_together(algorithm, task, rounds=5, seeds=[0, 1, 4], measure=measure, every=2)
        assert [type(curve) for curve in curves] == [list, ValueError, list]
        plant(starts, "MOST_DRAWS", 2)
        impossible = make_algorithm({**METHODS["IFCA"], "clusters": 3, "least_share": 1 / 3})
        started = train_together(impossible, task, rounds=1, seeds=[0, 1, 4], measure=measure)
    assert all(isinstance(one, InvalidArgument) and "least_share" in str(one) for one in started)
    for place in (0, 2):
        expected = compute(Unit("IFCA", (0, 1, 4)[place], {**wanted[place].settings, "decay": 1.0}))
        assert curves[place] == [pytest.approx(record) for record in expected["curve"]]


def test_what_is_looked_at_is_the_seeds_own() -> None:
    """State, step size and last known clusters, also after another seed has ended."""
    seeds, settings = (4, 0, 1), {**DIGITS, "device": "cuda"}
    seen: dict[tuple[int, int], Snapshot] = {}

    def measure(look: Snapshot) -> Mapping[str, Any]:
        seen[look.seed, look.round] = look
        if look.seed == 4:
            raise ValueError("no measure")
        return {}

    algorithm = make_algorithm(METHODS["CFL-MGD"])
    with pretended_device():
        task = image_replicates(settings, seeds)
        assert task is not None
        train_together(algorithm, task, rounds=4, seeds=seeds, measure=measure, every=2, decay=0.9)
        for seed in (0, 1):
            own = image_task(DIGITS, seed)
            for look in snapshots(algorithm, own, rounds=4, seed=seed, every=2, decay=0.9):
                found = seen.pop((seed, look.round))
                assert found.algorithm == look.algorithm
                assert np.array_equal(found.assignments, look.assignments)
                assert np.array_equal(to_numpy(found.state.clients), look.state.clients)
                for name in ("models", "buffers"):
                    ours = to_numpy(getattr(found.state, name))
                    np.testing.assert_allclose(ours, getattr(look.state, name), rtol=0, atol=1e-12)
                assert np.array_equal(found.task.labels, own.labels)
    assert list(seen) == [(4, 2)]


def test_a_fault_of_nobody_alone_is_told(plant: Any) -> None:
    """What goes wrong with all seeds together alone is no seed's end: the error is as it came."""

    def fails(algorithm: Any, batch: Any) -> Any:
        if len(batch.places) > 1:
            raise MemoryError("of all")
        return batch

    plant(training_together, "one_round", fails)
    wanted = [on_the_device(unit) for unit in units("FedAvg")]
    with pretended_device(), pytest.raises(MemoryError, match="of all"):
        compute_together(wanted)


def test_a_cpu_trains_one_seed_after_the_other() -> None:
    """As a GPU does where seeds cannot go together; what ends one is its own."""
    wanted = units("FedAvg", rounds=1)
    assert image_replicates(wanted[0].settings, [0, 1]) is None
    assert compute_together(wanted) == [compute(unit) for unit in wanted]
    bad = {**METHODS["FedBCD"], "step_size": 1e100}
    with np.errstate(all="ignore"):
        found = compute_together(units("FedBCD", (0, 1), algorithm=bad))
    assert all(isinstance(one, InvalidArgument) for one in found)
    with pretended_device():
        assert image_replicates({**DIGITS, "device": "cuda"}, [0]) is None


def test_rounds_of_more_seeds_launch_no_more() -> None:
    """From one measurement to the next; the host waits for who took part, not for each seed."""
    found = []
    for seeds in ((0, 1), (0, 1, 4)):
        with pretended_device():
            task = image_replicates({**DIGITS, "device": "cuda"}, seeds)
            assert task is not None

            def measure(look: Snapshot) -> Mapping[str, Any]:
                seen = Counter(COUNTS.launches), COUNTS.synchronisations.total()
                COUNTS.clear()
                return {"seen": seen} if look.seed == 0 else {}

            algorithm = make_algorithm(METHODS["CFL-MGD"])
            first = train_together(algorithm, task, rounds=6, seeds=seeds, measure=measure, every=2)[0]
        assert isinstance(first, list)
        found.append(first[-1]["seen"])
    assert found[0] == found[1]


# ------------------------------------------------------------------ which go together


def test_units_that_differ_in_their_seeds_go_together(plant: Any) -> None:
    plant(devices, "gpus", lambda: 1)
    seeds = range(SEEDS_TOGETHER + 2)
    there = [on_the_device(unit) for unit in units("IFCA", seeds)]
    other = [on_the_device(unit) for unit in units("IFCA", (0, 1), rounds=9)]
    here = units("FedAvg", (0, 1))
    mixed = [there[0], here[0], *other, *there[1:], here[1]]
    found = seeds_together(mixed, 1)
    assert [len(batch) for batch in found] == [SEEDS_TOGETHER, 1, 2, 2, 1]
    assert Counter(unit.name for batch in found for unit in batch) == Counter(unit.name for unit in mixed)
    assert found[0] == tuple(there[:SEEDS_TOGETHER])
    assert found[2] == tuple(other)
    # so many GPUs that each has a batch
    assert [len(batch) for batch in seeds_together(there, 3)] == [4, 4, 4]


def test_a_worker_answers_for_each_seed() -> None:
    source = Work("", ("clusterproof.algorithms",)).source
    three = units("FedAvg")
    alone, place = "clusterproof.tables.cfl_mgd.table_2_runs:compute", "seed_batches:several"
    found = compute_batch(alone, place, three, source)
    assert found[0] == "ValueError: no luck"
    outcomes = [one for one in found if isinstance(one, Outcome)]
    assert [one.result for one in outcomes] == [{"together": 3}] * 2
    assert outcomes[0].seconds == outcomes[1].seconds
    known = compute_unit(alone, three[0], source)
    (single,) = compute_batch(alone, place, three[:1], source)
    assert isinstance(single, Outcome)
    assert isinstance(known, Outcome)
    assert single.result == known.result
    assert (
        compute_batch(alone, "seed_batches:nothing", three, source)
        == ["AttributeError: module 'seed_batches' has no attribute 'nothing'"] * 3
    )
    assert "another source" in str(compute_batch(alone, place, three, (source[0], "0"))[2])


def test_processes_take_seeds_together(plant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where they have GPUs, and each seed by itself elsewhere."""
    monkeypatch.setenv("PYTHONPATH", str(Path(seed_batches.__file__).parent))
    plant(devices, "gpus", lambda: 1)
    three = [on_the_device(unit) for unit in units("FedAvg")]
    work = Work("seed_batches:single", ("clusterproof.algorithms",), "seed_batches:several")
    answers = list(LocalProcesses(1, 1).compute(work, three))
    assert [unit.seed for unit, _ in answers] == [0, 1, 4]
    assert answers[0][1] == "ValueError: no luck"
    assert [one.result for _, one in answers[1:] if isinstance(one, Outcome)] == [{"together": 3}] * 2
    apart = [one for _, one in LocalProcesses(1, 0).compute(work, three)]
    assert [one.result for one in apart if isinstance(one, Outcome)] == [{"together": 1}] * 3


def test_the_tables_say_how_seeds_go_together() -> None:
    from clusterproof.tables.cfl_mgd.table_2 import TABLE_CIFAR, TABLE_MNIST

    for table in (TABLE_MNIST, TABLE_CIFAR):
        assert table.compute_together is table_2_runs.compute_together
