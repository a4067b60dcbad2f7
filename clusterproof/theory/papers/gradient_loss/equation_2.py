"""(2): the last move of a cluster's model, and what it is."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.algorithms import IFCA, GradientLoss, Randomness, run
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.claims import Sides, Stream, choice, claim, drawn, equal, reals, suppose
from clusterproof.theory.exact.algebra import Number
from clusterproof.theory.exact.placed import Placed, placed
from clusterproof.theory.papers.gradient_loss.scalar import Point, Step, exact_rounds

WEIGHT = Fraction(1, 5)


def move_and_gradient(
    first: Fraction, second: Fraction, start: Fraction, step: Fraction
) -> tuple[Fraction, Fraction]:
    """Delta w of the first round of one cluster, and the mean gradient of its devices."""
    one = exact_rounds([first, second], [start], weight=WEIGHT, step=step, rounds=1)[0]
    return one.after[0] - one.before[0], start - (first + second) / 2


@claim(
    "gradient-loss/equation-2",
    label="after (2)",
    failure="misprint",
    repaired_by="gradient-loss/equation-2-descent",
)
def equation_2(first: Point, second: Point, start: Point, step: Step) -> Sides:
    """The last move of a cluster's model is the average gradient of its devices.

    Hypotheses
        The models are updated by (5) and (7).

    Statement
        Delta w_k^(t-1) = w_k^t - w_k^(t-1) is the average gradient of all devices in cluster k at iteration t - 1.

    Source
        Lin et al. (2023), (2) and the sentence after it.
    """
    move, gradient = move_and_gradient(first, second, start, step)
    return equal(
        (move, gradient),
        words=lambda: (
            f"devices with minimisers {first} and {second}, model {start}, alpha = {step}: the average gradient is "
            f"{gradient} and Delta w = {move}, which is -alpha times it"
        ),
    )


def small_mixture(stream: np.random.Generator) -> QuadraticMixture:
    """Draw six devices in up to three clusters, with minimisers of their own and L = 1."""
    dimension = int(stream.integers(1, 5))
    return QuadraticMixture.random(
        clusters=int(stream.integers(1, 4)),
        clients=6,
        dimension=dimension,
        spread=0.5,
        condition_number=3.0 if dimension > 1 else 1.0,
        seed=int(stream.integers(2**31)),
    )


Mixture = Annotated[QuadraticMixture, drawn(small_mixture)]
Start = Annotated[
    Placed[QuadraticMixture],
    placed(
        QuadraticMixture, small_mixture, lambda task, stream: task.initial_models(task.clusters, (), stream)
    ),
]
Rate = Annotated[float, reals(Fraction(1, 20), 1)]
Share = Annotated[float, reals(0, 1)]
ROUNDING = 1e-10
"""Of a run's models, relative to the largest of them."""


@claim("gradient-loss/equation-2-descent", label="(2) with its sign", judges="ours", evaluations=50)
def equation_2_descent(start: Start, step_size: Rate, weight: Share) -> Sides:
    """The last move of a cluster's model is minus the learning rate times the average gradient.

    Hypotheses
        One local step, (5), and the uniform average (7).

    Statement
        w_k^t - w_k^(t-1) = -alpha (1 / |M_k|) sum over M_k of grad L_ik^(t-1); 0 where M_k is empty.

    Source
        Ours; (5) inserted into (7). Identity.
    """
    moves = recorded_moves(start, step_size, weight)
    right = [
        -step_size * one.gradients[one.members].mean(axis=0) if one.members.any() else 0 * one.model
        for one in moves
    ]
    rounding = ROUNDING * (1 + float(np.abs(right).max()))
    return equal((np.stack([one.move for one in moves]), np.stack(right)), rounding=rounding)


@dataclass(frozen=True)
class Move:
    """A cluster in one round: its model, gradients there (m, d), members (m,), and the move that the state keeps."""

    model: np.ndarray
    gradients: np.ndarray
    members: np.ndarray
    move: np.ndarray


def recorded_moves(start: Placed[QuadraticMixture], step_size: float, weight: float) -> list[Move]:
    """Run five rounds, and give what each cluster did in each of them."""
    task = start.task
    suppose("alpha <= 1 / L", step_size * task.client_smoothness <= 1 + 1e-12)
    algorithm = GradientLoss(step_size=step_size, weight=weight)
    state = algorithm.initialise(start.points, task)
    randomness, found = Randomness.from_seed(0), []
    for _ in range(5):
        before = np.array(state.models)
        state = algorithm.step(state, task, randomness)
        for k, model in enumerate(before):
            gradients = np.einsum("nij,nj->ni", task.hessians, model - task.centers)
            found.append(Move(model, gradients, np.asarray(state.assignments) == k, np.array(state.moves)[k]))
    return found


@equation_2_descent.step("algebra", needed=False)
def equation_2_descent_on_symbols(model: Number, step: Number, gradient: Number, share: Number) -> Sides:
    """The term of each device, in each coordinate: its step, less the model; its share is 1 / |M_k|, or 0."""
    return equal((share * ((model - step * gradient) - model), -step * (share * gradient)))


def plain_rounds(
    task: QuadraticMixture, algorithm: GradientLoss, start: np.ndarray, rounds: int
) -> tuple[list[np.ndarray], list[list[int]]]:
    """Models and choices by loops over (1)-(7), one device and one model at a time, mean loss."""
    models, before = [start], None
    choices: list[list[int]] = []
    for _ in range(rounds):
        now = models[-1]
        chosen, points = [], []
        for hessian, center in zip(task.hessians, task.centers, strict=True):
            scores = []
            for k, w in enumerate(now):
                gradient = hessian @ (w - center)
                loss = 0.5 * (w - center) @ gradient
                similarity = 0.0
                if before is not None:
                    move = w - before[k]
                    if algorithm.sign == "descent":
                        move = -move
                    length = np.linalg.norm(gradient) * np.linalg.norm(move)
                    similarity = gradient @ move / length if length > 0 else 0.0
                scores.append(algorithm.weight * similarity + (1 - algorithm.weight) * -loss)
            chosen.append(int(np.argmax(scores)))
            w = now[chosen[-1]]
            points.append(w - algorithm.step_size * hessian @ (w - center))
        members = [[p for p, c in zip(points, chosen, strict=True) if c == k] for k in range(len(now))]
        after = [np.mean(each, axis=0) if each else now[k] for k, each in enumerate(members)]
        models.append(np.stack(after))
        choices.append(chosen)
        before = now
    return models, choices


@claim("gradient-loss/equations-4-7", label="(4)-(7)", ill_posed=False, evaluations=50)
def equations_4_7(
    task: Mixture,
    step_size: Rate,
    weight: Share,
    sign: Annotated[str, choice("descent", "as-printed")],
    stream: Stream,
) -> dict[str, Sides]:
    """A round is the devices' choice, one gradient step of each, and the mean of each cluster.

    Hypotheses
        The mean loss for the sum in (1); the devices of a cluster, M_k, are those that chose it in this round; a
        cluster without devices keeps its model. S = 0 where (3) is 0 / 0 and in the first round, ties to the smallest
        index, alpha <= 1/L.

    Statement
        s_i = argmax_k (lambda S_ik - (1 - lambda) L_ik); w_i = w_(s_i) - alpha grad L_(i s_i);
        M_k = {i : s_i = k}; w_k = (1 / |M_k|) sum over M_k of w_i.

    Lines
        (lambda = 0)
            s_i = argmin_k L_ik: the choices and models are those of the baseline, reference [5], IFCA with model
            averaging and one local step, where both see the same data.

    Source
        Lin et al. (2023), (4)-(7). Definition. S_ik by (3) with either sign, and 0 where (3) is 0 / 0.
    """
    suppose("alpha <= 1 / L", step_size * task.client_smoothness <= 1 + 1e-12)
    algorithm = GradientLoss(step_size=step_size, weight=weight, sign=sign)
    start = task.pooled_optimum + stream.standard_normal((task.clusters, task.dimension))
    trace = run(algorithm, task, rounds=4, initial=start)
    models, choices = plain_rounds(task, algorithm, start, 4)
    largest = 1 + float(np.abs(models).max())
    return {
        "choices": equal((np.asarray(trace.assignments, dtype=object), np.array(choices).astype(object))),
        "models": equal((np.asarray(trace.models), np.stack(models)), rounding=ROUNDING * largest),
    }


def spread_mixture(stream: np.random.Generator) -> QuadraticMixture:
    """Draw two to four clusters of four devices each, with minimisers of their own and L = 1."""
    clusters = int(stream.integers(2, 5))
    return QuadraticMixture.random(
        clusters=clusters,
        clients=4 * clusters,
        dimension=3,
        condition_number=4.0,
        spread=0.4,
        seed=int(stream.integers(2**31)),
    )


@equations_4_7.line("lambda = 0", evaluations=50)
def ifca_at_weight_zero(
    task: Annotated[QuadraticMixture, drawn(spread_mixture)],
    step_size: Annotated[float, reals(Fraction(1, 20), 1)],
    stream: Stream,
) -> dict[str, Sides]:
    """Compare with IFCA."""
    suppose("alpha <= 1 / L", step_size * task.client_smoothness <= 1 + 1e-12)
    start = task.pooled_optimum + stream.standard_normal((task.clusters, task.dimension))
    trace = run(GradientLoss(step_size=step_size, weight=0.0), task, rounds=6, initial=start)
    expected = run(IFCA(step_size=step_size, averaging="model"), task, rounds=6, initial=start)
    return {
        "choices": equal((trace.assignments.astype(object), expected.assignments.astype(object))),
        "models": equal(
            (trace.models, expected.models), rounding=1e-10 * (1 + float(np.abs(expected.models).max()))
        ),
    }
