"""A strategy that draws mixtures from wide ranges: many, ill-conditioned, unequal clusters close to each other."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from clusterproof.common.calls import checked
from clusterproof.common.validation import check_choice
from clusterproof.synthetic import TASKS, Mixture
from clusterproof.synthetic.strategies.common import Bounds, draw_integers, note_call, read_bounds


@checked
def wide_mixtures(
    kind: str = "quadratic",
    *,
    clusters: Bounds = (1, 10),
    clients: Bounds = (1, 100),
    dimension: Bounds = (1, 50),
    condition_number: Bounds = (1, 1e4),
    separation: Bounds = (0.01, 10),
    imbalance: Bounds = (1, 20),
    **fixed: float | str,
) -> SearchStrategy[Mixture]:
    """Draw mixtures with the method ``random`` of a task; positive numbers are drawn on a logarithmic scale.

    Parameters
    ----------
    kind
        Name of a task that has a condition number and a separation, such as ``"quadratic"``, ``"noisy-quadratic"``
        or ``"regression"``.
    clusters, clients, dimension
        Bounds on P, m and d, integers of at least 1. There are never fewer clients than clusters.
    condition_number
        Bounds on kappa = L / mu, at least 1. In dimension 1, kappa is always 1.
    separation
        Bounds on the smallest distance between two clusters' optima (Delta), positive.
    imbalance
        Bounds on the ratio of the largest to the smallest proportion, at least 1. A cluster has at least one client,
        which limits the ratio of the sizes.
    fixed
        Further arguments of ``random``, such as ``noise=0.5``.

    Raises
    ------
    InvalidArgument
        If the task is unknown or has no condition number and separation, or a bound is out of range.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(wide_mixtures(clusters=(5, 10)))
    ... def test_there_are_many_clusters(task):
    ...     assert task.clusters >= 5
    """
    able = [
        name
        for name, task in TASKS.items()
        if {"condition_number", "separation", "proportions"} <= set(inspect.signature(task.random).parameters)
    ]
    check_choice("kind", kind, tuple(able), remedy="choose a task with these parameters")
    counts, widths = draw_integers("clusters", clusters), draw_integers("dimension", dimension)
    fewest, most = read_bounds("clients", clients, at_least=1)
    kappa = _log_uniform("condition_number", condition_number, 1)
    distance = _log_uniform("separation", separation, 1e-300)
    ratio = _log_uniform("imbalance", imbalance, 1)

    @st.composite
    def tasks(draw: DrawFn) -> Mixture:
        count, width = draw(counts), draw(widths)
        size = draw(st.integers(max(int(fewest), count), max(int(most), count)))
        shares = draw(ratio) ** np.linspace(0, 1, count)
        arguments: dict[str, Any] = {
            "clusters": count,
            "clients": size,
            "dimension": width,
            "condition_number": draw(kappa) if width > 1 else 1.0,
            "separation": draw(distance),
            "proportions": (shares / shares.sum()).tolist(),
            "seed": draw(st.integers(0, 2**31 - 1)),
            **fixed,
        }
        words = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        return note_call(TASKS[kind].random(**arguments), f"{TASKS[kind].__name__}.random({words})")

    return tasks()


def _log_uniform(argument: str, bounds: Bounds, at_least: float) -> SearchStrategy[float]:
    """Draw a number between positive bounds on a logarithmic scale."""
    low, high = read_bounds(argument, bounds, at_least=at_least)
    if low == high:
        return st.just(low)
    return st.floats(0, 1, width=16).map(
        lambda share: min(high, low * math.exp(share * math.log(high / low)))
    )
