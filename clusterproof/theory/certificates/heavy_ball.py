"""A rate of heavy ball: the record of its certificate, the sentence that it proves, and its check."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from clusterproof.theory.certificates.lyapunov import GRADIENT_PART, System, Unknowns
from clusterproof.theory.certificates.parameters import Parameters
from clusterproof.theory.certificates.quadratic import constants_squared
from clusterproof.theory.squares.exact import is_positive_semidefinite, rational


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """A convergence rate and its proof, in rational numbers.

    Attributes
    ----------
    parameters
        The dynamics.
    function_class
        ``"quadratic"``: quadratics with every eigenvalue of the Hessian in [mu, L]; ``"smooth"``: L-smooth mu-strongly
        convex functions.
    rate, prefactor
        r and C_0: |x_t - x*| <= C_0 r^t |x_0 - x*| for every t >= 0, where x_(-1) = x_0. They bound the
        distance, not its square.
    disturbance
        C_1, the effect of a unit disturbance of an iterate; None if the proof does not bound it.
    proof
        The unknowns of the Lyapunov inequalities as fractions; None for quadratics, whose proof needs
        none.
    """

    parameters: Parameters
    function_class: Literal["quadratic", "smooth"]
    rate: Fraction
    prefactor: Fraction
    disturbance: Fraction | None
    proof: Unknowns | None

    @property
    def informative_from(self) -> int:
        """First round at which the bound is below the distance of the start."""
        excess = math.log(max(float(self.prefactor), 1.0))
        return math.floor(excess / -math.log(self.rate)) + 1

    @property
    def statement(self) -> str:
        """The sentence that is proved."""
        p = self.parameters
        members = {
            "quadratic": "quadratic phi with all eigenvalues of its Hessian in [mu, L]",
            "smooth": "L-smooth and mu-strongly convex phi",
        }[self.function_class]
        sentence = (
            f"For every {members}, L = {p.condition_number} mu, in any dimension, and"
            f" x_(t+1) = x_t - ({p.largest}) / L * grad phi(x_t) + ({p.momentum}) * (x_t - x_(t-1))"
            f" from rest, x_(-1) = x_0: |x_t - x*| <= ({self.prefactor}) * ({self.rate})^t * |x_0 - x*|"
            f" for all t >= 0 (step_size * L = {p.step_size}, proportion {p.proportion})."
        )
        if self.disturbance is None:
            return sentence
        return sentence + (
            " There is V >= |x_t - x*|^2, at most the square of that prefactor times |x_0 - x*|^2 from rest,"
            " with V(next) <= rate^2 V and sqrt(V) raised by at most"
            f" ({self.disturbance}) * |delta| when delta is added to x_t."
        )

    def failures(self) -> Iterator[str]:
        """Yield every condition that does not hold, in exact arithmetic and in the order of the checks."""
        if not 0 < self.rate < 1:
            yield "the rate is not in (0, 1)"
        if self.prefactor <= 0:
            yield "the prefactor is not positive"
        if self.disturbance is not None and self.disturbance <= 0:
            yield "the disturbance constant is not positive"
        if self.function_class == "quadratic":
            yield from self._quadratic_failures()
        elif self.proof is None:
            yield "the proof is missing"
        else:
            yield from self._smooth_failures(self.proof)

    def _quadratic_failures(self) -> Iterator[str]:
        if self.proof is not None or self.disturbance is None:
            yield "a certificate for quadratics has a disturbance constant and no multipliers"
            return
        constants = constants_squared(self.parameters, self.rate)
        if constants is None:
            yield "the rate is below the spectral radius at an end of the spectrum, or its prefactor is not finite"
            return
        if self.prefactor**2 < constants[0]:
            yield "the prefactor is below what is proved at this rate"
        if self.disturbance**2 < constants[1]:
            yield "the disturbance constant is below what is proved at this rate"

    def _smooth_failures(self, proof: Unknowns) -> Iterator[str]:
        if [len(part) for part in vars(proof).values()] != [*Unknowns.sizes().values()]:
            yield "the proof has another number of multipliers"
            return
        system, unknowns = System(*self.parameters.normalised, rational), proof.map(rational)
        for name in ("contraction", "positivity", "start"):
            if any(multiplier < 0 for multiplier in getattr(unknowns, name)):
                yield f"{name}: a multiplier is negative"
        for name, form in (
            ("contraction", system.contraction(unknowns, rational(self.rate**2))),
            ("positivity", system.positivity(unknowns)),
            ("start", system.start(unknowns, rational(self.prefactor**2))),
        ):
            if any(form.linear):
                yield f"{name}: the function values do not cancel"
            if not is_positive_semidefinite(form.matrix):
                yield f"{name}: the remaining quadratic form is not positive semidefinite"
        if self.disturbance is None:
            return
        if any(unknowns.matrix[k] for k in GRADIENT_PART):
            yield "disturbance: V has a gradient part"
        if any(value < 0 for value in unknowns.values):
            yield "disturbance: a weight of a function value is negative"
        if not is_positive_semidefinite(system.disturbance(unknowns)):
            yield "disturbance: P + diag(c) / (2 kappa) is not positive semidefinite"
        if self.disturbance**2 < proof.matrix[0] + proof.values[0] / 2:
            yield "disturbance: the constant is below sqrt(P_11 + c_0 / 2)"
