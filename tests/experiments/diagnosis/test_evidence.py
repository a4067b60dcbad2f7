"""Bounds on a run's constants from made-up measurements, by loops over them; decisions from such bounds."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from clusterproof.experiments.diagnosis.curvature import Curvature
from clusterproof.experiments.diagnosis.estimates import Estimate
from clusterproof.experiments.diagnosis.evidence import Answer, Evidence, decide

STREAM = np.random.default_rng(1)


def cell(model):
    """A cluster's measurements; a slack by rounding and by sampling of its own."""
    value = np.sort(STREAM.uniform(0.5, 3.0, 2))
    curvature = Curvature(
        value=value,
        outer=value + STREAM.uniform(0.1, 0.3, 2) * [-1, 1],
        vectors=np.eye(2),
        asymmetry=STREAM.uniform(0.1, 0.2),
        others=Estimate(value + STREAM.normal(0, 0.2, 2), STREAM.uniform(0.05, 0.2, 2), 7),
    )
    variance = Estimate(STREAM.uniform(1, 2, 3), np.zeros(3), 0)
    return SimpleNamespace(model=model, curvature=curvature, loss_variance=variance)


ROUNDS = tuple(
    SimpleNamespace(
        clusters=[cell(model) for model in order], models=STREAM.standard_normal((3, 2)), step_size=size
    )
    for order, size in (([0, 1, 2], 0.7), ([2, 0, 1], 0.4))
)
START = STREAM.standard_normal((3, 2))
EVIDENCE = Evidence(observations=ROUNDS, start=START, variants=None, algorithm=None, rounds=9)


def test_bounds_are_the_extremes_of_the_measurements_with_their_slack():
    lows, highs, least, most, slack, steps = [], [], [], [], [], []
    for seen in ROUNDS:
        for one in seen.clusters:
            found = one.curvature
            # six cells and two ends, of which one may fail with a probability of 0.01
            margin = stats.t.ppf(1 - 0.01 / 12, 6) * found.others.error
            rounding = found.asymmetry * abs(found.value).max()
            lows.append(found.outer[0] - rounding)
            highs.append(found.outer[1] + rounding)
            least.append(found.others.value[1] - margin[1])
            most.append(found.others.value[0] + margin[0] + rounding)
            slack.append(found.value)
            steps.append(seen.step_size)
    assert EVIDENCE.smoothness_range == pytest.approx((max(least), max(highs)))
    assert EVIDENCE.strong_convexity_range == pytest.approx((min(lows), min(most)))
    assert EVIDENCE.strong_convexity == min(value[0] for value in slack)
    products = [np.multiply(steps, each).max() for each in ([value[1] for value in slack], least, highs)]
    assert EVIDENCE.scaled_smoothness(lambda seen, _: seen.step_size) == pytest.approx(products)
    assert EVIDENCE.loss_variance == max(
        one.loss_variance.value.max() for seen in ROUNDS for one in seen.clusters
    )


def test_each_cluster_starts_at_the_first_model_of_its_number():
    distances = [
        np.linalg.norm(START[p] - model) for p, model in zip([2, 0, 1], ROUNDS[1].models, strict=True)
    ]
    np.testing.assert_allclose(EVIDENCE.start_distances, distances)


@pytest.mark.parametrize(
    ("convexity", "smoothness", "met", "answer", "asked"),
    [
        ((0.3, 0.4), (2.0, 3.0), lambda mu, smooth: True, Answer.HOLDS, [(0.4, 2.0), (0.3, 3.0)]),
        ((0.3, 0.4), (2.0, 3.0), lambda mu, smooth: mu > 0.35, Answer.UNDECIDED, [(0.4, 2.0), (0.3, 3.0)]),
        ((0.3, 0.4), (2.0, 3.0), lambda mu, smooth: False, Answer.FAILS, [(0.4, 2.0)]),
        ((0.3, 0.4), (0.2, 3.0), lambda mu, smooth: False, Answer.FAILS, [(0.4, 0.4)]),  # L is at least mu
        ((0.3, 0.4), (2.0, math.inf), lambda mu, smooth: True, Answer.UNDECIDED, [(0.4, 2.0)]),
        ((-0.1, 0.4), (2.0, 3.0), lambda mu, smooth: True, Answer.UNDECIDED, [(0.4, 2.0)]),
        ((-0.3, -0.1), (2.0, 3.0), lambda mu, smooth: True, Answer.FAILS, []),
    ],
)
def test_a_condition_is_asked_at_the_most_and_the_least_favourable_constants(
    convexity, smoothness, met, answer, asked
):
    seen = []

    def holds(mu, smooth):
        seen.append((mu, smooth))
        return met(mu, smooth)

    ranges = SimpleNamespace(strong_convexity_range=convexity, smoothness_range=smoothness)
    assert decide(ranges, holds)[0] is answer
    assert seen == asked
    if answer is Answer.HOLDS:
        assert decide(ranges, holds, needs_sample=True)[0] is Answer.UNDECIDED
