"""(A23): the own clients' past gradients, whose mean the paper loses in three steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import numpy as np

from theory.claim import Context, register
from theory.counterexample import Instance, Number, encode, replay_with, seek
from theory.two_clusters import confirm_path, exact_path, path_instances
from theory.verdict import Finding


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


def sides(instance: Instance) -> tuple[Number, Number, Number, Number]:
    """(A23) on two scalar clusters without noise."""
    own, t = Fraction(instance["own"]), int(instance["round"])
    momentum = Fraction(instance["momentum"])
    path = exact_path(own / Fraction(instance["clients"]), momentum, Fraction(instance["start"]), t)
    return chain(path[:t], path[t], momentum, own)


def evaluate_whole(instance: Instance) -> tuple[Number, Number]:
    """First and last side; with v = 0 the last is 0."""
    return sides(instance)[0], sides(instance)[3]


def evaluate_weights(instance: Instance) -> tuple[Number, Number]:
    """First step: weights beta^(t-1-k) replaced by 1 / (1 - beta)."""
    return sides(instance)[0], sides(instance)[1]


def evaluate_factor(instance: Instance) -> tuple[Number, Number]:
    """Second step: 1 / (1 - beta) taken out, past the present gradient."""
    return sides(instance)[1], sides(instance)[2]


def evaluate_mean(instance: Instance) -> tuple[Number, Number]:
    """Third step: the sum's second moment replaced by its variance."""
    return sides(instance)[2], sides(instance)[3]


def describe(instance: Instance) -> str:
    """Spell a noise-free run out."""
    own, t = Fraction(instance["own"]), int(instance["round"])
    path = exact_path(own / Fraction(instance["clients"]), Fraction(instance["momentum"]),
                      Fraction(instance["start"]), t)  # fmt: skip
    steps = ", ".join(str(encode(error)) for error in path)
    return (
        f"chi* = +-1, mu = L = 1, v = sigma = 0, m = {instance['clients']}, |C_1 n C*_1| = {instance['own']}, beta = "
        f"{encode(instance['momentum'])}, t = {t}, gradients {steps}"
    )


def seek_run(context: Context, evaluate: Any, what: str) -> Finding:
    """Search noise-free runs of two clusters for a violation; the algorithm is run on what is found."""
    return seek(
        context,
        path_instances(),
        evaluate,
        violated=lambda instance, measured, allowed: (
            f"{what}: {float(measured):.4g} > {float(allowed):.4g} at {describe(instance)}"
        ),
        consistent=f"{what}: no noise-free run of two clusters breaks it",
        budget=1500,
        confirm=confirm_path,
    )


@register("cfl-mgd/a23", label="(A23)", kind="upper", replay=replay_with(evaluate_whole),
          repaired_by="cfl-mgd/a23-meant")  # fmt: skip
def a23(context: Context) -> Finding:
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
        sum_k beta^(t-1-k) grad phi(chi^k) - grad phi(chi^t), which is (1 / (1 - beta) - 1) grad phi where
        the iterates stand still; three steps lose it: ``a23-weights``, ``a23-factor``, ``a23-mean``.

    Checked
        On two scalar clusters without noise the right side is 0: hypothesis searches clients,
        momentum, start and round for the simplest violation, in rational arithmetic, and the algorithm
        is run on it. With noise in closed form: d = 1, n' = 1000, s = 0.1, 10 clients, t = 5, beta = 1/2,
        errors 0.4 * 0.8^k.
    """
    left, right = noisy_sides(
        [0.4 * 0.8**k for k in range(6)], deviation=0.1, momentum=0.5, clients=10, samples=1000
    )
    finding = seek_run(context, evaluate_whole, "(A23)")
    return replace(
        finding, reason=f"{finding.reason}; with noise (d = 1, n' = 1000) {left:.3g} > {right:.2g}"
    )


@register("cfl-mgd/a23-weights", label="(A23), first step", kind="upper",
          replay=replay_with(evaluate_weights), repaired_by="cfl-mgd/a23-meant")  # fmt: skip
def a23_weights(context: Context) -> Finding:
    """Raising the weights beta^(t-1-k) to 1 / (1 - beta) raises the distance from the present gradient.

    Hypotheses
        As (A23).

    Statement
        E ||sum (sum_k beta^(t-1-k) g_i^k - grad phi^1)||^2 <= E ||sum ((1 / (1 - beta)) sum_k g_i^k -
        grad phi^1)||^2.

    Symbols
        As (A23).

    Source
        Zhao et al. (2023), (A23), first inequality. Upper bound; fails where gradients change sign,
        as in beta = 1/2, g = (1, -1), grad phi = 0: 1/4 <= 0.

    Checked
        As (A23).
    """
    return seek_run(context, evaluate_weights, "first step of (A23)")


@register("cfl-mgd/a23-factor", label="(A23), second step", kind="upper",
          replay=replay_with(evaluate_factor), repaired_by="cfl-mgd/a23-meant")  # fmt: skip
def a23_factor(context: Context) -> Finding:
    """The factor 1 / (1 - beta) may be taken out past the present gradient.

    Hypotheses
        As (A23).

    Statement
        ||a / (1 - beta) - b||^2 <= ||a - b||^2 / (1 - beta)^2 for a = sum_k g_i^k, b = grad phi^1.

    Symbols
        As (A23).

    Source
        Zhao et al. (2023), (A23), second inequality. Upper bound; fails for a = b = 1: 1 <= 0 at
        beta = 1/2.

    Checked
        As (A23).
    """
    return seek_run(context, evaluate_factor, "second step of (A23)")


@register("cfl-mgd/a23-mean", label="(A23), third step", kind="upper", replay=replay_with(evaluate_mean),
          repaired_by="cfl-mgd/a23-meant")  # fmt: skip
def a23_mean(context: Context) -> Finding:
    """The sum of past gradients has mean grad phi^1(chi_1), so that only noise is left.

    Hypotheses
        As (A23).

    Statement
        E ||sum (sum_(k < t) g_i^k - grad phi^1)||^2 <= |C_1 n C*_1| v^2 t / n', over (1 - beta)^2.

    Symbols
        As (A23).

    Source
        Zhao et al. (2023), (A23), third inequality. Upper bound; the mean is sum_k grad phi^1(chi^k) -
        grad phi^1(chi^t): with t = 3, all gradients 0.4 and 10 clients it is 8, and 64 <= 0 for v = 0.

    Checked
        As (A23).
    """
    return seek_run(context, evaluate_mean, "third step of (A23)")


def evaluate_noise(instance: Instance) -> tuple[Number, Number]:
    """E |sum of weighted noises|^2 over all outcomes of a run, and |C| v^2 / (n' (1 - beta^2))."""
    clients, t = int(instance["clients"]), int(instance["round"])
    momentum, curvature = Fraction(instance["momentum"]), Fraction(instance["curvature"])
    rarity, jump = Fraction(instance["rarity"]), Fraction(instance["jump"])
    law = {jump: rarity, -jump * rarity / (1 - rarity): 1 - rarity}
    variance = sum(weight * value**2 for value, weight in law.items())
    moment = Fraction(0)
    for outcome in product(product(law, repeat=clients), repeat=t):
        weight = prod(law[value] for batch in outcome for value in batch)
        error, buffer, past = Fraction(1, 2), Fraction(0), Fraction(0)
        for batch in outcome:
            gradient = error + Fraction(sum(batch)) / clients
            past = momentum * past + clients * (gradient - error)
            buffer = momentum * buffer + gradient
            error -= curvature * buffer
        moment += weight * past**2
    return moment, clients * variance / (1 - momentum**2)


@register("cfl-mgd/a23-meant", label="(A23), noise part", kind="upper", replay=replay_with(evaluate_noise))
def a23_meant(context: Context) -> Finding:
    """The noise in the weighted past gradients has second moment at most |C| v^2 / (n' (1 - beta^2)).

    Hypotheses
        Assumption 3 along the run, batches of their own in each round, C = C_1 n C*_1 the same in all
        rounds.

    Statement
        E ||sum over C of sum_(k < t) beta^(t-1-k) (g_i^k - grad phi^1(chi^k))||^2 <=
        |C| v^2 / (n' (1 - beta^2)); the bias sum_k beta^(t-1-k) grad phi^1(chi^k) is not noise, and is
        part of the heavy ball (Theorem B).

    Symbols
        As (A23).

    Source
        What is true of (A23) of Zhao et al. (2023): the terms are martingale differences. Upper bound,
        equality up to the factor 1 - beta^(2t).

    Checked
        Runs of one scalar cluster whose gradient noise takes two values: the expectation is summed
        over all outcomes in rational arithmetic, hypothesis searching momentum, step, law and round.
    """
    from hypothesis import strategies as st

    instances: Any = st.fixed_dictionaries(
        {
            "clients": st.integers(1, 2),
            "round": st.integers(1, 3),
            "momentum": st.fractions(0, Fraction(9, 10), max_denominator=10),
            "curvature": st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(1, 10)]),
            "rarity": st.sampled_from([Fraction(1, 2), Fraction(1, 10)]),
            "jump": st.sampled_from([Fraction(1), Fraction(1, 4)]),
        }
    )
    return seek(
        context,
        instances,
        evaluate_noise,
        violated=lambda instance, measured, allowed: f"{encode(measured)} > {encode(allowed)} at {instance}",
        consistent="no run with two-valued noise breaks it; slack: smallest bound / second moment",
        budget=60,
    )
