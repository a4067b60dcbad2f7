"""A state comes back from its file to the bit, whatever the algorithm; a harmed file is noticed."""

import json
import os
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import array_api_compat.torch as torch
import numpy as np
import pytest
from example_counts import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from option_combinations import make_some

from clusterproof.algorithms import ALGORITHMS, Algorithm, InvalidArgument, Randomness, State
from clusterproof.neural.runs.storage.checkpoint import Checkpoint, find_checkpoint, save_checkpoint
from clusterproof.neural.runs.storage.state_tree import (
    all_finite,
    lay_out_alike,
    map_arrays,
    put_together,
    take_apart,
)
from clusterproof.synthetic import OnArrays, RegressionMixture

TASK = RegressionMixture.random(clusters=3, clients=9, dimension=4, noise=0.5, samples=6, seed=1)
TASKS = {"numpy": TASK, "torch": OnArrays(TASK, torch)}
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "cfl-mgd": [
        {"momentum": 0.7},
        {"momentum": 0.7, "momentum_owner": "client", "update_order": "as-printed"},
        {"momentum": 0.7, "averaging": "model", "local_steps": 2},
    ],
    "cfl": [{"warm_up": 1, "mean_threshold": 0.5, "client_threshold": 0.6}],
    "sofl": [{"pretraining": 1, "updates": 20}],
    "fpfc": [{"local_steps": 1, "strength": 5.0, "reuse_memory": reuse} for reuse in (False, True)],
    "per-fedavg": [{"gradient": "second-order"}],
}
EVERY = [(name, options) for name in ALGORITHMS for options in OPTIONS.get(name, [{}])]


def same(one: Any, other: Any) -> bool:
    """Equal classes, libraries, types, shapes and bytes, all the way down."""
    if type(one) is not type(other):
        return False
    if is_dataclass(one):
        return all(same(getattr(one, field.name), getattr(other, field.name)) for field in fields(one))
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, torch.Tensor):
        return one.device == other.device and same(one.numpy(), other.numpy())
    if isinstance(one, np.ndarray | np.generic):
        return (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
    return bool(one == other)


def after_rounds(algorithm: Algorithm[Any], task: Any, rounds: int, seed: int = 0) -> Checkpoint:
    randomness = Randomness.from_seed(seed)
    models = task.initial_models(algorithm.model_count(task), (), randomness.initialisation)
    state = algorithm.initialise(models, task)
    for _ in range(rounds):
        state = algorithm.step(state, task, randomness)
    return Checkpoint(
        rounds=rounds,
        state=state,
        last_assignments=np.arange(TASK.clients) - 1,
        randomness=randomness,
        metrics={"round": list(range(rounds)), "accuracy": [None, *[1 / 3] * (rounds - 1)][:rounds]},
        settings={"seed": seed, "algorithm": algorithm.settings},
    )


def load(folder: Path, algorithm: Algorithm[Any]) -> Checkpoint:
    stored = find_checkpoint(folder)
    assert stored is not None
    return stored.restore(algorithm)


@pytest.mark.parametrize(("library", "participation"), [("numpy", 0.5), ("torch", 1.0)])
@pytest.mark.parametrize(("name", "options"), EVERY, ids=lambda value: str(value))
def test_a_run_goes_on_from_its_file_as_if_nothing_had_happened(
    tmp_path: Path, name: str, options: dict[str, Any], participation: float, library: str
) -> None:
    algorithm = make_some(ALGORITHMS[name], step_size=0.2, participation=participation, **options)
    task = TASKS[library]
    for rounds in (0, 1, 4):
        kept = after_rounds(algorithm, task, rounds)
        save_checkpoint(tmp_path, kept)
        read = load(tmp_path, algorithm)
        assert all(
            same(getattr(kept, name), getattr(read, name))
            for name in ("rounds", "state", "last_assignments", "metrics", "settings")
        )
        onward = [algorithm.step(one.state, task, one.randomness) for one in (kept, read)]
        assert same(*onward)


@dataclass(frozen=True)
class Inner:
    pages: list[Any]
    count: int
    flag: bool


@dataclass(frozen=True)
class Anything(State):
    inner: Inner
    word: str | None


@st.composite
def arrays(draw: st.DrawFn) -> Any:
    shape = tuple(draw(st.lists(st.integers(0, 3), max_size=3)))
    kind = draw(st.sampled_from([np.float64, np.float32, np.int64, np.int32, np.int16, np.bool_]))
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    content = draw(st.binary(min_size=size, max_size=size))
    array = np.frombuffer(content, np.uint8).copy()
    array = (array & 1 if kind is np.bool_ else array).view(kind).reshape(shape)
    turned = np.asfortranarray(array) if draw(st.booleans()) else array
    if not shape and draw(st.booleans()):
        return array[()]
    return torch.asarray(turned.copy(order="K")) if draw(st.booleans()) else turned


@settings(max_examples=examples(20))
@given(
    parts=st.lists(arrays(), min_size=5, max_size=8),
    count=st.integers(-(2**60), 2**60),
    word=st.none() | st.text(),
)
def test_any_arrays_in_any_layout_come_back_to_the_bit(
    tmp_path_factory: pytest.TempPathFactory, parts: list[Any], count: int, word: str | None
) -> None:
    state = Anything(parts[0], parts[1], None, Inner(parts[2:], count, count > 0), word)
    plain, numbers = take_apart(state)
    again = put_together(json.loads(json.dumps(plain)), numbers, Anything)
    assert same(again, state)
    assert same(map_arrays(lay_out_alike, state), state)


def test_what_is_no_part_of_a_state_is_a_defect() -> None:
    with pytest.raises(TypeError, match="cannot hold a set"):
        take_apart(Anything(np.ones(1), None, None, Inner([{1}], 0, True), None))  # type: ignore[list-item]


def test_only_the_algorithms_own_records_are_made(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, after_rounds(ALGORITHMS["fpfc"](step_size=0.1), TASK, 1))
    stored = find_checkpoint(tmp_path)
    assert stored is not None
    with pytest.raises(InvalidArgument, match="must hold a state of ifca") as caught:
        stored.restore(ALGORITHMS["ifca"](step_size=0.1))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_number_that_is_not_finite_is_found_wherever_it_is(value: float) -> None:
    state = after_rounds(ALGORITHMS["fpfc"](step_size=0.1, strength=5.0), TASK, 3).state
    assert all_finite(state)
    pairs = state.pairs  # type: ignore[attr-defined]
    harmed = pairs.delta.copy()
    harmed[-1, -1] = value
    assert not all_finite(replace(state, pairs=replace(pairs, delta=harmed)))  # type: ignore[call-arg]  # FPFC's
    models = torch.asarray(state.models.copy())
    models[1, 2] = value
    assert not all_finite(State(models, None, None))


def test_the_newest_alone_is_kept(tmp_path: Path) -> None:
    algorithm = ALGORITHMS["ifca"](step_size=0.1)
    for rounds in (0, 3, 999_999, 1_000_000, 12, 5):
        save_checkpoint(tmp_path, replace(after_rounds(algorithm, TASK, 1), rounds=rounds))
        assert load(tmp_path, algorithm).rounds == rounds
        assert {path.stem for path in tmp_path.iterdir()} == {f"checkpoint-{rounds:06d}"}
        (tmp_path / ".clusterproof-0000.partial").write_text("half of something")


MOMENTUM = ALGORITHMS["cfl-mgd"](step_size=0.1, momentum=0.5)
KEPT = after_rounds(MOMENTUM, TASK, 4)


@pytest.mark.parametrize("name", ["checkpoint-000004.json", "checkpoint-000004.safetensors"])
@pytest.mark.parametrize("harm", ["flip", "truncate", "empty", "remove", "folder", "pipe", "device"])
def test_a_harmed_checkpoint_is_refused(tmp_path: Path, name: str, harm: str) -> None:
    save_checkpoint(tmp_path, KEPT)
    path = tmp_path / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.unlink()
    if harm == "folder":
        path.mkdir()
    elif harm == "pipe":
        getattr(os, "mkfifo", Path.mkdir)(path)  # nobody writes into it: to read it would wait for ever
    elif harm == "device":
        path.symlink_to("/dev/zero")  # which never ends
    elif harm != "remove":
        path.write_bytes({"flip": bytes(content), "truncate": bytes(content[:-7]), "empty": b""}[harm])
    if harm == "remove" and name.endswith("json"):  # as if it had not been finished
        assert find_checkpoint(tmp_path) is None
        return
    reason = {"folder": "Is a directory", "pipe": "not a regular file", "device": "not a regular file"}
    with pytest.raises(InvalidArgument, match=reason.get(harm, "must")) as caught:
        find_checkpoint(tmp_path)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_where_there_is_none_none_is_found(tmp_path: Path) -> None:
    assert find_checkpoint(tmp_path) is None
    assert find_checkpoint(tmp_path / "nowhere") is None


@settings(max_examples=examples(50))
@given(data=st.data())
def test_no_byte_can_change_unnoticed(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("checkpoint")
    save_checkpoint(folder, KEPT)
    path = folder / f"checkpoint-000004.{data.draw(st.sampled_from(['json', 'safetensors']))}"
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    with suppress(InvalidArgument):
        assert same(load(folder, MOMENTUM).state, KEPT.state)


@pytest.mark.parametrize("content", [b"{}", b"[1, 2", b"null", b"\xff\xfe", b"[" * 100_000, b'{"a": 1e999}'])
def test_something_else_in_place_of_the_record_is_refused(tmp_path: Path, content: bytes) -> None:
    save_checkpoint(tmp_path, KEPT)
    (tmp_path / "checkpoint-000004.json").write_bytes(content)
    with pytest.raises(InvalidArgument, match=r"checkpoint-000004\.json.*must be the record of a checkpoint"):
        find_checkpoint(tmp_path)


@pytest.mark.parametrize("failing", ["tensors", "record"])
def test_a_full_disk_keeps_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    save_checkpoint(tmp_path, KEPT)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    left = {"tensors": 0, "record": 2}[failing]
    whole = os.fsync

    def full_disk(descriptor: int) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(28, "No space left on device")
        whole(descriptor)

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(InvalidArgument, match="No space left on device"):
        save_checkpoint(tmp_path, after_rounds(MOMENTUM, TASK, 6))
    assert not list(tmp_path.glob("*.partial"))
    assert before.items() <= {path.name: path.read_bytes() for path in tmp_path.iterdir()}.items()
    assert load(tmp_path, MOMENTUM).rounds == 4


def test_an_unwritable_place_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    with pytest.raises(InvalidArgument, match=r"out = .*Not a directory") as caught:
        save_checkpoint(tmp_path / "file" / "below", after_rounds(ALGORITHMS["ifca"](step_size=0.1), TASK, 0))
    assert "\n" not in str(caught.value)


def test_a_record_under_another_ones_name_is_refused(tmp_path: Path) -> None:
    """Its sums are right."""
    save_checkpoint(tmp_path, KEPT)
    (record,) = tmp_path.glob("*.json")
    record.rename(tmp_path / "checkpoint-000005.json")
    with pytest.raises(InvalidArgument, match="it was renamed"):
        find_checkpoint(tmp_path)
