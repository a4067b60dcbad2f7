"""What an option can hold comes back from the file that a run leaves, and the rest is refused before the run."""

import datetime
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from command_line import refused
from example_counts import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from small_training import SMALL

from clusterproof.algorithms import InvalidArgument
from clusterproof.neural.runs.configuration import configuration_from, read_toml, to_toml
from clusterproof.neural.runs.storage.run_folder import stored_configuration
from clusterproof.neural.runs.training import train
from clusterproof.neural.runs.values import line_of, plain

CODE = """
from dataclasses import dataclass, field
import torch
from clusterproof.algorithms import FedAvg

class Net(torch.nn.Module):
    def __init__(self, classes, shape=None, parts=None):
        super().__init__()
        self.layer = torch.nn.Linear(784, classes)
    def forward(self, images):
        return self.layer(images.flatten(1))

@dataclass(frozen=True, kw_only=True)
class Own(FedAvg):
    name = "own"
    rates: tuple[float, ...] = (1.0, 0.5)
    sub: dict = field(default_factory=dict)
    anything: object = "text"
    made: float = field(init=False, default=2.0)

@dataclass(frozen=True, kw_only=True)
class Unbounded(Own):
    farthest: float = float("inf")
"""
TEXT = """
[network]
name = "own.py:Net"
shape = {k = 1, "a b" = [{"" = "\\"\\u007f\\n"}], 'ü.x' = {}}

[[network.parts]]
width = 2

[algorithm]
name = "own.py:Own"
rates = [1, 2]

[algorithm.sub]
on = true
"""

PLAIN = st.recursive(
    st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
)


NAMES = {"network": "own.py:Net", "algorithm": "own.py:Own"}
OPTIONS = ["--network", "own.py:Net", "--algorithm", "own.py:Own"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(CODE.replace("784", "64"), encoding="utf-8")
    return tmp_path


@settings(max_examples=examples(40))
@given(key=st.text(st.characters(exclude_categories=["Cs"])), value=PLAIN)
def test_what_is_written_is_read(key: str, value: Any) -> None:
    read = tomllib.loads(tomlkit.dumps({key: plain("any", value)}))
    assert read == {key: value}
    # 1 is not 1.0, nor true; tables come after values
    assert json.dumps(read, sort_keys=True) == json.dumps({key: value}, sort_keys=True)


@pytest.mark.parametrize(
    "value", [float("nan"), float("-inf"), datetime.date(2020, 1, 1), None, {1: 2}, {1}, object(), b"x"]
)
def test_what_has_no_place_in_both_formats_is_refused(value: Any) -> None:
    for held in (value, [value], {"k": [{"j": value}]}):
        with pytest.raises(InvalidArgument, match="lists and tables") as refusal:
            plain("algorithm.x", held)
        assert refusal.value.argument == "algorithm.x"
        assert refusal.value.value is held


def test_a_run_with_tables_goes_on_to_the_same_bits(place: Path) -> None:
    (place / "run.toml").write_text(TEXT + "[training]\nrounds = 2\nthreads = 1\n", encoding="utf-8")
    begun = read_toml("run.toml", code=NAMES)
    parts = [{"width": 2}]
    assert begun.network.options == {"shape": {"k": 1, "a b": [{"": '"\x7f\n'}], "ü.x": {}}, "parts": parts}
    train(begun, out="whole")
    train(begun, out="parts", stop=lambda: True)
    again = stored_configuration("parts", code=NAMES)
    assert again == begun
    assert train(again, out="parts", resume=True).remarks == ()
    last = Path("checkpoints") / "checkpoint-000002.safetensors"
    assert (place / "whole" / last).read_bytes() == (place / "parts" / last).read_bytes()


def test_a_value_that_cannot_be_stored_is_refused_with_its_line(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for old, new, line in (
        ("rates = [1, 2]", "anything = nan", 11),
        ("rates = [1, 2]", "rates = [1, inf]", 11),
        ("rates = [1, 2]", "anything = 2020-01-01", 11),
        ("rates = [1, 2]", "anything.a = nan", 11),
        ("on = true", "on = [12:00:00]", 13),
        ("width = 2", "width = nan", 6),
    ):
        (place / "run.toml").write_text(TEXT.replace(old, new), encoding="utf-8")
        message = refused(capsys, "train", "--config", "run.toml", *OPTIONS, "--out", "run")
        assert f"run.toml, line {line}, [" in message
        assert "must be made of texts, finite numbers, truth values, lists and tables" in message
        assert not (place / "run").exists()


def test_a_default_that_cannot_be_stored_is_refused_too(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InvalidArgument, match=r"algorithm\.farthest = inf"):
        configuration_from({"algorithm": {"name": "own.py:Unbounded"}})
    message = refused(capsys, "train", *SMALL, "--algorithm", "own.py:Unbounded", "--out", "run")
    assert "algorithm.farthest = inf: must be made of texts, finite numbers" in message


def test_what_no_one_is_asked_for_is_not_written(place: Path) -> None:
    found = configuration_from({"algorithm": {"name": "own.py:Own"}})
    written = tomllib.loads(to_toml(found))["algorithm"]
    assert "made" not in written
    assert written["rates"] == [1.0, 0.5]
    assert configuration_from(found.sections) == found


def test_a_line_is_that_of_the_key_in_its_section() -> None:
    text = "[network]\nwidth = 1\n[[network.width]]\nrate = 2\n[algorithm]\nrate = 3\nsub.rate = 4\n"
    assert line_of(text, "algorithm", "rate") == 6
    assert line_of(text, "algorithm", "sub") == 7
    assert line_of(text, "network", "width") == 2
    assert line_of(text, "network", "none") == 1
