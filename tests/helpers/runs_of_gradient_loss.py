"""Runs of the algorithm for claims on GL-CFL: each asserts what the claim computes, or returns what it measures."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from prescribed_runs import assert_agree

from clusterproof.algorithms import GradientLoss, Randomness, run
from clusterproof.algorithms.gradient_loss import MovingState
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.papers.gradient_loss.empty_clusters import ROUNDS
from clusterproof.theory.papers.gradient_loss.equation_1 import summed_scores
from clusterproof.theory.papers.gradient_loss.equation_3 import CENTERS
from clusterproof.theory.papers.gradient_loss.scalar import FIFTH, exact_rounds, scalar_task


def rows_task(rows: int) -> RegressionMixture:
    """Return one device whose mini-batch has ``rows`` rows x = 1, y = 0."""
    optima, labels = np.zeros((1, 1)), np.array([0])
    return RegressionMixture(
        optima=optima, covariance=np.ones(1), noise=0.0, labels=labels, samples=rows, data="population"
    )


def assert_rounds(
    centers: Sequence[Fraction], starts: Sequence[Fraction], *, printed: bool = False, **settings: Any
) -> None:
    """Assert that a run has the models and the choices of ``exact_rounds``."""
    history = exact_rounds(centers, starts, printed=printed, **settings)
    algorithm = GradientLoss(
        step_size=float(settings["step"]),
        weight=float(FIFTH),
        clusters=len(starts),
        sign="as-printed" if printed else "descent",
    )
    initial = np.array([[float(start)] for start in starts])
    trace = run(algorithm, scalar_task(centers), rounds=len(history), initial=initial)
    assert_agree(trace.models[1:, :, 0], [each.after for each in history])
    assert np.asarray(trace.assignments).tolist() == [list(each.choices) for each in history]


def state_with(models: Sequence[Fraction], moves: Sequence[Fraction]) -> MovingState:
    """Return the algorithm's state after some round, with these models and last moves."""
    points, last = (np.array([[float(number)] for number in numbers]) for numbers in (models, moves))
    return MovingState(points, None, None, last, np.asarray(1))


def scores_of_the_summed_loss(
    model_0: Fraction, model_1: Fraction, move_0: int, move_1: int, weight: Fraction, rows: int
) -> None:
    models, moves = (model_0, model_1), (move_0, move_1)
    for count in (1, rows):
        task = rows_task(count)
        algorithm = GradientLoss(step_size=1.0, clusters=2, weight=float(weight), loss_reduction="sum")
        state = state_with(models, [Fraction(move) for move in moves])
        losses, gradients = task.losses_and_gradients(state.models, np.arange(1), np.random.default_rng(0))
        scores = algorithm.scores(state, losses, gradients, task)[0]
        assert_agree(scores, summed_scores(models, moves, weight, count))


def move_of_a_round(first: Fraction, second: Fraction, start: Fraction, step: Fraction) -> float:
    """The distance of the first move from the mean gradient of the devices."""
    task, initial = scalar_task([first, second]), np.array([[float(start)]])
    algorithm = GradientLoss(step_size=float(step), weight=float(FIFTH), clusters=1)
    models = run(algorithm, task, rounds=1, initial=initial).models
    gradients = task.losses_and_gradients(initial, np.arange(2), np.random.default_rng(0))[1]
    return float(np.abs(models[1, 0] - models[0, 0] - np.asarray(gradients)[:, 0].mean(axis=0))[0])


def preference_in_the_second_round(start_0: Fraction, start_1: Fraction, step: Fraction) -> float:
    """Largest score of the other cluster minus that of the own one, after one round."""
    algorithm = GradientLoss(step_size=float(step), weight=float(FIFTH), sign="as-printed")
    task, initial = scalar_task(CENTERS), np.array([[float(start_0)], [float(start_1)]])
    state = algorithm.step(algorithm.initialise(initial, task), task, Randomness.from_seed(0))
    losses, gradients = task.losses_and_gradients(
        np.array(state.models), np.arange(2), np.random.default_rng(0)
    )
    scores = np.asarray(algorithm.scores(state, losses, gradients, task))
    return float(max(scores[0, 1] - scores[0, 0], scores[1, 0] - scores[1, 1]))


def preference_for_the_other(
    own: Fraction, other: Fraction, other_average: Fraction, step: Fraction
) -> float:
    """The similarity of the other cluster minus that of the first."""
    gradients = np.array([[[float(own)], [float(other)]]])
    algorithm = GradientLoss(step_size=float(step), clusters=2, similarity="euclidean", sign="as-printed")
    state = state_with([Fraction(0)] * 2, [-step * own, -step * other_average])
    similarities = np.asarray(algorithm.similarities(state, gradients))[0]
    return float(similarities[1] - similarities[0])


def rounds_of_one_device(center: Fraction, start: Fraction, step: Fraction) -> float:
    """The distance of the model after two rounds from that of line 12, which is one round behind."""
    task, initial = scalar_task([center]), np.array([[float(start)]])
    algorithm = GradientLoss(step_size=float(step), weight=float(FIFTH), clusters=1)
    models = run(algorithm, task, rounds=2, initial=initial).models[:, 0, 0]
    return abs(float(models[2] - models[1]))


def rounds_with_an_empty_cluster(
    left: int, right: int, start_0: Fraction, start_1: Fraction, step: Fraction
) -> None:
    """All models and choices, with either sign of the similarity."""
    centers = [Fraction(-1)] * left + [Fraction(1)] * right
    for printed in (False, True):
        assert_rounds(centers, [start_0, start_1], printed=printed, step=step, rounds=ROUNDS)


def pinned_model(away: int, pinned: int) -> float:
    """The distance that one of the devices moves a model to which it is pinned."""
    algorithm = GradientLoss(step_size=0.5, clusters=1)
    models = run(algorithm, scalar_task([Fraction(pinned)]), rounds=1, initial=np.full((1, 1), away)).models
    return float(models[0, 0, 0] - models[1, 0, 0])


RUNS = {
    "gradient-loss/algorithm-line-12": rounds_of_one_device,
    "gradient-loss/empty-for-good": rounds_with_an_empty_cluster,
    "gradient-loss/equation-7-empty": pinned_model,
    "gradient-loss/equation-1": scores_of_the_summed_loss,
    "gradient-loss/equation-2": move_of_a_round,
    "gradient-loss/equation-3": preference_in_the_second_round,
    "gradient-loss/equation-3-euclidean": preference_for_the_other,
}
