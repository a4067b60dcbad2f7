"""The baselines' fixed points and CFL: by hand, and with planted faults."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from catalogue import checked

from clusterproof import theory
from clusterproof.algorithms import CFL, InvalidArgument
from clusterproof.algorithms import bipartition as parts
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory import Kind
from clusterproof.theory.exact import affine_rounds
from clusterproof.theory.papers.baselines import averaging, clustered
from clusterproof.theory.papers.baselines import averaging as resting
from clusterproof.theory.papers.baselines import cfl as cfl_cut
from clusterproof.theory.papers.baselines import cfl as cfl_stationary

Plant = Callable[..., Any]

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


def scaled(factor: float) -> Callable[[Any], Any]:
    """Make a function that returns a multiple of what the true one does."""
    return lambda true: lambda *arguments, **named: factor * true(*arguments, **named)


def first_model_only(true: Any) -> Any:
    """Return the closed form's models and wrong values of the other arrays."""

    def wrong(*arguments: Any, **named: Any) -> Any:
        models, personal = true(*arguments, **named)
        return models, personal + 1e-6

    return wrong


def both_scaled(true: Any) -> Any:
    """Return multiples of the closed form's models and buffers."""
    return lambda *arguments, **named: tuple((1 + 1e-6) * each for each in true(*arguments, **named))


def as_positions(true: Any) -> Any:
    """Number the cut clients by their position in the cluster, as the public notebook."""

    def cut(self: CFL, members: np.ndarray, ids: np.ndarray, *rest: Any) -> None:
        copy = members.copy()
        true(self, copy, ids, *rest)
        positions = np.flatnonzero(copy[ids] != members[ids])
        if members.max() + 1 < len(members):
            members[positions] = members.max() + 1

    return cut


SLIGHTLY = scaled(1 + 1e-6)
FAULTS: list[tuple[str, Any, str, Callable[[Any], Any]]] = [
    *(
        (claim_id, affine_rounds, "weighted_mean", SLIGHTLY)
        for claim_id in AT_REST
        if "local" not in claim_id and "model" not in claim_id
    ),
    ("baselines/cfl-mgd-model", affine_rounds, "cfl_mgd_rest", both_scaled),
    ("baselines/local", affine_rounds, "local_rest", SLIGHTLY),
    ("baselines/fedbcd", affine_rounds, "fedbcd_rest", first_model_only),
    ("baselines/fedbcd-separate", affine_rounds, "fedbcd_separate_rest", first_model_only),
    ("baselines/cfl-mgd-model", affine_rounds, "cfl_mgd_rest", first_model_only),
    ("baselines/clustered", clustered, "algorithms_within", lambda true: lambda step, _: true(step / 2, 2)),
    ("cfl/stationary-cosine", parts, "cosine_similarities", SLIGHTLY),
    ("cfl/two-clusters", parts, "cosine_similarities", SLIGHTLY),
    ("cfl/single-linkage", parts, "bipartition", lambda true: lambda cosines, _: true(cosines, "complete")),
    ("cfl/client-ids", CFL, "split", as_positions),
]


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(
    ("claim_id", "place", "attribute", "fault"), FAULTS, ids=[f"{each[0]}-{each[2]}" for each in FAULTS]
)
def test_planted_fault_is_violated(
    claim_id: str, place: Any, attribute: str, fault: Callable[[Any], Any], plant: Plant
) -> None:
    plant(place, attribute, fault(getattr(place, attribute)))
    verdict = theory.check(claim_id)
    assert verdict.verdict is Kind.VIOLATED
    if claim_id in AT_REST:
        assert verdict.counterexample is not None
        assert theory.replay(claim_id, verdict.counterexample).verdict is Kind.VIOLATED


CORRECTIONS: list[tuple[str, Any, str, Callable[[Any], Any]]] = [
    ("baselines/fedavg-optimum", averaging, "rest_of_two", lambda true: lambda *one: true(*one[:2], 1)),
    (
        "baselines/per-fedavg-fo-optimum",
        averaging,
        "personal_rest_of_two",
        lambda true: lambda curvature, _, power: true(curvature, Fraction(0), power),
    ),
    ("cfl/stationary-cosine-anywhere", cfl_stationary, "pulls", lambda true: lambda points: true(points[:2])),
    ("cfl/complete-linkage", parts, "bipartition", lambda true: lambda cosines, _: true(cosines, "single")),
    ("cfl/notebook-index", cfl_cut, "cut_twice", lambda true: lambda *one: (true(*one)[0],) * 2),
]


@pytest.mark.slow(reason="evaluates corrected claims at their own budget")
@pytest.mark.parametrize(
    ("claim_id", "place", "attribute", "right"), CORRECTIONS, ids=[each[0] for each in CORRECTIONS]
)
def test_corrected_statement_is_not_refuted(
    claim_id: str, place: Any, attribute: str, right: Callable[[Any], Any], plant: Plant
) -> None:
    plant(place, attribute, right(getattr(place, attribute)))
    assert theory.check(claim_id, evaluations=200).verdict in (Kind.CONSISTENT, Kind.CERTIFIED)


def test_minimal_counterexample_of_complete_linkage_has_four_clients() -> None:
    """With three clients both linkages merge the closest pair, and agree."""
    found = checked("cfl/complete-linkage").counterexample
    assert found is not None
    assert len(found["updates"]) == 4
    stream = np.random.default_rng(0)
    for _ in range(200):
        cosines = parts.cosine_similarities(stream.standard_normal((3, 2)))
        single, complete = (parts.bipartition(cosines, linkage) for linkage in ("single", "complete"))
        assert parts.cross_similarity(cosines, single) == parts.cross_similarity(cosines, complete)


def test_complete_linkage_by_hand() -> None:
    """Directions 90, -90, -45 and 18.4 degrees: after {-90, -45}, single adds 18.4, complete {90, 18.4}.

    The largest cosines across are then cos 71.6 = 1 / sqrt 10 and cos 63.4 = 1 / sqrt 5.
    """
    sides = cfl_cut.complete_linkage(np.array([[0.0, 1.0], [0.0, -1.0], [1.0, -1.0], [3.0, 1.0]]))
    assert sides.measured[0] == pytest.approx(5**-0.5 - 10**-0.5)


def test_drawn_tasks_have_the_spectrum_and_the_clusters_that_were_asked_for() -> None:
    seen = set()
    for seed in range(30):
        task = resting.draw_task(np.random.default_rng(seed), clusters=2, fewest=2)
        eigenvalues = np.linalg.eigvalsh(task.hessians)
        assert eigenvalues.min() >= 0.25 - 1e-12
        assert eigenvalues.max() <= 1 + 1e-12
        first, second = np.bincount(task.labels)
        assert first == second >= 2
        assert task.separation > 50
        seen.add((int(first), task.dimension))
    assert len(seen) > 10


def test_a_forged_task_is_refused() -> None:
    flat = QuadraticMixture(
        hessians=np.full((2, 1, 1), 1e-6), centers=np.array([[0.0], [1.0]]), labels=np.zeros(2, int)
    )
    with pytest.raises(InvalidArgument, match=r"eigenvalues in \[1/4, 1\]"):
        theory.replay("baselines/local", {"task": flat.settings, "local_steps": 1})


def test_a_run_that_never_rests_is_told(plant: Plant) -> None:
    plant(resting, "LONGEST", 2)
    assert theory.check("baselines/fedavg").verdict is Kind.VIOLATED
