"""Devices of a table's parts: what is asked for is part of them, and there is one process per GPU."""

import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
from planting import planted

from clusterproof.algorithms import InvalidArgument
from clusterproof.experiments import devices
from clusterproof.experiments.devices import placed, trains_on_a_gpu, visible_gpus
from clusterproof.experiments.store import Unit

NETWORK = Unit("a", 0, {"network": {"name": "mlp"}})
WANTS_ONE = Unit("b", 0, {"network": {"name": "cnn"}, "gpu": True})
OTHER = Unit("c", 0, {"steps": 3})


def on(unit: Unit, **settings: str) -> Unit:
    return replace(unit, settings={**unit.settings, **settings})


@pytest.mark.parametrize(
    ("units", "number", "device", "expected", "uses_gpu"),
    [
        ([NETWORK, WANTS_ONE, OTHER], 0, None, [NETWORK, WANTS_ONE, OTHER], False),
        ([NETWORK, OTHER], 0, "cpu", [NETWORK, OTHER], False),
        ([NETWORK], 0, "auto", [NETWORK], False),
        ([WANTS_ONE], 0, "cpu", [on(WANTS_ONE, device="cpu")], False),
        ([NETWORK, OTHER], 2, "cuda", [on(NETWORK, device="cuda"), OTHER], True),
        ([NETWORK], 2, "auto", [on(NETWORK, device="cuda")], True),
        ([WANTS_ONE], 2, None, [WANTS_ONE], True),
        ([NETWORK, OTHER], 2, None, [NETWORK, OTHER], False),
    ],
)
def test_what_is_asked_for_becomes_part_of_a_unit_unless_it_is_so_anyway(
    units: list[Unit],
    number: int,
    device: str | None,
    expected: list[Unit],
    uses_gpu: bool,
) -> None:
    with planted(devices, "gpus", lambda: number):
        assert placed(units, device) == expected
        assert trains_on_a_gpu(expected) == uses_gpu


def test_other_machines_have_their_own_devices() -> None:
    (unit,) = placed([NETWORK], "cuda", elsewhere=True)
    assert unit == on(NETWORK, device="cuda")


@pytest.mark.parametrize(
    ("units", "device", "elsewhere", "words"),
    [
        ([OTHER], "cpu", False, "trains networks"),
        ([NETWORK], "cuda", False, "is not available"),
        ([NETWORK], "auto", True, "a cluster computes"),
    ],
)
def test_what_cannot_be_is_refused(
    units: list[Unit], device: str | None, elsewhere: bool, words: str
) -> None:
    with planted(devices, "gpus", lambda: 0), pytest.raises(InvalidArgument, match=words):
        placed(units, device, elsewhere=elsewhere)


def test_there_are_no_more_processes_than_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    with planted(devices, "gpus", lambda: 2):
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        assert visible_gpus(None) == visible_gpus(2) == ("0", "1")
        with pytest.raises(InvalidArgument, match=r"number of GPUs \(2\)"):
            visible_gpus(3)
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4, GPU-a/b,7")
        assert visible_gpus(1) == ("4", "GPU-a/b")


def test_without_torch_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert devices.gpus() == 0
    for available, count in ((False, 0), (True, 3)):
        cuda = SimpleNamespace(is_available=lambda own=available: own, device_count=lambda: 3)
        monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
        assert devices.gpus() == count
