"""Expectations of clients that pull apart alike, against the algorithm on all orders of participants."""

from itertools import product

import numpy as np
import pytest
from tolerance import assert_close

from clusterproof.theory.papers.fpfc.one_term import LARGEST, one_term_waiting, pair_form
from clusterproof.theory.papers.fpfc.simplex import SLOPE, SMOOTHING, Simplex


@pytest.mark.parametrize(("clients", "rounds"), [(3, 4), (4, 3), (5, 2)])
@pytest.mark.parametrize(("ratio", "share"), [(2.001, 0.1), (3.0, 1.0)])
def test_expectations_are_means_over_all_orders_of_participants(clients, rounds, ratio, share):
    one = Simplex(clients, ratio, share)
    algorithm, task, stream = one.setting.algorithm, one.task, np.random.default_rng(0)
    start = algorithm.initialise(np.zeros((1, clients)), task)
    total = 0.0
    for order in product(range(clients), repeat=rounds):
        state = start
        for client in order:
            before = np.asarray(state.models)[client]
            anchor = np.asarray(algorithm.anchors(state, np.array([client])))[0]
            pull = one.curvature * (before - task.centers[client]) + algorithm.augmentation * (
                before - anchor
            )
            state = algorithm.update(state, np.array([client]), (before - algorithm.step_size * pull)[None])
            total += float(algorithm.residuals(state, task, stream).models) ** 2
    assert_close(one.mean_squared_gradients(rounds), total / clients**rounds)


def test_the_form_of_a_pair_is_what_its_updates_are_worth():
    """The form against its definition, for random moves and derivatives of the penalty's gradient."""
    stream = np.random.default_rng(2)
    for size in (1, 2, 4):
        derivatives, moves, later = LARGEST * stream.uniform(-1, 1, size), *stream.standard_normal((2, size))
        doubled = float(stream.uniform(1, 2))
        dual, worth, last = derivatives * moves, 0.0, 0.0
        for x, u, s, d in zip(moves, dual, derivatives, later, strict=True):
            worth += x**2 / 2 + s * x**2 / 2 - u**2 - doubled * (2 - doubled) * u**2 + d**2 / 8
            worth -= doubled * last * (x + u - last - d)
            last = u
        point = np.concatenate([moves, later])
        assert_close(point @ pair_form(derivatives, doubled) @ point, worth)


def test_without_the_term_of_the_pairs_the_bound_is_two_starts_over_the_steps():
    clients, ratio, share = 8, 3.0, 0.1
    one = Simplex(clients, ratio, share)
    start = (clients - 1) * SLOPE * SMOOTHING**2 / 4
    step_size = share / (ratio * SLOPE + one.curvature)
    sides = one_term_waiting(clients, ratio, share)
    assert_close(sides.allowed, 2 * start / (step_size / clients * (2 - share) * one.rounds))
    assert_close(sides.measured, one.mean_squared_gradients(one.rounds) / one.rounds)
