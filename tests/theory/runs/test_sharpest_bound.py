"""The sharpest bound on a run: below every other that applies, and of the theorem that speaks of such runs."""

import dataclasses

import numpy as np
import pytest
from faulty_runs import DISTANCE, MEANT, meant_task

from clusterproof.algorithms import CFLMGD, FPFC, FedAvg
from clusterproof.common import InvalidArgument
from clusterproof.running import run
from clusterproof.synthetic import LogCoshMixture, Mixture, QuadraticMixture
from clusterproof.theory.runs.bound import FAILURE, SHARPEST_FIRST, bound, last_bound, sharpest_bounds

TASK = meant_task()
START = TASK.optima + DISTANCE / 20**0.5
SMOOTH = LogCoshMixture.random(
    clusters=2, clients=40, dimension=2, condition_number=2.0, separation=4.0, samples=20_000, seed=0
)


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(
    ("task", "algorithm", "claim"),
    [
        (TASK, MEANT, "theorem-d"),
        (TASK, dataclasses.replace(MEANT, participation=0.5, normalisation="cluster"), "theorem-d"),
        (dataclasses.replace(TASK, data="population"), MEANT, "lemma-h"),
        (SMOOTH, CFLMGD(step_size=1 / SMOOTH.smoothness, momentum=0), "theorem-a"),
    ],
)
def test_it_is_below_every_other_and_says_which_it_is(task: Mixture, algorithm: CFLMGD, claim: str) -> None:
    start = task.optima + 0.1 if task is SMOOTH else START
    trace = run(algorithm, task, rounds=10, replicates=3, initial=start)
    ((name, allowed, last),) = sharpest_bounds(task, trace)
    assert name == f"cfl-mgd/{claim}"
    errors = np.asarray(trace.errors)[-1]
    assert last.shape == errors.shape
    assert (errors <= last).all()  # a failure of probability 0.05, absent at this seed
    assert allowed.failure_probability <= FAILURE * (1 + 1e-12)
    for other in (other for group in SHARPEST_FIRST["cfl-mgd"][0] for other in group):
        try:
            compared = bound(other, task, trace, failure_probability=FAILURE)
        except InvalidArgument:
            continue
        assert np.max(last) <= np.max(last_bound(compared, trace)), other


QUADRATIC = QuadraticMixture.random(clusters=2, clients=6, dimension=2, separation=3.0, spread=0.3, seed=1)


def fpfc(augmentation: float, **options: object) -> FPFC:
    """lambda / xi = 2, steps of half of 1 / (L_f + rho)."""
    given = {"strength": 0.6, "smoothing": 0.3, "threshold": 0.5, "local_steps": 5} | options
    step_size = 0.5 / (QUADRATIC.client_smoothness + augmentation)
    return FPFC(step_size=step_size, augmentation=augmentation, **given)  # type: ignore[arg-type]  # of any options


@pytest.mark.parametrize(
    ("algorithm", "models"),
    [
        (fpfc(4.5), "one-term"),
        (fpfc(4.5, participation=0.5), "repaired-models"),
        (fpfc(60.0, participation=0.5), "repaired-models"),
        (fpfc(60.0, participation=0.5, local_steps=1), "one-term-large-augmentation"),
    ],
)
def test_a_run_of_fpfc_has_a_bound_on_each_of_its_residuals(algorithm: FPFC, models: str) -> None:
    """Where rho >= 8 L_g, the pairs' term and all local steps, or neither: A + B or A_1."""
    trace = run(algorithm, QUADRATIC, rounds=5, seed=1)
    found = sharpest_bounds(QUADRATIC, trace)
    names = [models, "repaired-duals", "repaired-mapping"]
    assert [name for name, *_ in found] == [f"fpfc/{name}" for name in names]
    least = float(np.max(found[0][2]))
    for other in ("one-term", "one-term-large-augmentation", "repaired-models", "theorem-1-models-positive"):
        try:
            compared = bound(f"fpfc/{other}", QUADRATIC, trace, failure_probability=FAILURE)
        except InvalidArgument:
            continue
        assert least <= np.max(last_bound(compared, trace)), other


def test_a_run_without_a_bound_is_refused_with_the_hypothesis_and_its_claim() -> None:
    trace = run(fpfc(3.0), QUADRATIC, rounds=2)
    with pytest.raises(InvalidArgument, match=r"must have rho > 2 L_g = 4 \(fpfc/repaired-models\)"):
        sharpest_bounds(QUADRATIC, trace)


def test_a_run_of_an_algorithm_without_a_bound_hears_of_no_other_algorithms_theorem() -> None:
    trace = run(FedAvg(step_size=0.1), TASK, rounds=2)
    with pytest.raises(InvalidArgument, match="no theorem that bounds runs") as refusal:
        sharpest_bounds(TASK, trace)
    assert "/" not in str(refusal.value)
