"""Claims on (2): the last change of a cluster's model, and its relation to gradients."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.algorithms import IFCA, GradientLoss
from clusterproof.checker.claims import Q, Sides, Stream, among, claim, equal, integers, iterate, sequences
from clusterproof.running import run
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.papers.gradient_loss.scalar import POINT, STEP, exact_rounds

DEVICES: Any = integers(0, 6, upwards=True)
OF_DEVICES: Any = sequences(POINT, lambda devices: devices)
PACE, SHARE = Q[Fraction(1, 20) : 1 : 20], Q[0:1:10]
"""The values of alpha L and of lambda."""


@claim(
    "gradient-loss/equation-2",
    label="after (2)",
    error_kind="misprint",
    repaired_by="gradient-loss/equation-2-descent",
    expected="violated",
    headline=(
        "The text after (2) calls the last move of a cluster's model the average gradient. The "
        "move is minus the learning rate times this gradient: with rate 1 on the loss x^2/2, a "
        "model at 1 moves by -1, and the gradient is 1."
    ),
    rank=6,
    places="(2)",
)
def equation_2(
    first: Fraction = POINT, second: Fraction = POINT, start: Fraction = POINT, step: Fraction = STEP
) -> Sides:
    """The last change of a cluster's model is the average gradient of its clients.

    Hypotheses
        The models are updated by (5) and (7). There is one cluster, with two clients whose minimisers are ``first`` and
        ``second``.

    Statement
        Delta w_k^(t-1) = w_k^t - w_k^(t-1) is the average gradient of all clients in cluster k at iteration t - 1.

    Source
        Lin et al. (2023), (2) and the sentence after it.
    """
    (one,) = exact_rounds([first, second], [start], step=step, rounds=1)
    return equal((one.after[0] - start, start - (first + second) / 2))


def draw_task(stream: np.random.Generator, condition: float = 3.0) -> QuadraticMixture:
    """Draw up to four clusters of three clients, with separate minimisers and L = 1."""
    clusters, dimension, seed = (int(stream.integers(*ends)) for ends in ((1, 5), (1, 5), (0, 2**31)))
    return QuadraticMixture.random(
        clusters=clusters,
        clients=3 * clusters,
        dimension=dimension,
        spread=0.5,
        condition_number=condition if dimension > 1 else 1.0,
        seed=seed,
    )


@claim(
    "gradient-loss/equation-2-descent",
    label="(2) with its sign",
    source="ours",
    expected="certified",
    headline=True,
)
def equation_2_descent(
    devices: int = DEVICES,
    gradients: tuple[Fraction, ...] = OF_DEVICES,
    step: Fraction = POINT,
    model: Fraction = POINT,
) -> Sides:
    """The last change of a cluster's model is minus the learning rate times the average gradient.

    Hypotheses
        Clients make one local step (5), and the server takes the uniform average (7).

    Statement
        w_k^t - w_k^(t-1) = -alpha (1 / |M_k|) sum over M_k of grad L_ik^(t-1), or 0 if M_k is empty. The claim holds in
        each coordinate, for any gradients of the clients in M_k.

    Source
        Ours. The claim follows from (5) and (7).
    """
    gradient, points = iterate(
        lambda sums, one: (sums[0] + one, sums[1] + (model - step * one)),
        (Fraction(0), Fraction(0)),
        gradients,
        invariant=lambda sums, count: sums[1] == count * model - step * sums[0],
    )
    after, average = (points / devices, gradient / devices) if devices > 0 else (model, Fraction(0))
    return equal((after - model, -step * average))


def plain_round(
    task: QuadraticMixture, algorithm: GradientLoss, models: np.ndarray, moves: np.ndarray
) -> tuple[np.ndarray, list[int]]:
    """Compute a round of (1)-(7) in loops over clients and models; return models and choices. The mean replaces (1)."""
    choices, points = [], []
    for hessian, center in zip(task.hessians, task.centers, strict=True):
        gradients = [hessian @ (w - center) for w in models]
        scores = []
        for w, gradient, move in zip(models, gradients, moves, strict=True):
            length = np.linalg.norm(gradient) * np.linalg.norm(move)
            similarity = gradient @ move / length if length > 0 else 0.0
            similarity = -similarity if algorithm.sign == "descent" else similarity
            scores.append(
                algorithm.weight * similarity - (1 - algorithm.weight) * (w - center) @ gradient / 2
            )
        choices.append(int(np.argmax(scores)))
        points.append(models[choices[-1]] - algorithm.step_size * gradients[choices[-1]])
    members = [
        [p for p, choice in zip(points, choices, strict=True) if choice == k] for k in range(len(models))
    ]
    return np.stack(
        [np.mean(each, axis=0) if each else w for each, w in zip(members, models, strict=True)]
    ), choices


@claim(
    "gradient-loss/equations-4-7",
    label="(4)-(7)",
    ill_posed=False,
    evaluations=50,
    expected="consistent, no sharpness",
    headline=True,
    places="(5); (6); (7); algorithm 1, line 2; algorithm 1, line 4; algorithm 1, line 10; algorithm "
    "1, line 11; algorithm 1, line 13; algorithm 1, line 15; algorithm 1, line 16",
)
def equations_4_7(
    stream: Stream,
    step: Fraction = PACE,
    weight: Fraction = SHARE,
    sign: str = among("descent", "as-printed"),
) -> dict[str, Sides]:
    """In a round, every client chooses a model and takes one gradient step, and the server averages each cluster.

    Hypotheses
        The mean loss replaces the sum in (1). M_k contains the clients that chose cluster k in this round, and the
        model of a cluster without clients does not change. S = 0 in the first round and if (3) is 0 / 0. Ties go to
        the smallest index, and alpha <= 1/L.

    Statement
        s_i = argmax_k (lambda S_ik - (1 - lambda) L_ik); w_i = w_(s_i) - alpha grad L_(i s_i);
        M_k = {i : s_i = k}; w_k = (1 / |M_k|) sum over M_k of w_i.

    Lines
        (lambda = 0)
            s_i = argmin_k L_ik: the choices and models equal the baseline's, reference [5], IFCA with model averaging
            and one local step, if both see the same data.

    Source
        Lin et al. (2023), (4)-(7). This is a definition. S_ik is (3) with either sign, and 0 where (3) is 0 / 0.
    """
    task = draw_task(stream)
    algorithm = GradientLoss(step_size=float(step), weight=float(weight), sign=sign)
    models = task.pooled_optimum + stream.standard_normal((task.clusters, task.dimension))
    trace, moves, path, choices = run(algorithm, task, rounds=4, initial=models), 0 * models, [models], []
    for _ in range(4):
        models, chosen = plain_round(task, algorithm, models, moves)
        moves = models - path[-1]
        path.append(models)
        choices.append(chosen)
    return same_runs((np.asarray(trace.assignments), np.array(choices)), (trace.models, np.stack(path)))


def same_runs(
    choices: tuple[np.ndarray, np.ndarray], models: tuple[np.ndarray, np.ndarray]
) -> dict[str, Sides]:
    """State that two runs have the same choices, and the same models up to rounding."""
    return {
        "choices": equal((choices[0].astype(object), choices[1].astype(object))),
        "models": equal(models, rounding=1e-10 * (1 + float(np.abs(models[1]).max()))),
    }


@equations_4_7.line("lambda = 0", evaluations=50)
def ifca_at_weight_zero(stream: Stream, step: Fraction = PACE) -> dict[str, Sides]:
    """Compare GL-CFL with weight 0 with IFCA."""
    task = draw_task(stream)
    start = task.pooled_optimum + stream.standard_normal((task.clusters, task.dimension))
    kinds = (GradientLoss(step_size=float(step), weight=0.0), IFCA(step_size=float(step), averaging="model"))
    trace, expected = (run(each, task, rounds=6, initial=start) for each in kinds)
    return same_runs((trace.assignments, expected.assignments), (trace.models, expected.models))
