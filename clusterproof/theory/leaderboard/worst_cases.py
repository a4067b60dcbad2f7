"""Worst cases over all clients: the best bound from proofs of single rounds, and the exact value from a solver.

For FedAvg and FedProx, let phi(E) be the supremum of E|x+ - x*|^2 over |x - x*|^2 <= E. This function is concave, and
each certificate of one round is a line above phi, so E_(r+1) = min_j (rho_j E_r + c_j zeta*^2). For SCAFFOLD and
ProxSkip, there is one rate rho for each weight a in the Lyapunov function |x - x*|^2 + a G. A separate rate for the
last round bounds |x+ - x*|^2 alone.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from pathlib import Path

import msgspec
import numpy as np

from clusterproof.theory.leaderboard.quadratics import attainable
from clusterproof.theory.leaderboard.setting import Setting, TaskClass
from clusterproof.theory.rates.one_round import RoundRate
from clusterproof.theory.rates.round_rate import closed_form, default_weight
from clusterproof.theory.rates.round_search import MAX_SCALE, Search, prove_round
from clusterproof.theory.rates.rounds import Algorithm, Round
from clusterproof.theory.rates.traced_rounds import trace_rounds

SPACING = 1.2
"""Ratio between the values of E for which two neighbouring certificates are best."""

WEIGHTS = [Fraction(4) ** k for k in range(-3, 4)]
"""Weights in the Lyapunov functions, as multiples of the usual weight."""

STORED = Path(__file__).with_name("stored")
"""Files with certificates. Each certificate is checked again before use."""


def one_round_bounds(setting: Setting, round_: Round, rounds: list[int]) -> dict[int, float]:
    """Return the bounds for FedAvg and FedProx, indexed by number of rounds.

    The result is empty if there are no certificates.
    """
    noise = float(setting.heterogeneity**2)
    unit, error = float(round_.unit**2) * noise, float(setting.distance**2)
    stored, tried = stored_for(round_), set[int]()
    values, lines = {}, list[tuple[float, float]]()
    for number in range(1, max(rounds) + 1):
        relative = error / unit if unit else math.inf
        # beyond these values of E, the certificates hardly change
        place = round(math.log(min(max(relative, 1e-8), 1e4)) / math.log(SPACING))
        if place not in tried:
            tried.add(place)
            if (found := _tangent(round_, place, stored)) is not None:
                lines.append((float(found.rate), float(found.constant) * noise))
        if not lines:
            return {}
        error = min(rate * error + constant for rate, constant in lines)
        if number in rounds:
            values[number] = error
    return values


def _tangent(round_: Round, place: int, stored: dict[int, RoundRate]) -> RoundRate | None:
    """Return the certificate that is best for E / zeta*^2 = SPACING^place, in units of the squared step size."""
    if place in stored and not any(stored[place].failures()):
        return stored[place]
    return prove_round(round_, distance=Fraction(f"{SPACING**place:.6e}") * round_.unit**2)


def lyapunov_bounds(setting: Setting, round_: Round, rounds: list[int]) -> dict[int, float]:
    """Return the smallest bound over all weights for SCAFFOLD and ProxSkip, indexed by number of rounds."""
    error, noise = setting.distance**2, setting.heterogeneity**2
    best = dict.fromkeys(rounds, math.inf)
    usual = default_weight(round_)
    if 1 in rounds and noise > 0 and error > 0:
        alone = prove_round(round_, distance=error, disagreement=noise)
        if alone is not None:
            best[1] = float(alone.rate * error + alone.constant * noise)
    for factor in WEIGHTS:
        weight = factor * usual
        start = float(error + weight * noise)
        exact = round_.probability is not None and factor == 1
        repeated = closed_form(round_) if exact else prove_round(round_, weight=weight, ratio=weight)
        last = prove_round(round_, ratio=weight)
        if repeated is None or any(repeated.failures()):
            continue
        for number in rounds:
            with np.errstate(over="ignore"):  # the rate is above 1
                before, after = (float(np.float64(repeated.rate) ** power) for power in (number - 1, number))
            once = math.inf if last is None else float(last.rate) * before
            best[number] = min(best[number], after * start, once * start)
    return {number: value for number, value in best.items() if math.isfinite(value)}


@cache
def _read(path: Path) -> dict[int, RoundRate]:
    content = msgspec.json.decode(path.read_bytes())
    return {
        int(place): msgspec.convert(each, RoundRate, dec_hook=lambda _, text: Fraction(text))
        for place, each in content.items()
    }


def stored_for(round_: Round) -> dict[int, RoundRate]:
    """Return the stored certificates of a round, indexed by file and place."""
    for path in sorted(STORED.glob("*.json")):
        certificates = _read(path)
        if next(iter(certificates.values())).round == round_:
            return certificates
    return {}


STEPS, MORE_STEPS = 24, 40
"""Largest total number of local gradients in a program, by default and on request."""


def exact_worst_case(
    setting: Setting, round_: Round, rounds: int, *, more: bool = False
) -> tuple[float | None, str | None]:
    """Return sup E|x_R - x*|^2 over the class "strong" and every N >= 2, or None and the reason.

    Parameters
    ----------
    setting, round_
        The class and the initial distance, and the round of the algorithm.
    rounds
        Number of rounds R.
    more
        Whether to allow ``MORE_STEPS`` local gradients.
    """
    if setting.client_class == TaskClass.CONVEX:
        return None, "class convex: the semidefinite program is a relaxation"
    if setting.client_class == TaskClass.QUADRATIC:
        return None, "class quadratic: the program is of the larger class strong"
    if not attainable(round_.sampling, 1):
        return None, "no number of clients has this sampling"
    if round_.sampling > 0 and rounds > 1:
        return None, "more than one round with sampling is not computed"
    skip = round_.algorithm is Algorithm.PROXSKIP
    steps = 2 ** min(rounds, 64) - 1 if skip else rounds * round_.local_steps
    limit = MORE_STEPS if more else STEPS
    if steps > limit:
        offer = f"; --exact computes up to {MORE_STEPS}" if not more and steps <= MORE_STEPS else ""
        return None, f"more than {limit} local gradients in all{offer}"
    unit, noise, squared = float(round_.unit**2), float(setting.heterogeneity**2), float(setting.distance**2)
    scale = min(max(squared / (unit * noise), 1 / MAX_SCALE), MAX_SCALE) if noise else MAX_SCALE
    # the bound is rate D^2 + constant eta^2 zeta*^2 with rate = 1 + gain / scale
    goal = (squared / scale, unit * noise)
    best = Search(trace_rounds(round_, rounds), scale).least((goal[0] / max(goal), goal[1] / max(goal)))
    if best is None:
        return None, "the solver gave no value"
    return squared + best[0] * goal[0] + best[1] * goal[1], "value of a solver, not certified"
