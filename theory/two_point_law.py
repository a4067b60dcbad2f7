"""Scalar clients whose samples take two values: misclassification and its counts in rational arithmetic.

A client of cluster 2, chi*_2 = -1, has f(chi; y) = (chi - y)^2 / 2 with y = -1 + jump with probability
``rarity`` and y = -1 - jump rarity / (1 - rarity) otherwise, so that phi_2 = (chi + 1)^2 / 2 up to a
constant. Cluster 1, chi*_1 = 1, is without noise. mu = L = 1, Delta = 2, max ||chi*|| = 1, basin 1/2.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import Any

from theory.counterexample import Instance
from theory.prescribed_samples import run_prescribed


def sample_values(instance: Instance) -> tuple[Fraction, Fraction]:
    """Give the rare and the common value of y."""
    rarity, jump = Fraction(instance["rarity"]), Fraction(instance["jump"])
    return -1 + jump, -1 - jump * rarity / (1 - rarity)


def models(instance: Instance) -> tuple[Fraction, Fraction]:
    """Give chi_1 and chi_2, displaced from their optima by ``first`` and ``second``."""
    return 1 + Fraction(instance["first"]), -1 + Fraction(instance["second"])


def batch_means(instance: Instance) -> list[Fraction]:
    """Give the mean of n' samples of which k = 0 .. n' are rare."""
    rare, common = sample_values(instance)
    samples = int(instance["samples"])
    return [(k * rare + (samples - k) * common) / samples for k in range(samples + 1)]


def error_probability(instance: Instance) -> Fraction:
    """P(phi_i(chi_2) >= phi_i(chi_1)) for a client of cluster 2; a tie goes to the smaller index."""
    samples, rarity = int(instance["samples"]), Fraction(instance["rarity"])
    middle = sum(models(instance)) / 2
    return sum(
        (
            comb(samples, k) * rarity**k * (1 - rarity) ** (samples - k)
            for k, mean in enumerate(batch_means(instance))
            if mean >= middle
        ),
        Fraction(0),
    )


def loss_variance(instance: Instance) -> Fraction:
    """sigma^2: the larger variance of f(chi; y) at the two models that are compared."""
    rarity = Fraction(instance["rarity"])
    rare, common = sample_values(instance)
    return max(
        rarity * (1 - rarity) * ((chi - rare) ** 2 - (chi - common) ** 2) ** 2 / 4 for chi in models(instance)
    )


def needed_samples(instance: Instance) -> Fraction:
    """(P - 1) sigma^2 / (mu^2 Delta^4)."""
    return loss_variance(instance) / 16


def binomial_upper_tail(count: int, probability: Fraction, threshold: Fraction) -> Fraction:
    """P(Bin(count, probability) > threshold), exactly."""
    return sum(
        (
            comb(count, k) * probability**k * (1 - probability) ** (count - k)
            for k in range(count + 1)
            if k > threshold
        ),
        Fraction(0),
    )


def confirm_choices(instance: Instance) -> None:
    """Run a round with one client for each possible batch and compare what they choose.

    Raises
    ------
    ArithmeticError
        If a client does not join cluster 1 exactly where its batch mean is at or above the middle.
    """
    means = batch_means(instance)
    initial = models(instance)
    seen = run_prescribed([means], [means], initial, Fraction(0)).assignments[0]
    expected = [0 if mean >= sum(initial) / 2 else 1 for mean in means]
    if seen.tolist() != expected:
        raise ArithmeticError(f"the run chooses {seen.tolist()}, the exact evaluation {expected}")


def two_point_instances(**more: Any) -> Any:
    """Give a hypothesis strategy: any law of this kind, models in the basin, up to 4 samples.

    Parameters
    ----------
    more
        Further numbers of the instance and their strategies.
    """
    from hypothesis import strategies as st

    return st.fixed_dictionaries(
        {
            "samples": st.integers(1, 4),
            "rarity": st.sampled_from([Fraction(1, k) for k in (2, 3, 10, 100, 1000)] + [Fraction(2, 3)]),
            "jump": st.fractions(Fraction(1, 4), 4, max_denominator=4),
            "first": st.fractions(Fraction(-1, 2), Fraction(1, 2), max_denominator=4),
            "second": st.fractions(Fraction(-1, 2), Fraction(1, 2), max_denominator=4),
            **more,
        }
    )
