"""Arbitrary words, files and damage: a command succeeds, or exits with status 2 and one line."""

import io
import shutil
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_training import TINY, toml_of
from tiers import examples

from clusterproof.algorithms import ALGORITHMS
from clusterproof.commands.application import main
from clusterproof.common import InvalidArgument
from clusterproof.experiments.synthetic_runs import owners
from clusterproof.neural.checkpoint import CHECKPOINT, read_checkpoint
from clusterproof.neural.configuration import KNOWN, configuration_from, places
from clusterproof.neural.training import train


def run_command(*arguments: str) -> tuple[int, str]:
    """Run a command and require exit status 0, or 2 with one line; return the status and standard output."""
    output, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(errors):
        status = main(arguments)
    message = errors.getvalue()
    assert status in (0, 2), (arguments, message)
    assert "defect" not in message, (arguments, message)
    if status == 2:
        assert message.startswith("error: "), (arguments, message)
        assert message.count("\n") == 1, (arguments, message)
        assert len(message) < 1000, arguments
    return status, output.getvalue()


@pytest.fixture(scope="module")
def no_data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLUSTERPROOF_DATA", str(tmp_path_factory.getbasetemp() / "no data here"))
        yield


NUMBERS = "-1|0|1|2|3|0.5|1.5|9.5|nan|inf|-inf|1e309|1e400|1_0|٣|1,2|2,1|1,|,|1,2,3|2,,"
SYNTHETIC = (
    "--rounds|--seed|--replicates|--task|--no-reset-momentum|--|regression|quadratic|logistic|model|true"
)
SYNTHETIC += "|=|[]|{}|--noise=|1e309|1,2|-1|nan|inf|0"
TRAINING = "|x|a b|train|test-loss|epoch|gradient|model|full|vmap|serial|cuda|float64|" + "|".join(
    name for section in ("partition", "network", "algorithm") for name in KNOWN[section]
)


@pytest.mark.slow(reason="a second or more")
@settings(max_examples=examples(30))
@given(
    algorithm=st.sampled_from(list(ALGORITHMS)),
    words=st.lists(
        st.sampled_from(SYNTHETIC.split("|") + ["--" + option.replace("_", "-") for option in owners()])
        | st.text(max_size=4),
        max_size=5,
    ),
    rounds=st.sampled_from(["--rounds=1", "--rounds=0"]),
)
def test_words_after_run(algorithm: str, words: list[str], rounds: str) -> None:
    run_command("run", algorithm, "--clients=4", "--dimension=2", rounds, *words)


@settings(max_examples=60)
@given(
    name=st.sampled_from(["rounds", "hidden", "share", "step_size", "step-size", "", "Rounds", "--rounds"])
    | st.text(max_size=5),
    equals=st.sampled_from(["=", "=", "=", "", " = "]),
    value=st.text(max_size=12)
    | st.sampled_from(
        [*NUMBERS.split("|"), "all", "None", "True", "[1]", "{}", "1e3", "9" * 5000, "[" * 5000]
    )
    | st.floats().map(str)
    | st.integers().map(str),
)
def test_settings_of_a_table(name: str, equals: str, value: str) -> None:
    """The table is made or the setting is refused in one line; nothing is computed, as --jobs is wrong."""
    status, _ = run_command("table", "sofl/table-2", f"--set={name}{equals}{value}", "--jobs", "0")
    assert status == 2


FLAGS = {flag for section, names in KNOWN.items() for name in names for flag in places({section: name})}
OPTIONS = ["--" + flag.replace("_", "-") for flag in sorted(FLAGS - {"rounds"})] + ["--nonsense"]
VALUES = [
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


def some_options(data: st.DataObject) -> list[str]:
    anything = st.sampled_from((NUMBERS + TRAINING).split("|")) | st.text(max_size=3)
    arguments = ["--clients-per-cluster", "2", "--images", "120"] if data.draw(st.booleans()) else []
    for flag in data.draw(st.lists(st.sampled_from(OPTIONS), min_size=1, max_size=4, unique=True)):
        arguments.append(flag)
        if data.draw(st.integers(0, 9)):
            right = KNOWN.get(flag.removeprefix("--"))
            arguments.append(data.draw(st.sampled_from(list(right)) | anything if right else anything))
    return arguments


def some_configuration(data: st.DataObject) -> str:
    lines = toml_of(configuration_from(TINY).sections).splitlines()
    whole = st.sampled_from(lines)
    for _ in range(data.draw(st.integers(1, 3))):
        index = data.draw(st.integers(0, len(lines) - 1))
        key, equals, _ = lines[index].partition(" = ")
        changes = [lines[index][::-1], "", "[algorithm]", data.draw(whole)]
        if equals:
            changes += [f"{key} = {value}" for value in VALUES] + [f"{key}x = 1", f"{key[1:]} = 1"]
        lines[index] = data.draw(st.sampled_from(changes))
    return "\n".join(lines)


@pytest.mark.slow(reason="many training runs")
@settings(max_examples=examples(40))
@given(data=st.data())
def test_options_and_files_of_train(
    tmp_path_factory: pytest.TempPathFactory, no_data: None, data: st.DataObject
) -> None:
    """A round is trained: either the run is stored or its folder does not exist."""
    folder = tmp_path_factory.getbasetemp()
    if data.draw(st.booleans()):
        arguments = some_options(data)
    else:
        (folder / "run.toml").write_text(some_configuration(data))
        arguments = ["--config", str(folder / "run.toml")]
    shutil.rmtree(folder / "run", ignore_errors=True)
    status, output = run_command("train", *arguments, "--rounds", "1", "--out", str(folder / "run"))
    assert "stored in" in output if status == 0 else not (folder / "run").exists(), arguments


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished") / "run"
    train(configuration_from(TINY), out=folder)
    return folder


def test_a_flipped_byte_of_a_checkpoint_is_noticed(tmp_path: Path, finished: Path) -> None:
    whole = read_checkpoint(finished)
    assert whole is not None
    content = (finished / CHECKPOINT).read_bytes()
    for index in range(0, len(content), 24):
        changed = bytearray(content)
        changed[index] ^= 1 + index % 255
        (tmp_path / CHECKPOINT).write_bytes(changed)
        with suppress(InvalidArgument):  # other white space in the header reads the same
            found = read_checkpoint(tmp_path)
            assert found is not None
            assert found.record == whole.record, index
            assert found.arrays.keys() == whole.arrays.keys(), index
            for name, array in whole.arrays.items():
                assert np.array_equal(found.arrays[name], array), index
