"""Every argument of a task that breaks a rule is refused by name, with its value and the remedy."""

import inspect
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterproof.common import InvalidArgument
from clusterproof.synthetic import (
    TASKS,
    LogCoshMixture,
    LogisticMixture,
    NoisyQuadraticMixture,
    QuadraticMixture,
    RegressionMixture,
    TwoPointMixture,
    from_settings,
    strategies,
)
from clusterproof.synthetic.mixture import make_labels, place_optima
from clusterproof.synthetic.softmax import SoftmaxMixture

NOT_A_NUMBER = float("nan")
VALID = {
    RegressionMixture: {
        "optima": [[0.0, 0.0], [1.0, 0.0]],
        "covariance": [1.0, 0.5],
        "noise": 0.5,
        "labels": [0, 1, 1],
        "samples": 3,
    },
    QuadraticMixture: {
        "hessians": [np.eye(2)] * 3,
        "centers": [[0.0, 0.0], [1.0, 0.0], [1.0, 0.0]],
        "labels": [0, 1, 1],
    },
    LogisticMixture: {
        "features": [[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [2.0, 1.0]]],
        "targets": [[1, -1], [1, 1]],
        "ridge": 0.1,
        "labels": [0, 1, 1],
        "samples": 3,
    },
}
FURTHER = {
    NoisyQuadraticMixture: {**VALID[QuadraticMixture], "covariance": np.eye(2)},
    LogCoshMixture: {
        **{"optima": [[0.0, 0.0], [1.0, 0.0]], "valley_curvature": 0.2, "width": 0.4, "noise": 0.5},
        **{"labels": [0, 1, 1], "samples": 3},
    },
    TwoPointMixture: {
        **{
            "optima": [[0.0, 0.0], [1.0, 0.0]],
            "noise_gradients": [1.0, 0.0],
            "centers": [1.0, 0.0],
            "rarity": 0.1,
        },
        **{"labels": [0, 1, 1], "samples": 3},
    },
    SoftmaxMixture: {"clients": 3, "clusters": 2, "features": 4, "classes": 3, "largest": 300, "seed": 2},
}
OCCURS, DEFINITE = "each of 0 .. 1 occurs", "symmetric and positive definite"
CASES = [
    # tasks, an argument, values that are refused, and the rule
    ((RegressionMixture, LogisticMixture), "labels", ([0, 0, 0], [0.0, 1.0, 1.0], [[0, 1, 1]]), OCCURS),
    ((RegressionMixture, LogisticMixture), "labels", ([0, 1, 3], [-1, 0, 1], []), OCCURS),
    ((RegressionMixture, LogisticMixture), "samples", (0, -2, 1.5, "many"), "must be an integer, at least 1"),
    (RegressionMixture, "optima", ([0.0, 1.0], [[0.0, NOT_A_NUMBER], [1.0, 0.0]]), "finite array (P, d)"),
    (RegressionMixture, "optima", ([[1.0, 1.0], [1.0, 1.0]],), "must be different"),
    (RegressionMixture, "covariance", ([1.0],), "must have one of the shapes (2,), (2, 2), (2, 2, 2)"),
    (RegressionMixture, "covariance", ([1.0, 0.0], [1.0, np.inf]), DEFINITE),
    (RegressionMixture, "covariance", ([[1.0, 0.2], [0.1, 1.0]], [[1.0, 2.0], [2.0, 1.0]]), DEFINITE),
    (RegressionMixture, "noise", (-0.1,), "at least 0"),
    (RegressionMixture, "noise", (NOT_A_NUMBER, "loud"), "finite number"),
    (RegressionMixture, "data", ("stale",), "'fresh', 'fixed', 'population'"),
    (RegressionMixture, "sampling", ("quick",), "'exact', 'direct'"),
    (QuadraticMixture, "centers", ([0.0, 1.0, 1.0], [[0.0, np.inf]] * 3), "finite array (m, d)"),
    (QuadraticMixture, "hessians", (np.eye(2), [np.eye(2) * NOT_A_NUMBER] * 3), "finite array (m, d, d)"),
    (QuadraticMixture, "hessians", ([np.eye(3)] * 3, [np.eye(2)] * 2), "must have the shape (3, 2, 2)"),
    (
        QuadraticMixture,
        "hessians",
        ([np.eye(2), np.zeros((2, 2)), np.eye(2)],),
        "must be positive definite; client 1's smallest eigenvalue is 0",
    ),
    (
        QuadraticMixture,
        "hessians",
        ([np.eye(2), np.eye(2), [[1.0, 0.5], [0.0, 1.0]]],),
        "must be symmetric; client 2's mirrored entries differ by up to 0.5",
    ),
    (QuadraticMixture, "labels", ([0, 1],), "must have the shape (3,)"),
    (QuadraticMixture, "labels", ([0, 2, 2], [0.0, 1.0, 1.0]), "occurs"),
    (QuadraticMixture, "client_samples", ([1, 2], [0] * 3, [1.5] * 3), ""),
    (LogisticMixture, "features", ([[1.0, 0.0]], [[[np.inf]], [[1.0]]]), "finite array (P, N, d)"),
    (LogisticMixture, "targets", ([[1, 0], [1, 1]],), "-1 or 1"),
    (LogisticMixture, "targets", ([[1], [1]],), "in an array (2, 2)"),
    (LogisticMixture, "ridge", (0, "none"), "greater than 0"),
    (LogisticMixture, "data", ("fixed",), "'fresh', 'population'"),
    (NoisyQuadraticMixture, "covariance", ([[1.0]],), "must have the shape"),
    (NoisyQuadraticMixture, "covariance", (3.0,), "must be a finite array"),
    (NoisyQuadraticMixture, "covariance", ([[1.0, 0.5], [0.0, 1.0]],), "must be symmetric; mirrored entries"),
    (NoisyQuadraticMixture, "covariance", ([[1.0, 2.0], [2.0, 1.0]],), "its smallest eigenvalue is -1"),
    (NoisyQuadraticMixture, "covariance", ([[1e-14, 2e-14], [2e-14, 1e-14]],), "eigenvalue is -1e-14"),
    (LogCoshMixture, "optima", (np.zeros(2), np.zeros((1, 2, 2))), "must be a finite array (P, d)"),
    (LogCoshMixture, "optima", ([[np.nan] * 2, [1.0] * 2],), "must be a finite array (P, d)"),
    (TwoPointMixture, "rarity", (0.0,), ""),
    (TwoPointMixture, "noise_gradients", (np.ones(3),), ""),
    (TwoPointMixture, "samples", (0,), ""),
    (TwoPointMixture, "centers", (np.array([[0], [np.nan]]),), ""),
    (TwoPointMixture, "labels", (np.array([0, 0, 0]),), ""),
    (SoftmaxMixture, "features", (0,), ""),
    (SoftmaxMixture, "classes", (1,), ""),
    (SoftmaxMixture, "clusters", (4,), ""),
    (SoftmaxMixture, "largest", (2,), ""),
    (SoftmaxMixture, "precision", ("half",), ""),
    (SoftmaxMixture, "seed", (-1,), ""),
    (SoftmaxMixture, "batch_size", (0, 1.5), ""),
]


def refusal(make, **arguments):
    with pytest.raises(InvalidArgument) as raised:
        make(**arguments)
    error = raised.value
    joined = error.argument if error.value is ... else "is missing: it" if error.value is None else ", but it"
    assert f"{joined} {error.rule}. " in str(error)
    return error


@pytest.mark.parametrize("kind", {**VALID, **FURTHER})
def test_the_arguments_that_the_cases_start_from_are_valid(kind):
    task = kind(**{**VALID, **FURTHER}[kind])
    assert (task.clusters, task.clients) == (2, 3)


@pytest.mark.parametrize(
    ("kind", "argument", "value", "rule"),
    [
        (kind, argument, value, rule)
        for kinds, argument, values, rule in CASES
        for kind in (kinds if isinstance(kinds, tuple) else (kinds,))
        for value in values
    ],
)
def test_a_broken_argument_is_refused(kind, argument, value, rule):
    error = refusal(kind, **{**{**VALID, **FURTHER}[kind], argument: value})
    assert error.argument == argument
    assert rule in error.rule
    assert error.remedy


@pytest.mark.parametrize("kind", VALID)
@pytest.mark.parametrize(
    "garbage",
    [
        "abc",
        None,
        [[1.0], [1.0, 2.0]],
        {},
        [],
        [[]],
        np.zeros((0, 2)),
        [["a"]],
        [NOT_A_NUMBER, 1, 1],
        pytest.param(object(), id="object"),
    ],
    ids=repr,
)
def test_garbage_in_any_argument_is_refused_by_name(kind, garbage):
    for argument in VALID[kind]:
        error = refusal(kind, **{**VALID[kind], argument: garbage})
        assert error.argument == argument


SIZES = {"clusters": 2, "clients": 4, "dimension": 2}
REFUSED = {
    "clusters": [
        (0, "an integer, at least 1"),
        (2.0, "an integer"),
        (5, "at most the number of clients (4)"),
    ],
    "clients": [(0, "an integer, at least 1")],
    "dimension": [(0, "an integer, at least 1")],
    "condition_number": [(0.5, "1"), (np.inf, "finite")],
    "separation": [(0, "greater than 0"), (np.inf, "finite")],
    "spread": [(-1, "at least 0")],
    "signal": [(0, "greater than 0")],
    "support": [(0, "an integer, at least 1")],
    "noise": [(-1, "at least 0")],
    "width": [(0, "greater than 0")],
    "rarity": [(0, "greater than 0"), (1, "below 1")],
    "samples": [(0, "an integer, at least 1")],
    "data": [("stale", "'fresh'")],
    "sampling": [("quick", "'exact', 'direct'")],
    "proportions": [
        (value, "2 positive finite numbers") for value in ([1.0], [1.0, 0.0], [1.0, NOT_A_NUMBER])
    ],
    "seed": [(-1, "an integer, at least 0"), (0.5, "an integer, at least 0")],
}


@pytest.mark.parametrize("name", TASKS)
def test_a_random_task_refuses_what_it_cannot_draw(name):
    random = TASKS[name].random
    for argument in inspect.signature(random).parameters:
        for value, rule in REFUSED[argument]:
            error = refusal(random, **{**SIZES, argument: value})
            assert error.argument == argument
            assert rule in error.rule
    if name == "logistic":
        assert "greater than 1" in refusal(random, **SIZES, condition_number=1).rule


@pytest.mark.parametrize("kind", [RegressionMixture, QuadraticMixture])
def test_one_dimension_has_condition_number_one(kind):
    error = refusal(kind.random, clusters=2, clients=4, dimension=1, condition_number=2)
    assert error.argument == "condition_number"


@pytest.mark.parametrize(
    ("settings", "argument"),
    [
        ({}, "task"),
        ({"task": "cubic"}, "task"),
        ({"task": "quadratic", "centers": [[0.0]], "labels": [0]}, "hessians"),
        (
            {"task": "quadratic", "hessians": [[[1.0]]], "centers": [[0.0]], "labels": [0], "colour": 1},
            "colour",
        ),
    ],
)
def test_settings_of_no_task_are_refused(settings, argument):
    assert refusal(lambda: from_settings(settings)).argument == argument


@given(st.integers(1, 4), st.integers(0, 8), st.data())
def test_clients_are_dealt_as_near_to_the_proportions_as_can_be(clusters, extra, data):
    """No other sizes of at least one have a smaller sum of squared differences from the exact shares."""
    clients = clusters + extra
    shares = data.draw(st.lists(st.floats(0.01, 10), min_size=clusters, max_size=clusters))
    exact = np.array(shares) / sum(shares) * clients
    counts = np.bincount(make_labels(clients, clusters, shares), minlength=clusters)
    assert counts.min() >= 1
    sizes = [each for each in itertools.product(range(1, extra + 2), repeat=clusters) if sum(each) == clients]
    assert ((counts - exact) ** 2).sum() <= ((sizes - exact) ** 2).sum(axis=1).min() + 1e-9
    assert counts.sum() == clients
    # two clusters are rounded up to a client, which the one that is nearest above its share gives
    assert np.bincount(make_labels(10, 4, [0.02, 0.03, 5.9, 4.05])).tolist() == [1, 1, 5, 3]


@given(st.integers(2, 6), st.integers(1, 4), st.floats(0.1, 10), st.integers(0, 100))
def test_the_smallest_distance_is_the_one_asked_for(clusters, dimension, separation, seed):
    centers = place_optima(clusters, dimension, separation, np.random.default_rng(seed))
    gaps = [np.linalg.norm(a - b) for i, a in enumerate(centers) for b in centers[:i]]
    assert min(gaps) == pytest.approx(separation)
    assert np.abs(centers.mean(axis=0)).max() < 1e-9 * max(gaps)


OUTSIDE = {
    **dict.fromkeys(("clusters", "clients", "dimension", "support", "samples"), (0, (3, 2))),
    **dict.fromkeys(("condition_number", "noise_condition_number", "imbalance"), (0.5,)),
    **dict.fromkeys(("smoothness", "separation", "width"), (0, (1, np.inf))),
    **dict.fromkeys(("noise", "spread"), ((-1, 1), (0, np.inf))),
    "rarity": (0, (0.5, 1)),
}


@pytest.mark.parametrize("name", [name for name in vars(strategies) if name.endswith("_mixtures")])
def test_strategies_refuse_bounds_that_no_task_meets(name):
    strategy = getattr(strategies, name)
    for argument in OUTSIDE.keys() & inspect.signature(strategy).parameters:
        for bounds in OUTSIDE[argument]:
            assert refusal(strategy, **{argument: bounds}).argument == argument, bounds
    if name != "wide_mixtures":  # which draws more clients
        assert refusal(strategy, clients=2, clusters=3).argument in ("clients", "clusters")
    if name == "logistic_mixtures":
        assert refusal(strategy, condition_number=1).argument == "condition_number"


@pytest.mark.parametrize("size", [5, 20, 200])
def test_a_hessian_that_is_symmetric_to_rounding_is_taken(size):
    stream = np.random.default_rng(size)
    rotation = np.linalg.qr(stream.standard_normal((size, size)))[0]
    hessian = rotation @ np.diag(np.geomspace(1, 1e-3, size)) @ rotation.T
    hessian[0, 1] = np.nextafter(hessian[1, 0], 2)  # some kernels give a symmetric product
    task = QuadraticMixture(hessians=[hessian], centers=np.zeros((1, size)), labels=[0])
    assert np.array_equal(task.hessians, [(hessian + hessian.T) / 2])
    assert task.smoothness == pytest.approx(1)
    assert task.strong_convexity == pytest.approx(1e-3, rel=1e-9)
    bent = [1e9 * np.eye(size), hessian + 1e-9 * np.eye(size, k=1)]  # the other client's entries are larger
    with pytest.raises(InvalidArgument, match="client 1's mirrored"):
        QuadraticMixture(hessians=bent, centers=np.zeros((2, size)), labels=[0, 0])
