"""Verdicts on the baselines' fixed points and on CFL: replayed, by hand, and with planted faults."""

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import theory
from algorithms import CFL
from theory import fixed_points
from theory.baselines import averaging, cfl_cut, cfl_stationary, clustered, personal, resting
from theory.verdict import Kind

AT_REST = [
    "baselines/fedavg",
    "baselines/fedprox",
    "baselines/fedprox-exact",
    "baselines/per-fedavg-hf",
    "baselines/per-fedavg-fo",
    "baselines/fedbcd",
    "baselines/fedbcd-separate",
    "baselines/local",
    "baselines/cfl-mgd-gradient",
    "baselines/cfl-mgd-model",
    "baselines/clustered",
]
TRUE = [*AT_REST, "cfl/stationary-cosine", "cfl/two-clusters", "cfl/single-linkage", "cfl/client-ids"]
FALSE = [
    "baselines/fedavg-optimum",
    "baselines/per-fedavg-fo-optimum",
    "cfl/stationary-cosine-anywhere",
    "cfl/complete-linkage",
    "cfl/notebook-index",
]


def test_every_claim_is_here() -> None:
    ids = {claim.id for paper in ("baselines", "cfl") for claim in theory.claims(paper)}
    assert ids == {*TRUE, *FALSE}


@pytest.mark.parametrize("claim_id", AT_REST)
def test_fifty_drawn_instances_rest_at_the_closed_form(claim_id: str) -> None:
    verdict = theory.check(claim_id, seed=1)
    assert verdict.verdict is Kind.CONSISTENT, verdict.reason
    assert verdict.trials == 50
    assert verdict.measured is not None
    assert verdict.measured <= verdict.bound == 1e-10


@pytest.mark.parametrize("claim_id", FALSE)
def test_counterexamples_are_found_from_any_seed_and_replayed(claim_id: str) -> None:
    for seed in range(4):
        verdict = theory.check(claim_id, seed=seed)
        assert verdict.verdict is Kind.VIOLATED
        assert verdict.repaired_by in TRUE
        stored = json.loads(json.dumps(theory.as_json(verdict)))
        again = theory.replay(claim_id, stored["counterexample"])
        assert again.verdict is Kind.VIOLATED
        assert again.measured == pytest.approx(verdict.measured)


@pytest.mark.parametrize("claim_id", TRUE)
def test_no_false_alarm_over_thirty_seeds(claim_id: str) -> None:
    for seed in range(30):
        verdict = theory.check(claim_id, seed=seed, trials=4)
        assert verdict.verdict is Kind.CONSISTENT, (seed, verdict.reason)


def scaled(factor: float) -> Callable[[Any], Any]:
    """Make a function that returns a multiple of what the true one does."""
    return lambda true: lambda *arguments, **named: factor * true(*arguments, **named)


def first_model_only(true: Any) -> Any:
    """Give the closed form's models right and what stands beside them wrong."""

    def wrong(*arguments: Any, **named: Any) -> Any:
        models, beside = true(*arguments, **named)
        return models, beside + 1e-6

    return wrong


def as_positions(true: Any) -> Any:
    """Number the cut clients by their position in the cluster, as the public notebook."""

    def split(self: CFL, members: np.ndarray, ids: np.ndarray, *rest: Any) -> None:
        copy = members.copy()
        true(self, copy, ids, *rest)
        positions = np.flatnonzero(copy[ids] != members[ids])
        if members.max() + 1 < len(members):
            members[positions] = members.max() + 1

    return split


SLIGHTLY = scaled(1 + 1e-6)
FAULTS: list[tuple[str, Any, str, Callable[[Any], Any]]] = [
    *((claim_id, fixed_points, "weighted_mean", SLIGHTLY) for claim_id in AT_REST if "local" not in claim_id),
    ("baselines/local", fixed_points, "local", SLIGHTLY),
    ("baselines/fedbcd", fixed_points, "fedbcd", first_model_only),
    ("baselines/fedbcd-separate", fixed_points, "fedbcd_separate", first_model_only),
    ("baselines/cfl-mgd-model", fixed_points, "cfl_mgd", first_model_only),
    ("baselines/clustered", clustered, "algorithms_within", lambda true: lambda step, _: true(step / 2, 2)),
    ("cfl/stationary-cosine", cfl_stationary, "cosine_similarities", SLIGHTLY),
    ("cfl/two-clusters", cfl_stationary, "cosine_similarities", SLIGHTLY),
    ("cfl/single-linkage", cfl_cut, "bipartition", lambda true: lambda cosines, _: true(cosines, "complete")),
    ("cfl/client-ids", CFL, "_split", as_positions),
]


@pytest.mark.parametrize(
    ("claim_id", "place", "attribute", "fault"), FAULTS, ids=[f"{each[0]}-{each[2]}" for each in FAULTS]
)
def test_planted_fault_is_violated(
    claim_id: str, place: Any, attribute: str, fault: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, attribute, fault(getattr(place, attribute)))
    verdict = theory.check(claim_id)
    assert verdict.verdict is Kind.VIOLATED
    if claim_id in AT_REST:
        assert verdict.counterexample is not None
        assert theory.replay(claim_id, verdict.counterexample).verdict is Kind.VIOLATED


def with_one(name: str, value: int) -> Callable[[Any], Any]:
    """Fix one of an instance's numbers."""
    return lambda true: lambda instance: true({**instance, name: value})


CORRECTIONS: list[tuple[str, Any, str, Callable[[Any], Any]]] = [
    ("baselines/fedavg-optimum", averaging, "drift", with_one("local_steps", 1)),
    ("baselines/per-fedavg-fo-optimum", personal, "missed_optimum", with_one("inner", 0)),
    ("cfl/stationary-cosine-anywhere", cfl_stationary, "CLUSTERS", lambda _: 2),
    ("cfl/complete-linkage", cfl_cut, "bipartition", lambda true: lambda cosines, _: true(cosines, "single")),
    ("cfl/notebook-index", cfl_cut, "cut_twice", lambda true: lambda one: (true(one)[0],) * 2),
]


@pytest.mark.parametrize(
    ("claim_id", "place", "attribute", "right"), CORRECTIONS, ids=[each[0] for each in CORRECTIONS]
)
def test_corrected_statement_is_not_refuted(
    claim_id: str, place: Any, attribute: str, right: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, attribute, right(getattr(place, attribute)))
    assert theory.check(claim_id, trials=200).verdict is Kind.CONSISTENT


def test_every_claim_has_a_planted_fault_or_a_correction() -> None:
    assert {each[0] for each in FAULTS} | {each[0] for each in CORRECTIONS} == {*TRUE, *FALSE}


def test_drift_by_hand() -> None:
    """Curvatures 1/4 and 1, eta = 1/4, H = 2: weights 31/256 and 112/256, rest 81/143, optimum 3/5."""
    numbers = {"curvature": Fraction(1, 4), "step": Fraction(1, 4), "local_steps": 2}
    assert averaging.drift(numbers) == (Fraction(3, 5) - Fraction(81, 143), 0)


def test_first_order_gap_by_hand() -> None:
    """Curvatures 1/4 and 1, alpha = 1/4: FO weights 15 : 48, HF weights 225 : 576."""
    expected = Fraction(33, 63) - Fraction(351, 801)
    assert personal.missed_optimum({"curvature": Fraction(1, 4), "inner": Fraction(1, 4)}) == (expected, 0)


def test_minimal_counterexample_of_complete_linkage_has_four_clients() -> None:
    """With three clients both linkages merge the closest pair, and agree."""
    for seed in range(3):
        found = theory.check("cfl/complete-linkage", seed=seed).counterexample
        assert found is not None
        assert found["clients"] == 4


def test_complete_linkage_by_hand() -> None:
    """Directions 90, -90, -45 and 18.4 degrees: after {-90, -45}, single adds 18.4, complete {90, 18.4}.

    The largest cosines across are then cos 71.6 = 1 / sqrt 10 and cos 63.4 = 1 / sqrt 5.
    """
    instance: dict[str, Any] = {"clients": 4}
    for i, (x, y) in enumerate([(0, 1), (0, -1), (1, -1), (3, 1)]):
        instance |= {f"x_{i}": x, f"y_{i}": y}
    measured, allowed = cfl_cut.complete_excess(instance)
    assert measured == pytest.approx(5**-0.5 - 10**-0.5)
    assert allowed == 0


def test_drawn_tasks_have_the_spectrum_and_the_clusters_that_were_asked_for() -> None:
    instance = {"seed": 3, "clients": 4, "dimension": 3, "condition": 4}
    task = resting.drawn_task(instance, clusters=2)
    eigenvalues = np.linalg.eigvalsh(task.hessians)
    assert eigenvalues.min() >= 0.25
    assert eigenvalues.max() <= 1
    assert np.bincount(task.labels).tolist() == [4, 4]
    assert not np.allclose(task.hessians[0], task.hessians[1])


def test_a_run_that_never_rests_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resting, "LONGEST", 2)
    assert theory.check("baselines/fedavg").verdict is Kind.VIOLATED
