"""Runs compared with the law of the algorithm that they declare: faults are seen, right runs never differ."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

import numpy as np
import pytest
from faulty_rounds import FAULTS, run_with_fault

from clusterproof import Undecidable, assert_same_law
from clusterproof.algorithms import CFLMGD, IFCA, Algorithm, FedAvg, InvalidArgument, Trace, run
from clusterproof.synthetic import QuadraticMixture, RegressionMixture
from clusterproof.theory.checker.run_statistics import statistics_of_assignments, statistics_of_models
from clusterproof.theory.checker.same_law import _Tests, same_law

ROUNDS, REPLICATES = 40, 200
MORE = pytest.mark.slow(reason="a run of 2000 replicates for each seed")


def mixture(seed: int = 0, **changes: object) -> RegressionMixture:
    arguments = {
        "clusters": 3, "clients": 12, "dimension": 4, "condition_number": 20.0, "separation": 2.0,
        "noise": 0.5, "samples": 200, "proportions": (0.5, 0.3, 0.2), "seed": seed, **changes,
    }  # fmt: skip
    return RegressionMixture.random(**arguments)  # type: ignore[arg-type]


SETTINGS = [
    (fault, momentum, distance) for momentum, distance in ((0.9, 0.0), (0.5, 0.1)) for fault in FAULTS
]


@pytest.mark.slow(reason="2000 replicates each")
@pytest.mark.parametrize(("fault", "momentum", "distance"), SETTINGS)
def test_a_fault_is_seen(fault: str, momentum: float, distance: float) -> None:
    task = mixture()
    algorithm = CFLMGD(step_size=1 / task.smoothness, momentum=momentum)
    trace = run_with_fault(
        fault, task, algorithm, rounds=ROUNDS, seed=2, replicates=REPLICATES, initial=task.optima + distance
    )
    with pytest.raises(AssertionError, match=r"estimate .*, expectation .* \(200 replicates against 2000"):
        assert_same_law(task, trace)


def test_half_of_the_rows_are_seen_in_few_rounds() -> None:
    task = mixture()
    algorithm = CFLMGD(step_size=1 / task.smoothness, momentum=0.5)
    start = task.optima + 0.1
    trace = run_with_fault(FAULTS[2], task, algorithm, rounds=6, seed=2, replicates=REPLICATES, initial=start)
    with pytest.raises(AssertionError, match="variance of the"):
        assert_same_law(task, trace)


def test_more_replicates_of_the_library_see_a_variance_that_fewer_leave_in_doubt() -> None:
    """The run's own replicates are in both samples: among 2000 they hide what they show among 20 000."""
    task = mixture(clusters=1, dimension=1, clients=4, proportions=None, condition_number=1.0)
    algorithm = CFLMGD(step_size=0.5, momentum=0)
    trace = run(algorithm, task, rounds=1, seed=0, replicates=300, initial=task.optima)
    for factor, said in ((1.0, "holds"), (2.0, "differs")):
        mean = trace.models[1].mean(axis=0)
        models = np.stack([trace.models[0], mean + factor**0.5 * (trace.models[1] - mean)])
        kind, sentence = same_law(task, dataclasses.replace(trace, models=models))
        assert kind == said, sentence
    assert "(300 replicates against 20100" in sentence


@pytest.mark.parametrize(("factor", "said"), [(1.0, "holds"), (2.0, "differs")])
def test_a_scale_is_seen_where_the_variance_is_infinite(factor: float, said: str) -> None:
    """One step on one row multiplies the error by 1 - eta z^2, of mean square 1 - 2 eta + 3 eta^2 > 1, at random."""
    task = mixture(clusters=1, dimension=1, clients=1, proportions=None, condition_number=1.0, samples=1)
    algorithm = CFLMGD(step_size=0.7, momentum=0)
    noisier = dataclasses.replace(task, noise=factor * task.noise)
    trace = run(algorithm, noisier, rounds=30, seed=1, replicates=200, initial=task.optima)
    settings = {**trace.settings, "task": dict(task.settings)}
    kind, sentence = same_law(task, dataclasses.replace(trace, settings=settings))
    assert kind == said, sentence


def drawn_run(seed: int) -> tuple[RegressionMixture, Algorithm, np.ndarray | None]:
    """Draw a setting: P 2..6, kappa 1..1000, participation .1..1, momentum 0...95, unequal clusters."""
    stream = np.random.default_rng(seed)
    count = int(stream.integers(2, 7))
    shares = stream.dirichlet(np.full(count, 2.0)) * 0.8 + 0.2 / count
    clients = int(stream.integers(4 * count, 30))
    task = mixture(
        seed, clusters=count, clients=clients, dimension=int(stream.integers(max(2, count - 1), 8)),
        proportions=tuple(shares / shares.sum()), condition_number=float(10 ** stream.uniform(0, 3)),
        samples=int(10 ** stream.uniform(0.5, 3)), noise=float(stream.uniform(0, 1)),
    )  # fmt: skip
    participation = 1.0 if stream.random() < 0.4 else float(stream.uniform(0.1, 1))
    step = float(stream.uniform(0.1, 1)) / task.smoothness
    momentum = float(stream.choice([0.0, stream.uniform(0, 0.95)]))
    averaging = str(stream.choice(["gradient", "gradient", "model"]))
    kind = CFLMGD(step_size=step, momentum=momentum, participation=participation, averaging=averaging)
    plain = IFCA(step_size=step, participation=participation)
    start = None if stream.random() < 0.3 else task.optima + stream.uniform(0, 0.5) * stream.standard_normal()
    return task, plain if stream.random() < 0.2 else kind, start


@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 40), marks=MORE)])
def test_the_right_algorithm_never_differs(seeds: range) -> None:
    for seed in seeds:
        task, algorithm, start = drawn_run(seed)
        trace = run(algorithm, task, rounds=12, seed=seed, replicates=150, initial=start)
        kind, sentence = same_law(task, trace)
        assert kind != "differs", (seed, sentence)


def test_replicates_that_are_copies_of_one_run_differ() -> None:
    task = mixture()
    algorithm = CFLMGD(step_size=1 / task.smoothness, momentum=0.5)
    trace = run(algorithm, task, rounds=3, seed=0, replicates=200, initial=task.optima)
    one = trace.models[:, :1]
    repeated = dataclasses.replace(trace, models=np.repeat(one, 200, axis=1))
    with pytest.raises(AssertionError, match="200 replicates against 2000"):
        assert_same_law(task, repeated)


QUADRATIC = QuadraticMixture.random(clusters=3, clients=12, dimension=4, condition_number=20.0, seed=2)
DESCENT = CFLMGD(step_size=1 / QUADRATIC.smoothness, momentum=0.5)


def test_without_noise_every_round_must_agree_to_rounding() -> None:
    start = QUADRATIC.optima + 0.1
    trace = run(DESCENT, QUADRATIC, rounds=30, initial=start)
    assert_same_law(QUADRATIC, trace)
    slower = dataclasses.replace(DESCENT, step_size=(1 + 1e-6) * DESCENT.step_size)
    other = dataclasses.replace(
        run(slower, QUADRATIC, rounds=30, initial=start, replicates=3), settings=trace.settings
    )
    with pytest.raises(AssertionError, match=r"round 1, replicate 0, model 0, coordinate 0: .* is not"):
        assert_same_law(QUADRATIC, other)
    half = dataclasses.replace(trace, models=trace.models.astype(np.float16).astype(float))
    with pytest.raises(AssertionError, match="is not"):
        assert_same_law(QUADRATIC, half)
    single = dataclasses.replace(trace, models=trace.models.astype(np.float32))
    assert_same_law(QUADRATIC, single)
    swapped = trace.assignments.copy()
    swapped[4, 7] = (swapped[4, 7] + 1) % 3
    with pytest.raises(AssertionError, match="round 5, replicate 0: client 7 is with model"):
        assert_same_law(QUADRATIC, dataclasses.replace(trace, assignments=swapped))


def test_a_tie_that_rounding_decides_is_undecidable() -> None:
    """Two models at the same distance from a client, which the last digit of the start assigns."""
    task = QuadraticMixture(
        hessians=np.ones((2, 1, 1)), centers=np.array([[0.0], [3.0]]), labels=np.array([0, 1])
    )
    start = np.array([[-1.0], [1.0]])
    trace = run(CFLMGD(step_size=0.5, momentum=0), task, rounds=3, initial=start)
    for each in (trace, dataclasses.replace(trace, assignments=1 - trace.assignments)):
        with pytest.raises(Undecidable, match="a start that differs by rounding gives another run"):
            assert_same_law(task, each)


def test_a_tie_without_effect_is_undecidable() -> None:
    """Two models at the minimum of all clients, which may be with either: no model tells."""
    task = QuadraticMixture(
        hessians=np.ones((2, 1, 1)), centers=np.ones((2, 1)), labels=np.zeros(2, dtype=int)
    )
    trace = run(CFLMGD(step_size=0.5, momentum=0, clusters=2), task, rounds=3, initial=np.ones((2, 1)))
    for assignments in (trace.assignments, 1 - trace.assignments):
        with pytest.raises(Undecidable, match="a start that differs by rounding"):
            assert_same_law(task, dataclasses.replace(trace, assignments=assignments))


def test_few_replicates_are_undecidable_unless_the_fault_is_large() -> None:
    task = mixture(samples=50)
    algorithm = CFLMGD(step_size=1 / task.smoothness, momentum=0.5)
    start = task.optima + 0.1
    for replicates in (None, 20):
        trace = run(algorithm, task, rounds=2, seed=1, replicates=replicates, initial=start)
        with pytest.raises(Undecidable, match=r"\d+ replicates would see"):
            assert_same_law(task, trace)
    far = run(dataclasses.replace(algorithm, step_size=0.5), task, rounds=2, replicates=20, initial=start)
    with pytest.raises(AssertionError, match="20 replicates against 2000"):
        assert_same_law(task, far, algorithm=algorithm)


def test_what_cannot_be_compared_is_refused() -> None:
    trace = run(DESCENT, QUADRATIC, rounds=2)
    with pytest.raises(InvalidArgument, match="must be that of the task"):
        assert_same_law(dataclasses.replace(QUADRATIC, centers=2 * QUADRATIC.centers), trace)
    with pytest.raises(InvalidArgument, match=r"must start from the models of the run, \(3, 4\)"):
        assert_same_law(QUADRATIC, trace, algorithm=FedAvg(step_size=0.1))
    unknown = dataclasses.replace(trace, settings={**trace.settings, "algorithm": {"algorithm": "mine"}})
    with pytest.raises(InvalidArgument, match="must be a run of an algorithm whose dynamics are known"):
        assert_same_law(QUADRATIC, unknown)
    assert_same_law(QUADRATIC, unknown, algorithm=DESCENT)
    equal = run(DESCENT, QUADRATIC, rounds=2, initial=np.ones((3, 4)))
    with pytest.raises(InvalidArgument, match="must start from the models of the run"):
        assert_same_law(QUADRATIC, equal, algorithm=FedAvg(step_size=0.1))


def test_discrete_laws_are_compared_without_false_alarm() -> None:
    """Population data and partial participation: models take few values, which rounding may split."""
    trace = run(
        dataclasses.replace(DESCENT, participation=0.25), QUADRATIC, rounds=3, replicates=200,
        initial=QUADRATIC.optima + 0.1,
    )  # fmt: skip
    nudged = dataclasses.replace(trace, models=trace.models * (1 + 1e-15))
    for each in (trace, nudged):
        assert_same_law(QUADRATIC, each)
    every = run(DESCENT, QUADRATIC, rounds=3, replicates=200, initial=QUADRATIC.optima + 0.1)
    with pytest.raises(AssertionError):
        assert_same_law(QUADRATIC, dataclasses.replace(every, settings=trace.settings))


def test_a_single_draw_that_repeats_by_chance_accuses_nobody() -> None:
    """One of two clients takes part in one round: half of all pairs of runs are equal, the others are no fault."""
    task = QuadraticMixture(
        hessians=np.ones((2, 1, 1)), centers=np.array([[0.0], [3.0]]), labels=np.array([0, 1])
    )
    half = CFLMGD(step_size=0.5, momentum=0, participation=0.5)
    for seed in range(8):
        trace = run(half, task, rounds=1, seed=seed, initial=np.array([[-1.0], [4.0]]))
        with pytest.raises(Undecidable):
            assert_same_law(task, trace)


def test_ties_that_an_implementation_breaks_in_another_way_are_undecidable() -> None:
    """All models start at one point; the library takes the first of equally good ones, others the last."""
    task = mixture(samples=20)
    algorithm = CFLMGD(step_size=0.2, momentum=0)
    trace = run(algorithm, task, rounds=2, replicates=200, initial=np.zeros((3, 4)))
    last = dataclasses.replace(trace, models=trace.models[:, :, ::-1], assignments=2 - trace.assignments)
    with pytest.raises(Undecidable, match="starts that differ by rounding give another law"):
        assert_same_law(task, last)


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


def nan_in_some(trace: Trace) -> Trace:
    models = trace.models.copy()
    models[2, ::4] = np.nan
    return dataclasses.replace(trace, models=models)


def moved(trace: Trace) -> Trace:
    return dataclasses.replace(trace, models=trace.models + 0.1 * (np.arange(4) > 0)[:, None, None, None])


def other_choices(trace: Trace) -> Trace:
    assignments = trace.assignments.copy()
    assignments[:, ::2, 0] = (assignments[:, ::2, 0] + 1) % 3
    return dataclasses.replace(trace, assignments=assignments)


def absent_together(trace: Trace) -> Trace:
    """Every client is absent in as many runs as before, clients 0 and 1 in the same ones."""
    assignments = trace.assignments.copy()
    assignments[..., 1] = np.where(assignments[..., 0] < 0, -1, 1)
    return dataclasses.replace(trace, assignments=assignments)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (nan_in_some, ""),
        (moved, "^mean of the"),
        (other_choices, "share of rounds|client"),
        (absent_together, "share of rounds|client"),
    ],
)
def test_each_aspect_of_a_run_is_compared(change: Callable[[Trace], Trace], words: str) -> None:
    """A run that is right but for one aspect of it differs by a statistic of that aspect."""
    task = mixture()
    algorithm = CFLMGD(step_size=1 / task.smoothness, momentum=0.5, participation=0.5)
    trace = run(algorithm, task, rounds=3, seed=4, replicates=200, initial=task.optima + 0.1)
    assert same_law(task, trace)[0] != "differs"
    kind, sentence = same_law(task, change(trace))
    assert kind == "differs"
    assert re.search(words, sentence), sentence


def test_a_difference_is_told_by_the_means_of_both_samples() -> None:
    tests = _Tests(20, 80)
    tests.add(
        "mean", "round 1", np.repeat([[2.0, 1.0], [1.0, 1.0]], [20, 80], axis=0), ["model 0", "model 1"]
    )
    assert tests.number == 2
    assert tests.sentence == "mean of model 0, round 1: estimate 2, expectation 1"
