"""A stored run comes back bitwise, and anything else is refused with a reason."""

import hashlib
import json
import os
import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import polars
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from clusterproof.algorithms import CFLMGD
from clusterproof.common import InvalidArgument
from clusterproof.running import Trace, run
from clusterproof.running.storage import SIDECAR, TABLES, check_destination, load_trace, save_trace
from clusterproof.synthetic import RegressionMixture, from_settings

SPECIAL = [np.nan, np.inf, -np.inf, -0.0, 5e-324, 1.7976931348623157e308, 0.1]


def identical(one: Trace, other: Trace) -> bool:
    """Equal bytes, shapes and types of every array, and equal settings."""
    for field in fields(Trace):
        left, right = getattr(one, field.name), getattr(other, field.name)
        if isinstance(left, np.ndarray):
            same = (left.dtype, left.shape, left.tobytes()) == (right.dtype, right.shape, right.tobytes())
        else:
            same = left == right
        if not same:
            return False
    return True


def make_trace(*, replicates: int | None = 3, rounds: int = 4) -> Trace:
    task = RegressionMixture.random(clusters=2, clients=6, dimension=3, samples=5, seed=1)
    algorithm = CFLMGD(step_size=0.1, momentum=0.3, participation=0.5)
    return run(algorithm, task, rounds=rounds, seed=2, replicates=replicates)


@pytest.mark.parametrize("replicates", [None, 1, 3])
@pytest.mark.parametrize("rounds", [0, 4])
def test_a_run_comes_back_to_the_bit(tmp_path: Path, replicates: int | None, rounds: int) -> None:
    trace = make_trace(replicates=replicates, rounds=rounds)
    save_trace(trace, tmp_path / "new" / "run")
    assert identical(load_trace(tmp_path / "new" / "run"), trace)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["run"]


@settings(max_examples=examples(40))
@given(
    numbers=st.lists(st.floats() | st.sampled_from(SPECIAL), min_size=12, max_size=12),
    bits=st.integers(0, 2**64 - 1),
    wide=st.booleans(),
    known=st.booleans(),
)
def test_any_numbers_come_back_to_the_bit(
    tmp_path_factory: pytest.TempPathFactory, numbers: list[float], bits: int, wide: bool, known: bool
) -> None:
    models = np.array(numbers).reshape(3, 2, 2)
    models.view(np.uint64)[0, 0, 0] = bits  # any payload of a NaN too
    trace = Trace(
        models=models if wide else np.random.default_rng(bits).normal(size=(3, 2, 2)).astype(np.float32),
        assignments=np.array([[0, 1, -1], [1, 1, 0]], dtype=np.int32 if wide else np.int16),
        errors=models[..., 0] if known else None,
        labels=np.array([0, 1, 1]),
        settings={"seed": 3, "task": {"task": "none", "optima": [[0.1, 1e-300]]}, "replicates": None},
    )
    folder = tmp_path_factory.mktemp("bits") / "run"
    save_trace(trace, folder)
    assert identical(load_trace(folder), trace)


def test_the_tables_say_what_the_trace_says(tmp_path: Path) -> None:
    trace = make_trace()
    save_trace(trace, tmp_path / "run")
    table = polars.read_parquet(tmp_path / "run" / "models.parquet")
    assert table.columns == ["round", "replicate", "cluster", "error", "model"]
    assert table.height == 5 * 3 * 2
    row = table.filter(round=3, replicate=2, cluster=1).row(0, named=True)
    assert row["error"] == trace.errors[3, 2, 1]
    assert list(row["model"]) == trace.models[3, 2, 1].tolist()
    record = json.loads((tmp_path / "run" / SIDECAR).read_text())
    assert {"python", "numpy", "clusterproof", "platform"} <= set(record["versions"])
    table = polars.read_parquet(tmp_path / "run" / "assignments.parquet")
    assert list(table.filter(round=2, replicate=1)["clusters"][0]) == trace.assignments[2, 1].tolist()


def test_equal_runs_have_equal_files(tmp_path: Path) -> None:
    for name in ("one", "two"):
        save_trace(make_trace(), tmp_path / name)
    for name in (SIDECAR, *TABLES):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("harm", ["flip", "truncate", "empty", "remove", "folder"])
def test_a_harmed_table_is_refused_with_both_sums(tmp_path: Path, name: str, harm: str) -> None:
    save_trace(make_trace(), tmp_path / "run")
    path = tmp_path / "run" / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.unlink()
    if harm == "folder":
        path.mkdir()
    elif harm != "remove":
        path.write_bytes({"flip": bytes(content), "truncate": bytes(content[:-7]), "empty": b""}[harm])
    with pytest.raises(InvalidArgument) as caught:
        load_trace(tmp_path / "run")
    assert str(path) in str(caught.value)
    assert "repeat the run" in caught.value.remedy
    if harm in ("flip", "truncate", "empty"):
        assert len(set(re.findall(r"\b[0-9a-f]{64}\b", str(caught.value)))) == 2


@settings(max_examples=examples(40))
@given(data=st.data())
def test_no_byte_of_the_sidecar_can_change_unnoticed(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("sidecar") / "run"
    trace = make_trace()
    save_trace(trace, folder)
    content = bytearray((folder / SIDECAR).read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] = data.draw(st.integers(0, 255))
    (folder / SIDECAR).write_bytes(content)
    message = ""
    try:
        unchanged = identical(load_trace(folder), trace)  # white space, or the byte that was there
    except InvalidArgument as error:
        unchanged, message = False, str(error)
    assert unchanged or (str(folder) in message and "\n" not in message)


@pytest.mark.parametrize("name", ["settings", "labels", "versions"])
def test_a_changed_value_of_the_sidecar_is_refused_with_both_sums(tmp_path: Path, name: str) -> None:
    save_trace(make_trace(), tmp_path)
    record = json.loads((tmp_path / SIDECAR).read_text())
    record[name] = record[name][::-1] if name == "labels" else {**record[name], "numpy": "0.1"}
    (tmp_path / SIDECAR).write_text(json.dumps(record))
    with pytest.raises(
        InvalidArgument, match=rf"must have the SHA-256 {record['sha256']}, but has [0-9a-f]{{64}}"
    ):
        load_trace(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{}", b"[1, 2", b"null", b"\xff\xfe", b"[" * 100_000])
def test_something_else_in_place_of_the_sidecar_is_refused(tmp_path: Path, content: bytes) -> None:
    save_trace(make_trace(), tmp_path / "run")
    (tmp_path / "run" / SIDECAR).write_bytes(content)
    with pytest.raises(InvalidArgument, match=r"run\.json"):
        load_trace(tmp_path / "run")


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match=r"run\.json.*No such file"):
        load_trace(tmp_path)


def test_tables_of_another_shape_are_refused(tmp_path: Path) -> None:
    save_trace(make_trace(rounds=4), tmp_path / "four")
    save_trace(make_trace(rounds=3), tmp_path / "three")
    record = json.loads((tmp_path / "four" / SIDECAR).read_text())
    record["shapes"] = json.loads((tmp_path / "three" / SIDECAR).read_text())["shapes"]
    del record["sha256"]
    record["sha256"] = hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
    (tmp_path / "four" / SIDECAR).write_text(json.dumps(record))
    with pytest.raises(InvalidArgument, match="describes other tables"):
        load_trace(tmp_path / "four")


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("precious")
    (tmp_path / "file").write_text("precious")
    for place in ("full", "file", "file/below", "full/thesis.tex/far/below"):
        for refuse in (check_destination, lambda folder: save_trace(make_trace(), folder)):
            with pytest.raises(InvalidArgument, match="out is "):
                refuse(tmp_path / place)
    assert (tmp_path / "full" / "thesis.tex").read_text() == (tmp_path / "file").read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "full"]


@pytest.mark.parametrize("place", ["", ".", "/", "/proc/run", "a\0b", "x" * 300])
def test_impossible_places_are_refused_beforehand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidArgument, match="out is "):
        check_destination(place)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(InvalidArgument, match="out is "):
        check_destination("loop")


def test_an_empty_folder_or_a_link_to_one_is_filled(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("empty")
    trace = make_trace()
    save_trace(trace, tmp_path / "link")
    assert identical(load_trace(tmp_path / "empty"), trace)


def test_a_failing_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(json, "dump", full_disk)
    with pytest.raises(InvalidArgument, match="No space left"):
        save_trace(make_trace(), tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_a_run_is_whole_before_one_renaming_puts_it_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a process that is killed leaves no run, or a whole one."""
    trace, rename, seen = make_trace(), os.rename, []

    def watched(source: Path, target: Path) -> None:
        seen.append((target, [*target.parent.iterdir()], identical(load_trace(source), trace)))
        rename(source, target)

    monkeypatch.setattr(os, "rename", watched)
    save_trace(trace, tmp_path / "run")
    ((target, beside, whole),) = seen
    assert (target, len(beside), whole) == (tmp_path / "run", 1, True)
    assert beside[0].name.endswith(".partial")


def test_a_run_stored_by_the_version_before_is_read_as_it_was() -> None:
    """The folder was written by that version; polars reads the same numbers, and the run can be repeated."""
    folder = Path(__file__).parents[1] / "saved_files" / "trace"
    trace = load_trace(folder)
    table = polars.read_parquet(folder / "models.parquet").sort("round", "replicate", "cluster")
    models = np.array(table["model"].to_list()).reshape(5, 2, 2, 2)
    assert np.array_equal(trace.models, models)
    assert np.array_equal(trace.errors, np.array(table["error"]).reshape(5, 2, 2))
    chosen = polars.read_parquet(folder / "assignments.parquet").sort("round", "replicate")["clusters"]
    assert np.array_equal(trace.assignments, np.array(chosen.to_list()).reshape(4, 2, 6))
    record = json.loads((folder / SIDECAR).read_text())
    assert (trace.labels.tolist(), trace.settings) == (record["labels"], record["settings"])
    task = from_settings(trace.settings["task"])
    parameters = {name: value for name, value in trace.settings["algorithm"].items() if name != "algorithm"}
    again = run(CFLMGD(**parameters), task, rounds=4, seed=3, replicates=2)
    np.testing.assert_allclose(again.models, trace.models, rtol=1e-7, atol=1e-10 * np.abs(models).max())
    assert np.array_equal(again.assignments, trace.assignments)
