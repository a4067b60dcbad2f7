"""Run an algorithm on drawn quadratics until it rests, and compare with a closed form."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from algorithms import Algorithm, Randomness, State, generator
from synthetic import QuadraticMixture
from theory.claim import Context
from theory.counterexample import Evaluate, Instance, encode, seek
from theory.verdict import Finding, Kind

TOLERANCE = 1e-10
"""Largest distance of a run's end from a closed form."""

STILL = 1e-14
"""A run rests when a round moves nothing it keeps by more than this, relative to its size."""

LONGEST = 20000
"""Rounds after which a run is not waited for any longer."""

INSTANCES = 50


def rest(algorithm: Algorithm[Any], task: QuadraticMixture, initial: np.ndarray) -> State:
    """Run from starting points (P, d) until nothing moves, and give the last state."""
    randomness = Randomness.from_seed(0)
    state: State = algorithm.initialise(initial, task)
    before = kept(state)
    for _ in range(LONGEST):
        state = algorithm.step(state, task, randomness)
        after = kept(state)
        if all(
            float(np.abs(new - old).max()) <= STILL * (1 + float(np.abs(new).max()))
            for new, old in zip(after, before, strict=True)
        ):
            break
        before = after
    return state


def kept(state: State) -> list[np.ndarray]:
    """Models, and what an algorithm keeps beside them."""
    arrays = [getattr(state, name, None) for name in ("models", "personal", "buffers")]
    return [np.array(array) for array in arrays if array is not None]


def drawn_task(instance: Instance, *, clusters: int = 1) -> QuadraticMixture:
    """Make clients with Hessians and centres of their own; those of one of several clusters are alike.

    Eigenvalues lie in [1 / condition, 1]; centres are normal, and those of several clusters are far
    apart, so that the clustering is right from the start.

    Parameters
    ----------
    instance
        With ``seed``, ``clients``, ``dimension`` and ``condition``.
    clusters
        Each has so many clients.
    """
    stream = generator(int(instance["seed"]), "baselines", "task")
    clients, dimension = int(instance["clients"]), int(instance["dimension"])
    count = clusters * clients
    rotations = np.linalg.qr(stream.standard_normal((count, dimension, dimension)))[0]
    spectra = stream.uniform(1 / float(instance["condition"]), 1, (count, dimension))
    hessians = (rotations * spectra[:, None, :]) @ np.swapaxes(rotations, -1, -2)
    labels = np.repeat(np.arange(clusters), clients)
    centers = stream.standard_normal((count, dimension))
    centers[:, 0] += 100.0 * labels
    return QuadraticMixture(
        hessians=(hessians + np.swapaxes(hessians, -1, -2)) / 2, centers=centers, labels=labels
    )


def instances(**parameters: Any) -> Any:
    """Give the numbers of ``drawn_task`` and further ones, as a hypothesis strategy."""
    from hypothesis import strategies as st

    numbers: dict[str, Any] = {
        "seed": st.integers(0, 2**31 - 1),
        "clients": st.integers(1, 6),
        "dimension": st.integers(1, 4),
        "condition": st.sampled_from([1, 2, 4]),
    }
    return st.fixed_dictionaries(numbers | parameters)


def strengths() -> Any:
    """Give exact positive numbers up to 1, simple ones first."""
    from hypothesis import strategies as st

    return st.fractions(Fraction(1, 20), 1, max_denominator=20)


def counts(largest: int) -> Any:
    """Give numbers of local steps."""
    from hypothesis import strategies as st

    return st.integers(1, largest)


def distance(found: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> float:
    """Largest difference of any entry; NaN counts as infinite."""
    worst = max(float(np.abs(one - other).max()) for one, other in zip(found, expected, strict=True))
    return worst if worst == worst else float("inf")


def judge_rest(context: Context, drawn: Any, evaluate: Evaluate, what: str) -> Finding:
    """Judge |closed form - run| <= 1e-10 on 50 instances that hypothesis draws.

    Parameters
    ----------
    context
        Seed, and the number of instances where it names one.
    drawn
        Strategy of instances.
    evaluate
        Gives the distance and 1e-10.
    what
        Names the two, for the reason.
    """
    found: list[float] = []

    def remember(instance: Instance) -> tuple[float, float]:
        measured, allowed = evaluate(instance)
        found.append(float(measured))
        return float(measured), float(allowed)

    finding = seek(
        context,
        drawn,
        remember,
        violated=lambda instance, measured, _: (
            f"{what} differ by {float(measured):.3g} for "
            + ", ".join(f"{name} = {encode(value)}" for name, value in instance.items())
        ),
        consistent="",
        budget=INSTANCES,
    )
    if finding.verdict is Kind.VIOLATED:
        return finding
    return dataclasses.replace(
        finding,
        reason=f"largest distance of {what} over {len(found)} drawn instances",
        measured=max(found),
        bound=TOLERANCE,
        slack=None,
        trials=len(found),
    )


def start_of(task: QuadraticMixture, count: int) -> np.ndarray:
    """Give starting points: those where the task itself starts runs."""
    return task.initial_models(count, (), generator(0, "baselines", "start"))


def rest_distance(algorithm: Algorithm[Any], task: QuadraticMixture, expected: Sequence[np.ndarray]) -> float:
    """Distance of everything that a run keeps at rest from the closed forms (models first)."""
    state = rest(algorithm, task, start_of(task, algorithm.model_count(task)))
    found = [array.reshape(form.shape) for array, form in zip(kept(state), expected, strict=False)]
    return distance(found, list(expected))
