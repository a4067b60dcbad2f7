"""Certified claims about rounds on every loss, with their hypotheses and bounds for a run."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from clusterproof.theory.bounds.hypotheses import Hypothesis
from clusterproof.theory.bounds.round_theorems import RoundCase, RoundTheorem, contraction_theorem
from clusterproof.theory.papers import proxskip
from clusterproof.theory.papers.every_number_of_steps import (
    FEDLIN_PACE,
    SCAFFOLD_PACE,
    drift_of_mean,
    rate_of_round,
)
from clusterproof.theory.papers.fedavg.drift import after_rounds, decay
from clusterproof.theory.papers.scaffold import sharp
from clusterproof.theory.papers.scaffold.rounds import weight_of


def _fedavg_needs(case: RoundCase) -> Iterator[Hypothesis]:
    yield from case.needs_several_curvatures()
    yield Hypothesis("eta L", "<=", 1, float(case.step_size * case.smoothness), room=case.room)


def squared_error_of_fedavg(case: RoundCase, rounds: Any) -> Any:
    """Return (r^t D + (1 + r + ... + r^(t-1)) B)^2 with r = (1 - eta mu)^K and B^2 the claim's drift.

    The claim holds for every t > 0. We take the best t, and the infimum of (1 + t) a^2 + (1 + 1/t) b^2 is (a + b)^2.
    """
    length, zeta = float(case.step_size * case.smoothness), float(case.heterogeneity / case.smoothness)
    added = math.sqrt(drift_of_mean(length, case.local_steps, zeta**2))
    factor = float(decay(case.step_size, case.strong_convexity, case.local_steps))
    return after_rounds(rounds, factor, case.distance, added) ** 2


def _rate(case: RoundCase) -> Any:
    return rate_of_round(case.pace, case.strong_convexity / case.smoothness)


def _few_steps_needs(case: RoundCase) -> Iterator[Hypothesis]:
    yield from case.needs_several_curvatures()
    yield Hypothesis("local steps", "<=", 3, case.local_steps)
    yield Hypothesis("eta L K", "=", 1, case.pace, room=case.room)


def _proxskip_needs(case: RoundCase) -> Iterator[Hypothesis]:
    yield from case.exact_rounds
    yield Hypothesis("mu < L", "=", True, bool(case.strong_convexity < case.smoothness))
    longest = float(2 / (case.smoothness + case.strong_convexity))
    yield Hypothesis("step size", "<=", longest, float(case.step_size), "2/(L + mu)", case.room)


FEDAVG = RoundTheorem(
    claim="fedavg/every-number-of-steps",
    algorithm="fedavg",
    client_class="strong",
    needs=_fedavg_needs,
    squared_bound=squared_error_of_fedavg,
)
FEDLIN = contraction_theorem(
    claim="fedlin/every-number-of-steps",
    algorithm="fedlin",
    needs=lambda case: case.needs_short_rounds(FEDLIN_PACE),
    rate=_rate,
    weight=lambda _: 0,
)
SCAFFOLD = contraction_theorem(
    claim="scaffold/every-number-of-steps",
    algorithm="scaffold",
    needs=lambda case: case.needs_short_rounds(SCAFFOLD_PACE),
    rate=_rate,
    weight=weight_of,
)
SCAFFOLD_FEW_STEPS = replace(sharp.SHARP, claim="scaffold/every-loss", needs=_few_steps_needs)
PROXSKIP = replace(proxskip.SHARP, claim="proxskip/every-loss", needs=_proxskip_needs)
