"""Every claim of the catalogue has the verdict that it expects, and a consistent one is worth what it expects."""

import csv
import json
import math
import re
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from best_constants import BEST
from catalogue import CHOSEN, RECORDED, checked, read_catalogue, recorded, replayed

from clusterproof import checker
from clusterproof.checker import Kind, kernel
from clusterproof.checker.claims.ranges import Drawn
from clusterproof.checker.report.recorded import is_text_of
from clusterproof.checker.report.stored_evidence import Kept, read_evidence
from clusterproof.checker.report.tables import to_json
from clusterproof.common import InvalidArgument
from clusterproof.synthetic import QuadraticMixture

CATALOGUE = read_catalogue()
TIGHTNESS = {
    "cfl-mgd/appendix-a4": 0.642,
    "cfl-mgd/lemma-1": 0.5,
    "cfl-mgd/lemma-1-union": 0.5,
    "cfl-mgd/momentum-horizon": 1,
    "sofl/mean-field-fixed-point": 1,
}
"""Least factor on the bound at which a claim is still true: by a closed form, or where all instances are tried."""
TRUE = ("consistent", "certified")
ONLY_RECORDED = (
    "gradient-loss/reduction-up-to",
    "ifca/cfl-mgd-same-basin",
    "ifca/monotone-from-anywhere",
)
"""Claims whose counterexample takes too long to be tried again wherever a record is read; but for that of
gradient-loss/fewer-passes, which takes half a minute."""
LONG = pytest.mark.slow(reason="the check takes long")
CLAIMS = [
    pytest.param(name, marks=LONG) if name in CHOSEN.split() else name
    for name in CATALOGUE
    if name not in RECORDED.split()
]


def test_every_claim_expects_a_verdict_and_a_consistent_one_says_what_it_is_worth() -> None:
    standings = {"tight within 2", "loose", "loose, best constant known", "no sharpness"}
    for name, row in CATALOGUE.items():
        remedy = (
            f'{name}: write @claim(..., expected="VERDICT, STANDING"), known by another route; verdicts are '
        )
        remedy += f"{', '.join(Kind)}, and the standing of a consistent one is {', '.join(sorted(standings))}"
        assert row.verdict in {*Kind}, remedy
        assert (row.standing in standings) if row.verdict == "consistent" else not row.standing, remedy


def test_of_a_missing_record_the_failure_says_what_to_type() -> None:
    with pytest.raises(AssertionError, match="`clusterproof check paper/new --search --evidence "):
        recorded()["paper/new"]


@pytest.mark.parametrize("claim_id", CLAIMS)
def test_a_check_gives_what_the_catalogue_states(claim_id: str) -> None:
    row, verdict = CATALOGUE[claim_id], checked(claim_id)
    assert verdict.verdict == row.verdict, verdict.reason
    assert verdict.reason
    repairs = {CATALOGUE[repair].verdict for repair in verdict.repaired_by}
    assert repairs <= {*TRUE, "inconclusive"}
    assert (verdict.counterexample is not None) == (row.verdict in ("violated", "ill-posed"))
    if verdict.counterexample is not None:
        replays_and_refuses_nonsense(claim_id, verdict)
    assert standing(verdict) == row.standing
    if claim_id in TIGHTNESS:
        assert tightness(verdict) == pytest.approx(TIGHTNESS[claim_id], rel=1e-3)


@pytest.mark.parametrize("claim_id", CATALOGUE)
def test_its_record_is_replayed_and_says_the_same(claim_id: str) -> None:
    row, found = CATALOGUE[claim_id], replayed(checker.find_claim(claim_id))
    write = f"write it with `clusterproof check {claim_id} --search --evidence clusterproof/theory/evidence`"
    assert found.verdict is not None, f"{found.why}: {write}"
    assert found.verdict.verdict == row.verdict
    if row.verdict == "certified":
        assert {each.verdict for each in found.verdict.lines if each.role == "statement"} == {"certified"}
    assert standing(found.verdict) == row.standing
    if claim_id in TIGHTNESS:
        assert tightness(found.verdict) == pytest.approx(TIGHTNESS[claim_id], rel=1e-3)


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("claim_id", ONLY_RECORDED)
def test_a_counterexample_that_takes_long_is_one(claim_id: str) -> None:
    found = SimpleNamespace(**recorded()[claim_id])
    again = checker.replay(claim_id, found.counterexample)
    assert again.verdict == found.verdict
    assert (again.measured, again.bound) == pytest.approx((found.measured, found.bound), rel=1e-7)


@pytest.mark.parametrize(
    "claim_id",
    [name if name not in RECORDED.split() else pytest.param(name, marks=LONG) for name in CATALOGUE],
)
def test_its_text_gives_what_its_function_gives(claim_id: str) -> None:
    """At instances: a replay of the catalogue does not compare the two again."""
    claim = checker.find_claim(claim_id)
    text = kept_of(claim.paper).texts.get(claim_id)
    assert text is None or is_text_of(claim, text)


def test_half_of_the_claims_are_of_the_kernels_language_and_many_are_decided_by_it() -> None:
    kept = [kept_of(paper) for paper in {claim.paper for claim in checker.catalogue()}]
    roles = [
        {each.role for each in kernel.read(text).statements.values() if each.function is not None}
        for paper in kept
        for text in paper.texts.values()
    ]
    assert sum("statement" in own for own in roles) >= 110
    decided = [len(records) for paper in kept for records in paper.evidence.values()]
    assert sum(decided) >= 110
    assert len(decided) >= 40


@cache
def kept_of(paper: str) -> Kept:
    return read_evidence(paper)


def replays_and_refuses_nonsense(claim_id: str, verdict: checker.Verdict) -> None:
    example = json.loads(to_json(verdict.counterexample))
    again = checker.replay(claim_id, example)
    assert again.verdict is verdict.verdict
    assert (again.measured, again.bound) == pytest.approx((verdict.measured, verdict.bound), rel=1e-7)
    for quantity in example:
        with pytest.raises(InvalidArgument, match="counterexample"):
            checker.replay(claim_id, example | {quantity: "nonsense"})


def standing(verdict: checker.Verdict) -> str:
    if verdict.verdict != "consistent":
        return ""
    if verdict.tightness is None:
        return "no sharpness"
    found = verdict.worst or 0
    if found >= 0.5:
        return "tight within 2"
    # more than the second route allows would refute it
    best = BEST[verdict.claim]() if verdict.claim in BEST else math.inf
    return "loose, best constant known" if best / 1.1 <= found <= best * (1 + 1e-6) else "loose"


def tightness(verdict: checker.Verdict) -> float | None:
    return BEST[verdict.claim]() if verdict.claim in BEST else verdict.worst


ROUND = {"round_mixture", "batches", "distant_mixture", "whole_mixture"}
"""Functions whose tasks have the same curvature in all directions."""
ALIKE = {"equal_clusters", "noiseless_mixture", "round_mixture"}
"""Functions whose tasks have one minimiser in each cluster."""


def test_tasks_that_are_drawn_are_no_special_case() -> None:
    """Curvatures differ, the minimisers of a cluster's clients differ, and rows are noisy, but for those listed."""
    makers = {
        allowed.make
        for claim in checker.catalogue()
        for statement in claim.statements
        for allowed in statement.space.ranges.values()
        if isinstance(allowed, Drawn)
    }
    for make in makers:
        tasks: list[Any] = [make(np.random.default_rng(number)) for number in range(8)]
        if not hasattr(tasks[0], "client_optima"):
            continue
        name = getattr(make, "func", make).__name__
        assert (max(task.condition_number for task in tasks) > 1.3) == (name not in ROUND), name
        if isinstance(tasks[0], QuadraticMixture):
            apart = max(np.abs(task.centers - task.optima[task.labels]).max() for task in tasks)
            assert (apart > 0.1) == (name not in ALIKE), name
        else:
            assert max(getattr(task, "noise", 1.0) for task in tasks) > 0.1, name


def test_docstrings_state_what_a_theorem_must() -> None:
    claims = checker.catalogue()
    for claim in claims:
        for heading in ("Statement", "Source"):
            assert f"{heading}\n" in claim.text, (claim.id, heading)
        assert claim.title.endswith("."), claim.id
    assert len({(claim.title, claim.text) for claim in claims}) == len(claims)


def test_a_docstring_states_what_no_source_prints() -> None:
    """A claim that refutes a reading states what the reading adds; one of ours that is false says that it is ours."""
    papers = {"cfl-mgd", "baselines", "cfl", "fedavg", "scaffold", "ifca"}
    for claim in (one for one in checker.catalogue() if one.paper in papers):
        source = claim.text.partition("Source\n")[2]
        if CATALOGUE[claim.id].verdict != "violated":
            continue
        if claim.source == "reading":
            assert re.search(r"\b[Rr]eading('s|\s)", source), claim.id
        elif claim.source == "ours":
            assert source.lstrip().startswith("Ours"), claim.id


def test_a_docstring_that_cites_a_lemma_by_its_letter_names_the_claim() -> None:
    lemmas = {
        letter: claim.id
        for claim in checker.catalogue()
        for letter in re.findall(r"^Lemma ([A-Z])\b", claim.label)
    }
    assert set(lemmas) == set("HNPR")
    for claim in checker.catalogue():
        for letter in re.findall(r"Lemma ([A-Z])\b", claim.text):
            assert claim.id == lemmas[letter] or f"``{lemmas[letter]}``" in claim.text, (claim.id, letter)


with Path(__file__).with_name("refused.tsv").open(encoding="utf-8", newline="") as file:
    REFUSED = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: f"{row['claim']} {row['words']}")
def test_an_instance_outside_the_hypotheses_is_refused(row: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument) as refusal:
        checker.replay(row["claim"], json.loads(row["instance"]))
    assert row["words"] in str(refusal.value)
