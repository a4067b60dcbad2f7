"""A rate of heavy ball on smooth strongly convex functions, with claims and proofs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from clusterproof.checker.search.duals import proof_of
from clusterproof.checker.search.paths import Path, sum_of
from clusterproof.theory.rates.energy import DISTURBED, LINES, Line, Numbers, conditions_of, traced
from clusterproof.theory.rates.lyapunov_search import MORE, least_prefactor_squared
from clusterproof.theory.rates.outcome import ClaimsFile, HeavyBallRate
from clusterproof.theory.rates.parameters import Parameters, root_above

PREFACTOR_DIGITS = 6
MOVED = Fraction(10**5 + 1, 10**5)
"""Factor for the disturbance constant, whose inequality would be tight. The factor is a margin for proofs."""

SOURCE = '''"""{statement}"""

from fractions import Fraction

from clusterproof.theorem import Function, Sides, at_most, claim, functions
from clusterproof.theory.rates.energy import {names}

LOSSES = functions(smoothness=1, strong_convexity={strong_convexity!r})
NUMBERS = {numbers!r}
'''
CLAIM = '''

@claim("rate/{id}")
def {name}_holds(f: Function = LOSSES) -> Sides:
    """{doc}"""
    measured, allowed = {name}(f, NUMBERS)
    return at_most(measured, allowed)
'''


@dataclass(frozen=True, kw_only=True)
class SmoothRate(HeavyBallRate):
    """A rate on L-smooth mu-strongly convex functions.

    Attributes
    ----------
    matrix, weights
        Entries of P on and above the diagonal, and c_0, c_1, as in ``energy``.
    multipliers
        Multipliers of the conditions of the class, indexed by the name of the line, in the format of the kernel.
    """

    matrix: tuple[Fraction, ...]
    weights: tuple[Fraction, ...]
    multipliers: dict[str, dict[str, str]] = field(default_factory=dict, repr=False)

    members = "L-smooth and mu-strongly convex phi"
    of_disturbance = (
        "There is V >= |x_t - x*|^2, at most the square of that prefactor times |x_0 - x*|^2 from rest, with"
        " V(next) <= rate^2 V and sqrt(V) raised by at most ({}) * |delta| when delta is added to x_t."
    )

    @property
    def is_norm(self) -> bool:
        """Whether the Lyapunov function contains no function values (c_0 = c_1 = 0)."""
        return not any(self.weights)

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines that together state the rate."""
        return LINES if self.disturbance is None else (*LINES, *DISTURBED)

    @property
    def numbers(self) -> Numbers:
        """Values of the quantities in the lines."""
        momentum, _, step = self.parameters.normalised
        return Numbers(step, momentum, self.rate, self.prefactor, self.matrix, self.weights, self.disturbance)

    @property
    def claims_file(self) -> ClaimsFile:
        """One claim per line, and the multipliers in the format of the kernel."""
        source = SOURCE.format(
            statement=self.statement,
            strong_convexity=self.parameters.normalised[1],
            names=", ".join([Numbers.__name__, *(line.__name__ for line in self.lines)]),
            numbers=self.numbers,
        )
        evidence = []
        for line in self.lines:
            name = line.__name__.replace("_", "-")
            source += CLAIM.format(id=name, name=line.__name__, doc=line.__doc__)
            paths = [[{"multipliers": self.multipliers[line.__name__]}]]
            record = {"claim": f"rate/{name}", "statement": "", "line": "", "rule": "dual"}
            evidence.append({**record, "settings": [{"setting": {}, "paths": paths}]})
        return ClaimsFile(source, evidence)


def proved(
    parameters: Parameters,
    rate: Fraction,
    matrix: Sequence[Fraction],
    weights: Sequence[Fraction],
    *,
    disturbance: bool,
) -> SmoothRate | None:
    """Prove a rate with a Lyapunov function, in exact arithmetic, or return None if the proof fails."""
    least = least_prefactor_squared(parameters, matrix, weights)
    if least is None:
        return None
    found = SmoothRate(
        parameters=parameters,
        rate=rate,
        prefactor=root_above(least * MORE, PREFACTOR_DIGITS),
        disturbance=root_above((matrix[0] + weights[0] / 2) * MOVED, PREFACTOR_DIGITS)
        if disturbance
        else None,
        matrix=tuple(matrix),
        weights=tuple(weights),
    )
    multipliers = {}
    for line in found.lines:
        trace, (measured, allowed) = traced(parameters, line, found.numbers)
        slack = sum_of([(1, allowed.terms), (-1, measured.terms)])
        proof = proof_of(Path(trace, (slack,), None, conditions_of(parameters, line), {}, ()))
        if proof is None:
            return None
        multipliers[line.__name__] = proof["multipliers"]
    return replace(found, multipliers=multipliers)
