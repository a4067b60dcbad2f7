"""GL-CFL's races and its rule for empty clusters: events, arrivals and curves of runs."""

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sides_by_hand import assert_sides

from clusterproof import checker
from clusterproof.algorithms import GradientLoss
from clusterproof.common import Randomness, generator
from clusterproof.running import purity, run
from clusterproof.theory.papers.gradient_loss import empty_clusters, race
from clusterproof.theory.papers.gradient_loss.scalar import scalar_task

Plant = Callable[..., Any]
F = Fraction


def stream() -> np.random.Generator:
    return np.random.default_rng(5)


def test_readings_of_the_rule_for_empty_clusters() -> None:
    task = scalar_task([F(-1), F(-1), F(1), F(1)])
    start, ends = np.array([[0.0], [5.0]]), {}
    seed = int(stream().integers(2**31))
    for rule in ("never", "when-empty", "always"):
        algorithm = GradientLoss(step_size=0.5, weight=0.2, empty_cluster=rule)
        ends[rule] = run(algorithm, task, rounds=20, seed=seed, initial=start).models[:, :, 0]
    pinned = 1 if ends["when-empty"][1, 1] == 3 else -1
    assert_sides(
        empty_clusters.equation_7_empty(5, pinned), [(ends["never"][1, 1], ends["when-empty"][1, 1])]
    )
    assert_sides(empty_clusters.empty_cluster_rule(seed, 5), [(ends["when-empty"][20], ends["always"][20])])


# rounds of the baseline and of the method in nine pairs of runs
BASELINE, PROPOSED = np.array([4, 9, 20, 20, 20, 1, 7, 40, 6]), np.array([4, 7, 15, 11, 10, 1, 8, 8, 4])
RATIOS = [[b, p] for b, p in zip(BASELINE.tolist(), PROPOSED.tolist(), strict=True)]


def test_events_of_races(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def raced(setting: race.Setting, its: Any, replicates: int, weight: float = 0.2) -> Any:
        asked.append((setting.distance, setting.step_size, setting.rows, weight, replicates))
        return BASELINE, PROPOSED

    monkeypatch.setattr(race, "race", raced)
    apart, near = (1.0, 0.1, 20, 0.2, 9), (0.01, 0.1, 20, 0.2, 9)
    of_median = {"by a quarter": [p > F(3, 4) * b for b, p in RATIOS]}
    of_median |= {"not by half": [p < F(11, 20) * b for b, p in RATIOS]}
    few = [b - p > 2 for b, p in RATIOS]
    near_start = {"at most two": few, "at most one": [b - p > 1 for b, p in RATIOS]}
    near_start |= {"none lost": [b < p for b, p in RATIOS]}
    events: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, list[bool]], tuple[Any, ...]]] = [
        (race.sooner, (), {"sooner": [p > b for b, p in RATIOS]} | of_median, apart),
        (race.same_start, (), near_start, near),
        (race.same_start_of_any_batch, (0.3, 100), {"": few}, (0.01, 0.3, 100, 0.2, 9)),
        (race.fewer_passes, (), {"": [12 * p > 6 * b for b, p in RATIOS]}, apart),
    ]
    for claim, numbers, expected, setting in events:
        found = claim(stream(), 9, *numbers)
        found = found if isinstance(found, dict) else {"": found}
        assert {name: each.events.tolist() for name, each in found.items()} == expected
        assert {each.allowed for each in found.values()} == {0.5}
        assert asked.pop() == setting
    saved = [1 - F(p, b) for b, p in RATIOS]
    ceilings = [max(1 - F(2, b), F(0)) for b, _ in RATIOS]
    assert_sides(race.reduction_ceiling(stream(), 9, 0.3, 0.2), saved, ceiling=ceilings)
    assert asked.pop() == (0.3, 0.2, 20, 0.2, 9)
    apart_by = race.reduction_up_to(stream(), 9, 0.5)  # four pairs of nine runs
    assert apart_by.events.tolist() == [abs(saved[i] - saved[i + 4]) > F(1, 5) for i in range(4)]
    assert apart_by.allowed == 0.05
    assert asked.pop() == (1.0, 0.1, 20, 0.5, 9)
    assert_sides(race.reduction_ceiling_on_symbols(F(3, 2), 7), 1 - F(7, 2) / 7, ceiling=F(5, 7))


def test_a_race_ends_when_each_replicate_has_arrived(monkeypatch: pytest.MonkeyPatch) -> None:
    settings: list[Any] = []

    def rounds(setting: race.Setting, weight: float, seed: int, replicates: int) -> Any:
        settings.append((weight, seed, replicates))
        return ((t, setting.rows) for t in itertools.count(1))

    monkeypatch.setattr(race.Setting, "rounds", rounds)
    monkeypatch.setattr(race, "purities", lambda t, last: np.array([t >= 3, 0.9 * (t == 1), t >= last]))
    for last, expected in ((5, [3, 1, 5]), (99, [3, 1, 61])):
        assert race.arrival(race.Setting(1.0, rows=last), 0.3, 6, 3).tolist() == expected
    race.race(race.Setting(1.0), stream(), 3, weight=0.7)
    seed = int(stream().integers(2**31))
    assert settings[2:] == [(0.0, seed, 3), (0.7, seed, 3)]


def states(setting: race.Setting, weight: float, seed: int, rounds: int) -> tuple[Any, list[Any]]:
    """The task, and three replicates' states after each round."""
    task, found = setting.task(seed), []
    algorithm = GradientLoss(step_size=0.1, weight=weight, empty_cluster="when-empty")
    draws = generator(seed, "race", "starts").standard_normal((3, 4, 20))
    start = task.pooled_optimum + setting.distance * draws / 20**0.5
    state, randomness = algorithm.initialise(start, task), Randomness.from_seed(seed, "race")
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
        means[weight] = np.mean(rounds[1:4], axis=0)
        np.testing.assert_allclose(race.mean_purity(weight, seed, 3), means[weight])
    gains = means[0.5] - means[0.1]
    expected = {"higher": gains < 0, "by 0.03": gains < 0.03, "not by 0.1": gains > 0.1}
    for name, each in race.weight_at_start(stream(), 3).items():
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
    np.testing.assert_allclose(race.curves(stream(), 3), [curves[0.0], curves[0.2]])
    # losses 12, 11, .. 1 of the baseline: 6.5 in the mean, and 6 over every second iteration
    falling = np.arange(12.0, 0.0, -1.0)[:, None] + np.array([0.0, 1.0, 0.0, -1.0])
    monkeypatch.setattr(race, "curves", lambda *_: (falling, np.tile([5.9, 7.1, 6.4, 9.0], (12, 1))))
    for claim, events in (
        (race.training_loss, [False, False, False, True]),
        (race.training_loss_in_passes, [False, True, True, True]),
    ):
        compared = claim(stream(), 4)
        assert (compared.events.tolist(), compared.allowed) == (events, 0.5)
    steep = np.where(np.arange(12)[:, None] < 6, 5.9, 50.0)
    monkeypatch.setattr(race, "curves", lambda *_: (falling[:, :1], steep))
    assert not race.training_loss_in_passes(stream(), 1).events.any()


def test_a_race_is_on_the_mixture_that_its_card_states() -> None:
    task = race.Setting(distance=1.0).task(0)
    stated = f"{task.clients} clients in {task.clusters} clusters, batches of {task.samples} samples, and alpha = 0.1"
    assert stated in " ".join(checker.find_claim("gradient-loss/sooner").text.split())
    assert (task.separation, task.smoothness, task.noise) == pytest.approx((1, 1, 0.5))
