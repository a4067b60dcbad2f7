"""Statistics for the comparison of two runs: numbers for each replicate and round."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

MOST_PAIRS = 300
"""Largest number of products of two coordinates. If there are more, only products of nearby coordinates are used."""

HALF_PRECISION = 11
"""Number of significant bits of a float16. A bfloat16 has fewer."""


@dataclass(frozen=True)
class Statistic:
    """Numbers for each replicate after one round.

    Attributes
    ----------
    name
        Name of the statistic in messages.
    round
        Round of the models, or of the second of two consecutive increments.
    values
        Numbers, with one row per replicate and one column per quantity, (N, K).
    labels
        Names of the columns.
    raw
        Whether the values are models or increments. If a few replicates dominate such values, their ranks are
        compared, as well.
    """

    name: str
    round: int
    values: np.ndarray
    labels: list[str]
    raw: bool = False


def statistics_of_models(models: np.ndarray, tolerance: float) -> Iterator[Statistic]:
    """Yield the statistics of models, including statistics over two consecutive rounds.

    Parameters
    ----------
    models
        Finite models, (rounds + 1, N, P, d).
    tolerance
        Tolerance for rounding, relative to the largest entry so far. Columns that vary by less than this tolerance
        are omitted.
    """
    count, dimension = models.shape[-2:]
    names = [f"model {p}, coordinate {j}" for p in range(count) for j in range(dimension)]
    flat = models.reshape(*models.shape[:2], -1)
    before, rounding = np.zeros_like(flat[0]), tolerance * float(np.abs(flat[0]).max())
    news_before = before
    moved, short = np.zeros(models.shape[1]), np.zeros(models.shape[1])
    for step in range(1, len(flat)):
        rounding = max(rounding, tolerance * float(np.abs(flat[step]).max()))
        increments = flat[step] - flat[step - 1]
        standard, moves = standardise(flat[step], rounding), standardise(increments, rounding)
        for name, values, scaled in (("models", flat[step], standard), ("increments", increments, moves)):
            varying = np.where(scaled.any(axis=0), values, 0.0)
            yield Statistic(f"mean of the {name}", step, varying, names, raw=True)
            yield from _products(name, step, scaled, names)
        news = standardise(_innovations(models, step), rounding)
        yield Statistic("variance of the innovations, relative", step, news**2, names)
        # heavy tails change this statistic but not the variance
        yield Statistic("mean absolute value of the innovations, relative", step, np.abs(news), names)
        if step > 1:
            yield Statistic("covariance of consecutive increments", step, moves * before, names)
            yield Statistic("covariance of consecutive innovations", step, news * news_before, names)
        yield _along_path(models[step], models[0], step, rounding)
        before, news_before = moves, news
        far = np.abs(increments) > 1e3 * rounding
        moved += far.sum(axis=-1)
        short += (far & (significant_bits(flat[step]) <= HALF_PRECISION)).sum(axis=-1)
    half = (moved > 0) & (short > 0.99 * moved)
    yield Statistic("runs in half precision", len(flat) - 1, half[:, None].astype(float), ["all models"])


def statistics_of_assignments(assignments: np.ndarray, labels: np.ndarray, count: int) -> Iterator[Statistic]:
    """Yield the statistics of assignments.

    Parameters
    ----------
    assignments
        Assignments, (rounds, N, m), or -1 for an absent client.
    labels
        True clusters, (m,).
    count
        Number of models.
    """
    models = range(-1, count)
    words = ["absent", *(f"with model {p}" for p in range(count))]
    sizes = [f"clients of cluster {q} {word}" for q in np.unique(labels) for word in words]
    for step, chosen in enumerate(assignments, start=1):
        table = [(chosen[:, labels == q] == p).sum(axis=-1) for q in np.unique(labels) for p in models]
        yield Statistic("number of clients", step, np.stack(table, axis=-1).astype(float), sizes)
    for step, (first, second) in enumerate(itertools.pairwise(assignments), start=2):
        same = np.stack([(first == second).sum(axis=-1), ((first < 0) == (second < 0)).sum(axis=-1)], axis=-1)
        names = ["with the model of the round before", "present or absent as in the round before"]
        yield Statistic("number of clients", step, same.astype(float), names)
    for p in models:
        shares = (assignments == p).mean(axis=0)
        clients = [f"client {i} {words[p + 1]}" for i in range(len(labels))]
        yield Statistic("share of rounds", len(assignments), shares, clients)


def statistics_of_dependence(
    models: np.ndarray, assignments: np.ndarray, labels: np.ndarray, tolerance: float
) -> Iterator[Statistic]:
    """Yield the products of a cluster's size with the increment of its model in the same round.

    Only these products show whether gradients use the same samples as the clients' choices.

    Parameters
    ----------
    models, tolerance
        See ``statistics_of_models``.
    assignments, labels
        See ``statistics_of_assignments``.
    """
    (count, dimension), clusters = models.shape[-2:], np.unique(labels)
    columns = itertools.product(clusters, range(count), range(dimension))
    names = [f"cluster {q}, model {p}, coordinate {j}" for q, p, j in columns]
    rounding = tolerance * float(np.abs(models[0]).max())
    for step, chosen in enumerate(assignments, start=1):
        rounding = max(rounding, tolerance * float(np.abs(models[step]).max()))
        increments = (models[step] - models[step - 1]).reshape(len(chosen), -1)
        moves = standardise(increments, rounding).reshape(-1, 1, count, dimension)
        members = [(chosen[:, labels == q] == p).sum(axis=-1) for q in clusters for p in range(count)]
        sizes = standardise(np.stack(members, axis=-1), 0.0).reshape(-1, len(clusters), count, 1)
        values = (sizes * moves).reshape(len(chosen), -1)
        yield Statistic("covariance of clients and increments", step, values, names)


def standardise(values: np.ndarray, unit: float) -> np.ndarray:
    """Centre and scale columns (N, K). A column becomes 0 if it varies only by rounding errors."""
    centred = values - values.mean(axis=0)
    deviation = centred.std(axis=0)
    with np.errstate(all="ignore"):
        return np.asarray(np.where(deviation > unit, centred / deviation, 0.0))


def significant_bits(values: np.ndarray) -> np.ndarray:
    """Return for each entry the number of bits from the first to the last set bit, and 0 for 0."""
    mantissa, _ = np.frexp(np.abs(np.asarray(values, dtype=float)))
    whole = (mantissa * 2.0**53).astype(np.int64)
    last = np.log2(np.maximum(whole & -whole, 1)).astype(int)
    return np.asarray(np.where(whole > 0, 53 - last, 0))


def _products(name: str, step: int, standard: np.ndarray, names: list[str]) -> Iterator[Statistic]:
    """Yield the squares of standardised columns, and the products of a limited number of pairs."""
    yield Statistic(f"variance of the {name}, relative", step, standard**2, names)
    size = standard.shape[1]
    for lag in range(1, min(size // 2, MOST_PAIRS // size) + 1):
        pairs = [f"{name} times {names[(place + lag) % size]}" for place, name in enumerate(names)]
        yield Statistic(f"correlation of the {name}", step, standard * np.roll(standard, -lag, axis=1), pairs)


def _innovations(models: np.ndarray, step: int) -> np.ndarray:
    """Return the residual of an increment's linear regression on the model and the previous increment, (N, P d).

    With momentum, consecutive increments depend on each other. The residuals (innovations) contain the noise of each
    round only once.
    """
    increments = models[step] - models[step - 1]
    known = [models[step - 1]] + ([models[step - 1] - models[step - 2]] if step > 1 else [])
    residuals = np.empty_like(increments)
    for p in range(increments.shape[1]):
        rows = np.concatenate([one[:, p] for one in known], axis=-1)
        rows = rows - rows.mean(axis=0)
        deviation = rows.std(axis=0)
        rows = rows[:, deviation > 0] / deviation[deviation > 0]
        values = increments[:, p] - increments[:, p].mean(axis=0)
        if 10 * rows.shape[1] <= len(rows):
            # the normal equations may drop a direction as rounding, which only reduces the power of the test
            values = values - rows @ np.linalg.lstsq(rows.T @ rows, rows.T @ values)[0]
        residuals[:, p] = values
    return np.asarray(residuals.reshape(len(residuals), -1))


def _along_path(models: np.ndarray, start: np.ndarray, step: int, rounding: float) -> Statistic:
    """Project each model on the directions that best separate shifts of its mean and of its mean increment.

    The direction for a shift v is C^-1 v, where C is the covariance of the model over the replicates.
    """
    columns, names = [], []
    for p in range(models.shape[1]):
        points = models[:, p]
        mean = points.mean(axis=0)
        covariance = np.cov(points.T).reshape(len(mean), -1)
        ridge = (rounding**2 + 1e-9 * np.trace(covariance) + 1e-300) * np.eye(len(mean))
        for name, shift in (("its mean", mean), ("its path", mean - start[:, p].mean(axis=0))):
            direction = np.linalg.solve(covariance + ridge, shift)
            direction /= max(float(np.linalg.norm(direction)), 1e-300)
            columns.append(standardise((points @ direction)[:, None], rounding)[:, 0])
            names.append(f"model {p}, along {name}")
    return Statistic(
        "mean of the models along a direction, in standard deviations",
        step,
        np.stack(columns, axis=-1),
        names,
    )
