"""Wrong versions of Theorems D and E: each is seen by runs, by a printed value, or by a hypothesis."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from clusterproof.algorithms import CFLMGD, run
from clusterproof.synthetic import RegressionMixture
from clusterproof.synthetic.mixture import make_labels
from clusterproof.theory.bounds import norm_inequality
from clusterproof.theory.bounds.audit_settings import Experiment, experiment, run_errors, starting_models
from clusterproof.theory.bounds.gaussian import gaussian_dynamics
from clusterproof.theory.bounds.norm_inequality import NormBound, norm_bound
from clusterproof.theory.bounds.rows import GaussianRows
from clusterproof.theory.bounds.theorem_d import theorem_d_chains
from clusterproof.theory.bounds.tube import Chains, Tube, forward

pytestmark = pytest.mark.slow(reason="runs against bounds with a fault planted in them")

Plant = Callable[..., Any]

FAILURE = (0.01, 0.02, 0.02)


@dataclass(frozen=True, kw_only=True)
class FaultyRows(GaussianRows):
    """Gaussian rows with parts of the noise forgotten."""

    without_scale: bool = False
    without_rank_one: bool = False
    without_error: bool = False
    without_false_members: bool = False
    unlimited: bool = False

    @property
    def largest_radius(self) -> float:
        return float("inf") if self.unlimited else super().largest_radius

    def variance(self, error: object) -> np.ndarray:
        return super().variance(0 * np.asarray(error) if self.without_error else error)

    def rank_one(self, error: object) -> np.ndarray:
        return super().rank_one(0 * np.asarray(error) if self.without_rank_one else error)

    def tail(self, error: object) -> np.ndarray:
        return super().tail(error) * (not self.without_scale)

    def misclassification(self, radius: float) -> float:
        known = radius < super().largest_radius
        return 0.0 if self.without_false_members or not known else super().misclassification(radius)


def faulty(chains: Chains, **flags: bool) -> Chains:
    return replace(chains, rows=FaultyRows(**vars(chains.rows), **flags))


def chains_of(setting: Experiment) -> Chains:
    start = np.array(setting.setting.start)
    return theorem_d_chains(
        gaussian_dynamics(setting.regression, setting.algorithm),
        start,
        rounds=setting.rounds,
        failure=FAILURE,
    )


def alone(
    *, dimension: int, rows: int, noise: float, start: float, rounds: int, momentum: float = 0.0
) -> tuple[RegressionMixture, CFLMGD, Chains]:
    """One cluster of ten clients, kappa = 1."""
    task = RegressionMixture(
        optima=np.zeros((1, dimension)),
        covariance=np.ones(dimension),
        noise=noise,
        labels=np.zeros(10, int),
        samples=rows // 10,
    )
    algorithm = CFLMGD(step_size=0.5, momentum=momentum)
    chains = theorem_d_chains(
        gaussian_dynamics(task, algorithm), np.array([start]), rounds=rounds, failure=FAILURE
    )
    return task, algorithm, chains


def broken(errors: np.ndarray, tube: Tube) -> tuple[float, float]:
    everywhere = (errors > tube.reach[:, None]).any(axis=(0, 2)).mean()
    return float(everywhere), float((errors[-1] > tube.last_reach).any(axis=-1).mean())


def test_union_without_the_rounds_is_seen_by_runs() -> None:
    task = RegressionMixture(
        optima=np.array([[1.0], [-1.0]]),
        covariance=np.ones(1),
        noise=1.0,
        labels=make_labels(200, 2),
        samples=1000,
    )
    algorithm = CFLMGD(step_size=2.0, momentum=0.0)
    chains = theorem_d_chains(gaussian_dynamics(task, algorithm), np.zeros(2), rounds=400, failure=FAILURE)
    true, without = forward(chains), forward(replace(chains, everywhere=chains.everywhere * 400))
    assert without.reach[-1, 0] / true.reach[-1, 0] == pytest.approx(0.68, abs=0.02)
    trace = run(algorithm, task, rounds=400, seed=0, replicates=200, initial=task.optima)
    assert broken(np.asarray(trace.errors), true)[0] <= 0.02
    assert broken(np.asarray(trace.errors), without)[0] == pytest.approx(0.556, abs=0.12)
    both = forward(replace(chains, everywhere=chains.everywhere * 800))
    assert broken(np.asarray(trace.errors), both)[0] == pytest.approx(0.815, abs=0.1)


def without_trace(*arguments: object, **options: object) -> NormBound:
    """W with the largest eigenvalue for the trace."""
    _, largest, *rest = arguments
    return norm_bound(largest, largest, *rest, profile=None)  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "momentum", "least"), [("S1", 0.0, 0.7), ("S2", None, 0.5)])
def test_norm_without_its_trace_is_seen_by_runs(
    name: str, momentum: float | None, least: float, plant: Plant
) -> None:
    setting = experiment(name, momentum)
    errors = run_errors(setting, 0, starting_models(setting, 0, 200, "test"))
    chains = chains_of(setting)
    assert max(broken(errors, forward(chains))) <= 0.02
    plant(norm_inequality, "norm_bound", without_trace)
    assert max(broken(errors, forward(chains))) >= least


def test_noise_with_the_share_squared_is_seen_by_runs() -> None:
    setting = experiment("S2", None)
    chains = chains_of(setting)
    members = replace(chains.members, own=chains.members.own**2 / 200)
    errors = run_errors(setting, 0, starting_models(setting, 0, 200, "test"))
    assert max(broken(errors, forward(replace(chains, members=members)))) >= 0.9


def test_forgotten_false_members_are_seen_by_runs() -> None:
    optima = np.zeros((2, 10))
    optima[:, 0] = (1.0, -1.0)
    task = RegressionMixture(
        optima=optima, covariance=np.ones(10), noise=0.7, labels=make_labels(100_000, 2), samples=8
    )
    algorithm = CFLMGD(step_size=1.0, momentum=0.0)
    chains = theorem_d_chains(gaussian_dynamics(task, algorithm), np.full(2, 0.3), rounds=8, failure=FAILURE)
    trace = run(algorithm, task, rounds=8, seed=0, replicates=6, initial=0.7 * optima)
    errors = np.asarray(trace.errors)
    assert broken(errors, forward(chains)) == (0, 0)
    assert min(broken(errors, forward(faulty(chains, without_false_members=True)))) == 1


def test_tube_that_is_not_stopped_gives_a_number() -> None:
    task = RegressionMixture(
        optima=np.array([[1.0], [-1.0]]),
        covariance=np.ones(1),
        noise=1.0,
        labels=make_labels(2, 2),
        samples=30,
    )
    chains = theorem_d_chains(
        gaussian_dynamics(task, CFLMGD(step_size=1.0, momentum=0.0)),
        np.full(2, 0.9),
        rounds=40,
        failure=FAILURE,
    )
    assert not forward(chains).applicable
    assert forward(faulty(chains, unlimited=True)).applicable


@pytest.mark.parametrize(
    ("flag", "settings", "largest"),
    [
        ("without_scale", {"dimension": 10, "rows": 400, "noise": 1.0, "start": 0.0, "rounds": 12}, 0.95),
        ("without_rank_one", {"dimension": 1, "rows": 8000, "noise": 0.0, "start": 0.5, "rounds": 12}, 0.96),
        ("without_error", {"dimension": 10, "rows": 400, "noise": 0.5, "start": 0.5, "rounds": 3}, 0.98),
    ],
)
def test_faults_that_no_run_sees_change_the_value(
    flag: str, settings: dict[str, float], largest: float
) -> None:
    """They stay above what runs reach; only the value tells, to more than the half percent allowed."""
    _, _, chains = alone(**settings)  # type: ignore[arg-type]
    true, wrong = forward(chains).last_deviation, forward(faulty(chains, **{flag: True})).last_deviation
    assert (wrong <= largest * true).all()


def test_last_round_without_the_clusters_changes_the_value() -> None:
    chains = chains_of(experiment("S2", None))
    ratio = forward(replace(chains, last=chains.last * 4)).last_reach / forward(chains).last_reach
    assert 0.93 <= ratio.min() <= ratio.max() <= 0.97
