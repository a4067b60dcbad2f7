"""The command ``train`` given anything: options, files and damaged runs lead to a run or to one line."""

import io
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_training import TINY

from clusterproof.commands.application import main
from clusterproof.neural.runs.configuration import configuration_from, to_toml
from clusterproof.neural.runs.options import SECTIONS, all_options
from clusterproof.neural.runs.storage.checkpoint import find_checkpoint
from clusterproof.neural.runs.storage.run_folder import stored_configuration
from clusterproof.neural.runs.training import train

VALUES = [
    "",
    "-1",
    "0",
    "1",
    "2",
    "3",
    "0.5",
    "1.5",
    "nan",
    "-inf",
    "1e400",
    "x",
    "3,2",
    "2,,",
    "a b",
    "ifca",
    "sofl",
]
NAMES = [name for section in ("partition", "network", "algorithm") for name in SECTIONS[section]]
WORDS = [
    *VALUES,
    *NAMES,
    "train",
    "test-loss",
    "epoch",
    "gradient",
    "model",
    "full",
    "gram",
    "serial",
    "cuda",
    "float64",
]


@contextmanager
def capture() -> Iterator[list[str]]:
    """Give a list that has standard output and standard error in the end."""
    output, errors, found = io.StringIO(), io.StringIO(), []
    with redirect_stdout(output), redirect_stderr(errors):
        yield found
    found += [output.getvalue(), errors.getvalue()]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("scratch")
    yield folder
    shutil.rmtree(folder)


def one_line_or_a_run(status: int, output: str, errors: str, out: Path, *, given: Any) -> None:
    """Exit 0 with a report, or 2 with one line and nothing left behind."""
    if status == 0:
        assert "stored in" in output, given
    else:
        assert status == 2, (given, errors)
        assert errors.startswith("clusterproof: "), given
        assert errors.count("\n") == 1, (given, errors)
        assert len(errors) < 1000, given
        assert not out.exists(), given


@settings(max_examples=120)
@given(data=st.data())
def test_no_options_lead_to_more_than_a_line(scratch: Path, data: st.DataObject) -> None:
    known = ["--" + option.flag.replace("_", "-") for option in all_options() if option.flag != "rounds"]
    known += ["--data", "--partition", "--network", "--algorithm", "--nonsense"]
    arguments = ["--clients-per-cluster", "2", "--images", "120"] if data.draw(st.booleans()) else []
    for flag in data.draw(st.lists(st.sampled_from(known), min_size=1, max_size=4, unique=True)):
        arguments.append(flag)
        if data.draw(st.integers(0, 9)):
            right = [name for section, names in SECTIONS.items() if flag == f"--{section}" for name in names]
            arguments.append(
                data.draw(st.sampled_from(right or WORDS) | st.sampled_from(WORDS) | st.text(max_size=3))
            )
    out = scratch / "options"
    shutil.rmtree(out, ignore_errors=True)
    with pytest.MonkeyPatch.context() as patch, capture() as captured:
        patch.setenv("CLUSTERPROOF_DATA", str(scratch / "no data here"))
        status = main(["train", *arguments, "--rounds", "1", "--out", str(out)])
    one_line_or_a_run(status, *captured, out, given=arguments)


@settings(max_examples=60)
@given(data=st.data())
def test_no_file_leads_to_more_than_a_line(scratch: Path, data: st.DataObject) -> None:
    lines = to_toml(configuration_from(TINY)).splitlines()
    values = [
        "-1",
        "0",
        "1",
        "0.5",
        "nan",
        '"x"',
        "true",
        "[]",
        "[3]",
        "[-1]",
        "{}",
        "1979-05-27",
        "''",
        "1e400",
        "=",
    ]
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(lines) - 1))
        key, equals, _ = lines[place].partition(" = ")
        changes = [lines[place][::-1], "", "[algorithm]", lines[data.draw(st.integers(0, len(lines) - 1))]]
        if equals:
            changes += [f"{key} = {value}" for value in values] + [f"{key}x = 1", f"{key[1:]} = 1"]
        lines[place] = data.draw(st.sampled_from(changes))
    path, out = scratch / "run.toml", scratch / "file"
    path.write_text("\n".join(lines))
    shutil.rmtree(out, ignore_errors=True)
    with capture() as captured:
        status = main(["train", "--config", str(path), "--rounds", "1", "--out", str(out)])
    one_line_or_a_run(status, *captured, out, given="\n".join(lines))


@pytest.fixture(scope="module")
def finished(scratch: Path) -> Path:
    train(configuration_from(TINY), out=scratch / "finished")
    return scratch / "finished"


def test_a_flipped_byte_of_a_checkpoint_is_noticed_wherever_it_is(scratch: Path, finished: Path) -> None:
    """Of the last checkpoint's record and tensors, from one end to the other."""
    folder = scratch / "flipped"
    shutil.copytree(finished / "checkpoints", folder)
    whole = find_checkpoint(folder)
    assert whole is not None
    for path in sorted(folder.glob("checkpoint-000002.*")):
        content = bytearray(path.read_bytes())
        for place in range(0, len(content), 8):
            content[place] ^= 1 + place % 255
            path.write_bytes(content)
            changed = bytes(content)
            content[place] ^= 1 + place % 255
            found = find_checkpoint(folder)
            assert found is not None
            if (
                found.rounds == 2
            ):  # one blank for another says the same, and so does a digit past a number's last bit
                assert (found.settings, found.metrics) == (whole.settings, whole.metrics), (path, place)
                assert json.loads(changed) == json.loads(content), (path, place)
            else:
                assert (found.rounds, len(found.remarks)) == (1, 1), (path, place)
        path.write_bytes(content)


@settings(max_examples=15)
@given(data=st.data())
def test_no_damage_to_a_run_leads_to_more_than_a_line(
    scratch: Path, finished: Path, data: st.DataObject
) -> None:
    damaged = scratch / "damaged"
    shutil.rmtree(damaged, ignore_errors=True)
    shutil.copytree(finished, damaged)
    files = sorted(path for path in damaged.rglob("*") if path.is_file())
    for path in data.draw(st.lists(st.sampled_from(files), min_size=1, max_size=3, unique=True)):
        content = bytearray(path.read_bytes())
        place = data.draw(st.integers(0, max(0, len(content) - 1)))
        harm = data.draw(st.sampled_from(["flip", "cut", "empty", "remove", "folder", "swap"]))
        path.unlink()
        if harm == "folder":
            path.mkdir()
        elif harm == "swap":
            shutil.copy(finished / data.draw(st.sampled_from(files)).relative_to(damaged), path)
        elif harm != "remove":
            if harm == "flip" and content:
                content[place] ^= data.draw(st.integers(1, 255))
            path.write_bytes({"flip": content, "cut": content[:place], "empty": b""}[harm])
    # a harmed configuration may ask for any number of rounds
    with capture() as captured:
        status = main(["train", "--resume", str(damaged), "--rounds", "2"])
    errors = captured[1]
    last = Path("checkpoints") / "checkpoint-000002.safetensors"
    if status == 0:
        as_before = stored_configuration(damaged) == configuration_from(TINY)
        assert not as_before or (damaged / last).read_bytes() == (finished / last).read_bytes()
    else:
        assert status == 2, errors
        assert errors.count("\n") == 1, errors
        assert errors.startswith("clusterproof: ")
