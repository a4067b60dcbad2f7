"""Devices of a table's parts: what is asked for is part of them, and no two processes share a GPU."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from planting import planted

from clusterproof.algorithms import InvalidArgument
from clusterproof.tables.machine import devices
from clusterproof.tables.machine.devices import SEEDS_TOGETHER, placed, processes, seeds_together
from clusterproof.tables.machine.engines import LocalProcesses, Work, take_gpu, visible_gpus
from clusterproof.tables.machine.store import Outcome, Unit

NETWORK = Unit("a", 0, {"network": {"name": "mlp"}})
WANTS_ONE = Unit("b", 0, {"network": {"name": "cnn"}, "gpu": True})
OTHER = Unit("c", 0, {"steps": 3})


@pytest.fixture
def two_gpus() -> Iterator[None]:
    with planted(devices, "gpus", lambda: 2):
        yield


def test_what_is_computed_so_anyway_stays_as_it_is() -> None:
    units = [NETWORK, WANTS_ONE, OTHER]
    assert placed(units, None, None) == units
    assert placed([NETWORK, OTHER], "cpu", "highest") == [NETWORK, OTHER]
    assert placed([NETWORK], "auto", None) == [NETWORK], "no GPU is here"
    assert placed([WANTS_ONE], "cpu", None)[0].settings["device"] == "cpu"
    assert processes(units, None) == (None, 0)
    assert processes(units, 7) == (7, 0)


def test_a_gpu_is_asked_for_and_has_one_process(two_gpus: None) -> None:
    units = placed([NETWORK, OTHER], "cuda", "tf32")
    assert units[0].settings == {**NETWORK.settings, "device": "cuda", "precision": "tf32"}
    assert units[1] == OTHER
    assert placed([WANTS_ONE], None, "bf16")[0].settings["precision"] == "bf16"
    assert processes(units, None) == (2, 2)
    assert processes(units, 1) == (1, 2)
    assert processes([WANTS_ONE], None) == (2, 2), "by itself, too"
    assert processes([NETWORK, OTHER], None) == (None, 0)
    with pytest.raises(InvalidArgument, match=r"number of GPUs here \(2\)"):
        processes(units, 3)


@pytest.mark.parametrize(
    ("units", "device", "precision", "elsewhere", "words"),
    [
        ([OTHER], "cpu", None, False, "trains networks"),
        ([OTHER], None, "tf32", False, "trains networks"),
        ([NETWORK], "cuda", None, False, "is not there"),
        ([NETWORK], None, "tf32", False, "asks for a GPU"),
        ([NETWORK], "cpu", "bf16", True, "asks for a GPU"),
        ([NETWORK], "auto", None, True, "others compute"),
    ],
)
def test_what_cannot_be_is_refused(
    units: list[Unit], device: str | None, precision: str | None, elsewhere: bool, words: str
) -> None:
    with planted(devices, "gpus", lambda: 0), pytest.raises(InvalidArgument, match=words):
        placed(units, device, precision, elsewhere=elsewhere)


def test_other_machines_have_their_own_devices() -> None:
    found = placed([NETWORK], "cuda", "tf32", elsewhere=True)
    assert (found[0].settings["device"], found[0].settings["precision"]) == ("cuda", "tf32")


def test_each_process_takes_another_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert visible_gpus(2) == ("0", "1")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4, GPU-a/b,7")
    names = visible_gpus(2)
    assert names == ("4", "GPU-a/b")
    assert [take_gpu(str(tmp_path), names) for _ in range(2)] == ["4", "GPU-a/b"]
    with pytest.raises(RuntimeError, match="more processes"):
        take_gpu(str(tmp_path), names)


def seen(unit: Unit) -> dict[str, object]:
    """What a process knows of its GPU; it waits until the other has begun."""
    here = Path(unit.settings["folder"])
    (here / unit.method).touch()
    for _ in range(2000):
        if len(list(here.iterdir())) == 2:
            break
        __import__("time").sleep(0.005)
    return {"visible": os.environ.get("CUDA_VISIBLE_DEVICES"), "process": os.getpid()}


def test_processes_see_one_gpu_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    units = [Unit(name, 0, {"folder": str(tmp_path)}) for name in ("one", "two")]
    work = Work("test_devices:seen", ("clusterproof.algorithms",))
    answers = [answer for _, answer in LocalProcesses(2, 2).compute(work, units)]
    assert all(isinstance(answer, Outcome) for answer in answers), answers
    assert {answer.result["visible"] for answer in answers if isinstance(answer, Outcome)} == {"3", "5"}
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "3,5"


@pytest.fixture
def three_gpus() -> Iterator[None]:
    with planted(devices, "gpus", lambda: 3):
        yield


def on_gpus(count: int) -> list[Unit]:
    return [Unit("a", seed, {"network": {}, "device": "cuda"}) for seed in range(count)]


@pytest.mark.parametrize(
    ("asked", "expected"), [(None, (3, 3)), (1, (1, 3)), (2, (2, 3)), (3, (3, 3)), (4, None)]
)
def test_there_are_no_more_processes_than_gpus(
    three_gpus: None, asked: int | None, expected: tuple[int, int] | None
) -> None:
    if expected is None:
        with pytest.raises(InvalidArgument, match=r"number of GPUs here \(3\)"):
            processes(on_gpus(9), asked)
    else:
        assert processes(on_gpus(9), asked) == expected


@pytest.mark.parametrize(
    ("seeds", "sizes"), [(7, [3, 3, 1]), (3, [1, 1, 1]), (2, [1, 1]), (40, [SEEDS_TOGETHER] * 4)]
)
def test_no_gpu_is_left_without_seeds(three_gpus: None, seeds: int, sizes: list[int]) -> None:
    """Seven seeds on three GPUs: three, three and one; ten at most go together."""
    assert [len(batch) for batch in seeds_together(on_gpus(seeds), 3)] == sizes
