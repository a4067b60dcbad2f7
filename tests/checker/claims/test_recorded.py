"""Recorded verdicts: what comes back, what makes them stale, and what is not believed."""

import json
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from clusterproof import checker, load_claims
from clusterproof.checker.claims import at_most
from clusterproof.checker.claims.statement import Statement
from clusterproof.checker.report.decide import check
from clusterproof.checker.report.recorded import record_of, replay_verdict
from clusterproof.checker.report.rests_on import _version, key_of
from clusterproof.checker.report.stored_evidence import Kept, read_evidence
from clusterproof.checker.report.verdict import Verdict
from clusterproof.commands.application import main
from clusterproof.common import InvalidArgument
from clusterproof.library import library_evidence

HELPER = """
LIMIT = 2

def doubled(x):
    '''Twice a number.'''
    # a comment
    return 2 * x
"""
CLAIMS = """
from fractions import Fraction
from typing import Annotated

import helper
from clusterproof import FedAvg
from clusterproof.theorem import at_most, choice, claim, rationals
from helper import doubled as twice

Step = Annotated[Fraction, rationals(0, 1, 4)]
ELSEWHERE = 7

def half(x):
    return x / 2

class Line:
    slope = 1

    def at(self, x):
        return self.slope * x

@claim("recorded/certified")
def certified(step: Step):
    return at_most(step**2, one=1)

@claim("recorded/violated")
def violated(step: Step):
    return {"first": at_most(step, half=Fraction(1, 2)), "second": at_most(step, one=1)}

@claim("recorded/tried")
def tried(step: Step):
    algorithm = FedAvg(step_size=0.5)
    return at_most(algorithm.step_size * float(Line().at(twice(half(step)))), most=float(helper.LIMIT))

@claim("recorded/searched")
def searched(step: Step):
    return at_most(float(step), most=FedAvg(step_size=0.5).step_size)
"""
EVERY = ("certified", "violated", "tried")


@pytest.fixture
def folder(tmp_path: Path, registry: dict[str, Any]) -> Path:
    (tmp_path / "helper.py").write_text(HELPER)
    (tmp_path / "claims.py").write_text(CLAIMS)
    return tmp_path


def loaded(folder: Path, name: str) -> Verdict:
    load_claims(folder / "claims.py")
    return check(f"recorded/{name}", evaluations=60)


def kept(verdict: Verdict) -> tuple[dict[str, Any], Kept]:
    """Return what JSON keeps of a verdict: its record, and what its paper's file holds."""
    evidence = [line.evidence for line in verdict.lines if line.evidence]
    record, found = json.loads(json.dumps([record_of(verdict), evidence]))
    name = verdict.claim
    return record, Kept({name: verdict.text} if verdict.text else {}, {name: found}, {name: record})


def without_instances(verdict: Verdict) -> Verdict:
    """Leave out what is not always recorded: instances at which the bound is tightest, seconds, and evaluations."""
    lines = tuple(replace(each, tightness=ratios(each.tightness)) for each in verdict.lines)
    return replace(verdict, seconds=0.0, evaluations=None, lines=lines, tightness=ratios(verdict.tightness))


def ratios(tightness: dict[str, dict[str, Any]] | None) -> Any:
    return tightness and {
        term: {name: value for name, value in numbers.items() if name != "instance"}
        for term, numbers in tightness.items()
    }


@pytest.mark.parametrize("name", EVERY)
def test_a_recorded_verdict_comes_back(name: str, folder: Path) -> None:
    verdict = loaded(folder, name)
    record, evidence = kept(verdict)
    found = replay_verdict(record, evidence)
    assert found.verdict is not None, found.why
    assert (found.shown, found.again, found.recorded) == {
        "certified": (1, 0, 0),
        "violated": (2, 0, 0),
        "tried": (0, 1, 0),
    }[name]
    assert without_instances(found.verdict) == without_instances(verdict)


CHANGES = [
    ("claims.py", "return x / 2", "return x / 3", True),
    ("claims.py", "slope = 1", "slope = 2", True),
    ("claims.py", "rationals(0, 1, 4)", "rationals(0, 1, 5)", True),
    ("claims.py", "step_size=0.5", "step_size=0.25", True),
    ("claims.py", "ELSEWHERE = 7", "ELSEWHERE = 8", True),
    ("helper.py", "LIMIT = 2", "LIMIT = 3", True),
    ("helper.py", "2 * x", "x + x", True),
    ("helper.py", "a comment", "another one", True),
    ("helper.py", "LIMIT = 2", "LIMIT = 2", False),
]


def test_a_record_is_stale_where_what_it_rests_on_says_something_else(folder: Path) -> None:
    load_claims(folder / "claims.py")
    before = key_of(checker.find_claim("recorded/tried"))
    for file, old, new, changes in CHANGES:
        text = (folder / file).read_text()
        assert old in text
        (folder / file).write_text(text.replace(old, new))
        load_claims(folder / "claims.py")
        assert (key_of(checker.find_claim("recorded/tried")) != before) is changes, old
        (folder / file).write_text(text)


def test_a_record_rests_on_a_package_of_ones_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """... which is imported from elsewhere, as one that is installed in place."""
    (elsewhere := folder / "elsewhere").mkdir()
    (elsewhere / "package_of_mine.py").write_text("def doubled(x):\n    return 2 * x\n")
    monkeypatch.syspath_prepend(elsewhere)
    text = (folder / "claims.py").read_text()
    (folder / "claims.py").write_text(text.replace("from helper import", "from package_of_mine import"))
    record, evidence = kept(loaded(folder, "tried"))
    assert replay_verdict(record, evidence).verdict is not None
    (elsewhere / "package_of_mine.py").write_text("def doubled(x):\n    return x + 2 * x\n")
    assert replay_verdict(record, evidence).stale


def test_a_record_rests_on_the_package_of_its_file_wherever_this_lies(folder: Path) -> None:
    text = (folder / "claims.py").read_text()
    keys = []
    for place, start in (("one", "X = 1\n"), ("two", "X = 1\n"), ("three", "X = 2\n")):
        (folder / place).mkdir()
        (folder / place / "__init__.py").write_text(start)
        (folder / place / "helper.py").write_text(HELPER)
        (folder / place / "claims.py").write_text(text.replace("import helper\n", "from . import helper\n"))
        with patch.dict(checker.REGISTRY):
            load_claims(folder / place / "claims.py")
            keys.append(key_of(checker.find_claim("recorded/tried")))
    assert keys[0] == keys[1] != keys[2]
    assert None not in keys


def test_no_library_is_loaded_to_know_its_version(folder: Path) -> None:
    """... which is known by another name: ``sklearn`` comes with scikit-learn."""
    text = (folder / "claims.py").read_text()
    imports = "    from scipy.odr import ODR\n    from graphlib import CycleError\n    return x / 2"
    (folder / "claims.py").write_text(text.replace("    return x / 2", imports))
    load_claims(folder / "claims.py")
    loaded_before = {*sys.modules}
    assert key_of(checker.find_claim("recorded/tried")) is not None
    assert not {"scipy.odr", "graphlib"} & ({*sys.modules} - loaded_before)
    assert _version("sklearn") == f"sklearn {metadata.version('scikit-learn')}"


@pytest.mark.parametrize(
    "line",
    [
        "import importlib.util as u; u.spec_from_file_location",
        "from os import getcwd as here",
        "from linecache import getlines",
        "from configparser import ConfigParser",
        "import numpy as np; np.fromfile",
        "from numpy import loadtxt as numbers",
        "from scipy.io import mmread",
        "import numpy as np; getattr(np, 'load' + 'txt')",
        "from polars import scan_csv",
        "import math; math.__loader__.get_data",
        "import fractions; fractions.sys.modules",
        "match print.__self__:\n    case object(__import__=brought):\n        pass",
        "import random\nmatch random:\n    case object(_os=brought):\n        pass",
        "import random; random.__getattribute__('_o' + 's')",
        "import random; '{0._os.environ}'.format(random)",
        "import random, string; string.Formatter().get_field('0._os.environ', (random,), {})",
        "import typing; typing.get_type_hints(half)",
        "from sklearn import get_config",
        "import warnings; warnings.warn",
        "half.__annotations__ = {}",
        "PLACE = __file__",
    ],
)
def test_nobody_knows_on_what_a_file_rests_that_may_read_another(folder: Path, line: str) -> None:
    """... so that it is searched again each time."""
    text = (folder / "claims.py").read_text()
    load_claims(folder / "claims.py")
    assert key_of(checker.find_claim("recorded/tried")) is not None
    (folder / "claims.py").write_text(f"{text}\n{line}\n")
    load_claims(folder / "claims.py")
    assert key_of(checker.find_claim("recorded/tried")) is None


SEEN = """
import dataclasses
import typing

def number():
    return {expression}

@claim"""


@pytest.mark.parametrize(
    "expression",
    [
        "half.__globals__['__builtins__']['open'](PATH).close()",
        "dataclasses.inspect.linecache.getline(PATH, 1)",
        "typing.get_type_hints(type('K', (), {'__annotations__': {'x': 'open(' + repr(PATH) + ').close()'}}))",
    ],
)
@pytest.mark.parametrize("loaded_too", [True, False])
def test_a_claim_that_was_seen_to_read_a_file_is_searched_again(
    folder: Path, expression: str, loaded_too: bool
) -> None:
    (folder / "numbers.txt").write_text("1")
    code = SEEN.format(expression=expression.replace("PATH", repr(str(folder / "numbers.txt"))))
    text = (folder / "claims.py").read_text().replace("@claim", code, 1)
    if loaded_too:
        text += "\nnumber()\n"
    else:
        text = text.replace("    algorithm = FedAvg", "    number()\n    algorithm = FedAvg", 1)
    (folder / "claims.py").write_text(text)
    assert loaded(folder, "tried").lines[0].verdict == "consistent"
    assert key_of(checker.find_claim("recorded/tried")) is None


def test_a_record_rests_on_the_algorithm_that_is_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """... and on the class above it: their files are read, so that another text stands in for a change of the code."""
    loaded(folder, "tried")
    before = key_of(checker.find_claim("recorded/tried"))
    from clusterproof.algorithms import base

    changed = tmp_path / "base.py"
    changed.write_text(Path(base.__file__).read_text())
    monkeypatch.setattr(base, "__file__", str(changed))
    assert key_of(checker.find_claim("recorded/tried")) == before
    changed.write_text(Path(changed).read_text().replace("def step(", "def step_(", 1))
    assert key_of(checker.find_claim("recorded/tried")) != before


def without_evidence(record: dict[str, Any], kept: Kept) -> None:
    kept.evidence.clear()


def called_certified(record: dict[str, Any], kept: Kept) -> None:
    record["lines"][0]["verdict"] = "certified"


def certified_as_a_whole(record: dict[str, Any], kept: Kept) -> None:
    record |= {"verdict": "certified", "whole": {"verdict": "certified"}}


def called_violated(record: dict[str, Any], kept: Kept) -> None:
    line = record["lines"][0]
    line |= {
        "verdict": "violated",
        "basis": "numerical",
        "counterexample": line["tightness"]["all"]["instance"],
    }


def larger(record: dict[str, Any], kept: Kept) -> None:
    record["lines"][0]["measured"] *= 1.001


def at_another_instance(record: dict[str, Any], kept: Kept) -> None:
    record["lines"][0]["tightness"]["all"]["instance"]["step"] = "1/4"


def called_ill_posed(record: dict[str, Any], kept: Kept) -> None:
    record["lines"][0]["verdict"] = "ill-posed"


def with_a_ratio_that_is_a_text(record: dict[str, Any], kept: Kept) -> None:
    record["lines"][0].setdefault("tightness", {})["all"] = {"ratio": "x"}


def with_a_ratio_without_a_number(record: dict[str, Any], kept: Kept) -> None:
    record["lines"][0].setdefault("tightness", {})["all"] = {}


def with_two_lines_as_its_version(record: dict[str, Any], kept: Kept) -> None:
    record["version"] = "0.2.0\nmine/other  certified"


def without_a_version(record: dict[str, Any], kept: Kept) -> None:
    record["version"] = None


def with_a_number_as_its_reason(record: dict[str, Any], kept: Kept) -> None:
    record["reason"] = 7


def with_a_term_that_changes_the_terminal(record: dict[str, Any], kept: Kept) -> None:
    record["lines"][0]["tightness"]["\x1b[31mone"] = {"ratio": 1.0}


def with_a_counterexample(record: dict[str, Any], kept: Kept) -> None:
    record["lines"][0]["counterexample"] = {"step": "1/2"}


def with_other_sides(record: dict[str, Any], kept: Kept) -> None:
    record["lines"][0] |= {"measured": 1.0, "bound": 2.0}


def with_another_counterexample(record: dict[str, Any], kept: Kept) -> None:
    record["lines"][0]["counterexample"]["step"] = "0"


def in_floats(record: dict[str, Any], kept: Kept) -> None:
    record["lines"][0]["basis"] = "floats"


def test_half_a_sign_is_no_text_of_evidence(tmp_path: Path) -> None:
    text = json.dumps({"texts": {"a/b": "\ud800"}, "evidence": [], "verdicts": []})
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(InvalidArgument, match="must contain evidence as JSON"):
        read_evidence("a", tmp_path)


PIECE = {"claim": "a/b", "statement": "", "line": "", "rule": "signs"}


@pytest.mark.parametrize(
    ("field", "content", "is_accepted"),
    [
        ("evidence", [PIECE, {**PIECE, "line": "other"}], True),
        ("evidence", [PIECE, {**PIECE, "rule": "squares"}], False),  # two for one line: each would be judged
        *(("evidence", [{**PIECE, name: "a/b\nc/d  certified"}], False) for name in PIECE),
        ("texts", {"a/b\nc/d  certified": ""}, False),
        ("texts", {"a/b": ""}, True),
        ("texts", {"a/b  certified": ""}, False),
        ("texts", {"c/b": ""}, False),  # it belongs to the file c.json
        ("evidence", [{**PIECE, "claim": "c/b"}], False),
        ("verdicts", [{"claim": "a/b", "lines": []}], True),
        ("verdicts", [{"claim": "a/b", "lines": []}, {"claim": "a/b", "lines": []}], False),
        ("verdicts", [{"claim": "a/b\nc/d  certified", "lines": []}], False),
    ],
)
def test_evidence_names_each_line_once_and_prints_no_other(
    tmp_path: Path, field: str, content: Any, is_accepted: bool
) -> None:
    (tmp_path / "a.json").write_text(
        json.dumps({"texts": {}, "evidence": [], "verdicts": [], field: content})
    )
    with nullcontext() if is_accepted else pytest.raises(InvalidArgument, match="one piece of evidence"):
        read_evidence("a", tmp_path)


def test_a_forged_record_is_not_believed(folder: Path) -> None:
    forgeries: dict[str, tuple[Callable[..., None], ...]] = {
        "certified": (
            without_evidence,
            with_a_ratio_that_is_a_text,
            with_a_ratio_without_a_number,
            with_two_lines_as_its_version,
            without_a_version,
            with_a_number_as_its_reason,
            with_a_term_that_changes_the_terminal,
            with_a_counterexample,
        ),
        "violated": (
            without_evidence,
            called_ill_posed,
            with_other_sides,
            with_another_counterexample,
            in_floats,
        ),
        "searched": (called_ill_posed,),
        "tried": (called_certified, called_violated, larger, at_another_instance),
    }
    for name, several in forgeries.items():
        verdict = loaded(folder, name)
        for forge in several:
            record, evidence = kept(verdict)
            forge(record, evidence)
            assert replay_verdict(record, evidence).verdict is None, forge


def test_a_users_function_that_gives_another_value_than_its_text_has_no_record(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, evidence = kept(loaded(folder, "certified"))
    monkeypatch.setattr(Statement, "lines", lambda *_: {"": at_most(0, one=2)})
    assert replay_verdict(record, evidence).verdict is None


@pytest.mark.slow(reason="searches several times")
def test_check_replays_what_it_kept_and_says_what_has_changed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["check", str(folder / "claims.py"), "--evidence", str(folder / "evidence")]

    def said(*more: str, status: int = 0) -> str:
        checker.REGISTRY.clear()
        assert main([*words, *more]) == status
        return " ".join(capsys.readouterr().out.split())

    assert "Recorded" not in said()
    again = said()
    assert "the evidence for 3 of 5 lines (parts of claims) again" in again
    assert "The stored instances of 2 lines were evaluated again." in again
    assert "only looked up" not in again
    assert "Recorded" not in said("--search")
    replayed = said("--replay")  # imports nothing of the user's: what was searched is no record of it
    assert "evidence for 3 lines: 2 certified, 1 violated" in replayed
    assert "only searched: recorded/searched, recorded/tried" in replayed
    (folder / "helper.py").write_text(HELPER.replace("2 * x", "2 * x + 9"))
    assert "only searched: recorded/searched, recorded/tried" in said("--replay")
    changed = said()
    assert "for 3 lines (" in changed or "for 3 of 4 lines (" in changed
    assert "recorded/tried was searched again: the files that it runs have changed" in changed
    assert "recorded/tried violated" in changed


def test_every_claim_of_the_catalogue_has_a_record() -> None:
    papers = {claim.paper: read_evidence(claim.paper) for claim in checker.catalogue()}
    recorded = [claim for kept in papers.values() for claim in kept.verdicts]
    assert sorted(recorded) == sorted(claim.id for claim in checker.catalogue())
    assert {path.stem for path in library_evidence().glob("*.json")} == papers.keys()


def test_the_word_of_a_claim_is_that_of_its_lines(folder: Path) -> None:
    record, evidence = kept(loaded(folder, "tried"))
    certified_as_a_whole(record, evidence)
    found = replay_verdict(record, evidence).verdict
    assert found is not None
    assert found.verdict == found.lines[0].verdict == "consistent"
