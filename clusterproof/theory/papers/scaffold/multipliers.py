"""Certificates of the sharp rounds of SCAFFOLD: multipliers in closed form, checked without slack."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from clusterproof.theory.certificates.certify_round import make_round
from clusterproof.theory.certificates.one_round import RoundCertificate, failing_condition
from clusterproof.theory.claims import Sides, choice, claim, equal
from clusterproof.theory.papers.scaffold.sharp_option_1 import weights

LOCAL_STEPS = (1, 2, 3, 4, 6, 8, 12, 16)
PACES = (Fraction(1), Fraction(1, 2), Fraction(1, 10))
"""eta L K."""
CONDITIONS = (Fraction(101, 100), Fraction(2), Fraction(10), Fraction(100))
"""L / mu."""


def closed_form(local_steps: int, pace: Fraction, condition: Fraction, option: str) -> RoundCertificate:
    """Return the certificate of (1 - eta mu)^(2K), with the multipliers of the proof."""
    step = pace / local_steps
    numbers = {"smoothness": 1, "strong_convexity": 1 / condition, "step_size": step}
    round_ = make_round("scaffold", client_class="strong", local_steps=local_steps, option=option, **numbers)
    p, count = 1 - step / condition, local_steps
    if option == "II":
        to = {f"{k},*": 2 * p ** (2 * (count - k) - 1) for k in range(count)}
        pairs = to | {f"*,{k}": to[f"{k},*"] for k in range(count)}
    else:
        pairs = {}
        for k in range(count):
            n, names = count - 1 - k, (f"*,{k}", f"{k},*", f"{k + 1},{k}")
            every = zip(names, weights(min(k, 1), n, p, p**k), strict=True)
            pairs |= {name: p ** (2 * n + 1) * weight for name, weight in every if weight}
    rate, weight = p ** (2 * count), pace**2 / (1 if option == "II" else 3)
    return RoundCertificate(round=round_, rate=rate, constant=rate * weight, weight=weight, multipliers=pairs)


@claim("scaffold/multipliers", label="Certificates of one round", judges="ours", quick=False)
def certificates(
    local_steps: Annotated[int, choice(*LOCAL_STEPS)],
    pace: Annotated[Fraction, choice(*PACES)],
    condition: Annotated[Fraction, choice(*CONDITIONS)],
    option: Annotated[str, choice("I", "II")],
) -> Sides:
    """The multipliers of the proofs certify (1 - eta mu)^(2K) exactly, for K up to 16.

    Statement
        Psi+ <= (1 - eta mu)^(2K) Psi with Psi = ||x - x*||^2 + a mean ||c_i - c - g_i*||^2, for K in {1, 2, 3, 4, 6, 8,
        12, 16}, eta L K in {1, 1/2, 1/10}, L / mu in {1.01, 2, 10, 100}, any number of clients in any dimension:
        SCAFFOLD II with a = (K eta)^2, and SCAFFOLD I with a = (K eta)^2 / 3.

    Source
        Ours: the multipliers of ``scaffold/sharp`` and ``scaffold/sharp-option-1``. Upper bounds, attained.
    """
    failing = failing_condition(closed_form(local_steps, pace, condition, option))
    return equal((failing is not None, False), words=f"not proved: {failing}")
