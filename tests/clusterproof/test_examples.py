"""The examples: right verdicts, counterexamples that can be pasted, and ten theorems each way."""

from __future__ import annotations

import re

import pytest
from command_line import ROOT

from clusterproof import check, code_of, load_claims, replay

FILES = sorted((ROOT / "examples").glob("*.py"))
FALSE = {
    "cfl/separation-empirical",
    "cfl/right-cut",
    "heavy-ball/linear-rate",
    "heavy-ball/quadratic-rate-beyond",
}
PROVED = {"heavy-ball/lyapunov", "heavy-ball/three-cycle"}
QUICK = ("heavy_ball",)
ENOUGH = 100
"""Instances of a true theorem."""
ROW = re.compile(r"^\| `([a-z-]+)` \|.*\| (violated) \|.*\| (certified|consistent) \|$", re.MULTILINE)
WRONG = ROW.findall((ROOT / "notes/known-to-be-wrong.md").read_text(encoding="utf-8"))
"""Name of each row of the page, the verdict there, and that of the correction."""


pytestmark = pytest.mark.usefixtures("claims_of_files")


@pytest.fixture(scope="module")
def loaded(claims_of_files: None) -> dict[str, list[str]]:
    """Return the ids of each file's claims."""
    return {path.stem: list(load_claims(path)) for path in FILES}


@pytest.mark.parametrize(
    "file",
    [
        path.stem
        if path.stem in QUICK
        else pytest.param(path.stem, marks=pytest.mark.slow(reason="several seconds of checks"))
        for path in FILES
        if path.stem not in ("ten_and_ten", "known_to_be_wrong")
    ],
)
def test_verdicts_are_right_and_counterexamples_can_be_pasted(
    loaded: dict[str, list[str]], file: str
) -> None:
    for name in loaded[file]:
        verdict = check(name, evaluations=None if name in FALSE else ENOUGH)
        expected = "violated" if name in FALSE else "certified" if name in PROVED else "consistent"
        assert verdict.verdict == expected, (name, verdict.reason)
        if name in FALSE:
            assert verdict.counterexample is not None
            assert len(verdict.counterexample) <= 5, name
            code = code_of(verdict)
            assert code is not None
            exec(code, {})


def test_counterexamples_of_the_literature_are_confirmed(loaded: dict[str, list[str]]) -> None:
    """They follow from the literature's closed forms, not from a search."""
    heavy = replay("heavy-ball/linear-rate", {"step": "3/4", "momentum": "19/20", "rounds": 3})
    assert heavy.measured == pytest.approx(1.0353 / 2, rel=1e-4)
    # sin alpha = 1/2 is not rational in tan(alpha / 2); 4/15 is near: gamma = 0.498, printed -1/2, true -1/7
    cut = replay("cfl/separation-empirical", {"size": 3, "half": "4/15"})
    assert cut.measured == pytest.approx(-0.143, abs=0.02)
    assert cut.bound == pytest.approx(-0.5, abs=0.01)


@pytest.mark.slow(reason="twenty theorems")
def test_ten_true_and_ten_false_theorems(loaded: dict[str, list[str]]) -> None:
    right = {"true": {"consistent", "certified"}, "false": {"violated"}}
    for name in loaded["ten_and_ten"]:
        found = check(name, evaluations=ENOUGH if name.startswith("true/") else None)
        assert found.verdict in right[name.partition("/")[0]], (name, found.reason)


@pytest.mark.parametrize("name", [name for name, *_ in WRONG])
def test_what_is_known_to_be_wrong_is_violated(loaded: dict[str, list[str]], name: str) -> None:
    verdict = check(f"known-to-be-wrong/{name}")
    assert verdict.verdict == "violated", verdict.reason
    assert verdict.counterexample is not None
    assert replay(f"known-to-be-wrong/{name}", verdict.counterexample).verdict == "violated"


@pytest.mark.slow(reason="several seconds a correction")
@pytest.mark.parametrize("row", WRONG, ids=[name for name, *_ in WRONG])
def test_the_corrections_have_the_verdicts_of_the_page(
    loaded: dict[str, list[str]], row: tuple[str, ...]
) -> None:
    verdict = check(f"known-to-be-wrong/{row[0]}-corrected")
    assert verdict.verdict == row[2], verdict.reason


def test_every_claim_is_on_the_page_or_listed_here(loaded: dict[str, list[str]]) -> None:
    names = {f"known-to-be-wrong/{name}{end}" for name, *_ in WRONG for end in ("", "-corrected")}
    assert names == set(loaded["known_to_be_wrong"])
    assert {name for names in loaded.values() for name in names} >= FALSE | PROVED
