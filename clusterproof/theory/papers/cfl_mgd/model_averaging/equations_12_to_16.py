"""(12)-(16): the first steps of the convergence argument for model averaging."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.algorithms import CFLMGD, run
from clusterproof.synthetic import Mixture, QuadraticMixture
from clusterproof.theory.claims import (
    Sides,
    Stream,
    at_most,
    claim,
    drawn,
    equal,
    integers,
    rationals,
    reals,
    suppose,
)
from clusterproof.theory.exact.identical_clients import IdenticalClients, Round, run_identical, run_next
from clusterproof.theory.exact.random_tasks import random_mixture
from clusterproof.theory.exact.rounding import share_of_largest
from clusterproof.theory.papers.cfl_mgd.model_averaging.recursion import random_cluster


def shifted_formula(identical: IdenticalClients, t: int) -> Fraction:
    """Right side of (12), first line: e_t - eta a e_(t-1) + beta (chi^(t-1) - chi^(t-2))."""
    return (
        identical.error(t)
        - identical.curvature * identical.error(t - 1)
        + identical.momentum * identical.move(t - 1)
    )


def run_both_sides(identical: IdenticalClients, round_: int) -> float:
    """Return the difference of the two sides of (12), both computed from one run."""
    e = [run_identical(identical, max(round_ + k, 0)) for k in (1, 0, -1, -2)]
    right = e[1] - float(identical.curvature) * e[2] + float(identical.momentum) * (e[2] - e[3])
    return abs(abs(e[0]) - abs(right))


@claim(
    "cfl-mgd/equation-12",
    label="(12)",
    failure="misprint",
    confirm=run_both_sides,
    repaired_by="cfl-mgd/equation-12-shifted",
)
def equation_12(identical: IdenticalClients, round_: Round) -> Sides:
    """The averaged model moves by the gradient and the momentum of the round before.

    Hypotheses
        Option II, L-smooth losses, no noise; chi^(-1) = chi^0.

    Statement
        ||chi_p^(t+1) - chi*|| = ||mean chi_i^t - eta mean grad phi_i(chi_i^(t-1))
        + beta mean (chi_i^(t-1) - chi_i^(t-2)) - chi*||, means over C_p.

    Symbols
        eta ``step_size``, beta ``momentum``.

    Source
        Zhao et al. (2023), (12), first line; its second is the triangle inequality. By (7) the
        gradient is at chi_i^t and the momentum chi_i^t - chi_i^(t-1): ``cfl-mgd/equation-12-shifted``.
    """
    return equal((abs(identical.error(round_ + 1)), abs(shifted_formula(identical, round_))))


@claim("cfl-mgd/equation-12-shifted", label="(12), as meant", judges="ours", evaluations=60)
def equation_12_shifted(
    task: Annotated[QuadraticMixture, drawn(random_cluster)],
    share: Annotated[float, reals(Fraction(1, 10), 1)],
    momentum: Annotated[float, reals(0, Fraction(9, 10))],
    stream: Stream,
) -> Sides:
    """With one local step the mean model moves by the mean gradient and its own momentum.

    Hypotheses
        Option II, H = 1, full participation, no client changes its cluster; chi^(-1) = chi^0.

    Statement
        chi_p^(t+1) = chi_p^t - eta mean grad phi_i(chi_p^t) + beta (chi_p^t - chi_p^(t-1)), hence
        ||chi_p^(t+1) - chi*|| <= ||chi_p^t - chi*|| + eta ||mean grad|| + beta ||chi_p^t - chi_p^(t-1)||.
        For H > 1: ``cfl-mgd/model-averaging-recursion``.

    Symbols
        eta ``step_size``, beta ``momentum``, H ``local_steps``.

    Source
        Zhao et al. (2023), (12) with the indices of (7). Identity.
    """
    suppose("one cluster", task.clusters == 1)
    step_size = share / task.client_smoothness
    algorithm = CFLMGD(step_size=step_size, momentum=momentum, averaging="model")
    models = run(algorithm, task, rounds=8, initial=stream.standard_normal((1, task.dimension))).models[:, 0]
    before, now, path = models[0], models[0], []
    for _ in models[1:]:
        gradients = [a @ (now - c) for a, c in zip(task.hessians, task.centers, strict=True)]
        following = now - step_size * np.mean(gradients, axis=0) + momentum * (now - before)
        before, now = now, following
        path.append(now)
    return equal((models[1:], np.stack(path)), rounding=share_of_largest(1e-9, models))


Place = Annotated[Fraction, rationals(-2, 2, 2)]


def lipschitz_term(model: Fraction, first: Fraction, second: Fraction) -> Fraction:
    """eta L mean ||chi_i - chi*_p|| of (13) for clients at ``first`` and ``second``, eta = L = 1."""
    return abs(model - (first + second) / 2)


def gradients_of_the_task(model: Fraction, first: Fraction, second: Fraction) -> float:
    """Left side of (13) with the gradients of the task itself."""
    task = QuadraticMixture(
        hessians=np.ones((2, 1, 1)),
        centers=np.array([[float(first)], [float(second)]]),
        labels=np.zeros(2, dtype=int),
    )
    models = np.full((2, 1), float(model))
    gradients = task.gradients(models, np.arange(2), np.random.default_rng(0))
    return abs(float(model) - float(task.optima[0, 0])) + float(np.abs(gradients).mean())


@claim(
    "cfl-mgd/equation-13",
    label="(13)",
    confirm=gradients_of_the_task,
    repaired_by="cfl-mgd/equation-13-lipschitz",
)
def equation_13(model: Place, first: Place, second: Place) -> Sides:
    """The last line of (12) is at most the same with L times the distance for the gradient's norm.

    Hypotheses
        Each phi_i is L-smooth; chi*_p minimises the mean of the phi_i.

    Statement
        eta mean ||grad phi_i(chi_i^(t-1))|| <= eta L mean ||chi_i^(t-1) - chi*_p||, the other terms of
        (12) and (13) being the same.

    Symbols
        eta ``step_size``, L ``smoothness``; means over C_p.

    Source
        Zhao et al. (2023), the step from (12) to (13). Upper bound. It needs grad phi_i(chi*_p) = 0 for
        every client: ``cfl-mgd/equation-13-lipschitz``. The end of (13) alone is not refuted by equal
        clients: there |e_(t+1)| <= |e_t| + a |e_(t-1)| + beta |chi^(t-1) - chi^(t-2)| for a <= 1.
    """
    distance = abs(model - (first + second) / 2)
    return at_most(
        distance + (abs(model - first) + abs(model - second)) / 2,
        distance=distance,
        smoothness=lipschitz_term(model, first, second),
    )


def scattered_clients(stream: np.random.Generator) -> QuadraticMixture:
    """Draw two or three clusters of scattered clients."""
    return QuadraticMixture.random(
        clusters=int(stream.integers(2, 4)),
        clients=9,
        dimension=int(stream.integers(2, 6)),
        condition_number=float(10 ** stream.uniform(0.1, 1.7)),
        spread=0.3,
        seed=int(stream.integers(2**31)),
    )


@claim("cfl-mgd/equation-13-lipschitz", label="(13), as meant", judges="ours", evaluations=20)
def equation_13_lipschitz(
    task: Annotated[QuadraticMixture, drawn(scattered_clients)], stream: Stream
) -> Sides:
    """A client's gradient is at most L times the distance plus its norm at the cluster's optimum.

    Hypotheses
        phi_i is L_i-smooth; chi* is any point.

    Statement
        ||grad phi_i(chi)|| <= L_i ||chi - chi*|| + ||grad phi_i(chi*)||; the last term is absent where
        all clients of a cluster have the same expected loss.

    Symbols
        L_i largest curvature of client i.

    Source
        Ours on Zhao et al. (2023), (13). Upper bound, attained along the steepest direction.
    """
    steps = stream.standard_normal((40, 1, task.dimension))
    optima = task.client_optima
    at_optimum, displaced = (
        np.linalg.norm(np.einsum("mij,...mj->...mi", task.hessians, models - task.centers), axis=-1)
        for models in (optima, optima + steps)
    )
    steepest = np.linalg.eigvalsh(task.hessians).max(axis=-1)
    return at_most(displaced, distance=steepest * np.linalg.norm(steps, axis=-1), rest=at_optimum)


@equation_13_lipschitz.line("expected losses", evaluations=60)
def expected_losses(task: Annotated[Mixture, drawn(random_mixture)], stream: Stream) -> Sides:
    """The same for the clusters' expected losses, where the last term vanishes."""
    steps = stream.standard_normal((40, task.dimension))
    norms = [
        np.linalg.norm(task.expected_gradient(optimum + steps, cluster), axis=-1)
        for cluster, optimum in enumerate(task.optima)
    ]
    return at_most(np.stack(norms), distance=task.smoothness * np.linalg.norm(steps, axis=-1), rest=0.0)


def lines_of_14(curvature: Fraction, clients: int) -> tuple[Fraction, Fraction]:
    """Second terms of the two lines of (14) that its "=" equates, after a round from rest with |e| = 1/2."""
    error = (1 - curvature) / 2
    return curvature * error, curvature / clients * error


@claim("cfl-mgd/equation-14", label="(14)", confirm=run_next, repaired_by="cfl-mgd/model-averaging-recursion")
def equation_14(identical: IdenticalClients, round_: Round) -> Sides:
    """A round of model averaging multiplies the distance by at most 1 + eta L / |C_p| and adds an old move.

    Hypotheses
        As (12) and (13); eta = 1/L at most.

    Statement
        ||chi_p^(t+1) - chi*|| <= (1 + eta L / |C_p|) mean ||chi_i^t - chi*||
        + beta mean ||chi_i^(t-1) - chi_i^(t-2)||.

    Symbols
        |C_p| the number of clients of the cluster.

    Source
        Zhao et al. (2023), (14). Upper bound. Its first line puts chi^t, written out by (12), for the chi^(t-1)
        of (13); its "=" sums |C_p| equal terms to one; and the newest move, chi^t - chi^(t-1), is missing
        since (12).
    """
    return at_most(
        abs(identical.error(round_ + 1)),
        growth=identical.growth * abs(identical.error(round_)),
        move=identical.momentum * abs(identical.move(round_ - 1)),
    )


@equation_14.step("its =")
def equals_sign_of_14(clients: Annotated[int, integers(1, 4, upwards=True)]) -> Sides:
    """The two lines that the "=" of (14) compares, with eta L = 1/2."""
    return equal(lines_of_14(Fraction(1, 2), clients))


@claim("cfl-mgd/equation-15", label="(15)", confirm=run_next, repaired_by="cfl-mgd/model-averaging-recursion")
def equation_15(identical: IdenticalClients, round_: Round) -> Sides:
    """A round of model averaging grows the distance by 1 + eta L / |C_p| and a ratio at most.

    Hypotheses
        As (14).

    Statement
        ||chi_p^(t+1) - chi*|| <= (1 + eta L / |C_p|) ||chi_p^t - chi*|| + beta (1 + beta)
        ||chi_p^(t-1) - chi_p^(t-2)||^2 / ||chi_p^(t-2) - chi_p^(t-1)||^2.

    Symbols
        As (14). The ratio is 1, or 0/0 at rest.

    Source
        Zhao et al. (2023), (15). Upper bound. It replaces the mean of distances by the distance of
        the mean, which is smaller (Jensen), and a length by a number: it cannot survive scaling.
    """
    move = identical.move(round_ - 1)
    suppose("the ratio is not 0/0", move != 0)
    return at_most(
        abs(identical.error(round_ + 1)),
        growth=identical.growth * abs(identical.error(round_)),
        ratio=identical.weight * move**2 / move**2,
    )


@claim("cfl-mgd/equation-16", label="(16)", confirm=run_next, repaired_by="cfl-mgd/model-averaging-recursion")
def equation_16(identical: IdenticalClients, round_: Round) -> Sides:
    """A round of model averaging grows the error by 1 + eta L / |C_p| and a ratio of old errors at most.

    Hypotheses
        As (15); eps_(-1) = eps_(-2) = eps_0 at rest, and no eps_(t-2) is 0.

    Statement
        eps_(t+1) <= (1 + eta L / |C_p|) eps_t + beta (1 + beta) eps_(t-1)^2 / eps_(t-2)^2.

    Symbols
        eps_t = ||chi_p^t - chi*_p||.

    Source
        Zhao et al. (2023), (16). Upper bound.
    """
    suppose("the start is within the basin of Assumption 4, Delta = 2", identical.start <= Fraction(1, 2))
    suppose("eps_(t-2) is not 0", identical.error(round_ - 2) != 0)
    return at_most(
        abs(identical.error(round_ + 1)),
        growth=identical.growth * abs(identical.error(round_)),
        ratio=identical.weight * identical.ratio(round_ - 1),
    )
