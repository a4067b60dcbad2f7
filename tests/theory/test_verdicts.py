"""Every claim's verdict is the one that the paper deserves, and is computed, not stored."""

import json

import pytest

import theory
from theory.verdict import Kind

EXPECTED = {
    "cfl-mgd/algorithm-line-8": Kind.VIOLATED,
    "cfl-mgd/algorithm-line-20": Kind.VIOLATED,
    "cfl-mgd/assumption-1": Kind.CONSISTENT,
    "cfl-mgd/assumption-2": Kind.CONSISTENT,
    "cfl-mgd/assumption-3": Kind.VACUOUS,
    "cfl-mgd/assumption-3-ball": Kind.CONSISTENT,
    "cfl-mgd/assumption-4": Kind.ILL_POSED,
    "cfl-mgd/assumption-5": Kind.ILL_POSED,
    "cfl-mgd/assumption-5-same-batch": Kind.VIOLATED,
    "cfl-mgd/assumption-5-resampled": Kind.CONSISTENT,
    "cfl-mgd/lemma-1": Kind.CONSISTENT,
    "cfl-mgd/lemma-1-union": Kind.CONSISTENT,
    "cfl-mgd/lemma-1-cantelli": Kind.CONSISTENT,
    "cfl-mgd/lemma-1-exact": Kind.CONSISTENT,
    "cfl-mgd/lemma-1-worst-case": Kind.CONSISTENT,
    "cfl-mgd/lemma-2": Kind.VIOLATED,
    "cfl-mgd/per-step-contraction": Kind.VIOLATED,
    "cfl-mgd/per-step-region": Kind.CONSISTENT,
    "cfl-mgd/asymptotic-rate": Kind.VIOLATED,
    "cfl-mgd/asymptotic-region": Kind.CONSISTENT,
    "cfl-mgd/equation-32": Kind.VIOLATED,
    "cfl-mgd/theorem-1": Kind.VACUOUS,
    "cfl-mgd/theorem-1-small-constant": Kind.VIOLATED,
    "cfl-mgd/theorem-1-probability": Kind.ILL_POSED,
    "cfl-mgd/remark-1": Kind.VIOLATED,
    "cfl-mgd/division-by-clients": Kind.CONSISTENT,
    "cfl-mgd/lemma-h": Kind.CONSISTENT,
    "cfl-mgd/theorem-b": Kind.CONSISTENT,
    "cfl-mgd/corollary-b1": Kind.CONSISTENT,
}


@pytest.mark.parametrize("claim_id", EXPECTED)
def test_verdict(claim_id: str) -> None:
    verdict = theory.check(claim_id, seed=1)
    assert verdict.verdict is EXPECTED[claim_id], verdict.reason
    assert verdict.reason
    if verdict.verdict is Kind.VIOLATED:
        assert verdict.counterexample is not None
        assert verdict.repaired_by is not None
        stored = json.loads(json.dumps(theory.as_json(verdict)))
        again = theory.replay(claim_id, stored["counterexample"])
        assert again.verdict is Kind.VIOLATED
        assert again.measured == pytest.approx(verdict.measured)
    if verdict.verdict is Kind.CONSISTENT:
        assert verdict.trials is not None
        assert verdict.failures == 0


def test_report_has_at_least_twenty_claims() -> None:
    assert len(theory.claims()) >= 20
    assert {claim.paper for claim in theory.claims()} >= {"cfl-mgd"}


def test_repairs_exist_and_are_not_themselves_broken() -> None:
    for claim in theory.claims():
        if claim.repaired_by is not None:
            assert claim.repaired_by in theory.REGISTRY
            assert EXPECTED.get(claim.repaired_by, Kind.CONSISTENT) is Kind.CONSISTENT


def test_cards_state_what_a_theorem_card_must() -> None:
    for claim in theory.claims():
        for heading in ("Hypotheses", "Statement", "Symbols", "Source", "Checked"):
            assert f"{heading}\n" in claim.card, (claim.id, heading)
        assert claim.title.endswith("."), claim.id


def test_same_seed_same_numbers() -> None:
    first, second = (theory.as_json(theory.check("cfl-mgd/lemma-2", seed=3)) for _ in range(2))
    first.pop("seconds"), second.pop("seconds")
    assert first == second


def test_lemma_2_counterexample_by_hand() -> None:
    """The printed instance, with nothing but the paper's own update on floats."""
    found = theory.check("cfl-mgd/lemma-2").counterexample
    assert found is not None
    clients, own = found["clients"], found["own"]
    numerator, _, denominator = str(found["momentum"]).partition("/")
    momentum = float(numerator) / float(denominator or 1)
    start = 0.5 if found["start"] == "1/2" else pytest.fail("the simplest start is 1/2")
    smallest = min(own, clients - own) / clients
    chi, previous = 1.0 - start, 1.0 - start
    errors = [start]
    for _ in range(found["round"] + 1):
        # every one of the own clients has gradient chi - 1; eta = 1/L = 1
        chi, previous = chi - own / clients * (chi - 1.0) + momentum * (chi - previous), chi
        errors.append(abs(chi - 1.0))
    assert errors[0] <= 0.25 * 2.0  # Assumption 4 with mu = L and Delta = 2
    assert errors[-1] > (1 - smallest / 8) * errors[-2] + smallest / 4


def test_asymptotic_rate_is_the_square_root_of_the_momentum() -> None:
    verdict = theory.check("cfl-mgd/asymptotic-rate")
    assert verdict.measured == pytest.approx(0.9**0.5, abs=1e-9)
    assert verdict.bound == 0.9375


def test_corollary_b1_covers_what_it_must() -> None:
    """Three settings, one of them with four clusters of unequal size and kappa = 10."""
    from theory.experiments import experiment

    reason = theory.check("cfl-mgd/corollary-b1", trials=20).reason
    assert all(f"{name}, momentum" in reason for name in ("S1", "S2", "S3+"))
    assert "hypotheses fail" not in reason
    task = experiment("S2", None).task
    assert task.condition_number == pytest.approx(10)
    assert sorted(task.proportions.tolist()) == pytest.approx([0.1, 0.2, 0.3, 0.4])
