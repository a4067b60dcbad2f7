"""Claims on (8), (9) and (10): choosing a cluster, and the update rules of Section 5."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import partial
from typing import Annotated

import numpy as np

from clusterproof.algorithms import CFLMGD
from clusterproof.checker.claims import Q, Sides, Z, at_most, claim, equal, suppose
from clusterproof.checker.claims.ranges import drawn, integers, reals
from clusterproof.checker.claims.space import Stream
from clusterproof.running import run
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.exact.random_tasks import random_quadratics, share_of_largest
from clusterproof.theory.papers.cfl_mgd.model_averaging import exact_rounds, option_2

ONE_BEST = "every client has one best model: ties are another ambiguity"
SOME_CLUSTERS = partial(random_quadratics, clusters=(2, 4), dimension=(2, 4), spread=0.5)


def best_models(task: QuadraticMixture, models: np.ndarray) -> list[int]:
    """Compare each client's losses at all models one by one, and return the choices."""
    best = []
    for hessian, center in zip(task.hessians, task.centers, strict=True):
        losses = [float((model - center) @ hessian @ (model - center)) for model in models]
        least, second = sorted(losses)[:2]
        suppose(ONE_BEST, second - least > 1e-9 * second)
        best.append(losses.index(least))
    return best


@claim(
    "cfl-mgd/equation-8",
    label="(8)",
    ill_posed=False,
    evaluations=100,
    expected="consistent, no sharpness",
    places="introduction; algorithm 1, line 5; algorithm 1, line 6",
)
def equation_8(task: Annotated[QuadraticMixture, drawn(SOME_CLUSTERS)], stream: Stream) -> Sides:
    """Every client chooses the model with the smallest loss.

    Hypotheses
        There are none, because this is a definition. It does not define the choice for ties, see
        ``cfl-mgd/algorithm-line-5-ties``.

    Statement
        p_hat = argmin_(p in [P]) phi_i(chi_p^t).

    Source
        Zhao et al. (2023), (8) and line 5.
    """
    suppose("two clusters or more", task.clusters > 1)
    models = task.optima[stream.permutation(task.clusters)] + stream.standard_normal(task.optima.shape)
    trace = run(CFLMGD(step_size=1.0, momentum=0.5), task, rounds=1, initial=models)
    return equal((trace.assignments[0].astype(object), np.array(best_models(task, models), dtype=object)))


PLACE = Q[-2:2:2]


def solutions(centers: tuple[Fraction, Fraction], start: tuple[Fraction, Fraction]) -> list[tuple[int, ...]]:
    """Return the assignments r that are consistent with (9) if it is taken literally.

    There are two scalar clients and two models, eta = 1, and the round is the first. There chi_p(r) = chi_p^0 - (1/m)
    sum r_ip u_i, where u_i is the gradient at client i's previous model. Client i chooses r_i, the index of the
    nearest model in chi(r).
    """
    momenta = [min((abs(chi - c), chi - c) for chi in start)[1] for c in centers]
    fixed_choices = []
    for choice in itertools.product((0, 1), repeat=2):
        after = [
            chi - sum((momenta[i] for i in range(2) if choice[i] == p), Fraction(0)) / 2
            for p, chi in enumerate(start)
        ]
        distances = [[abs(chi - c) for chi in after] for c in centers]
        if all(row[choice[i]] < row[1 - choice[i]] for i, row in enumerate(distances)):
            fixed_choices.append(choice)
    return fixed_choices


@claim(
    "cfl-mgd/equation-9",
    label="(9), (10)",
    repaired_by={"(9)": "cfl-mgd/equation-9-broadcast", "(10)": "cfl-mgd/equation-10-line-16"},
    ill_posed=True,
    expected="ill-posed",
    headline=True,
    places="(10)",
)
def updates(
    first_center: Fraction = PLACE,
    second_center: Fraction = PLACE,
    first: Fraction = PLACE,
    second: Fraction = PLACE,
) -> dict[str, Sides]:
    """The two update rules of Section 5 define the models of a round.

    Lines
        (9)
            C_p^t = {i : p = argmin phi_i(chi_p^t)}, chi_p^t = chi_p^(t-1) - (eta/m) sum_(C_p^t) u_i^t, u_i^t = beta
            u_i^(t-1) + g_i^(t-1). The first equation needs chi^t, but the second computes chi^t from C_p^t. In our
            reading the clients choose C_p with the broadcast models.
        (10)
            chi_p^(t+1) = mean over C_p^t of chi_i^H, chi_i^s = chi_i^(s-1) - eta u_i^s, u_i^s = beta u_i^(s-1) + grad
            phi_i(chi_i^(s-1)), s = 1 .. H, starting at chi_p^t. The paper does not state the initial u_i. Line 16
            writes chi_p^t for the same model, and averages u.

    Statement
        The models and momenta before a round determine the clusters and the models of the round uniquely.

    Source
        Zhao et al. (2023), (9) and (10).
    """
    centers, start = (first_center, second_center), (first, second)
    suppose(ONE_BEST, all(abs(first - center) != abs(second - center) for center in centers))
    assignments = solutions(centers, start)
    words = (
        f"circular: clients at {first_center} and {second_center}, models {first} and {second}, eta = 1: "
        f"{len(assignments)} assignments {assignments} satisfy (9); read: clients choose among the models that were "
        "broadcast"
    )
    return {"(9)": at_most(len(assignments), one=1, words=words)}


# the initial models are as far apart as the clusters
WIDELY = partial(random_quadratics, clusters=(2, 2), dimension=(2, 2), spread=1.0, each=4)
Scattered = Annotated[QuadraticMixture, drawn(WIDELY)]
StepSize = Annotated[float, reals(Fraction(1, 10), 1)]
Momentum = Annotated[float, reals(0, Fraction(9, 10))]


def local_moves(
    task: QuadraticMixture, algorithm: CFLMGD, points: np.ndarray, momenta: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Run the local steps of every client in a loop, and return the final models and momenta, (m, d)."""
    ends, after = points.copy(), momenta.copy()
    for client in range(task.clients):
        for _ in range(algorithm.local_steps):
            gradient = task.hessians[client] @ (ends[client] - task.centers[client])
            after[client] = algorithm.momentum * after[client] + gradient
            ends[client] = ends[client] - algorithm.step_size * after[client]
    return ends, after


def against_loops(task: QuadraticMixture, algorithm: CFLMGD, stream: np.random.Generator) -> Sides:
    """Compare every round of the algorithm with plain loops that follow the lines of the paper."""
    suppose("two clusters or more", task.clusters > 1)
    models = task.optima + stream.standard_normal(task.optima.shape)
    trace = run(algorithm, task, rounds=6, initial=models)
    buffers, client_buffers = np.zeros_like(models), np.zeros_like(task.centers)
    path = []
    for _ in range(6):
        chosen = np.array(best_models(task, models))
        if algorithm.averaging == "model":
            client_buffers = buffers[chosen]
        ends, client_buffers = local_moves(task, algorithm, models[chosen], client_buffers)
        models = models.copy()
        for p in set(chosen.tolist()):
            members = chosen == p
            buffers[p] = client_buffers[members].mean(axis=0)
            if algorithm.averaging == "model":
                models[p] = ends[members].mean(axis=0)
            else:
                models[p] -= algorithm.step_size / task.clients * client_buffers[members].sum(axis=0)
                client_buffers[members] = buffers[p]
        path.append(models)
    return equal((trace.models[1:], np.stack(path)), rounding=share_of_largest(1e-9, trace.models))


@claim(
    "cfl-mgd/equation-9-broadcast",
    label="(9), as meant",
    source="reading",
    evaluations=60,
    expected="consistent, no sharpness",
    headline=True,
    places="algorithm 1, line 2",
)
def equation_9_broadcast(task: Scattered, step_size: StepSize, momentum: Momentum, stream: Stream) -> Sides:
    """The gradient update of cluster p uses the clients that chose the cluster's broadcast model.

    Hypotheses
        All clients take part, and u_i^0 = 0. After a round u_i is the mean of its cluster (line 15).

    Statement
        C_p = {i : p = argmin phi_i(chi_p^(t-1))}, u_i^t = beta u_i^(t-1) + grad phi_i(chi_p^(t-1)),
        chi_p^t = chi_p^(t-1) - (eta/m) sum_(i in C_p) u_i^t.

    Source
        Zhao et al. (2023), (9) with the index of lines 2 and 5.
    """
    algorithm = CFLMGD(step_size=step_size, momentum=momentum, momentum_owner="client")
    return against_loops(task, algorithm, stream)


@updates.line("(10)")
def start_of_momentum(local_steps: int = Z[1:4], momentum: Fraction = Q[0 : Fraction(9, 10) : 10]) -> Sides:
    """Return two rounds of option II, once with clients that start with the mean buffer, and once with zero."""
    one, half = (Fraction(1),), Fraction(1, 2)
    averaged, zero = (
        exact_rounds(one, one, momentum, local_steps, 2, half, reset=reset)[0] for reset in (False, True)
    )
    words = (
        "(10) does not state where u_i starts in a round: two clusters of one client each, chi* = +-1, mu = L = 1, "
        f"eta = 1, beta = {momentum}, H = {local_steps}: chi_1^(2) = {averaged} from line 16's mean, {zero} from "
        "zero; read: the mean, as line 16"
    )
    return equal((averaged, zero), words=words)


@claim(
    "cfl-mgd/equation-10-line-16",
    label="(10), as line 16",
    source="reading",
    evaluations=60,
    expected="consistent, no sharpness",
    places="(6); algorithm 1, line 16",
)
def equation_10_line_16(
    task: Scattered,
    step_size: StepSize,
    momentum: Momentum,
    local_steps: Annotated[int, integers(1, 3)],
    stream: Stream,
) -> Sides:
    """Option II runs H local steps from the cluster's mean model and momentum, and then averages both.

    Hypotheses
        All clients take part. The model and the momentum of an empty cluster do not change.

    Statement
        Set chi_i^0 = chi_p and u_i^0 = u_p, and run H steps of (4). Then chi_p and u_p become the means of chi_i^H
        and u_i^H over the clients of the cluster. The result may be written as chi_p^t (line 16) or chi_p^(t+1) (10).

    Source
        Zhao et al. (2023), (6), (10), lines 11, 12 and 16.
    """
    return against_loops(task, option_2(step_size, momentum, local_steps), stream)
