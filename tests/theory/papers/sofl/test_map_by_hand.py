"""Both sides of SoFL's Theorem 1 and its repair, from their statements: all orders of samples, plain loops."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sides_by_hand import assert_sides, sides_at

from clusterproof.theory.papers.sofl import theorem_1
from clusterproof.theory.papers.sofl.frozen_cells import FrozenRow, errors_after, floor, mean_over_orders

SAMPLES = np.array([[1.0, 0.1, 0.2], [0.9, -0.2, 0.0], [0.1, 1.1, 0.0], [0.0, 0.2, 0.8], [1.4, 0.0, -0.1]])
CELLS = [0, 0, 1, 2, 0]
ROW = FrozenRow(samples=SAMPLES, cells=np.array(CELLS), start=SAMPLES[[1, 2, 3]] + 0.05)
MEANS = [SAMPLES[[0, 1, 4]].mean(axis=0), SAMPLES[2], SAMPLES[3]]


APART = np.array([[abs(j - c) for c in CELLS] for j in range(3)])


def moved(updates: int, schedule: str, rate: float, radius: float) -> np.ndarray:
    """Return eta(t) g(j, c(x)) for updates t, neurons j and samples x, by (11)-(13) or with 60 for half of T."""
    late = 1 + np.arange(updates)[:, None, None] / (updates / 2 if schedule == "as-printed" else 60)
    with np.errstate(under="ignore"):
        return np.asarray(rate / late * np.exp(-(APART**2) * late**2 / (2 * radius**2)))


def moments(shares: np.ndarray) -> list[float]:
    """Return E||w - m||^2 by E w and E||w||^2, which do not know the mean m of the cell."""
    kept, shrunk = (1 - shares).mean(axis=2), ((1 - shares) ** 2).mean(axis=2)
    push, cross = shares @ SAMPLES / 5, 2 * (shares * (1 - shares)) @ SAMPLES / 5
    added = (shares**2 @ (SAMPLES**2).sum(axis=1)) / 5
    first, second = ROW.start, (ROW.start**2).sum(axis=1)
    for t in range(len(shares)):
        second = shrunk[t] * second + (cross[t] * first).sum(axis=1) + added[t]
        first = kept[t][:, None] * first + push[t]
    return [float(s - 2 * m @ w + m @ m) for s, w, m in zip(second, first, MEANS, strict=True)]


@pytest.mark.parametrize(("schedule", "radius"), [("as-printed", 1.5), ("robbins-monro", 0.75)])
def test_moments_of_a_row_over_all_orders_of_samples(schedule: str, radius: float) -> None:
    total = np.zeros(3)
    shares = moved(3, schedule, 0.25, radius)
    for order in itertools.product(range(5), repeat=3):
        neurons = ROW.start.copy()
        for share, x in zip(shares, order, strict=True):
            for j in range(3):
                neurons[j] += share[j, x] * (SAMPLES[x] - neurons[j])
        total += [((w - m) ** 2).sum() / 125 for w, m in zip(neurons, MEANS, strict=True)]
    settings: dict[str, Any] = {"learning_rate": 0.25, "radius": radius, "schedule": schedule}
    np.testing.assert_allclose(mean_over_orders(ROW, 3, **settings), total, rtol=1e-10)
    np.testing.assert_allclose(errors_after(ROW, 3, **settings), total, rtol=1e-10)
    np.testing.assert_allclose(moments(shares), total, rtol=1e-10)
    longer = moments(moved(1300, schedule, 0.25, radius))
    np.testing.assert_allclose(errors_after(ROW, 1300, **settings), longer, rtol=1e-9, atol=1e-13)


def test_the_floor_is_where_the_moments_end() -> None:
    shares = np.tile(0.25 * np.exp(-(APART**2) / 2 / 0.75**2), (700, 1, 1))
    np.testing.assert_allclose(floor(ROW, rate=0.25, radius=0.75), moments(shares), rtol=1e-9)


@pytest.mark.parametrize("cells", [[0, 0, 1, 2, 1], CELLS])
def test_a_sample_that_leaves_its_cell_is_told(cells: list[int]) -> None:
    """With the rate 1 and a wide neighbourhood all neurons go where the first sample is."""
    row = FrozenRow(samples=SAMPLES, cells=np.array(cells), start=ROW.start)
    with pytest.raises(ArithmeticError, match="left its cell"):
        mean_over_orders(row, 1, learning_rate=1.0, radius=50.0, schedule="as-printed")


@pytest.mark.parametrize("rate", ["1/10", "1/2", "1"])
@pytest.mark.parametrize("radius", ["1/2", "1", "3/2", "2", "3"])
def test_the_limit_of_theorem_1_on_two_samples(rate: str, radius: str) -> None:
    """w = (1 - u, u): u <- (1 - eta) u at its own sample, u <- u + g eta (1 - u) at the other one."""
    own = Fraction(rate) / 3
    other = float(own) * math.exp(-9 / 2 / Fraction(radius) ** 2)
    mean = other / (float(own) + other)
    kept = ((1 - own) ** 2 + (1 - other) ** 2) / 2
    second = (2 * other * (1 - other) * mean + other**2) / 2 / (1 - kept)
    found = sides_at("sofl/theorem-1", {"learning_rate": rate, "radius": radius})
    assert_sides(found, [(2 * second, 0)])
    if (rate, radius) == ("1/2", "2"):
        limit = theorem_1.compare_with_runs(Fraction(rate), Fraction(radius))
        assert limit == pytest.approx(2 * second, rel=1e-9)


def test_the_repaired_theorem_1_on_a_row_of_three() -> None:
    short, early, late = (moments(moved(updates, "robbins-monro", 0.1, 1.5)) for updates in (3, 2000, 20_000))
    # the other two cells have one sample each
    variance = np.mean([((SAMPLES[x] - MEANS[0]) ** 2).sum() for x in (0, 1, 4)])
    found = theorem_1.theorem_1_robbins_monro(ROW)
    assert_sides(found["bound"], max(late), noise=6 * variance / 20_000)
    assert_sides(found["decay"], max(late), fifth=max(early) / 5)
    assert_sides(found["runs"], [(short, short)])


def test_drawn_rows_have_two_samples_around_each_direction() -> None:
    counts = set()
    for seed in range(40):
        row = theorem_1.clustered_row(np.random.default_rng(seed))
        count = len(row.start)
        counts.add(count)
        assert row.cells.tolist() == [*range(count)] * 2
        np.testing.assert_allclose(row.centres, np.eye(count), atol=1e-12)
        assert row.start.tolist() == row.samples[:count].tolist()
        assert 0.02 < np.abs(row.samples[:count] - np.eye(count)).max() < 0.5
        again = theorem_1.read_row(theorem_1.write_row(row))
        assert all(
            (getattr(again, name) == getattr(row, name)).all() for name in ("samples", "cells", "start")
        )
    assert counts == {2, 3}
    written = theorem_1.write_row(ROW)
    for wrong in ({"cells": [0, 0, 1, 2]}, {"cells": [0.0, 0, 1, 2, 0]}, {"start": [[1.0, 0.0]] * 3}):
        with pytest.raises(ValueError, match="must go together"):
            theorem_1.read_row(written | wrong)
