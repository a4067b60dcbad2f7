"""Every claim of the registry has the verdict, the standing and the tightness that `catalogue.tsv` states.

The standing is what a true verdict is worth. The tightness is the least factor on the bound at which the statement is
still true: where the space is exhausted, or where a closed form gives it.
"""

import csv
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from best_constants import BEST
from catalogue import checked, read_catalogue

from clusterproof import theory
from clusterproof.algorithms import InvalidArgument
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.checker.claim import CLAIM_SIGNIFICANCE, Context
from clusterproof.theory.checker.survey import with_tightness
from clusterproof.theory.checker.verdict import Finding
from clusterproof.theory.claims.ranges import Drawn
from clusterproof.theory.claims.space import Space

CATALOGUE = read_catalogue()
TRUE = ("consistent", "certified")
FEWER: dict[str, int | None] = {
    # trials where slow tests are left out; None where the check is one of them
    "baselines/cfl-mgd-model": 10,
    "baselines/clustered": 10,
    "baselines/fedbcd": 10,
    "baselines/fedprox-exact": 10,
    "cfl-mgd/a16-meant": 20,
    "cfl-mgd/a17": 10,
    "cfl-mgd/a38-invariance": 10,
    "cfl-mgd/a39": 20,
    "cfl-mgd/a7-step": 1,
    "cfl-mgd/division-by-clients": 10,
    "cfl-mgd/equation-19": 20,
    "cfl-mgd/equation-24": 1,
    "cfl-mgd/equation-3": 20,
    "cfl-mgd/equation-36": 10,
    "cfl-mgd/lemma-1": 1,
    "cfl-mgd/lemma-1-cantelli": 20,
    "cfl-mgd/lemma-h": 100,
    "cfl-mgd/model-averaging-recursion": 10,
    "cfl-mgd/momentum-helps": 60,
    "cfl-mgd/momentum-horizon": 1,
    "cfl-mgd/norm-inequality": 1,
    "cfl-mgd/pairwise-error": 1,
    "cfl-mgd/row-lemma": 10,
    "cfl-mgd/theorem-a": 1,
    "cfl-mgd/theorem-a-prime": 1,
    "cfl-mgd/theorem-d": 2,
    "cfl/client-ids": 5,
    "fedavg/drift": 1,
    "fedavg/theorem-1": 20,
    "fedavg/theorem-2": 20,
    "fedavg/theorem-3": 10,
    "fedlin/convex": 4,
    "fedlin/rate": 4,
    "fedlin/sharp": 2,
    "fpfc/descent": 4,
    "fpfc/one-term": 4,
    "fpfc/one-term-large-augmentation": 4,
    "fpfc/one-term-waiting": 1,
    "fpfc/repaired-duals": 2,
    "fpfc/repaired-mapping": 4,
    "fpfc/repaired-models": 2,
    "fpfc/repaired-proof": 4,
    "fpfc/theorem-1-duals": None,
    "fpfc/theorem-1-models-positive": 2,
    "gradient-loss/fewer-passes": None,
    "gradient-loss/purity-bound": 20,
    "gradient-loss/reduction-ceiling": 1,
    "gradient-loss/reduction-curve": 2,
    "gradient-loss/reduction-up-to": 2,
    "gradient-loss/same-start": 4,
    "gradient-loss/sooner": 6,
    "gradient-loss/sooner-by": 4,
    "gradient-loss/training-loss": 4,
    "gradient-loss/training-loss-in-passes": 40,
    "gradient-loss/weight-at-start": 4,
    "gradient-loss/weight-at-start-by": 4,
    "ifca/basin": 5,
    "ifca/certain-in-basin": 60,
    "ifca/cfl-mgd-in-basin": 30,
    "ifca/cfl-mgd-same-basin": 500,
    "ifca/monotone-from-anywhere": 500,
    "ifca/monotone-in-basin": 25,
    "local-gd/corollary-1": 20,
    "local-gd/theorem-1": 20,
    "proxskip/identity": 1,
    "proxskip/sharp": 1,
    "proxskip/theorem-6": 1,
    "scaffold/convex": 4,
    "scaffold/multipliers": None,
    "scaffold/sharp": 5,
    "scaffold/sharp-option-1": 1,
    "sofl/guarded-count": 4,
    "sofl/initialisation": 1,
    "sofl/mean-field-fixed-point": 20,
    "sproxskip/additive": 1,
    "sproxskip/repaired": 4,
}
LARGEST = {
    # trials that decide, where a full check takes several seconds
    "cfl-mgd/lemma-1": 20,
    "cfl-mgd/momentum-horizon": 20,
    "cfl-mgd/pairwise-error": 20,
    "cfl-mgd/row-lemma": 20,
    "cfl-mgd/theorem-a": 10,
    "cfl-mgd/theorem-a-prime": 10,
    "cfl-mgd/theorem-d": 50,
    "fpfc/one-term-waiting": 2,
    "fpfc/repaired-proof": 10,
    "fpfc/theorem-1-duals": 2,
    "gradient-loss/fewer-passes": 100,
    "gradient-loss/reduction-curve": 10,
    "gradient-loss/sooner": 10,
    "gradient-loss/sooner-by": 20,
    "ifca/monotone-from-anywhere": 500,
}
PARTS = {
    # what a claim and its proof consist of; those in capitals are proved symbolically
    "cfl-mgd/row-lemma": "Gaussian rows, gamma, COVARIANCE, TWO LOGARITHMS, moment, psi, COEFFICIENTS",
    "cfl-mgd/norm-inequality": "sums of rows, DIVERGENCE, restricted posterior, N1 WITHOUT A SEARCH, "
    "Gaussian integral, volume, what the search found",
    "cfl-mgd/pairwise-error": "models in the basin, LARGEST COVARIANCE, NO COVARIANCE, THE CASES AGREE, "
    "MONOTONE WITHOUT COVARIANCE, MONOTONE WITH COVARIANCE",
    "cfl-mgd/theorem-d": "runs, partial participation, full participation, counts of participants, fluctuation, "
    "WORST COUNTS, counted drift, own noise, union of participants, MEAN GRADIENT, RECURSION IN THREE ROUNDS, "
    "recursion, drift, covariance, DOMINATION, union",
    "cfl-mgd/theorem-a-prime": "runs, Gaussian step, two-valued step, determinant, SLOPE, TELESCOPING, chain, "
    "frequency, certificate",
}
CLAIMS = [
    pytest.param(name, marks=pytest.mark.slow(reason="the check takes seconds"))
    if FEWER.get(name, 1) is None
    else name
    for name in CATALOGUE
]


def test_the_catalogue_is_complete() -> None:
    assert list(CATALOGUE) == [claim.id for claim in theory.catalogue()]


@pytest.mark.parametrize("claim_id", CLAIMS)
def test_a_check_gives_what_the_catalogue_states(claim_id: str, request: pytest.FixtureRequest) -> None:
    claim, row = theory.find_claim(claim_id), CATALOGUE[claim_id]
    slow_tests = not request.config.option.markexpr
    # of refuted claims the tightness is taken at few instances
    whole = slow_tests or (claim_id not in FEWER and row.verdict in TRUE)
    trials = LARGEST.get(claim_id) if whole else FEWER.get(claim_id)
    verdict = (
        checked(claim_id, trials)
        if whole and row.verdict in TRUE
        else theory.check(claim_id, evaluations=trials)
    )
    assert verdict.verdict == row.verdict, verdict.reason
    assert verdict.reason
    assert all(CATALOGUE[repair].verdict in TRUE for repair in verdict.repaired_by)
    if row.verdict == "consistent" and claim.parts is not None:
        assert verdict.instances or verdict.trials
    if claim.reexamine is not None:
        assert (verdict.counterexample is not None) == (row.verdict in ("violated", "ill-posed"))
    if verdict.counterexample is not None:
        replays_and_refuses_nonsense(claim_id, verdict)
    parts = claim.parts.parts if whole and row.verdict == "violated" and claim.parts is not None else ()
    if trials is None and parts and not any(part.space.replicates for part in parts):
        few = Context(0, 4, CLAIM_SIGNIFICANCE, claim_id)
        surveyed = with_tightness(verdict, parts, few).tightness
        assert surveyed is None or surveyed["all"]["ratio"] < 1
    if whole and claim_id in PARTS:
        every_part_is_exercised(claim_id, verdict.reason)
    if whole:
        assert standing(claim, verdict) == row.standing
        if row.tightness:
            assert tightness(claim, verdict) == pytest.approx(float(row.tightness), rel=1e-3)


def every_part_is_exercised(claim_id: str, reason: str) -> None:
    assert "not exercised" not in reason
    said = dict(part.split(": ", 1) for part in reason.split("; ") if ": " in part)
    for name in PARTS[claim_id].split(", "):
        if name.isupper():
            (shown,) = (text for one, text in said.items() if one.upper() == name)
            assert shown.startswith("proved symbolically")
        else:
            assert said[name].startswith("holds on")


def replays_and_refuses_nonsense(claim_id: str, verdict: Finding) -> None:
    example = json.loads(json.dumps(theory.as_json(verdict)["counterexample"]))  # type: ignore[arg-type]
    again = theory.replay(claim_id, example)
    assert again.verdict is verdict.verdict
    assert (again.measured, again.bound) == pytest.approx((verdict.measured, verdict.bound), rel=1e-7)
    for quantity in example:
        with pytest.raises(InvalidArgument, match="counterexample"):
            theory.replay(claim_id, example | {quantity: "nonsense"})


def standing(claim: theory.Claim, verdict: Finding) -> str:
    if verdict.verdict != "consistent":
        return "certified" if verdict.verdict == "certified" else ""
    if verdict.sharpness is None:
        return "no sharpness"
    found = verdict.sharpness.get("all") or 0
    if found >= 0.5:
        return "sharp within 2"
    # more than the second route allows would refute it
    best = BEST[claim.id]() if claim.id in BEST else math.inf
    return "loose, best constant known" if best / 1.1 <= found <= best * (1 + 1e-6) else "loose"


def tightness(claim: theory.Claim, verdict: Finding) -> float | None:
    if claim.id in BEST:
        return BEST[claim.id]()
    return (verdict.sharpness or {}).get("all")


ROUND = {"round_mixture", "batches", "distant_mixture", "whole_mixture"}
"""Functions whose tasks have the same curvature in all directions."""
ALIKE = {"equal_clusters", "noiseless_mixture", "round_mixture"}
"""Functions whose tasks have one minimiser in each cluster."""


def test_tasks_that_are_drawn_are_no_special_case() -> None:
    """Curvatures differ, the minimisers of a cluster's clients differ, and rows are noisy, but for those listed."""
    makers = {
        allowed.make
        for claim in theory.catalogue()
        for part in getattr(claim.parts, "parts", ())
        for allowed in Space.of(part.function).ranges.values()
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


def test_cards_state_what_a_theorem_card_must() -> None:
    claims = theory.catalogue()
    for claim in claims:
        for heading in ("Hypotheses", "Statement", "Symbols", "Source", "Checked"):
            assert f"{heading}\n" in claim.card, (claim.id, heading)
        assert claim.title.endswith("."), claim.id
    assert len({(claim.title, claim.card) for claim in claims}) == len(claims)


def test_a_card_states_what_no_source_prints() -> None:
    """A claim that refutes a reading states what the reading adds; one of ours that is false says that it is ours."""
    papers = {"cfl-mgd", "baselines", "cfl", "fedavg", "scaffold", "ifca"}
    for claim in (one for one in theory.catalogue() if one.paper in papers):
        source = claim.card.partition("Source\n")[2].partition("Checked\n")[0]
        if CATALOGUE[claim.id].verdict != "violated":
            continue
        if claim.judges == "reading":
            assert "reading's" in source, claim.id
        elif claim.judges == "ours":
            assert source.lstrip().startswith("Ours"), claim.id


def test_a_card_that_cites_a_lemma_by_its_letter_names_the_claim() -> None:
    lemmas = {
        letter: claim.id
        for claim in theory.catalogue()
        for letter in re.findall(r"^Lemma ([A-Z])\b", claim.label)
    }
    assert set(lemmas) == set("HNPR")
    for claim in theory.catalogue():
        for letter in re.findall(r"Lemma ([A-Z])\b", claim.card):
            assert claim.id == lemmas[letter] or f"``{lemmas[letter]}``" in claim.card, (claim.id, letter)


with Path(__file__).with_name("refused.tsv").open(encoding="utf-8", newline="") as file:
    REFUSED = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: f"{row['claim']} {row['words']}")
def test_an_instance_outside_the_hypotheses_is_refused(row: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument) as refusal:
        theory.replay(row["claim"], json.loads(row["instance"]))
    assert row["words"] in str(refusal.value)
