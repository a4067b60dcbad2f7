"""What a module is made with: it must be the same whenever it is made from the same seed, trained or not."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from command_line import refused
from torch import Tensor, nn

from clusterproof.algorithms import InvalidArgument
from clusterproof.neural.own.module_checks import Findings, probe
from clusterproof.neural.own.module_network import maker
from clusterproof.neural.runs.configuration import configuration_from
from clusterproof.neural.runs.training import train

SHAPE, CLASSES = (5,), 3
SAMPLES = torch.rand((4, *SHAPE), generator=torch.Generator().manual_seed(1))


def tried(make: Callable[[], nn.Module]) -> Findings:
    return probe("mine:Net", maker("mine:Net", make, SHAPE, CLASSES, {}), SAMPLES, CLASSES)


def elsewhere(*shape: int) -> Tensor:
    """Numbers that PyTorch's generator knows nothing of, other ones at each call."""
    return torch.from_numpy(np.random.default_rng().standard_normal(shape)).float()


class Features(nn.Module):
    """Cosines of a product with what is not trained, then a layer."""

    def __init__(self, hold: Callable[["Features"], None]) -> None:
        super().__init__()
        hold(self)
        self.layer = nn.Linear(4, CLASSES)

    def forward(self, samples: Tensor) -> Tensor:
        return self.layer(torch.cos(samples @ self.matrix()))

    def keep(self, value: Any) -> None:
        self.kept = value

    def matrix(self) -> Tensor:
        kept = self.kept
        return torch.as_tensor(kept[0] if isinstance(kept, list) else kept, dtype=torch.float32)


def holding(draw: Callable[..., Any], how: str) -> Callable[[Features], None]:
    """Give what stores a matrix in a module in one of several ways."""
    return {
        "a buffer": lambda m: m.register_buffer("kept", draw(5, 4)),
        "a buffer that is not stored": lambda m: m.register_buffer("kept", draw(5, 4), persistent=False),
        "a frozen parameter": lambda m: m.keep(nn.Parameter(draw(5, 4), requires_grad=False)),
        "a tensor": lambda m: m.keep(draw(5, 4)),
        "a list": lambda m: m.keep([draw(5, 4)]),
        "an array": lambda m: m.keep(draw(5, 4).numpy()),
        "integers": lambda m: m.register_buffer("kept", (9 * draw(5, 4)).long()),
    }[how]


WAYS = (
    "a buffer",
    "a buffer that is not stored",
    "a frozen parameter",
    "a tensor",
    "a list",
    "an array",
    "integers",
)


@pytest.mark.parametrize("how", WAYS)
def test_what_is_not_trained_must_start_alike_and_is_named(how: str) -> None:
    with pytest.raises(InvalidArgument, match="starts `kept` otherwise from the same seed") as refusal:
        tried(lambda: Features(holding(elsewhere, how)))
    assert (refusal.value.argument, refusal.value.value) == ("network.name", "mine:Net")
    assert "PyTorch's own generator" in refusal.value.remedy


@pytest.mark.parametrize("how", WAYS)
def test_what_pytorch_draws_starts_alike(how: str) -> None:
    assert tried(lambda: Features(holding(torch.randn, how))).one_thread == ""


def test_a_last_layer_of_zeros_hides_nothing() -> None:
    def make() -> nn.Module:
        module = Features(holding(elsewhere, "a tensor"))
        nn.init.zeros_(module.layer.weight)
        nn.init.zeros_(module.layer.bias)
        return module

    with pytest.raises(InvalidArgument, match="`kept`"):
        tried(make)


def test_a_small_difference_is_no_rounding_where_an_attribute_tells_it() -> None:
    def make() -> nn.Module:
        return Features(lambda m: m.keep(torch.ones(5, 4) + 1e-6 * elsewhere(5, 4)))

    with pytest.raises(InvalidArgument, match="`kept`"):
        tried(make)


class Closed(nn.Module):
    """A layer on what a function makes of the samples."""

    def __init__(self, change: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.layer = nn.Linear(5, CLASSES)
        self.change = change

    def forward(self, samples: Tensor) -> Tensor:
        return self.layer(self.change(samples))


def test_what_nobody_sees_is_told_by_the_scores() -> None:
    def make() -> nn.Module:
        matrix = elsewhere(5, 5)
        return Closed(lambda samples: samples @ matrix)

    with pytest.raises(InvalidArgument, match="starts otherwise from the same seed: made twice"):
        tried(make)


def test_what_the_scores_do_not_depend_on_may_differ() -> None:
    def make() -> nn.Module:
        module = nn.Linear(5, CLASSES)
        module.made_at = elsewhere(1)
        return module

    assert tried(make).copies


def test_another_number_of_parts_is_refused() -> None:
    counts = iter((1, 2))

    def make() -> nn.Module:
        return nn.Sequential(
            nn.Linear(5, CLASSES), *[nn.Linear(CLASSES, CLASSES) for _ in range(next(counts))]
        )

    with pytest.raises(InvalidArgument, match=r"starts `2\.weight` otherwise"):
        tried(make)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64])
def test_buffers_that_hold_no_number_are_the_same_buffers(dtype: torch.dtype) -> None:
    """As masks of attention do; they are no change of the buffer either."""

    class Masked(nn.Linear):
        def __init__(self) -> None:
            super().__init__(5, CLASSES)
            self.register_buffer("mask", torch.full((3,), torch.nan, dtype=dtype))

        def forward(self, samples: Tensor) -> Tensor:
            return super().forward(samples) * (1 + self.mask.isnan().sum())

    assert tried(Masked).one_thread == ""


def test_scores_that_are_not_finite_are_called_so() -> None:
    with pytest.raises(InvalidArgument, match="not finite"):
        tried(lambda: Closed(lambda samples: samples / 0))


def test_a_layer_without_sizes_is_refused_and_one_that_has_been_called_is_not() -> None:
    def called() -> nn.Module:
        module = nn.LazyLinear(CLASSES)
        module(torch.zeros(1, *SHAPE))
        return module

    for lazy in (lambda: nn.LazyLinear(CLASSES), lambda: nn.Sequential(nn.Flatten(), nn.LazyLinear(CLASSES))):
        with pytest.raises(InvalidArgument, match=r"weight`, which has no size") as refusal:
            tried(lazy)
        assert (refusal.value.argument, refusal.value.value) == ("network.name", "mine:Net")
        assert "call the module once in its constructor" in refusal.value.remedy
    assert tried(called).vectorises


FILE = """
import numpy as np
import torch

def data():
    random = np.random.default_rng(0)
    pairs = [(random.standard_normal((8, 5)), np.arange(8) % 3) for _ in range(4)]
    return {"train": pairs, "test": pairs, "clusters": [0, 1, 0, 1]}

class Net(torch.nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.register_buffer("kept", DRAW)
        self.layer = torch.nn.Linear(16, classes)

    def forward(self, samples):
        return self.layer(torch.cos(samples @ self.kept))
"""


def configuration(rounds: int) -> Any:
    return configuration_from(
        {
            "data": {"name": "mine.py:data"},
            "network": {"name": "mine.py:Net"},
            "algorithm": {"name": "fedavg", "step_size": 0.1},
            "training": {"rounds": rounds, "threads": 1},
        }
    )


def test_a_drawn_buffer_is_the_same_in_a_resumed_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(FILE.replace("DRAW", "torch.randn(5, 16)"), encoding="utf-8")
    whole = train(configuration(4), out=tmp_path / "whole").directory
    train(configuration(2), out=tmp_path / "cut")
    torch.manual_seed(99)
    resumed = train(configuration(4), out=tmp_path / "cut", resume=True)
    assert resumed.remarks == ()
    stored = [place / "checkpoints" / "checkpoint-000004.safetensors" for place in (whole, resumed.directory)]
    assert stored[0].read_bytes() == stored[1].read_bytes()


def test_the_command_line_refuses_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(
        FILE.replace("DRAW", "torch.from_numpy(np.random.randn(5, 16)).float()"), encoding="utf-8"
    )
    words = ("train", "--data", "mine.py:data", "--network", "mine.py:Net", "--algorithm", "fedavg")
    assert "`kept` otherwise" in refused(capsys, *words, "--rounds", "2", "--out", "run")
    assert not (tmp_path / "run").exists()
