"""(10)-(13): what an update does, and how far the neighbourhood shrinks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from algorithms import self_organising_map as som
from theory.claim import Context, register
from theory.counterexample import Instance, Number, encode, replay_with, seek
from theory.verdict import Finding, Kind


def cosine(first: np.ndarray, second: np.ndarray) -> float:
    """(9)."""
    return float(first @ second / (np.linalg.norm(first) * np.linalg.norm(second)))


@register("sofl/equation-10", label="(8)-(10)", kind="identity")
def equation_10(context: Context) -> Finding:
    """An update brings the winner nearer to the sample in the distance and in the cosine.

    Hypotheses
        eta g in (0, 1]; neither the neuron nor the sample is zero, nor are they opposite.

    Statement
        nu' = nu + eta g (gamma - nu) has ||nu' - gamma|| = (1 - eta g) ||nu - gamma|| and
        cos(nu', gamma) >= cos(nu, gamma): the winner by (8), (9) moves in the sense of (9), too.

    Symbols
        nu ``neurons``, gamma the client's update, eta ``learning_rate``, g by (11).

    Source
        Zhang and Qiao (2024), (8)-(10). Identity for the distance, one-sided for the cosine.

    Proof
        nu' lies on the segment from nu to gamma, hence in the cone of the two.

    Checked
        One update of the map of ours on random neurons and samples, dimensions 2 to 8.
    """
    stream = context.generator("updates")
    trials = context.number_of_trials(300)
    worst, failures = 0.0, 0
    for _ in range(trials):
        dimension, rate = int(stream.integers(2, 9)), float(stream.uniform(0.01, 1))
        neuron, sample = stream.standard_normal((2, dimension))
        after = som.train(
            neuron[None, None], sample[None], np.array([0]), learning_rate=rate, radius=1.0
        ).ravel()
        before = float(np.linalg.norm(neuron - sample))
        gap = abs(float(np.linalg.norm(after - sample)) - (1 - rate) * before) / before
        worst = max(worst, gap)
        failures += gap > 1e-9 or cosine(after, sample) < cosine(neuron, sample) - 1e-9
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"largest relative difference of the distance from (1 - eta g) times the old one over {trials} updates; "
        "the cosine fell in none" if not failures else f"{failures} of {trials} updates move away",
        measured=worst,
        bound=1e-9,
        trials=trials,
        failures=failures,
    )  # fmt: skip


NEGLIGIBLE = 1e-3
"""A neighbour that moves by less than this share of the winner's move counts as unchanged."""


def evaluate(instance: Instance) -> tuple[Number, Number]:
    """Share (11) of the winner's move that its next neighbour makes at t = T_max, and what is negligible."""
    updates = int(instance["updates"])
    width = som.decayed(float(instance["radius"]), updates, updates, "as-printed")
    return math.exp(-1 / (2 * width**2)), NEGLIGIBLE


def sentence(instance: Instance, measured: Number, allowed: Number) -> str:
    """Spell the instance out."""
    return (
        f"sigma_0 = {encode(instance['radius'])}, T_max = {encode(instance['updates'])}: the radius ends at sigma_0 / "
        f"3 for every T_max, and the next neighbour still makes exp(-9 / 2 sigma_0^2) = {float(measured):.4g} of the "
        "winner's move; (11) is positive everywhere, there is no neuron outside N"
    )


def schedules() -> Any:
    """The paper's radius, any number of updates."""
    from fractions import Fraction

    from hypothesis import strategies as st

    return st.fixed_dictionaries({"updates": st.integers(1, 10**6), "radius": st.just(Fraction(3, 2))})


@register("sofl/shrinking-neighbourhood", label="Section 3.3, (10)-(13)", kind="upper",
          replay=replay_with(evaluate), repaired_by="sofl/theorem-1-robbins-monro")  # fmt: skip
def shrinking_neighbourhood(context: Context) -> Finding:
    """The neighbourhood shrinks until it contains the best matching unit alone.

    Hypotheses
        The schedule (13) with sigma_0 = 1.5 and any T_max.

    Statement
        "The range of N shrinks with time and only includes BMU after a certain time"; units outside N
        remain unchanged (10). Read: some update has g < 1/1000 for the next neighbour.

    Symbols
        sigma_0 ``radius``, T_max ``updates``, g by (11).

    Source
        Zhang and Qiao (2024), Sections 3.3 and 4.2, (10)-(13). It is a hypothesis of Theorem 1. A schedule
        that vanishes meets it: ``sofl/theorem-1-robbins-monro``.

    Checked
        (11) and (13) at t = T_max, the smallest radius of the run; hypothesis finds the smallest T_max.
    """
    return seek(
        context,
        schedules(),
        evaluate,
        violated=sentence,
        consistent="N ends as the winner alone",
        budget=100,
    )
