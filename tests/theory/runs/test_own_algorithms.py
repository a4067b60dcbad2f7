"""A user's own algorithm, wrong in one thing, fails Theorem D on a single run, and the place is named."""

import dataclasses
from typing import ClassVar

import numpy as np
import pytest
from tiers import slow_after

from clusterproof import theory
from clusterproof.algorithms import CFLMGD, IFCA, run
from clusterproof.algorithms.cfl_mgd import MomentumState
from clusterproof.synthetic import RegressionMixture

TASK = RegressionMixture.random(
    clusters=2,
    clients=40,
    dimension=20,
    condition_number=4.0,
    separation=2.0,
    noise=0.5,
    samples=20_000,
    seed=0,
)
ROUNDS = 50


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mine(CFLMGD):
    """Claims to be CFL-MGD with step 1 and momentum 0.5, whatever it does."""

    name: ClassVar[str] = "mine"

    @property
    def dynamics(self) -> CFLMGD:
        return CFLMGD(step_size=1.0, momentum=0.5)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Hasty(IFCA):
    """Claims to be IFCA, and has momentum."""

    name: ClassVar[str] = "hasty"

    @property
    def dynamics(self) -> CFLMGD:
        return IFCA(step_size=1.0).dynamics

    def initialise(self, models: np.ndarray, task: object) -> MomentumState:  # type: ignore[override]
        return CFLMGD(step_size=1.0, momentum=0.2).initialise(models, task)  # type: ignore[arg-type]

    def step(self, state: object, task: object, randomness: object) -> object:  # type: ignore[override]
        return CFLMGD(step_size=1.0, momentum=0.2).step(state, task, randomness)  # type: ignore[arg-type]


START = TASK.optima + 0.125 * np.eye(20)[:2]


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(
    "algorithm",
    [
        Mine(step_size=1.0, momentum=0.4),
        Mine(step_size=1.0, momentum=0.5, normalisation="cluster"),
        Hasty(step_size=1.0),
    ],
    ids=["momentum 0.4", "divisor", "IFCA with momentum"],
)
@pytest.mark.parametrize("seed", slow_after(1, "another seed", range(2)))
def test_one_run_is_a_verdict_and_the_message_names_the_place(algorithm: CFLMGD, seed: int) -> None:
    trace = run(algorithm, TASK, rounds=ROUNDS, seed=seed, initial=START)
    with pytest.raises(AssertionError, match=r"cfl-mgd/theorem-d: .* at round \d+, cluster \d"):
        theory.assert_holds("cfl-mgd/theorem-d", TASK, trace)


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("algorithm", [Mine(step_size=1.0, momentum=0.5), IFCA(step_size=1.0)])
@pytest.mark.parametrize("seed", slow_after(1, "more seeds", range(3)))
def test_what_is_as_it_claims_holds(algorithm: CFLMGD | IFCA, seed: int) -> None:
    trace = run(algorithm, TASK, rounds=ROUNDS, seed=seed, initial=START)
    theory.assert_holds("cfl-mgd/theorem-d", TASK, trace)
    allowed = theory.bound("cfl-mgd/theorem-d", TASK, trace)
    assert allowed.failure_probability == pytest.approx(1e-9)
    assert allowed.reference is not None
    assert allowed.deviation is not None
    assert np.shape(allowed.reference) == trace.models.shape
