"""(A23): the own clients' past gradients, whose mean the paper drops in three steps."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import prod
from typing import Annotated

import numpy as np

from clusterproof.theory.claims import Sides, at_most, choice, claim, integers, rationals
from clusterproof.theory.exact.algebra import AtLeastOne, NotNegative, Share
from clusterproof.theory.exact.two_clusters import NoiseFreeRun, confirm_path

Number = Fraction | float


def chain(
    gradients: Sequence[Number], present: Number, momentum: Number, clients: Number
) -> tuple[Number, Number, Number, Number]:
    """Evaluate the four sides of (A23) without noise, parentheses as in (A22).

    Parameters
    ----------
    gradients
        g^0 .. g^(t-1), the same for all clients of C_1 n C*_1.
    present
        grad phi^1(chi_1) in round t.
    momentum
        beta.
    clients
        |C_1 n C*_1|.
    """
    t = len(gradients)
    weighted = sum(momentum ** (t - 1 - k) * g for k, g in enumerate(gradients))
    plain = sum(gradients)
    return (
        (clients * (weighted - present)) ** 2,
        (clients * (plain / (1 - momentum) - present)) ** 2,
        (clients * (plain - present)) ** 2 / (1 - momentum) ** 2,
        0 * momentum,
    )


def noisy_sides(
    errors: Sequence[float], *, deviation: float, momentum: float, clients: int, samples: int
) -> tuple[float, float]:
    """First and last side of (A23) for scalar regression with Sigma = 1 along a given path.

    Parameters
    ----------
    errors
        e_0 .. e_t of model 1; the gradient in round k has mean e_k and variance (s^2 + 2 e_k^2) / n'.
    deviation
        s.
    momentum, clients, samples
        beta, |C_1 n C*_1| and n'.
    """
    t = len(errors) - 1
    weights = momentum ** np.arange(t - 1, -1, -1)
    variances = deviation**2 + 2 * np.asarray(errors) ** 2
    mean = clients * (float(weights @ np.asarray(errors[:-1])) - errors[-1])
    left = mean**2 + clients / samples * float(weights**2 @ variances[:-1])
    return left, clients * float(variances.max()) * t / (samples * (1 - momentum) ** 2)


def sides(noise_free: NoiseFreeRun) -> tuple[Number, Number, Number, Number]:
    """The four sides of (A23), without noise."""
    return chain(
        noise_free.path[: noise_free.round],
        noise_free.path[noise_free.round],
        noise_free.momentum,
        noise_free.own,
    )


@claim("cfl-mgd/a23", label="(A23)", confirm=confirm_path, repaired_by="cfl-mgd/a23-meant")
def a23(noise_free: NoiseFreeRun) -> Sides:
    """The weighted past gradients are near the present one, up to noise.

    Hypotheses
        Assumption 3, option I.

    Statement
        E ||sum over C_1 n C*_1 of (sum_(k < t) beta^(t-1-k) g_i^k - grad phi^1(chi_1))||^2 <=
        |C_1 n C*_1| v^2 t / ((1 - beta)^2 n'), parentheses as in (A22).

    Symbols
        v ``gradient_variance`` (its root), n' ``samples``.

    Source
        Zhao et al. (2023), (A23), first and last side. Upper bound. The left side keeps the bias
        sum_k beta^(t-1-k) grad phi(chi^k) - grad phi(chi^t), which is (1 / (1 - beta) - 1) grad phi if
        the iterates do not move; three steps drop it: ``a23-weights``, ``a23-factor``, ``a23-mean``.
    """
    first, *_, last = sides(noise_free)
    return at_most(first, noise=last)


@a23.line("noise")
def a23_with_noise(
    clients: Annotated[int, integers(1, 10, upwards=True)],
    samples: Annotated[int, choice(1000, 100, 10)],
    momentum: Annotated[Fraction, rationals(Fraction(1, 10), Fraction(9, 10), 10)],
    round_: Annotated[int, integers(1, 5)],
) -> Sides:
    """The same with noise, along the errors 0.4 * 0.8^k."""
    errors = [0.4 * 0.8**k for k in range(round_ + 1)]
    left, right = noisy_sides(
        errors, deviation=0.1, momentum=float(momentum), clients=clients, samples=samples
    )
    return at_most(left, noise=right)


@claim(
    "cfl-mgd/a23-weights", label="(A23), first step", confirm=confirm_path, repaired_by="cfl-mgd/a23-meant"
)
def a23_weights(noise_free: NoiseFreeRun) -> Sides:
    """Raising the weights beta^(t-1-k) to 1 / (1 - beta) raises the distance from the present gradient.

    Statement
        E ||sum (sum_k beta^(t-1-k) g_i^k - grad phi^1)||^2 <= E ||sum ((1 / (1 - beta)) sum_k g_i^k -
        grad phi^1)||^2.

    Source
        Zhao et al. (2023), (A23), first inequality. Upper bound; fails where gradients change sign,
        as in beta = 1/2, g = (1, -1), grad phi = 0: 1/4 <= 0.
    """
    first, second, _, _ = sides(noise_free)
    return at_most(first, raised=second)


@claim(
    "cfl-mgd/a23-factor", label="(A23), second step", confirm=confirm_path, repaired_by="cfl-mgd/a23-meant"
)
def a23_factor(noise_free: NoiseFreeRun) -> Sides:
    """The factor 1 / (1 - beta) may be taken out past the present gradient.

    Statement
        ||a / (1 - beta) - b||^2 <= ||a - b||^2 / (1 - beta)^2 for a = sum_k g_i^k, b = grad phi^1.

    Source
        Zhao et al. (2023), (A23), second inequality. Upper bound; fails for a = b = 1: 1 <= 0 at
        beta = 1/2.
    """
    _, second, third, _ = sides(noise_free)
    return at_most(second, factored=third)


@claim("cfl-mgd/a23-mean", label="(A23), third step", confirm=confirm_path, repaired_by="cfl-mgd/a23-meant")
def a23_mean(noise_free: NoiseFreeRun) -> Sides:
    """The sum of past gradients has mean grad phi^1(chi_1), so that only noise is left.

    Statement
        E ||sum (sum_(k < t) g_i^k - grad phi^1)||^2 <= |C_1 n C*_1| v^2 t / n', over (1 - beta)^2.

    Source
        Zhao et al. (2023), (A23), third inequality. Upper bound; the mean is sum_k grad phi^1(chi^k) -
        grad phi^1(chi^t): with t = 3, all gradients 0.4 and 10 clients it is 8, and 64 <= 0 for v = 0.
    """
    *_, third, last = sides(noise_free)
    return at_most(third, noise=last)


@claim("cfl-mgd/a23-meant", label="(A23), noise part", judges="ours", evaluations=60)
def a23_meant(
    clients: Annotated[int, integers(1, 2)],
    round_: Annotated[int, integers(1, 3)],
    momentum: Annotated[Fraction, rationals(0, Fraction(9, 10), 10)],
    curvature: Annotated[Fraction, choice(Fraction(1), Fraction(1, 2), Fraction(1, 10))],
    rarity: Annotated[Fraction, choice(Fraction(1, 2), Fraction(1, 10))],
    jump: Annotated[Fraction, choice(Fraction(1), Fraction(1, 4))],
) -> Sides:
    """The noise in the weighted past gradients has second moment at most |C| v^2 / (n' (1 - beta^2)).

    Hypotheses
        Assumption 3 along the run, batches of their own in each round, C = C_1 n C*_1 the same in all
        rounds.

    Statement
        E ||sum over C of sum_(k < t) beta^(t-1-k) (g_i^k - grad phi^1(chi^k))||^2 <=
        |C| v^2 / (n' (1 - beta^2)); the bias sum_k beta^(t-1-k) grad phi^1(chi^k) is not noise, and is
        part of the heavy ball (Theorem D).

    Symbols
        As (A23).

    Source
        What is true of (A23) of Zhao et al. (2023): the terms are martingale differences. Upper bound,
        equality up to the factor 1 - beta^(2t).
    """
    law = {jump: rarity, -jump * rarity / (1 - rarity): 1 - rarity}
    variance = sum(weight * value**2 for value, weight in law.items())
    moment = Fraction(0)
    for outcome in product(product(law, repeat=clients), repeat=round_):
        weight = prod(law[value] for batch in outcome for value in batch)
        error, buffer, past = Fraction(1, 2), Fraction(0), Fraction(0)
        for batch in outcome:
            gradient = error + Fraction(sum(batch)) / clients
            past = momentum * past + clients * (gradient - error)
            buffer = momentum * buffer + gradient
            error -= curvature * buffer
        moment += weight * past**2
    return at_most(moment, martingale=clients * variance / (1 - momentum**2))


def last_step(
    clients: int, round_: int, momentum: Fraction, curvature: Fraction, rarity: Fraction, jump: Fraction
) -> dict[str, Fraction]:
    """Give what the induction says of the last round, whatever the curvature."""
    return {
        "noise": clients * jump**2 * rarity / (1 - rarity),
        "limit": 1 / (1 - momentum**2),
        "share": 1 - momentum ** (2 * (round_ - 1)),
    }


@a23_meant.proof("induction", at=last_step)
def a23_meant_on_symbols(noise: NotNegative, limit: AtLeastOne, share: Share) -> Sides:
    """From t to t + 1, noise = |C| v^2 / n' and limit = 1 / (1 - beta^2), of whose product the moment is a share.

    The noise of the round is uncorrelated with those before, which are taken times beta; at t = 0 the moment is 0.
    """
    before = share * noise * limit
    return at_most(noise + (1 - 1 / limit) * before, martingale=noise * limit)
