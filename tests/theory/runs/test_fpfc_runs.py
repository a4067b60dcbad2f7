"""Runs of FPFC, and of a user's own, held to the repaired theorem: true ones hold, planted faults do not."""

import dataclasses
from typing import ClassVar

import numpy as np
import pytest
from tolerance import assert_close

from clusterproof import theory
from clusterproof.algorithms import FPFC, IFCA
from clusterproof.algorithms.fpfc import FusionState
from clusterproof.common import InvalidArgument
from clusterproof.running import run
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.papers.fpfc.measured import objective
from clusterproof.theory.papers.fpfc.runs import bound_models_as_printed
from clusterproof.theory.papers.fpfc.theorem_1 import Constants
from clusterproof.theory.runs.bound_checks import compare

BOUNDS = (
    "fpfc/descent",
    "fpfc/repaired-models",
    "fpfc/repaired-mapping",
    "fpfc/repaired-duals",
    "fpfc/local-steps",
)
SURE = ("fpfc/descent", "fpfc/repaired-mapping", "fpfc/local-steps")
TASK = QuadraticMixture.random(
    clusters=2, clients=8, dimension=3, condition_number=3.0, separation=3.0, spread=0.3, seed=1
)


def declared(**options: object) -> FPFC:
    given = {
        "strength": 0.6,
        "smoothing": 0.3,
        "augmentation": 4.5,
        "threshold": 0.5,
        "local_steps": 3,
    } | options
    smoothness = TASK.client_smoothness + float(given["augmentation"])  # type: ignore[arg-type]  # of any options
    return FPFC(step_size=1 / smoothness, **given)  # type: ignore[arg-type]


LARGE = 8 * declared().fusion_penalty.lipschitz


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mine(FPFC):
    """FPFC written by a user, who claims that it is the declared one."""

    name: ClassVar[str] = "mine"

    @property
    def dynamics(self) -> FPFC:
        return declared(participation=self.participation)


@dataclasses.dataclass(frozen=True, kw_only=True)
class StaleDuals(Mine):
    """A server that forgets what the pairs' update gave."""

    name: ClassVar[str] = "stale-duals"

    def update(self, state: FusionState, clients: np.ndarray, points: np.ndarray) -> FusionState:
        return dataclasses.replace(super().update(state, clients, points), pairs=state.pairs)


def parameters(kind: type[FPFC], **changes: object) -> FPFC:
    one = declared()
    given = {field.name: getattr(one, field.name) for field in dataclasses.fields(one)} | changes
    return kind(**given)  # type: ignore[arg-type]


FAULTS = {
    "twice the augmentation": parameters(Mine, augmentation=9.0),
    "half the augmentation": parameters(Mine, augmentation=2.25),
    "a proximal map of twice the strength": parameters(Mine, strength=1.2),
    "the proximal map of the l1 penalty": parameters(Mine, penalty="l1", smoothing=None),
    "stale duals": parameters(StaleDuals),
    "twice the step": parameters(Mine, step_size=2 * declared().step_size),
}


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("claim", BOUNDS)
def test_true_runs_hold(claim: str) -> None:
    traces = [run(declared(), TASK, rounds=40, seed=0, replicates=3), run(parameters(Mine), TASK, rounds=20)]
    if claim in SURE:
        traces.append(run(declared(participation=0.4), TASK, rounds=40, seed=1, replicates=4))
    for trace in traces:
        assert compare(claim, TASK, trace).kind == "holds"  # whose law other tests compare


@pytest.mark.parametrize("participation", [1.0, 0.4])
@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_broken_by_a_single_run(fault: str, participation: float) -> None:
    algorithm = dataclasses.replace(FAULTS[fault], participation=participation)
    trace = run(algorithm, TASK, rounds=20, seed=0)
    with pytest.raises(
        AssertionError, match=r"fpfc/local-steps: distance from the minimiser of h_i .* round"
    ):
        theory.assert_holds("fpfc/local-steps", TASK, trace)


@pytest.mark.parametrize(
    "fault", ["a proximal map of twice the strength", "the proximal map of the l1 penalty"]
)
def test_a_wrong_proximal_map_lets_the_lagrangian_rise(fault: str) -> None:
    trace = run(FAULTS[fault], TASK, rounds=200, seed=0, replicates=3)
    with pytest.raises(AssertionError, match="fpfc/descent: augmented Lagrangian"):
        theory.assert_holds("fpfc/descent", TASK, trace)


def test_models_that_never_settle_break_the_stationarity_bounds() -> None:
    trace = run(declared(), TASK, rounds=400, seed=0)
    shaken = trace.models + np.where(np.arange(401) % 2, 1.0, -1.0)[:, None, None]
    with pytest.raises(AssertionError, match=r"mean of \|\|grad_w L_0\|\|\^2"):
        theory.assert_holds("fpfc/repaired-models", TASK, dataclasses.replace(trace, models=shaken))


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(
    ("claim", "speaks", "refused", "rule"),
    [
        ("fpfc/one-term", {}, {"participation": 0.4}, r"pair_rule.*must be 'all'"),
        ("fpfc/one-term", {"participation": 0.4, "pair_rule": "all"}, {"participation": 0.4}, "pair_rule"),
        (
            "fpfc/one-term-large-augmentation",
            {"participation": 0.4, "augmentation": LARGE},
            {"participation": 0.4, "augmentation": 0.99 * LARGE},
            r"augmentation.*must be at least 8 L_g",
        ),
    ],
)
def test_one_term_is_sharper_where_it_applies_and_refuses_other_runs(
    claim: str, speaks: dict[str, object], refused: dict[str, object], rule: str
) -> None:
    trace, other = (
        run(declared(**options), TASK, rounds=20, seed=1, replicates=6) for options in (speaks, refused)
    )
    assert compare(claim, TASK, trace).kind == "holds"
    both, one = (theory.bound(name, TASK, trace) for name in ("fpfc/repaired-models", claim))
    assert (np.asarray(one.bound)[1:] < both.bound[1:]).all()
    with pytest.raises(InvalidArgument, match=rule):
        theory.bound(claim, TASK, other)


def printed(**options: object) -> FPFC:
    """The longest step of Theorem 1, and so many of them that C_1's denominators are positive."""
    longest = 1 / (TASK.client_smoothness + 2 * 4.5)
    return dataclasses.replace(declared(**{"local_steps": 12} | options), step_size=longest)


POSITIVE = "fpfc/theorem-1-models-positive"


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(("participation", "local_steps"), [(1.0, 6), (0.4, 12)])
def test_the_first_inequality_as_printed_holds_on_runs(participation: float, local_steps: int) -> None:
    algorithm = printed(participation=participation, local_steps=local_steps)
    trace = run(algorithm, TASK, rounds=60, seed=0, replicates=6)
    theory.assert_holds(POSITIVE, TASK, trace)
    setting = Constants(algorithm, TASK.clients, TASK.client_smoothness, 0.0)
    height = float(objective(algorithm, TASK, trace.models[0])[0]) + 8 * 0.3 * 0.6 / 4
    chance = 1.0 if participation == 1 else 0.5
    found = bound_models_as_printed(TASK, trace, 0.5)
    assert_close(np.asarray(found.bound)[-1, 0, 0], setting.first * height / 60 / chance)


@pytest.mark.parametrize(
    ("change", "argument", "rule"),
    [
        ({"local_steps": 3}, "local_steps", "q = c^(T/2) < 1/3"),
        ({"local_steps": 4}, "augmentation", "L_f (1 + q) / (1 - 3q)"),
        ({"step_size": declared().step_size}, "step_size", "below 1 / (L_f + rho)"),
    ],
)
def test_a_run_whose_first_denominator_is_not_positive_is_refused(
    change: dict[str, object], argument: str, rule: str
) -> None:
    algorithm = dataclasses.replace(printed(), **change)  # type: ignore[arg-type]  # of any options
    with pytest.raises(InvalidArgument) as refusal:
        theory.bound(POSITIVE, TASK, run(algorithm, TASK, rounds=2))
    assert refusal.value.argument == argument
    assert rule in refusal.value.rule


def test_steps_that_ask_for_a_weak_convexity_have_the_least_that_will_do() -> None:
    """alpha = 1 / (L_f + 2 rho - L_-) for L_- = 1/2, as printed."""
    smoothness, least = TASK.client_smoothness, 0.5
    algorithm = dataclasses.replace(printed(), step_size=1 / (smoothness + 9 - least), local_steps=14)
    trace = run(algorithm, TASK, rounds=5)
    setting = Constants(algorithm, TASK.clients, smoothness, least)
    height = float(objective(algorithm, TASK, trace.models[0])) + 8 * 0.3 * 0.6 / 4
    found = bound_models_as_printed(TASK, trace)
    assert_close(np.asarray(found.bound)[-1, 0], setting.first * height / 5)


def test_a_bound_in_expectation_needs_replicates_and_says_how_many() -> None:
    trace = run(declared(participation=0.4), TASK, rounds=20, seed=1)
    with pytest.raises(theory.Inconclusive, match="6 would decide"):
        theory.assert_holds("fpfc/repaired-models", TASK, trace, failure_probability=0.03)
    many = run(declared(participation=0.4), TASK, rounds=20, seed=1, replicates=6)
    assert compare("fpfc/repaired-models", TASK, many, failure_probability=0.03).kind == "holds"


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        ({"augmentation": 2.25}, "augmentation"),
        ({"step_size": 1.5 * declared().step_size}, "step_size"),
        ({"pair_rule": "both"}, "pair_rule"),
        ({"penalty": "l1", "smoothing": None}, "penalty"),
        ({"start": "own"}, "start"),
        (None, "trace"),
    ],
)
def test_the_hypothesis_that_fails_is_named(change: dict[str, object] | None, argument: str) -> None:
    algorithm = IFCA(step_size=0.1) if change is None else parameters(FPFC, **change)
    trace = run(algorithm, TASK, rounds=2)
    for claim in BOUNDS:
        with pytest.raises(InvalidArgument) as raised:
            theory.bound(claim, TASK, trace)
        assert raised.value.argument == argument
