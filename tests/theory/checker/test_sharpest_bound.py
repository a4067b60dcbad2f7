"""The sharpest bound on a run: below every other that applies, and of the theorem that speaks of such runs."""

import dataclasses

import numpy as np
import pytest
from faulty_runs import DISTANCE, MEANT, meant_task

from clusterproof.algorithms import CFLMGD, FedAvg, InvalidArgument, run
from clusterproof.synthetic import LogCoshMixture, Mixture
from clusterproof.theory.checker.run_check import bound
from clusterproof.theory.checker.sharpest_bound import FAILURE, SHARPEST_FIRST, last_bound, sharpest_bound

TASK = meant_task()
START = TASK.optima + DISTANCE / 20**0.5
SMOOTH = LogCoshMixture.random(
    clusters=2, clients=40, dimension=2, condition_number=2.0, separation=4.0, samples=20_000, seed=0
)


@pytest.mark.parametrize(
    ("task", "algorithm", "claim"),
    [
        (TASK, MEANT, "theorem-d"),
        (TASK, dataclasses.replace(MEANT, participation=0.5, normalisation="cluster"), "theorem-d"),
        (dataclasses.replace(TASK, data="population"), MEANT, "lemma-h"),
        (SMOOTH, CFLMGD(step_size=1 / SMOOTH.smoothness, momentum=0), "theorem-a-prime"),
    ],
)
@pytest.mark.parametrize("replicates", [None, 3])
def test_it_is_below_every_other_and_says_which_it_is(
    task: Mixture, algorithm: CFLMGD, claim: str, replicates: int | None
) -> None:
    start = task.optima + 0.1 if task is SMOOTH else START
    trace = run(algorithm, task, rounds=10, replicates=replicates, initial=start)
    name, allowed, last = sharpest_bound(task, trace)
    assert name == f"cfl-mgd/{claim}"
    errors = np.asarray(trace.errors)[-1]
    assert last.shape == errors.shape
    assert (errors <= last).all()  # a failure of probability 0.05, absent at this seed
    assert allowed.failure_probability <= FAILURE * (1 + 1e-12)
    for other in (other for group in SHARPEST_FIRST for other in group):
        try:
            compared = bound(other, task, trace, failure_probability=FAILURE)
        except InvalidArgument:
            continue
        assert np.max(last) <= np.max(last_bound(compared, trace)), other


def test_a_run_without_a_bound_is_refused_with_the_hypothesis_and_its_claim() -> None:
    trace = run(FedAvg(step_size=0.1), TASK, rounds=2)
    with pytest.raises(InvalidArgument, match=r"\(cfl-mgd/theorem-a\)"):
        sharpest_bound(TASK, trace)
