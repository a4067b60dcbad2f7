"""Wrong calls and wrong command lines are refused, and the message names the argument, its value, rule and remedy."""

import inspect
import os
import pickle
import re
import shlex
import sys
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from command_line import ROOT, contents, refused
from hypothesis import strategies as st
from planting import planted
from small_training import TINY, toml_of

import clusterproof
from clusterproof import CFLMGD, FedAvg, InvalidArgument, RegressionMixture, running, theorem
from clusterproof.algorithms import ALGORITHMS
from clusterproof.common.calls import did_you_mean
from clusterproof.common.discovery import by_name
from clusterproof.figures import FIGURES
from clusterproof.running import runner
from clusterproof.synthetic import TASKS, strategies

CALLS = [
    line.split(" :: ")
    for line in Path(__file__).with_name("wrong_calls.txt").read_text(encoding="utf-8").splitlines()[1:]
]
TASK = RegressionMixture.random(clusters=2, clients=8, dimension=3, seed=0)


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """What a reader has imported, a task and a run on it."""
    public = {name: getattr(clusterproof, name) for name in dir(clusterproof) if not name.startswith("_")}
    words = {name: getattr(theorem, name) for name in theorem.__all__}
    algo = CFLMGD(step_size=0.5, momentum=0.5)
    trace = clusterproof.run(algo, TASK, rounds=3, seed=0)
    return {**public, **words, "strategies": strategies, "task": TASK, "algo": algo, "trace": trace}


@pytest.mark.parametrize("row", CALLS, ids=[call for call, *_ in CALLS])
def test_a_wrong_call_is_refused(
    row: list[str], names: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidArgument) as refusal:
        eval(row[0], names.copy())  # noqa: S307 - a list beside this file
    assert refusal.value.rule
    assert refusal.value.remedy
    assert row[1:] in ([], [refusal.value.remedy])


def test_a_wrong_name_is_answered_by_the_nearest_one() -> None:
    known = ["step_size", "rounds", "local-steps"]
    assert did_you_mean("--stepsize", known) == "step_size"
    assert did_you_mean("Local_Step", known) == "local-steps"
    assert did_you_mean("unheard_of", known) is None


def test_answering_changes_nothing_of_a_right_call() -> None:
    """Signatures, pickles and errors of the code that is called stay as they are."""
    assert str(inspect.signature(FedAvg)).startswith("(*, step_size: 'float'")
    assert next(iter(inspect.signature(clusterproof.run).parameters)) == "algorithm"
    for one in (running.run, FedAvg(step_size=0.5), CFLMGD):
        assert pickle.loads(pickle.dumps(one)) == one

    def broken(task: Any, trace: Any) -> Any:
        raise TypeError("of the reader")

    with pytest.raises((TypeError, InvalidArgument), match="of the reader"):
        clusterproof.falsify(
            broken, algorithm=FedAvg(step_size=0.5), tasks=st.just(TASK), rounds=1, evaluations=1
        )


@pytest.mark.parametrize("registry", [ALGORITHMS, FIGURES, TASKS])
def test_a_copied_class_that_keeps_its_name_is_refused(registry: dict[str, type]) -> None:
    name, kind = next(iter(registry.items()))
    copy = type("Copy", (kind,), {"__module__": "copied"})
    assert by_name(registry.values()) == registry
    with pytest.raises(
        InvalidArgument, match=f"name is '{name}', but it is the name of .* and of copied.Copy. Rename"
    ):
        by_name([*registry.values(), copy])


@pytest.mark.parametrize("name", ["theory", "neural", "synthetic", "figures"])
def test_a_link_for_people_who_browse_is_no_second_package(name: str) -> None:
    link = ROOT / name / "__init__.py"
    assert link.is_file()
    with pytest.raises(ImportError, match=f"write import clusterproof.{name}"):
        SourceFileLoader(name, str(link)).load_module(name)
    assert name not in sys.modules


SWEEP = 'measure = ["error"]\nrounds = 1\nseeds = 1\n'
FILES = {
    "r.json": '{"claims": []}',
    "broken.py": "import no_such_library\n",
    "syntax.py": "def (\n",
    "empty.py": "x = 1\n",
    "two.py": "class Two:\n    def __init__(self, task, settings):\n        pass\n",
    "full/file": "precious",
    "begun/configuration.json": "",
    "bad/cfl-mgd.json": '{"claims": []}',
    "sweep.toml": SWEEP + '[settings]\nclients = 4\n[grid]\nalgorithm = ["ifca"]\n',
    "both.toml": SWEEP + "[settings]\nclients = 4\n[grid]\nclients = [4]\n",
    "run.toml": toml_of(TINY),
    "twice.json": '{"training": {"rounds": 1, "rounds": 2}}',
    "empty.toml": "",
    "bad.toml": '[algorithm]\nname = "x"\n',
    "own.toml": '[algorithm]\nname = "own.py:Own"\n',
    "negative.toml": "[algorithm]\nstep_size = -1\n",
    "typo.toml": "[algorithm]\nlocal_step = 3\n",
    "many.toml": "[algorithm]\nclusters = 100\n",
    "small.toml": "[partition]\nclusters = 3\n",
    "cluster.toml": "[partition]\ncluster = 2\n",
    "hiden.toml": "[network]\nhiden = [4]\n",
    "flat.toml": "training = 1\n",
    "long.toml": f"[training]\nseed = 0x{'f' * 10**4}\n",
    "digits.toml": f"rounds = 1{'0' * 20_000}\n",
}
"""Files in the current folder, which no command line changes."""


def rows() -> Iterator[Any]:
    """Yield each command line of the table with the words of its refusal."""
    for row in Path(__file__).with_name("refusals.txt").read_text(encoding="utf-8").splitlines():
        command, _, words = row.partition("::")
        parts = re.split(r"\{(.*?)\}", command.strip())
        parts[1::2] = [[word or "''" for word in shlex.split(each)] for each in parts[1::2]]
        parts[::2] = [[each] for each in parts[::2]]
        for line in map("".join, product(*parts)) if not row.startswith("#") else ():
            yield pytest.param(line, [part.strip() for part in words.split("|") if part.strip()], id=line)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What is in the working folder of all rows."""
    place = tmp_path_factory.mktemp("refusals")
    for name, content in FILES.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(content)
    before = os.getcwd()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("XDG_CACHE_HOME", "CLUSTERPROOF_DATA"):
            patch.setenv(name, str(place / "cache"))
        os.chdir(place)
        yield contents(place)
        os.chdir(before)


@pytest.mark.skipif(os.name != "posix", reason="some paths exist on POSIX systems only")
@pytest.mark.parametrize(("line", "words"), list(rows()))
def test_bad_input_is_one_line(
    capsys: pytest.CaptureFixture[str], folder: dict[str, Any], line: str, words: list[str]
) -> None:
    with planted(runner, "run", lambda *_, **__: pytest.fail("a run has started")):
        message = refused(capsys, *shlex.split(line))
    assert [word for word in words if word not in message] == [], message
    assert contents(Path.cwd()) == folder
