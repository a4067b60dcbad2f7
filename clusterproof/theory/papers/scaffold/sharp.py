"""Claims on the best possible rate of a round of SCAFFOLD with option II, and certificates for both options."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

from clusterproof.checker.claims import Sides, at_least, at_most, choice, claim, equal, rationals
from clusterproof.theory.bounds.round_theorems import RoundCase, contraction_theorem
from clusterproof.theory.exact.algebra import NotNegative, Number, Share
from clusterproof.theory.exact.planar_clients import PlanarClients
from clusterproof.theory.papers.scaffold.option_1 import weights
from clusterproof.theory.papers.scaffold.rounds import (
    Start,
    contraction,
    psi_and_next,
    rate_of,
    step_size_of,
    weight_of,
)
from clusterproof.theory.rates.one_round import RoundRate
from clusterproof.theory.rates.round_rate import make_round

LOCAL_STEPS = (1, 2, 3, 4, 6, 8, 12, 16)
PACES = (Fraction(1), Fraction(1, 2), Fraction(1, 10))
"""The product eta L K."""
CONDITIONS = (Fraction(101, 100), Fraction(2), Fraction(10), Fraction(100))
"""The quotient L / mu."""


def closed_form(local_steps: int, pace: Fraction, condition: Fraction, option: str) -> RoundRate:
    """Return the certificate of the rate (1 - eta mu)^(2K), with the multipliers of the proof."""
    step = pace / local_steps
    numbers = {"smoothness": 1, "strong_convexity": 1 / condition, "step_size": step}
    round_ = make_round("scaffold", client_class="strong", local_steps=local_steps, option=option, **numbers)
    p, count = 1 - step / condition, local_steps
    if option == "II":
        factors = {
            k: 2 * p ** (2 * (count - k) + 1) for k in range(1, count + 1)
        }  # the multiplier of the k-th gradient and x*
        pairs = {name: factors[k] for k in factors for name in (f"0:{k},0:0", f"0:0,{k}:0")}
    else:
        pairs = {}
        for k in range(count):
            n, names = count - 1 - k, (f"0:0,{k + 1}:0", f"0:{k + 1},0:0", f"0:{k + 2},{k + 1}:0")
            every = zip(names, weights(min(k, 1), n, p, p**k), strict=True)
            pairs |= {name: p ** (2 * n + 1) * weight for name, weight in every if weight}
    rate, weight = p ** (2 * count), pace**2 / (1 if option == "II" else 3)
    return RoundRate(round=round_, rate=rate, constant=rate * weight, weight=weight, multipliers=pairs)


@claim(
    "scaffold/multipliers",
    label="Certificates of one round",
    source="ours",
    quick=False,
    expected="consistent, no sharpness",
)
def certificates(
    local_steps: Annotated[int, choice(*LOCAL_STEPS)],
    pace: Annotated[Fraction, choice(*PACES)],
    condition: Annotated[Fraction, choice(*CONDITIONS)],
    option: Annotated[str, choice("I", "II")],
) -> Sides:
    """The multipliers in the proofs certify the rate (1 - eta mu)^(2K) exactly, for K up to 16.

    Statement
        Psi+ <= (1 - eta mu)^(2K) Psi with Psi = ||x - x*||^2 + a mean ||c_i - c - g_i*||^2. Here a = (K eta)^2 for
        SCAFFOLD II, and a = (K eta)^2 / 3 for SCAFFOLD I. K is in {1, 2, 3, 4, 6, 8, 12, 16}, eta L K in {1, 1/2,
        1/10}, and L / mu in {1.01, 2, 10, 100}. The number of clients and the dimension are arbitrary.

    Source
        Ours. The multipliers are from ``scaffold/sharp`` and ``scaffold/sharp-option-1``. Equality can occur.
    """
    failing = next(closed_form(local_steps, pace, condition, option).failures(), None)
    return equal((failing is not None, False), words=f"not proved: {failing}")


SHARP = contraction_theorem(
    claim="scaffold/sharp",
    algorithm="scaffold",
    needs=RoundCase.needs_short_rounds,
    rate=rate_of,
    weight=weight_of,
)


@claim(
    "scaffold/sharp",
    label="SCAFFOLD II, one round",
    source="ours",
    tight=True,
    evaluations=60,
    expected="consistent, tight within 2",
    headline=True,
)
def sharp(clients: PlanarClients, start: Start) -> Sides:
    """A round of SCAFFOLD II multiplies Psi by at most (1 - eta mu)^(2K), like K gradient steps on one client.

    Statement
        Psi+ <= (1 - eta mu)^(2K) Psi with Psi = ||x - x*||^2 + (K eta)^2 mean ||c_i - c - g_i*||^2.

    Proof
        Let d_k be a client's distance from x*, q = K eta (c_i - c - g_i*), u_k = mu d_k + v_k its gradient minus g_i*
        and w_k = p^(K-1-k) eta v_k. Then y_k = p^(K-k) d_k - sigma_(K-k) q satisfies y_(k+1) = y_k - w_k, and Psi+ =
        mean ||y_K||^2. By interpolation <p^(K-k) d_k, w_k> >= b ||w_k||^2 with b = p / (eta (L - mu)): the step "one
        local step". So mean ||y_K||^2 <= p^(2K) ||x - x*||^2 + (sigma_K^2 + s) mean ||q||^2 with s = sum of sigma_n^2
        / (2b - 1), n = 1 .. K, and s <= p^(2K) - sigma_K^2: the step "(*)", with sigma_n <= min{1 - 1/K, p^n} and,
        for K >= 2, p^K >= (1 - m/2)^2, m = K eta mu: the steps "power".

    Source
        Ours. Both sides are equal for f_i = mu ||.||^2 / 2 and c_i = g_i*. SCAFFOLD is Algorithm 1 of Karimireddy et
        al. (2020), with option II.

    Hypotheses
        The f_i are L-smooth and mu-strongly convex with 0 <= mu < L, eta_g = 1, and eta L K <= 1. Any number of clients
        take part, all in every round, with exact gradients; c = mean c_i.

    Symbols
        eta is ``step_size``, K is ``local_steps``, g_i* = grad f_i(x*), means are over clients, and the sign + means
        after a round. In the proof p = 1 - eta mu, S_k = 1 + p + ... + p^(k-1) and sigma_k = 1 - S_k / K.
    """
    before, after = psi_and_next(clients, start, "II")
    eta = step_size_of(clients, start.pace, start.local_steps)
    rate = contraction(eta, clients.strong_convexity, start.local_steps)
    return at_most(after, rate=rate * before, decrease_from=before)


@sharp.step("round", needed=False)
def whole_round(
    distance: NotNegative,
    controls: NotNegative,
    last: NotNegative,
    gained: NotNegative,
    margin: NotNegative,
    lost: NotNegative,
) -> Sides:
    """Sum the inequalities of all local steps, the omitted terms and (*).

    ``distance`` and ``controls`` are ||x - x*||^2 and mean ||q_i||^2; ``last`` and ``gained`` are sigma_K^2 and s.
    ``margin`` is p^(2K) minus both, which is not negative by (*). ``lost`` is the sum over local steps of the mean over
    clients of the terms that "one local step" omits.
    """
    rate = last + gained + margin
    return at_most(rate * distance + (last + gained) * controls - lost, rate=rate * (distance + controls))


ATTAINED = dict.fromkeys(("share", "factor", "q"), Fraction(1)) | dict.fromkeys(
    ("before", "z", "qz", "slack"), Fraction(0)
)


@sharp.step("one local step", evaluations=30, example=[ATTAINED])
def one_local_step(
    before: NotNegative,
    share: Share,
    factor: NotNegative,
    q: NotNegative,
    z: NotNegative,
    qz: Number,
    slack: NotNegative,
) -> Sides:
    """Check ||y - w||^2 <= ||y||^2 + sigma^2 ||q||^2 / (2b - 1), with w = (sigma q + z) / (2b - 1).

    ``factor`` is 1 / (2b - 1); q, z and qz are ||q||^2, ||z||^2 and <q, z>. ``slack`` is the slack of the
    interpolation inequality: <P, w> - b ||w||^2 for y = P - sigma q.
    """
    # -2 <P, w> + ||w||^2 = -(2b - 1) ||w||^2 - 2 slack, (2b - 1) ||w||^2 = factor ||sigma q + z||^2
    quadratic = factor * (share**2 * q + 2 * share * qz + z)
    after = before - quadratic + 2 * share * factor * (share * q + qz) - 2 * slack
    return at_most(after, before=before, gained=factor * share**2 * q)


AtLeastTwo = Annotated[Any, rationals(2, 4, 1, upwards=True)]


@sharp.step("(*)", evaluations=30)
def star(local_steps: AtLeastTwo, m: Share, smooth: Share, average: Share, used: Share) -> Sides:
    """The sum of sigma_n^2 / (2b - 1) is at most p^(2K) - sigma_K^2, for K >= 2 and eta L K in [m, 1].

    The average S_K / K is at most 1 - m / 4, because p^K = 1 - m S_K / K >= (1 - m / 2)^2. The sum of sigma_n^2 is at
    most (1 - 1/K) S_K. ``average`` and ``used`` are the actual values divided by these bounds.
    """
    pace, mean_power = m + (1 - m) * smooth, (1 - m / 4) * average
    squared_shares = (1 - 1 / local_steps) * local_steps * mean_power * used
    power, last = 1 - m * mean_power, 1 - mean_power
    gained = (pace - m) / (2 * local_steps - pace - m) * squared_shares
    return at_most(gained, allowed=power**2 - last**2)


@sharp.step("power of three")
def power_of_three(a: Annotated[Any, rationals(0, Fraction(1, 3), 9)]) -> Sides:
    """Check (1 - a)^3 >= (1 - 3a / 2)^2. For the second power, (1 - a)^2 >= (1 - a)^2 is an equality."""
    return at_least((1 - a) ** 3, square=(1 - 3 * a / 2) ** 2)


@sharp.step("power")
def power_by_two(count: NotNegative, a: Share) -> Sides:
    """Prove (1 - a)^j >= (1 - ja / 2)^2 for j + 2 from j, by comparing square roots."""
    return at_least((1 - count * a / 2) * (1 - a), root=1 - (count + 2) * a / 2)
