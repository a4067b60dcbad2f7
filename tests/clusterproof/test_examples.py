"""The examples: right verdicts, and counterexamples that can be pasted."""

from __future__ import annotations

import re

import pytest
from command_line import ROOT
from tiers import slow_after

from clusterproof import check, code_of, load_claims, replay

FILES = sorted((ROOT / "examples").glob("*.py"))
FALSE = {
    "heavy-ball/linear-rate",
    "heavy-ball/quadratic-rate-beyond",
}
PROVED = {"heavy-ball/lyapunov", "heavy-ball/three-cycle"}
ENOUGH = 100
"""Instances of a true theorem."""
ROW = re.compile(r"^\| `([a-z-]+)` \|.*\| (violated) \|.*\| (certified|consistent) \|$", re.MULTILINE)
WRONG = ROW.findall((ROOT / "docs/explanation/known-to-be-wrong.md").read_text(encoding="utf-8"))
"""Name of each row of the page, the verdict there, and that of the correction."""
LONG = ("adam-converges", "average-regret")
"""Claims whose counterexample takes seconds."""

pytestmark = pytest.mark.usefixtures("claims_of_files")


@pytest.fixture(scope="module")
def loaded(claims_of_files: None) -> dict[str, list[str]]:
    """Return the ids of each file's claims."""
    return {path.stem: list(load_claims(path)) for path in FILES}


def test_verdicts_are_right_and_counterexamples_can_be_pasted(loaded: dict[str, list[str]]) -> None:
    for name in loaded["heavy_ball"]:
        verdict = check(name, evaluations=None if name in FALSE else ENOUGH)
        expected = "violated" if name in FALSE else "certified" if name in PROVED else "consistent"
        assert verdict.verdict == expected, (name, verdict.reason)
        if name in FALSE:
            assert verdict.counterexample is not None
            assert len(verdict.counterexample) <= 5, name
            code = code_of(verdict)
            assert code is not None
            exec(code, {})


@pytest.mark.slow(reason="several seconds a claim")
def test_what_is_said_of_every_value_is_certified(loaded: dict[str, list[str]]) -> None:
    for name in loaded["every_value"]:
        verdict = check(name)
        assert verdict.verdict == "certified", (name, verdict.reason)
        assert "every value" in verdict.reason


def test_a_counterexample_of_the_literature_is_confirmed(loaded: dict[str, list[str]]) -> None:
    """It follows from the literature's closed form, not from a search."""
    heavy = replay("heavy-ball/linear-rate", {"step": "3/4", "momentum": "19/20", "rounds": 3})
    assert heavy.measured == pytest.approx(1.0353 / 2, rel=1e-4)


@pytest.mark.parametrize(
    "name", slow_after(5, "seconds a claim", sorted((name for name, *_ in WRONG), key=LONG.__contains__))
)
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
