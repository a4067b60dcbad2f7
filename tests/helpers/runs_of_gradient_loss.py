"""Runs of the algorithm for claims on GL-CFL: each asserts what the claim computes, or returns what it measures."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from prescribed_runs import assert_agree

from clusterproof.algorithms import GradientLoss, Randomness, run
from clusterproof.algorithms.gradient_loss import MovingState
from clusterproof.theory.papers.gradient_loss import empty_clusters, equation_2, equation_3, equations_4_5
from clusterproof.theory.papers.gradient_loss.equation_1 import TwoModels
from clusterproof.theory.papers.gradient_loss.scalar import exact_rounds, rows_task, scalar_task


def assert_rounds(
    centers: Sequence[Fraction], starts: Sequence[Fraction], *, printed: bool = False, **settings: Any
) -> None:
    """Assert that a run has the models and the choices of ``exact_rounds``."""
    history = exact_rounds(centers, starts, printed=printed, **settings)
    algorithm = GradientLoss(
        step_size=float(settings["step"]),
        weight=float(settings["weight"]),
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


def scores_of_the_summed_loss(one: TwoModels, rows: int) -> None:
    for count in (1, rows):
        task = rows_task(count)
        algorithm = GradientLoss(step_size=1.0, clusters=2, weight=float(one.weight), loss_reduction="sum")
        state = state_with([one.model_0, one.model_1], [one.move_0, one.move_1])
        losses, gradients = task.losses_and_gradients(state.models, np.arange(1), np.random.default_rng(0))
        assert_agree(algorithm.scores(state, losses, gradients, task)[0], one.scores(count))


def move_of_a_round(first: Fraction, second: Fraction, start: Fraction, step: Fraction) -> float:
    """The distance of the first move from the mean gradient of the devices."""
    task, initial = scalar_task([first, second]), np.array([[float(start)]])
    algorithm = GradientLoss(step_size=float(step), weight=float(equation_2.WEIGHT), clusters=1)
    models = run(algorithm, task, rounds=1, initial=initial).models
    gradients = task.losses_and_gradients(initial, np.arange(2), np.random.default_rng(0))[1]
    return float(np.abs(models[1, 0] - models[0, 0] - np.asarray(gradients)[:, 0].mean(axis=0))[0])


def preference_in_the_second_round(one: equation_3.TwoDevices) -> float:
    """Largest score of the other cluster minus that of the own one, after one round."""
    algorithm = GradientLoss(step_size=float(one.step), weight=float(equation_3.WEIGHT), sign="as-printed")
    task, initial = scalar_task(equation_3.CENTERS), np.array([[float(one.start_0)], [float(one.start_1)]])
    state = algorithm.step(algorithm.initialise(initial, task), task, Randomness.from_seed(0))
    losses, gradients = task.losses_and_gradients(
        np.array(state.models), np.arange(2), np.random.default_rng(0)
    )
    scores = np.asarray(algorithm.scores(state, losses, gradients, task))
    return float(max(scores[0, 1] - scores[0, 0], scores[1, 0] - scores[1, 1]))


def preference_for_the_other(clusters: equation_3.TwoClusters) -> float:
    """The similarity of the other cluster minus that of the first."""
    moves = [-clusters.step * clusters.own, -clusters.step * clusters.other_average]
    gradients = np.array([[[float(clusters.own)], [float(clusters.other)]]])
    algorithm = GradientLoss(
        step_size=float(clusters.step), clusters=2, similarity="euclidean", sign="as-printed"
    )
    similarities = np.asarray(algorithm.similarities(state_with([Fraction(0)] * 2, moves), gradients))[0]
    return float(similarities[1] - similarities[0])


def rounds_of_one_device(center: Fraction, start: Fraction, step: Fraction) -> float:
    """The distance of the model after two rounds from that of line 12."""
    task, initial = scalar_task([center]), np.array([[float(start)]])
    rounds = equations_4_5.ROUNDS
    algorithm = GradientLoss(step_size=float(step), weight=float(equations_4_5.WEIGHT), clusters=1)
    model = float(run(algorithm, task, rounds=rounds, initial=initial).models[-1, 0, 0])
    return abs(model - float(equations_4_5.by_line_12(center, start, step, rounds)))


def rounds_with_an_empty_cluster(groups: empty_clusters.TwoGroups) -> None:
    """All models and choices, with either sign of the similarity."""
    settings = {"weight": empty_clusters.WEIGHT, "step": groups.step, "rounds": empty_clusters.ROUNDS}
    for printed in (False, True):
        assert_rounds(groups.centers, [groups.start_0, groups.start_1], printed=printed, **settings)


RUNS = {
    "gradient-loss/algorithm-line-12": rounds_of_one_device,
    "gradient-loss/empty-for-good": rounds_with_an_empty_cluster,
    "gradient-loss/equation-1": scores_of_the_summed_loss,
    "gradient-loss/equation-2": move_of_a_round,
    "gradient-loss/equation-3": preference_in_the_second_round,
    "gradient-loss/equation-3-euclidean": preference_for_the_other,
}
