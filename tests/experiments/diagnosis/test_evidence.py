"""Bounds on a run's constants from made-up measurements, by loops over them; decisions from such bounds."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from clusterproof.algorithms import FedProx
from clusterproof.experiments.diagnosis.curvature import Curvature
from clusterproof.experiments.diagnosis.estimates import Estimate, exact
from clusterproof.experiments.diagnosis.evidence import Answer, Evidence, compare, decide
from clusterproof.experiments.diagnosis.hypotheses import algorithm, loss_gap, misclassification
from clusterproof.experiments.diagnosis.observation import Observation
from clusterproof.experiments.diagnosis.task_variants import task_variants
from clusterproof.synthetic import QuadraticMixture, RegressionMixture

STREAM = np.random.default_rng(1)


def cell(model):
    """A cluster's measurements, with slacks by rounding and by sampling of its own."""
    value = np.sort(STREAM.uniform(-4.0, 3.0, 2))
    others = Estimate(value + STREAM.normal(0, 0.2, 2), STREAM.uniform(0.05, 0.2, 2), 7)
    outer, asymmetry = value + STREAM.uniform(0.1, 0.3, 2) * [-1, 1], STREAM.uniform(0.1, 0.2)
    ends = Curvature(value=value, outer=outer, vectors=np.eye(2), asymmetry=asymmetry, others=others)
    return SimpleNamespace(model=model, curvature=ends, loss_variance=exact(STREAM.uniform(1, 2, 3)))


def test_constants_are_the_extremes_of_the_measurements_with_their_slack():
    rounds = tuple(
        SimpleNamespace(
            clusters=list(map(cell, order)), models=STREAM.standard_normal((3, 2)), step_size=size
        )
        for order, size in (([0, 1, 2], 0.7), ([2, 0, 1], 0.4))
    )
    start = STREAM.standard_normal((3, 2))
    evidence = Evidence(observations=rounds, start=start, variants=None, algorithm=None, rounds=9)
    cells = [one for seen in rounds for one in seen.clusters]
    ends = [one.curvature for one in cells]
    # six cells and two ends, of which one may fail with a probability of 0.01
    margins = [stats.t.ppf(1 - 0.01 / 12, 6) * end.others.error for end in ends]
    slacks = [end.asymmetry * abs(end.value).max() for end in ends]
    least = [end.others.value[1] - margin[1] for end, margin in zip(ends, margins, strict=True)]
    largest = [end.outer[1] + slack for end, slack in zip(ends, slacks, strict=True)]
    most = [e.others.value[0] + margin[0] + s for e, margin, s in zip(ends, margins, slacks, strict=True)]
    smallest = [end.outer[0] - slack for end, slack in zip(ends, slacks, strict=True)]
    assert evidence.smoothness_range == pytest.approx((max(least), max(largest)))
    assert evidence.strong_convexity_range == pytest.approx((min(smallest), min(most)))
    assert evidence.strong_convexity == min(end.value[0] for end in ends)
    steps = [0.7] * 3 + [0.4] * 3
    products = [np.multiply(steps, each).max() for each in ([end.value[1] for end in ends], least, largest)]
    assert evidence.scaled_smoothness(lambda seen, _: seen.step_size) == pytest.approx(products)
    assert evidence.loss_variance == max(one.loss_variance.value.max() for one in cells)
    first = start[[2, 0, 1]]  # each cluster's model has a number
    np.testing.assert_allclose(evidence.start_distances, np.linalg.norm(first - rounds[1].models, axis=1))


def test_distances_are_of_models_of_the_same_cluster():
    first, second = (
        Observation(
            round=1, step_size=0.1, clusters=clusters, run_wrong=0.0, models=STREAM.standard_normal((2, 3))
        )
        for clusters in (
            (SimpleNamespace(cluster=0, model=1), SimpleNamespace(cluster=2, model=0)),
            (SimpleNamespace(cluster=2, model=1), SimpleNamespace(cluster=1, model=0)),
        )
    )
    assert first.distances_to(second) == pytest.approx([np.linalg.norm(first.models[1] - second.models[0])])


def test_a_condition_is_asked_at_the_most_and_then_at_the_least_favourable_constants():
    for convexity, smoothness, least_mu, answer in (
        ((0.3, 0.4), (2.0, 3.0), 0.2, Answer.HOLDS),
        ((0.3, 0.4), (2.0, 3.0), 0.35, Answer.UNDECIDED),
        ((0.3, 0.4), (0.2, 3.0), 0.5, Answer.FAILS),
        ((0.3, 0.4), (2.0, math.inf), 0.2, Answer.UNDECIDED),
        ((-0.1, 0.4), (2.0, 3.0), -0.2, Answer.UNDECIDED),
        ((-0.3, -0.1), (2.0, 3.0), -0.4, Answer.FAILS),
    ):
        asked = []
        ranges = SimpleNamespace(strong_convexity_range=convexity, smoothness_range=smoothness)
        found = decide(
            ranges, lambda *constants, seen=asked, mu=least_mu: seen.append(constants) or constants[0] > mu
        )
        assert found[0] is answer
        assert asked[:1] == [(0.4, max(0.4, smoothness[0]))] * (convexity[1] > 0)  # L is at least mu
        assert asked[1:] in ([], [(0.3, 3.0)])
        assert decide(ranges, lambda *_: True, needs_sample=True)[0] is not Answer.HOLDS
    answers = [compare(*bounds, 1.0) for bounds in ((0.5, 0.9), (0.5, 1.5), (1.1, 1.5))]
    assert answers == [Answer.HOLDS, Answer.UNDECIDED, Answer.FAILS]


def test_a_rate_between_the_bounds_for_both_ends_of_mu_is_not_decided():
    """128 P sigma^2 / (Delta^4 mu^2 n') is 0.1 for mu = 1 and 0.4 for mu = 1/2."""
    for wrong, answer in ((60, Answer.HOLDS), (250, Answer.UNDECIDED), (500, Answer.FAILS)):
        judged = SimpleNamespace(
            variants=SimpleNamespace(batch=SimpleNamespace(clusters=3), choice_samples=1920),
            loss_variance=0.5,
            strong_convexity_range=(0.5, 1.0),
            last=SimpleNamespace(separation=1.0, clusters=[SimpleNamespace(wrong=wrong, asked=1000)]),
        )
        assert misclassification(judged).answer is answer


@pytest.mark.parametrize(
    ("gap", "convexity", "answer"),
    [
        (1.01, (0.5, 0.8), Answer.HOLDS),  # 0.81 to 1.21 against 0.5 to 0.8
        (0.99, (0.5, 0.8), Answer.UNDECIDED),
        (0.31, (0.5, 0.8), Answer.UNDECIDED),
        (0.29, (0.5, 0.8), Answer.FAILS),
        (0.21, (-0.5, -0.1), Answer.HOLDS),  # without mu > 0 nothing but a gap is needed
        (0.19, (-0.5, -0.1), Answer.UNDECIDED),
        (-0.19, (-0.5, -0.1), Answer.UNDECIDED),
        (-0.21, (-0.5, -0.1), Answer.FAILS),
    ],
)
def test_a_gap_is_judged_by_the_error_bars_of_both_sides(gap, convexity, answer):
    """(mu / 4) Delta^2 is mu for Delta = 2; bars of the gap are 0.2 wide; the own model's gap of 0 is left out."""
    failure = 0.01
    error = 0.2 / stats.t.ppf(1 - failure, 6)
    cells = [
        SimpleNamespace(
            model=own,
            gaps=Estimate(np.insert([gap, gap + 3], own, 0.0), np.insert([error, error], own, 0.0), 7),
        )
        for own in (0, 2)
    ]
    judged = SimpleNamespace(
        failure=failure,
        over_cells=lambda quantity: [quantity(None, cell) for cell in cells],
        strong_convexity_range=convexity,
        last=SimpleNamespace(separation=2.0),
    )
    found = loss_gap(judged)
    assert found.answer is answer
    expected = [gap, gap - 0.2, gap + 0.2, max(0.0, convexity[1])]
    assert list(found.numbers.values()) == pytest.approx(expected)


def test_theorem_1_speaks_of_no_algorithm_but_its_own():
    method = FedProx(step_size=0.1, participation=0.5)
    found = algorithm(Evidence(observations=(), start=None, variants=None, algorithm=method, rounds=1))
    assert (found.answer, found.numbers) == (Answer.FAILS, {"participation": 0.5})
    assert method.name in found.reason


def test_a_loss_that_is_not_random_is_of_one_sample():
    settings = {"clusters": 2, "clients": 6, "dimension": 2, "seed": 1}
    still = task_variants(QuadraticMixture.random(**settings))
    assert (still.single, still.choice_samples, still.gradient_samples, still.held) == (None, 1, 1, None)
    drawn = task_variants(RegressionMixture.random(**settings, samples=9, data="fresh"))
    assert (drawn.batch.samples, drawn.single.samples, drawn.whole.data) == (9, 1, "population")
    assert (drawn.choice_samples, drawn.gradient_samples, drawn.held) == (9, 9, None)
