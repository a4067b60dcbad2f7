"""GL-CFL's races and its rule for empty clusters: events, arrivals and curves by plain loops."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from plain_loops import replay
from sides_by_hand import assert_sides

from clusterproof import theory
from clusterproof.algorithms import GradientLoss, Randomness, generator, purity, run
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.papers.gradient_loss import cost, empty_clusters, race, scalar
from clusterproof.theory.papers.gradient_loss import cost as training_loss
from clusterproof.theory.papers.gradient_loss import race as iterations
from clusterproof.theory.papers.gradient_loss import race as percentages

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
    of_median = {"by a quarter": [p > F(3, 4) * b for b, p in RATIOS]}
    of_median |= {"not by half": [p < F(11, 20) * b for b, p in RATIOS]}
    few = [b - p > 2 for b, p in RATIOS]
    near_start = {"at most two": few, "at most one": [b - p > 1 for b, p in RATIOS]}
    near_start |= {"none lost": [b < p for b, p in RATIOS]}
    events: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, list[bool]], tuple[Any, ...]]] = [
        (iterations.sooner, (), {"sooner": [p > b for b, p in RATIOS]} | of_median, apart),
        (iterations.same_start, (), near_start, near),
        (iterations.same_start_of_any_batch, (0.3, 100), {"": few}, (0.01, 0.3, 100, 0.2, 9)),
        (cost.fewer_passes, (), {"": [12 * p > 6 * b for b, p in RATIOS]}, apart),
    ]
    for claim, numbers, expected, setting in events:
        found = claim(*numbers, stream=stream(), replicates=9)
        found = found if isinstance(found, dict) else {"": found}
        assert {name: each.events.tolist() for name, each in found.items()} == expected
        assert {each.allowed for each in found.values()} == {0.5}
        assert asked.pop() == setting
    saved = [1 - F(p, b) for b, p in RATIOS]
    ceilings = [max(1 - F(2, b), F(0)) for b, _ in RATIOS]
    assert_sides(percentages.reduction_ceiling(0.3, 0.2, stream(), 9), saved, ceiling=ceilings)
    assert asked.pop() == (0.3, 0.2, 20, 0.2, 9)
    assert_sides(percentages.reduction_up_to(0.5, stream(), 9), max(saved) - min(saved), alike=F(1, 5))
    assert asked.pop() == (1.0, 0.1, 20, 0.5, 9)
    assert_sides(percentages.reduction_ceiling_on_symbols(7, F(3, 2)), 1 - F(7, 2) / 7, ceiling=F(5, 7))


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
    expected = {"higher": gains < 0, "by 0.03": gains < 0.03, "not by 0.1": gains > 0.1}
    for name, each in iterations.weight_at_start(stream(), 3).items():
        assert (each.events.tolist(), each.allowed) == (expected[name].tolist(), 0.5)
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


def test_a_race_is_on_the_mixture_that_its_card_states() -> None:
    task = race.Setting(distance=1.0).task(0)
    stated = (
        f"{task.clients} devices in {task.clusters} clusters, batches of {task.samples} rows, alpha = 0.1"
    )
    assert stated in " ".join(theory.find_claim("gradient-loss/sooner").text.split())
    assert (task.separation, task.smoothness, task.noise) == pytest.approx((1, 1, 0.5))
