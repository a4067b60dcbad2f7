"""True claims related to Theorem 1: the running mean, the variance at a constant rate, and the mean update."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.algorithms import self_organising_map as som
from clusterproof.checker.claims import Q, Sides, at_most, claim, equal, integers, iterate, sequences

PLACE = Q[-3:3:8]
NEURONS: Any = sequences(PLACE, 3)
UPDATES: Any = integers(1, 8, upwards=True)
ANY_UPDATES: Any = integers(0, 5, upwards=True)
SAMPLES: Any = sequences(PLACE, lambda updates: updates)
Row = tuple[tuple[Any, Any, Any], ...]
"""Position of each neuron, number of samples that it has won, and their sum."""


def after(row: Row, sample: Any) -> Row:
    """Move the winner towards the sample with the rate 1/n, where n is the number of samples that it has won."""
    first, second, third = ((place - sample) ** 2 for place, _, _ in row)
    winner = (0 if first <= third else 2) if first <= second else (1 if second <= third else 2)
    place, hits, won = row[winner]
    moved = place + (sample - place) / (hits + 1), hits + 1, won + sample
    return tuple(moved if c == winner else row[c] for c in range(3))


@claim(
    "sofl/running-mean",
    label="Theorem 1",
    source="ours",
    evaluations=50,
    expected="certified",
    places="section 5.2.2",
)
def running_mean(
    updates: int = UPDATES, neurons: tuple[Fraction, ...] = NEURONS, samples: tuple[Fraction, ...] = SAMPLES
) -> Sides:
    """If only the winner moves, with rate 1/n for its n-th sample, it is the mean of all samples that it has won.

    Hypotheses
        sigma -> 0, so only the best matching unit moves. For its n-th sample, eta = 1/n. There are three neurons on a
        line, initially between -3 and 3, and any number of samples between -3 and 3.

    Statement
        After any update, w_c(n) = (x_1 + .. + x_n) / n over the samples that c has won so far. Both sides are
        multiplied by n.

    Source
        MacQueen (1967), reference 18 of Zhang and Qiao (2024). This part of Theorem 1 is exactly true. The samples
        that the neuron won during the run need not be the samples of its final cell.

    Proof
        w + (x - w) / n = ((n - 1) w + x) / n.
    """
    row = iterate(
        after,
        tuple((place, 0, Fraction(0)) for place in neurons),
        samples,
        invariant=lambda row, _: tuple(
            fact for place, hits, won in row for fact in (hits >= 0, hits * place == won)
        ),
    )
    return equal(*((hits * place, won) for place, hits, won in row))


@running_mean.step("map", evaluations=50, needed=False)
def running_mean_of_the_map(
    updates: int = UPDATES, neurons: tuple[Fraction, ...] = NEURONS, samples: tuple[Fraction, ...] = SAMPLES
) -> Sides:
    """Check that the map's neurons equal the neurons computed in rational arithmetic."""
    places, exact = np.array(neurons, dtype=float), tuple((place, 0, Fraction(0)) for place in neurons)
    expected = np.array(neurons, dtype=float)
    row = places[None, :, None]
    for sample in samples:
        before, exact = exact, after(exact, sample)
        (hits,) = (new[1] for old, new in zip(before, exact, strict=True) if new != old)
        row = som.train(
            row,
            np.array([[float(sample)]]),
            np.array([0]),
            learning_rate=1 / hits,
            radius=0.0,
            distance="euclidean",
        )
        expected = np.array([float(place) for place, *_ in exact])
    return equal((row.ravel(), expected), rounding=1e-9)


@claim("sofl/frozen-cell-variance", label="Theorem 1", source="ours", expected="certified")
def frozen_cell_variance(
    rate: Fraction = Q[0:1:10],
    start: Fraction = Q[::2],
    mean: Fraction = Q[::2],
    variance: Fraction = Q[0::2],
    updates: int = ANY_UPDATES,
) -> Sides:
    """At a constant rate, a neuron's variance tends to eta / (2 - eta) times its cell's variance, and not to 0.

    Hypotheses
        The cell does not change, its samples are independent, the radius is 0, and eta in (0, 1] is constant.

    Statement
        Var w(n) = (eta / (2 - eta)) (1 - (1 - eta)^(2n)) Var(x | X_c), where the factor tends to eta / (2 - eta), for
        any mean and variance of the cell.

    Source
        Ours, about Zhang and Qiao (2024), Theorem 1 and (10). The claim is an identity. For SoFL's final rate eta_0 /
        3 = 1/30, eta / (2 - eta) is 1/59.

    Proof
        w(n) is a weighted sum of independent samples with the weights eta (1 - eta)^k. So its variance is the sum of
        the squared weights times the variance of a sample.
    """
    kept = 1 - rate

    def update(state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        """Return E w and E w^2 after w' = (1 - eta) w + eta x, with x independent of w, and (1 - eta)^(2n)."""
        first, second, power = state
        square = kept**2 * second + 2 * kept * rate * first * mean + rate**2 * (mean**2 + variance)
        return kept * first + rate * mean, square, kept**2 * power

    def law(state: tuple[Any, Any, Any], _: int) -> tuple[Any, Any]:
        first, second, power = state
        reached, allowed = (2 - rate) * (second - first**2), rate * (1 - power) * variance
        return reached <= allowed, reached >= allowed

    first, second, power = iterate(update, (start, start**2, Fraction(1)), updates, invariant=law)
    return equal((second - first**2, rate / (2 - rate) * (1 - power) * variance))


def intervals(neurons: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return widths and means of the cells in [0, 1], (C,) each. Cells end midway between neighbouring neurons."""
    ends = np.concatenate([[0.0], (neurons[1:] + neurons[:-1]) / 2, [1.0]])
    return np.diff(ends), (ends[1:] + ends[:-1]) / 2


def mean_field_fixed_point(
    neurons: int, radius: float, *, most: int = 20_000
) -> tuple[np.ndarray, np.ndarray]:
    """Return the zero of the mean update, w_j = sum_k g_jk P_k m_k / sum_k g_jk P_k, (C,), and g_jk P_k there, (C, C).

    The iteration starts from cells of equal width. For radius 0, g is the identity.

    Raises
    ------
    ArithmeticError
        If the iteration does not converge.
    """
    grid = np.arange(neurons)
    with np.errstate(under="ignore"):
        near = np.exp(-((grid[:, None] - grid[None]) ** 2) / max(2 * radius**2, 1e-300))
    points = (grid + 0.5) / neurons * 0.9 + 0.02
    for _ in range(most):
        widths, centres = intervals(points)
        weights = near * widths
        before, points = points, weights @ centres / weights.sum(axis=1)
        if np.abs(points - before).max() <= 1e-14:
            return points, near * intervals(points)[0]
    raise ArithmeticError(f"no fixed point for {neurons} neurons and radius {radius} in {most} iterations")


RADII = (0.15, 0.2, 0.3, 0.5, 1.0, 1.5)
ROW: Any = integers(2, 31)


@claim("sofl/mean-field-fixed-point", label="Theorem 1", source="ours", expected="consistent, tight within 2")
def mean_field(neurons: int = ROW) -> dict[str, Sides]:
    """As the radius tends to 0, the fixed point of the mean update converges to the cells' means.

    Hypotheses
        The update is the mean of (10) with a constant radius sigma > 0; x is uniform on [0, 1], and neurons are sorted.

    Statement
        At the fixed point w_j = sum_k g_jk P_k m_k / sum_k g_jk P_k, |w_j - m_j| <= (sum_(k != j) g_jk P_k / sum_k
        g_jk P_k) max_k |m_k - m_j|, which is O(exp(-1 / 2 sigma^2)). For sigma = 0 it is zero. As sigma increases,
        the mean error does not decrease. Here g_jk = exp(-(j - k)^2 / 2 sigma^2), and P_k and m_k are the cells'
        probabilities and means.

    Source
        Ours, about Zhang and Qiao (2024), Theorem 1, (10) and (11). SoFL's schedule ends with sigma = 1/2, so that
        neighbours still have the weight exp(-2) = 0.135.

    Proof
        w_j - m_j is the weighted mean of m_k - m_j over all k, in which the term with k = j is zero.
    """
    distances, pulls, errors = [], [], []
    for radius in RADII:
        points, weights = mean_field_fixed_point(neurons, radius)
        widths, centres = intervals(points)
        others = 1 - np.diag(weights) / weights.sum(axis=1)
        distances.append(np.abs(points - centres))
        pulls.append(others * np.abs(centres[:, None] - centres[None]).max(axis=1))
        errors.append(((points - centres) ** 2).mean() / (widths**2 / 12).mean())
    middles = (np.arange(neurons) + 0.5) / neurons
    return {
        "bound": at_most(np.stack(distances), pull=np.stack(pulls)),
        "monotone": at_most(np.array(errors[:-1]), wider=np.array(errors[1:])),
        "zero": equal((mean_field_fixed_point(neurons, 0.0)[0], middles), rounding=1e-10),
    }
