"""Comparisons of runs with a law, at numbers small enough to be computed by hand."""

import math
import re

import numpy as np
import pytest

from clusterproof.algorithms import CFLMGD
from clusterproof.running import run
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.runs.run_statistics import (
    significant_bits,
    standardise,
    statistics_of_assignments,
    statistics_of_dependence,
    statistics_of_models,
)
from clusterproof.theory.runs.same_law import _close, _compare_paths, _own_run, _stable
from clusterproof.theory.runs.two_samples import SampleTests, compare_samples


# one replicate a row, (rounds + 1, R, P, d): its largest number so far is the unit of its rounding
def test_runs_are_close_relative_to_the_largest_of_their_replicate_so_far() -> None:
    own = np.zeros((3, 2, 1, 2))
    own[:, :, 0, 0] = [[1.0, 1.0], [-100.0, 1.0], [1.0, 1.0]]
    other = own.copy()
    other[..., 1] = 0.5
    expected = np.ones((3, 2, 1, 2), dtype=bool)
    expected[0, 0, 0, 1] = expected[:, 1, 0, 1] = False
    assert (_close(other, own, 0.01) == expected).all()
    own[2, 0, 0] = other[2, 0, 0] = [np.nan, np.inf]
    assert _close(other, own, 0.01)[2, 0].all()
    other[2, 0, 0, 0] = 7.0
    assert not _close(other, own, 0.01)[2, 0, 0, 0]


class Recorded:
    """A run's models (rounds + 1, R, P, d) and assignments (rounds, R, M), nothing else."""

    def __init__(self, replicates: int) -> None:
        self.models, self.assignments = (
            np.ones((4, replicates, 2, 3)),
            np.zeros((3, replicates, 5), dtype=int),
        )


def test_a_replicate_is_stable_up_to_where_some_perturbed_copy_leaves_it() -> None:
    own, moved = Recorded(2), Recorded(2 * 32)
    assert _stable(own, moved, 2, 1e-9).tolist() == [[True] * 2] * 4  # type: ignore[arg-type]
    moved.models[2, 2 * 5 + 1, 1, 2] = 2.0  # copy 5 of replicate 1
    moved.assignments[0, 2 * 31, 4] = 1  # the last copy of replicate 0, in round 1
    found = _stable(own, moved, 2, 1e-9)  # type: ignore[arg-type]
    assert found.tolist() == [[True, True], [False, True], [False, False], [False, False]]


def test_the_law_is_drawn_with_numbers_of_its_own() -> None:
    task = RegressionMixture(optima=np.eye(2), covariance=np.ones(2), labels=[0, 1], noise=0.5, samples=3)
    algorithm = CFLMGD(step_size=0.5, momentum=0.5)
    runs = [run(algorithm, task, rounds=2, seed=seed, replicates=3) for seed in (0, 5)]
    starts = np.asarray(runs[0].models[0])
    ends = [one.models[-1] for one in runs]
    ends += [
        _own_run(algorithm, task, one, starts, number).models[-1] for one in runs for number in (1, 2, 3)
    ]
    assert len({end.tobytes() for end in ends}) == 8


def test_the_first_difference_of_two_paths_is_told() -> None:
    own, sure = Recorded(2), np.ones((4, 2), dtype=bool)
    own.assignments[2, 0, 3] = 1

    def told(models: np.ndarray, assignments: np.ndarray, stable: np.ndarray) -> tuple[str, str]:
        numbers = np.array([4, 7])
        return _compare_paths(models, assignments, own, stable, 1e-9, numbers, "why", likely)

    def likely(*arrays: object) -> str:
        return f"; replicate at {arrays[-1]}"

    assert told(own.models, own.assignments, sure) == (
        "holds",
        "every round agrees to 1e-09, relative to the models",
    )
    chosen = own.assignments.copy()
    chosen[1, 1, 4] = 1
    other_client = "round 2, replicate 7: client 4 is with model 1, not 0; replicate at 1"
    assert told(own.models, chosen, sure) == ("differs", other_client)
    models = own.models.copy()
    models[2, 1, 0, 2] = 5.0
    where = "round 2, replicate 7, model 0, coordinate 2: 5.0 is not 1.0, and why; replicate at 1"
    assert told(models, chosen, sure) == ("differs", where)
    unsure = sure.copy()
    unsure[2:, 1] = False
    assert told(models, chosen, unsure) == (
        "inconclusive",
        "from round 2 on, a start that differs by rounding gives another run",
    )


LEVEL = 1e-9 / 8  # of each of the two comparisons of samples; three quarters are those of single rounds


@pytest.mark.parametrize("number", [1, 40])
def test_a_level_is_shared_by_all_tests(number: int) -> None:
    def judged(probability: float, replicates: int = 500) -> tuple[str, str]:
        tests = SampleTests(replicates, 2000)
        tests.number, tests.least, tests.sentence = number, math.log(probability), "mean"
        return tests.judge()

    assert judged(0.99 * LEVEL / number) == (
        "differs",
        "mean (500 replicates against 2000, probability at most 1e-9)",
    )
    kind, words = judged(1.01 * LEVEL / number)
    assert kind == "inconclusive"
    assert "500 replicates against 2000, by chance with probability 1e-9" in words
    # the logarithm of a p-value grows like the number of replicates
    assert f": {math.ceil(500 / 0.8)} replicates would see" in judged((LEVEL / number) ** 0.8)[1]
    # a mean that moved by its deviation is seen in all but one of 700 runs: normal tail 3 below its threshold
    needed = next(n for n in range(9, 999) if 2 * number * math.exp(-((math.sqrt(n) - 3) ** 2) / 2) <= LEVEL)
    holds = f"none of {number} statistics differs ({needed} replicates against 2000)"
    assert judged(0.5, needed) == ("holds", holds)
    assert judged(0.5, needed - 1) == (
        "inconclusive",
        f"{needed - 1} replicates against 2000: {needed} replicates would see a mean that moved by its deviation",
    )


class Own(Recorded):
    """The library's run, too, with the true clusters of the clients."""

    labels = np.zeros(5, dtype=int)


def test_ranks_tell_a_shift_that_a_few_large_replicates_hide() -> None:
    stream, replicates = np.random.default_rng(0), 200
    own, models = Own(800), stream.random((2, replicates, 2, 3))
    own.models, own.assignments = stream.random((2, 800, 2, 3)), np.zeros((1, 800, 5), dtype=int)
    own.models[1, 0, 0, 1] = models[1, 0, 0, 1] = 1e9
    models[1, 1:, 0, 1] += 1.0
    tests = compare_samples(models, np.zeros((1, replicates, 5), dtype=int), own, 1e-12)  # type: ignore[arg-type]  # a stand-in for the library's runs
    assert re.match(
        r"mean of the (models|increments), ranks of model 0, coordinate 1, round 1: ", tests.sentence
    )
    assert tests.judge()[0] == "differs"


def test_ranks_tell_no_numbers_apart_that_differ_by_rounding_of_the_largest() -> None:
    """One replicate of each 100 is large; the others of the run are larger than those of the library by rounding."""
    own, models = Own(800), np.ones((2, 200, 2, 3))
    own.models, own.assignments = np.ones((2, 800, 2, 3)), np.zeros((1, 800, 5), dtype=int)
    own.models[1, ::100, 0, 1] = models[1, ::100, 0, 1] = 1e3

    def sentence(relative: float) -> str:
        shifted, rows = models.copy(), np.arange(200) % 100 > 0
        shifted[1, rows, 0, 1] += relative * 1e3
        return compare_samples(shifted, np.zeros((1, 200, 5), dtype=int), own, 1e-9).sentence  # type: ignore[arg-type]  # a stand-in

    assert sentence(0.9e-9) == ""
    assert re.match(
        "mean of the (models|increments), ranks of model 0, coordinate 1, round 1: ", sentence(2e-9)
    )


def test_columns_are_standardised_where_they_vary_by_more_than_rounding() -> None:
    column = np.array([1.0, 2.0, 6.0])
    found = standardise(np.stack([column, np.full(3, 5.0), 1e-6 * column], axis=-1), 0.0)
    expected = np.array([-2.0, -1.0, 3.0]) / (14 / 3) ** 0.5
    np.testing.assert_allclose(found, np.stack([expected, np.zeros(3), expected], axis=-1))
    assert (standardise(np.stack([column, 1e-6 * column], axis=-1), 1e-5) != 0).all(axis=0).tolist() == [
        True,
        False,
    ]


def test_a_column_that_varies_is_compared_as_it_is_though_some_replicates_are_its_mean() -> None:
    models = np.zeros((2, 3, 1, 2))
    models[1, :, 0] = [[4.0, 1e6], [5.0, 1e6 + 1e-4], [6.0, 1e6]]  # rounding of 1e-9 of 1e6
    found = {one.name: one for one in statistics_of_models(models, 1e-9)}
    assert found["mean of the models"].values.tolist() == [[4, 0], [5, 0], [6, 0]]
    assert found["mean of the increments"].values.tolist() == [[4, 0], [5, 0], [6, 0]]
    assert found["mean of the models"].labels == ["model 0, coordinate 0", "model 0, coordinate 1"]
    models[0] = [0.0, 1e6]  # where the rounding of the start is all that varies
    models[1, :, 0, 1] -= 1e6
    found = {one.name: one for one in statistics_of_models(models, 1e-9)}
    assert found["mean of the models"].values.tolist() == [[4, 0], [5, 0], [6, 0]]


def test_replicates_in_half_precision_are_found_where_they_move() -> None:
    numbers = [0.0, 1.0, -3.0, 0.75, 2047.0, 2049.0, 2.0**-30, 0.1]
    assert significant_bits(np.array(numbers)).tolist() == [0, 1, 2, 2, 11, 12, 1, 52]  # 0.1 ends in ...1010
    models = np.random.default_rng(2).standard_normal((9, 5, 2, 3)).cumsum(axis=0)
    models[:, 1] = models[:, 1].astype(np.float16)
    models[:, 2] = 0.5  # does not move
    models[:, 3] = 2.0 ** -np.arange(40, 49)[:, None, None]  # moves by no more than rounding may
    models[:, 4, 1] = models[:, 4, 0, 1:] = 0.5  # moves in one coordinate, with all bits
    (found,) = (one for one in statistics_of_models(models, 1e-14) if one.name == "runs in half precision")
    assert (found.round, found.values.tolist()) == (8, [[0], [1], [0], [0], [0]])


def test_clients_are_counted_by_cluster_and_by_what_they_keep() -> None:
    """Two replicates of two rounds: clusters 0, 0, 1 of the three clients, -1 for an absent one."""
    assignments = np.array([[[0, 1, 1], [0, 0, -1]], [[0, -1, 1], [1, 0, -1]]])
    found = list(statistics_of_assignments(assignments, np.array([0, 0, 1]), 2))[:3]
    first, second, kept = found
    words = ("absent", "with model 0", "with model 1")
    assert (
        first.labels == second.labels == [f"clients of cluster {q} {word}" for q in (0, 1) for word in words]
    )
    assert first.values.tolist() == [[0, 1, 1, 0, 0, 1], [0, 2, 0, 1, 0, 0]]
    assert second.values.tolist() == [[1, 1, 0, 0, 0, 1], [0, 1, 1, 1, 0, 0]]
    # the same entry as before; present in both rounds or in neither
    assert kept.values.tolist() == [[2, 2], [2, 3]]
    assert [each.round for each in found] == [1, 2, 2]


def test_shares_of_rounds_are_counted_for_each_run_and_client() -> None:
    assignments = np.random.default_rng(0).integers(-1, 2, (5, 3, 4))
    shares = [
        each for each in statistics_of_assignments(assignments, np.zeros(4, int), 2) if "share" in each.name
    ]
    assert len(shares) == 3
    for model, found in zip((-1, 0, 1), shares, strict=True):
        counted = [[list(assignments[:, run, i]).count(model) / 5 for i in range(4)] for run in range(3)]
        np.testing.assert_allclose(found.values, counted)


def test_the_statistics_of_models_by_hand() -> None:
    models = np.random.default_rng(1).standard_normal((3, 300, 2, 2)).cumsum(axis=0) + 2.0
    flat = models.reshape(3, 300, 4)
    found = {(each.name, each.round): each for each in statistics_of_models(models, 1e-12)}

    def scaled(values: np.ndarray) -> np.ndarray:
        return (values - values.mean(axis=0)) / values.std(axis=0)

    def residual(step: int, column: int) -> np.ndarray:
        p = column // 2
        known = [models[step - 1][:, p], *([models[1][:, p] - models[0][:, p]] if step > 1 else [])]
        rows = np.column_stack([np.ones(300), *known])
        values = flat[step][:, column] - flat[step - 1][:, column]
        return values - rows @ np.linalg.pinv(rows) @ values

    moves = [scaled(flat[step] - flat[step - 1]) for step in (1, 2)]
    news = [scaled(np.stack([residual(step, column) for column in range(4)], axis=-1)) for step in (1, 2)]
    expected = {
        "mean of the models": flat[2],
        "mean of the increments": flat[2] - flat[1],
        "variance of the models, relative": scaled(flat[2]) ** 2,
        "correlation of the increments": np.stack(
            [moves[1][:, j] * moves[1][:, (j + lag) % 4] for lag in (1, 2) for j in range(4)], axis=-1
        )[:, 4:],  # those of a lag replace those of the one before under their name
        "covariance of consecutive increments": moves[1] * moves[0],
        "variance of the innovations, relative": news[1] ** 2,
        "mean absolute value of the innovations, relative": np.abs(news[1]),
        "covariance of consecutive innovations": news[1] * news[0],
    }
    for name, values in expected.items():
        np.testing.assert_allclose(found[name, 2].values, values, atol=1e-8, err_msg=name)
    along = found["mean of the models along a direction, in standard deviations", 2]
    assert along.labels == [f"model {p}, along its {what}" for p in (0, 1) for what in ("mean", "path")]
    for p in (0, 1):
        points = models[2][:, p]
        inverse = np.linalg.inv(np.cov(points.T))
        shifts = points.mean(axis=0), points.mean(axis=0) - models[0][:, p].mean(axis=0)
        for column, shift in enumerate(shifts):
            np.testing.assert_allclose(
                along.values[:, 2 * p + column], scaled(points @ inverse @ shift), atol=1e-6
            )


def test_sizes_of_clusters_are_multiplied_by_the_increments_of_their_models() -> None:
    """Two models in one dimension, three clients of the clusters 0, 0, 1, four replicates, one round."""
    models = np.zeros((2, 4, 2, 1))
    models[0] = 5.0
    models[1, :, 0, 0], models[1, :, 1, 0] = [6.0, 4.0, 6.0, 4.0], [5.0, 5.0, 7.0, 7.0]
    # members of model 0: both, none, both, none of cluster 0; client 2 is with model 1 but in the last replicate
    assignments = np.array([[[0, 0, 1], [1, 1, 1], [0, 0, 1], [1, 1, -1]]])
    (found,) = statistics_of_dependence(models, assignments, np.array([0, 0, 1]), 1e-12)
    signs, rare = np.array([1, -1, 1, -1]), np.array([1, 1, 1, -3]) / 3**0.5
    later = np.array([-1, -1, 1, 1])
    expected = [signs * signs, -signs * later, 0 * signs, rare * later]
    np.testing.assert_allclose(found.values, np.stack(expected, axis=-1))
    pairs = [(q, p) for q in (0, 1) for p in (0, 1)]
    assert found.labels == [f"cluster {q}, model {p}, coordinate 0" for q, p in pairs]
    assert found.round == 1


def test_a_difference_is_told_by_the_means_of_both_samples() -> None:
    tests = SampleTests(20, 80)
    tests.add(
        "mean", "round 1", np.repeat([[2.0, 1.0], [1.0, 1.0]], [20, 80], axis=0), ["model 0", "model 1"]
    )
    assert tests.number == 2
    assert tests.sentence == "mean of model 0, round 1: estimate 2, expectation 1"
