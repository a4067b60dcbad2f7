"""The content of a certificate, and the sentence that it proves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from clusterproof.theory.certificates.lyapunov import Unknowns
from clusterproof.theory.certificates.parameters import Parameters


class FunctionClass(StrEnum):
    """The class of functions of a certificate."""

    QUADRATIC = "quadratic"
    """Quadratics with every eigenvalue of the Hessian in [mu, L]."""

    SMOOTH = "smooth"
    """L-smooth mu-strongly convex functions."""


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """A convergence rate and its proof, in rational numbers.

    Attributes
    ----------
    parameters
        The dynamics.
    function_class
        The functions.
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
    function_class: FunctionClass
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
            FunctionClass.QUADRATIC: "quadratic phi with all eigenvalues of its Hessian in [mu, L]",
            FunctionClass.SMOOTH: "L-smooth and mu-strongly convex phi",
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


@dataclass(frozen=True, kw_only=True)
class NoCertificate:
    """Outcome of ``certify`` if nothing was proved; its truth value is false.

    Attributes
    ----------
    reason
        One sentence. It states that the method diverges only if it names the function.
    """

    reason: str

    def __bool__(self) -> bool:
        return False
