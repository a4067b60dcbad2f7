"""Gates and the schema: what fails a build, and that real reports are what the schema says."""

from __future__ import annotations

from typing import Any

import pytest
from command_line import ROOT

from clusterproof import InvalidArgument, code_of, load_claims
from clusterproof.theory import Kind, Verdict, check
from clusterproof.theory.checker import ci_gates as gates
from clusterproof.theory.checker import report
from clusterproof.theory.checker.report import Recorded

ONE = Verdict(
    claim="cfl-mgd/lemma-2",
    paper="cfl-mgd",
    label="Lemma 2",
    seed=0,
    repaired_by=("cfl-mgd/theorem-d", "cfl-mgd/theorem-a"),
    seconds=0.1,
    verdict=Kind.CONSISTENT,
    reason="holds",
    exhausted=True,
    sharpness={"all": 0.9, "noise": 0.5},
)


def recorded(**changed: Any) -> Recorded:
    fields: dict[str, Any] = {
        "verdict": "consistent",
        "sharpness": ONE.sharpness,
        "exhausted": True,
    } | changed
    return Recorded(**{"claim": ONE.claim, "measured": None, "bound": None, "counterexample": None} | fields)


def test_named_verdicts_fail() -> None:
    kinds = gates.read_kinds("violated, consistent")
    assert gates.unwanted([ONE], kinds) == ["cfl-mgd/lemma-2: consistent, which --fail-on names"]
    assert gates.unwanted([ONE], gates.read_kinds("vacuous")) == []
    for wrong in ("", "violatd", "violated,"):
        with pytest.raises(InvalidArgument, match="must be verdicts of certified, consistent"):
            gates.read_kinds(wrong)


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ({}, []),
        ({"verdict": "violated"}, ["was violated, is consistent"]),
        ({"verdict": "certified"}, ["was certified, is consistent"]),
        ({"sharpness": {"all": 0.99, "noise": 0.5}}, ["sharpness of all was 0.99, is 0.9"]),
        ({"sharpness": {"all": 0.92, "noise": 0.5}}, []),
        ({"sharpness": {"all": 0.9, "drift": 0.2}}, ["sharpness of drift was 0.2, is none"]),
        ({"sharpness": {"all": 0.99}, "exhausted": False}, []),
        ({"sharpness": None}, []),
        ({"claim": "cfl-mgd/gone"}, ["was consistent, is no claim any more"]),
    ],
)
def test_what_changed_since_a_report_is_named(before: dict[str, Any], said: list[str]) -> None:
    found = gates.changes([ONE], [recorded(**before)], named=True)
    assert len(found) == len(said)
    assert all(words in line for words, line in zip(said, found, strict=True))


def test_a_claim_that_was_left_out_counts_only_where_all_were_asked_for() -> None:
    other = recorded(claim="cfl-mgd/lemma-1")
    assert gates.changes([ONE], [other], named=True) == []
    assert gates.changes([ONE], [other], named=False) == [
        "cfl-mgd/lemma-1: was consistent, was not evaluated"
    ]


CLAIMS = ("cfl-mgd/lemma-2", "ifca/basin", "cfl-mgd/a41", "cfl-mgd/equation-5")
TOO = ("true/chebyshev", "false/chebyshev", "false/gradient-descent", "true/participation")
"""Of a user's file: intervals, tasks in counterexamples, identities."""


@pytest.fixture(scope="module")
def verdicts(claims_of_files: None) -> list[Verdict]:
    load_claims(ROOT / "examples" / "ten_and_ten.py")
    return [check(name) for name in (*CLAIMS, *TOO)]


@pytest.mark.slow(reason="runs every counterexample in a process of its own")
def test_every_counterexample_can_be_pasted(verdicts: list[Verdict]) -> None:
    codes = [code_of(one) for one in verdicts if one.counterexample is not None]
    assert codes
    for code in codes:
        assert code is not None
        exec(code, {})
        assert code in report.to_markdown(verdicts)
    assert code_of(ONE) is None
