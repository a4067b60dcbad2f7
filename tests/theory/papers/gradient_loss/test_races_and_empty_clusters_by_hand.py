"""Both sides of GL-CFL's claims on empty clusters, purity, races and costs, from their statements."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from catalogue import checked
from plain_loops import replay, scalar_rounds
from sides_by_hand import assert_sides

from clusterproof.algorithms import GradientLoss, Randomness, generator, purity, run
from clusterproof.synthetic import QuadraticMixture, RegressionMixture
from clusterproof.theory.claims import Frequency, Outside
from clusterproof.theory.papers.gradient_loss import (
    cost,
    empty_clusters,
    iterations,
    only_losses,
    percentages,
    race,
    scalar,
    training_loss,
)
from clusterproof.theory.papers.gradient_loss import purity as purity_claims

Plant = Callable[..., Any]
F = Fraction


def stream() -> np.random.Generator:
    return np.random.default_rng(5)


def test_readings_of_the_rule_for_empty_clusters() -> None:
    task = scalar.scalar_task([F(-1), F(-1), F(1), F(1)])
    start, ends = np.array([[0.0], [5.0]]), {}
    seed = int(stream().integers(2**31))
    for rule in ("never", "when-empty", "always"):
        algorithm = GradientLoss(step_size=0.5, weight=0.2, empty_cluster=rule)
        trace = run(algorithm, task, rounds=20, seed=seed, initial=start)
        draws = Randomness.from_seed(seed, task.name, algorithm.name).clustering
        orders = np.argsort(draws.random((20, 4)), axis=-1)
        history, choices = replay(algorithm, task, start, np.asarray(trace.assignments), orders)
        np.testing.assert_array_equal(choices, trace.assignments)
        ends[rule] = history[:, :, 0]
    assert_sides(
        empty_clusters.equation_7_empty(5, stream()), [(ends["never"][1, 1], ends["when-empty"][1, 1])]
    )
    assert_sides(
        empty_clusters.empty_cluster_rule(5, stream()), [(ends["when-empty"][20], ends["always"][20])]
    )


@pytest.mark.parametrize(
    "numbers",
    [
        (2, 4, F(-5, 2), F(-1), F(1, 2)),
        (1, 3, F(-5, 2), F(-1, 2), F(1, 4)),
        (1, 4, F(0), F(0), F(1)),
        (3, 1, F(1), F(2), F(1, 2)),
        (2, 1, F(1), F(3, 2), F(1, 2)),
        (1, 1, F(1), F(2), F(1, 2)),
    ],
)
def test_devices_that_return_to_a_model_that_had_none(numbers: Any) -> None:
    left, right, first, second, step = numbers
    centers, found = [F(-1)] * left + [F(1)] * right, {}
    groups = empty_clusters.TwoGroups(*numbers)
    for printed, undefined in product((False, True), (-1, 0, 1)):
        how: dict[str, Any] = {"printed": printed, "undefined": undefined}
        returned, empty = 0, set()
        for choices, _, tied in scalar_rounds(centers, [first, second], F(1, 5), step, 8, **how):
            if tied:
                break
            returned = max(returned, len([one for one in choices if one in empty]))
            empty |= {0, 1} - set(choices)
        assert empty_clusters.devices_that_return(groups, **how) == returned
        found[printed, undefined] = returned
    assert_sides(empty_clusters.empty_for_good(groups), min(found.values()), zero=0)
    empty_clusters.run_the_algorithm(groups)


def test_the_stored_return_does_not_depend_on_the_sign_or_on_0_over_0() -> None:
    """The instance that was stored before returns by the descent alone; by (3) as printed nobody returns."""
    one, before = checked("gradient-loss/empty-for-good"), empty_clusters.TwoGroups(1, 1, F(1), F(2), F(1, 2))
    assert one.counterexample == {"left": 3, "right": 1, "start_0": 1, "start_1": 2, "step": "1/2"}
    assert empty_clusters.devices_that_return(before, printed=False, undefined=0) == 1
    assert empty_clusters.devices_that_return(before, printed=True, undefined=0) == 0
    # device 1 is nearer to its gradient's end at 2 once the other model has moved from 1 towards the three at -1
    for sign in ("as-printed", "descent"):
        algorithm = GradientLoss(step_size=0.5, weight=0.2, clusters=2, sign=sign)
        task = scalar.scalar_task([F(-1)] * 3 + [F(1)])
        trace = run(algorithm, task, rounds=8, initial=np.array([[1.0], [2.0]]))
        chosen = np.asarray(trace.assignments)
        assert not chosen[0].any()
        assert chosen[-1].tolist() == [0, 0, 0, 1]


def test_models_that_stand_still_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    task = QuadraticMixture.random(clusters=3, clients=9, dimension=3, spread=0.5, seed=4)
    for step in (0.4, 0.6):  # a cluster is empty in all eight rounds, and in four of them
        assert_sides(empty_clusters.pinning(task, step, stream()), [(0, 0)])
    flat = replace(task, hessians=0.8 * task.hessians)
    assert_sides(empty_clusters.pinning(flat, 1.1, stream()), [(0, 0)])
    with pytest.raises(Outside, match="alpha L < 1"):
        empty_clusters.pinning(flat, 1.251, stream())

    def unpinned(algorithm: GradientLoss, *where: Any, **how: Any) -> Any:
        return run(replace(algorithm, empty_cluster="never"), *where, **how)

    monkeypatch.setattr(empty_clusters, "run", unpinned)
    draws = stream()
    start = task.pooled_optimum + draws.standard_normal((3, 3))
    start[2] += 50
    trace = run(GradientLoss(step_size=0.4), task, rounds=8, seed=int(draws.integers(2**31)), initial=start)
    lacking = sum(len({0, 1, 2} - set(chosen)) for chosen in np.asarray(trace.assignments).tolist())
    assert lacking >= 8
    assert_sides(empty_clusters.pinning(task, 0.4, stream()), [(lacking, 0)])


def test_what_cfl_and_ifca_cluster_by(monkeypatch: pytest.MonkeyPatch) -> None:
    half, alternating = [0, 0, 0, 1, 1, 1], [0, 1, 0, 1, 0, 1]
    assert_sides(only_losses.only_losses(3, 0.5), [(half, alternating)])
    assert_sides(only_losses.ifca_by_losses(3, 0.5), [(alternating, alternating)] * 2)
    assert_sides(only_losses.cfl_by_updates(3, 0.5, 16.0), [(half, half)] * 2)
    with pytest.raises(Outside, match="no loss is"):
        only_losses.cfl_by_updates(3, 0.5, 1.0)
    with pytest.raises(Outside, match="gradients are not"):
        only_losses.ifca_by_losses(3, 0.0)
    pulled, aside = only_losses.pulled, only_losses.aside

    def last_apart(make: Any, signs: np.ndarray, pull: float) -> QuadraticMixture:
        """The last device's minimiser of the first set of signs is farther away."""
        task: QuadraticMixture = make(signs, pull)
        return replace(task, centers=task.centers * (1 + np.eye(len(signs))[-1:].T * (signs[1] > 0)))

    monkeypatch.setattr(only_losses, "pulled", partial(last_apart, pulled))
    monkeypatch.setattr(only_losses, "aside", partial(last_apart, aside))
    for claim in (only_losses.only_losses, only_losses.ifca_by_losses):
        with pytest.raises(Outside, match="losses are the same"):
            claim(3, 0.5)

    def last_at_rest(signs: np.ndarray, pull: float) -> QuadraticMixture:
        return replace(pulled(signs, pull), centers=pull * signs[:, None] * (1 - np.eye(len(signs))[-1:].T))

    monkeypatch.setattr(only_losses, "pulled", last_at_rest)
    with pytest.raises(Outside, match="no loss is"):
        only_losses.cfl_by_updates(3, 0.5, 16.0)


def test_purity_of_partitions_cluster_by_cluster() -> None:
    """Found clusters of 5, 3 and 2 with (3, 2, 0), (2, 0, 1) and (0, 1, 1) of the true ones: 6 of 10, 5 one to one."""
    truth = np.array([0, 0, 0, 1, 1, 0, 0, 2, 1, 2])
    found = np.array([0, 0, 0, 0, 0, 1, 1, 1, 2, 2])
    halves = np.array([0, 0, 1, 1, 1, 1, 1, 0, 1, 0])
    partitions = np.stack([truth, found, halves])
    sides = purity_claims.purity_bound(partitions)
    assert_sides(sides["correct"], F(6, 10), share=F(5, 10))
    # the halves' own largest are 2 + 2, 1 + 2 and 1 + 1
    assert_sides(sides["refinement"], F(9, 10), whole=F(6, 10))
    assert_sides(sides["singletons"], [(1, 1)])
    assert_sides(purity_claims.purity_as_accuracy("001122", "011222"), 1 + 1 + 2, correct=1 + 1 + 2)
    assert_sides(purity_claims.purity_as_accuracy("001122", "010000"), 2 + 1, correct=2 + 1)
    assert_sides(purity_claims.purity_as_accuracy("001122", "120000"), 1 + 1 + 2, correct=1 + 2)
    with pytest.raises(Outside, match="each device"):
        purity_claims.purity_as_accuracy("001122", "0011")
    with pytest.raises(Outside, match="no more clusters"):
        purity_claims.purity_as_accuracy("000111", "000012")
    for rows in ([[0, 1], [0, 1]], [[0, 1], [0, -1], [0, 0]], [[0, 7], [0, 1], [0, 0]]):
        with pytest.raises(ValueError, match="three rows"):
            purity_claims.read_partitions(rows)
    assert_sides(purity_claims.class_overlap("10 classes", 1), 8 + 8 - 9, shared=6)


# rounds of the baseline and of the method in nine pairs of runs
BASELINE, PROPOSED = np.array([4, 9, 20, 20, 20, 1, 7, 40, 6]), np.array([4, 7, 15, 11, 10, 1, 8, 8, 4])
RATIOS = [[b, p] for b, p in zip(BASELINE.tolist(), PROPOSED.tolist(), strict=True)]


def test_events_of_races(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def raced(setting: race.Setting, **how: Any) -> tuple[np.ndarray, np.ndarray]:
        asked.append((setting.distance, setting.step_size, setting.rows, how["weight"], how["replicates"]))
        assert how["seed"] == int(stream().integers(2**31))
        assert how["goal"] is iterations.GOAL
        return BASELINE, PROPOSED

    monkeypatch.setattr(iterations, "race", raced)
    apart, near = (1.0, 0.1, 20, 0.2, 9), (0.01, 0.1, 20, 0.2, 9)
    events: list[tuple[Callable[..., Frequency], tuple[Any, ...], list[bool], tuple[Any, ...]]] = [
        (iterations.sooner, (), [p > b for b, p in RATIOS], apart),
        (iterations.same_start, (), [b - p > 2 for b, p in RATIOS], near),
        (iterations.reduction_curve, (0.3, 100), [b - p > 2 for b, p in RATIOS], (0.01, 0.3, 100, 0.2, 9)),
        (cost.fewer_passes, (), [12 * p > 6 * b for b, p in RATIOS], apart),
        (cost.sooner_by, (), [p > F(3, 4) * b for b, p in RATIOS], apart),
        (cost.no_sooner_than, (), [p < F(11, 20) * b for b, p in RATIOS], apart),
        (cost.one_point_at_most, (), [b - p > 1 for b, p in RATIOS], near),
        (cost.one_point_at_least, (), [b < p for b, p in RATIOS], near),
    ]
    for claim, numbers, expected, setting in events:
        found = claim(*numbers, stream=stream(), replicates=9)
        assert (found.events.tolist(), found.allowed, asked.pop()) == (expected, 0.5, setting)
        assert len(set(expected)) == 2
    saved = [1 - F(p, b) for b, p in RATIOS]
    ceilings = [max(1 - F(2, b), F(0)) for b, _ in RATIOS]
    assert_sides(percentages.reduction_ceiling(0.3, 0.2, stream(), 9), saved, ceiling=ceilings)
    assert asked.pop() == (0.3, 0.2, 20, 0.2, 9)
    assert_sides(percentages.reduction_up_to(0.5, stream(), 9), max(saved) - min(saved), alike=F(1, 5))
    assert asked.pop() == (1.0, 0.1, 20, 0.5, 9)
    assert_sides(percentages.reduction_ceiling_on_symbols(7, F(3, 2)), 1 - F(7, 2) / 7, ceiling=F(5, 7))
    for clusters in (3, 7):
        assert_sides(
            cost.cost_of_an_iteration(clusters), [(3 * clusters, 3 * clusters), (clusters + 2, clusters + 2)]
        )


SMALL = RegressionMixture.random(
    clusters=4, clients=40, dimension=20, separation=1.0, noise=0.5, samples=7, seed=6
)


def arrived(last: int, task: RegressionMixture, t: int) -> np.ndarray:
    return np.array([t >= 3, t == 1, t >= last])


def test_a_race_ends_when_each_replicate_has_arrived(monkeypatch: pytest.MonkeyPatch) -> None:
    class Counter:
        steps = 0

        def initialise(self, *_: Any) -> int:
            return 0

        def step(self, state: int, *_: Any) -> int:
            self.steps += 1
            return state + 1

    for last, steps, expected in ((5, 5, [3, 1, 5]), (99, 60, [3, 1, 61])):
        counter: Any = Counter()
        goal: Any = partial(arrived, last)
        found = race.first_rounds(counter, SMALL, np.zeros(3), goal, 0)
        assert (found.tolist(), counter.steps) == (expected, steps)
    entrants: list[Any] = []

    def raced(*given: Any) -> int:
        entrants.append(given)
        return len(entrants)

    monkeypatch.setattr(race, "first_rounds", raced)
    setting, goal = race.Setting(distance=0.4, step_size=0.3, rows=7), race.purity_goal(0.8)
    both: Any = race.race(setting, seed=6, replicates=2, goal=goal, weight=0.7)
    assert both == (1, 2)
    draws = generator(6, "race", "starts").standard_normal((2, 4, 20))
    for weight, (algorithm, its_task, starts, its_goal, seed) in zip((0.0, 0.7), entrants, strict=True):
        assert algorithm == GradientLoss(step_size=0.3, weight=weight, empty_cluster="when-empty")
        assert its_task.settings == SMALL.settings
        np.testing.assert_allclose(starts, SMALL.pooled_optimum + 0.4 * draws / 20**0.5)
        assert (its_goal, seed) == (goal, 6)


def states(setting: race.Setting, weight: float, seed: int, rounds: int) -> tuple[Any, list[Any]]:
    """The task, and three replicates' states after each round."""
    task, found = setting.task(seed), []
    algorithm = GradientLoss(step_size=0.1, weight=weight, empty_cluster="when-empty")
    state, randomness = (
        algorithm.initialise(setting.starts(task, seed, 3), task),
        Randomness.from_seed(seed, "race"),
    )
    for _ in range(rounds):
        state = algorithm.step(state, task, randomness)
        found.append(state)
    return task, found


def test_purities_and_training_losses_round_by_round(monkeypatch: pytest.MonkeyPatch) -> None:
    seed = int(stream().integers(2**31))
    means, curves = {}, {}
    for weight in (0.1, 0.5):
        task, found = states(race.Setting(distance=0.3), weight, seed, 4)
        rounds = [[purity(votes, task.labels) for votes in state.assignments] for state in found]
        assert [race.purity_goal(0.7)(task, state).tolist() for state in found] == [
            [one >= 0.7 for one in row] for row in rounds
        ]
        means[weight] = np.mean(rounds[1:4], axis=0)
        np.testing.assert_allclose(iterations.mean_purity(weight, seed, 3, range(2, 5)), means[weight])
    gains = means[0.5] - means[0.1]
    np.testing.assert_allclose(cost.gains(stream(), 3), gains)
    low, high = cost.weight_at_start_by(stream(), 3), cost.weight_no_higher_than(stream(), 3)
    assert (low.events.tolist(), high.events.tolist()) == ((gains < 0.03).tolist(), (gains > 0.1).tolist())
    fewer = iterations.weight_at_start(stream(), 3)
    assert (fewer.events.tolist(), fewer.allowed, low.allowed, high.allowed) == (
        (gains < 0).tolist(),
        0.5,
        0.5,
        0.5,
    )
    for weight in (0.0, 0.2):
        task, found = states(race.Setting(distance=1.0), weight, seed, 12)
        curves[weight] = [
            [
                sum(task.expected_loss(models[k], label) for k, label in zip(votes, task.labels, strict=True))
                / 40
                for models, votes in zip(state.models, state.assignments, strict=True)
            ]
            for state in found
        ]
    np.testing.assert_allclose(training_loss.curves(stream(), 3, 12), [curves[0.0], curves[0.2]])
    # losses 12, 11, .. 1 of the baseline: 6.5 in the mean, and 6 over every second iteration
    falling = np.arange(12.0, 0.0, -1.0)[:, None] + np.array([0.0, 1.0, 0.0, -1.0])
    monkeypatch.setattr(training_loss, "curves", lambda *_: (falling, np.tile([5.9, 7.1, 6.4, 9.0], (12, 1))))
    for claim, events in (
        (training_loss.training_loss, [False, False, False, True]),
        (training_loss.training_loss_in_passes, [False, True, True, True]),
    ):
        compared = claim(stream(), 4)
        assert (compared.events.tolist(), compared.allowed) == (events, 0.5)
    steep = np.where(np.arange(12)[:, None] < 6, 5.9, 50.0)
    monkeypatch.setattr(training_loss, "curves", lambda *_: (falling[:, :1], steep))
    assert not training_loss.training_loss_in_passes(stream(), 1).events.any()
