"""What a search for a rate returns: a rate of heavy ball, or that none was found."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from clusterproof.theory.rates.claims_file import ClaimsFile
from clusterproof.theory.rates.parameters import Parameters


@dataclass(frozen=True)
class NoRate:
    """Outcome of a search for a proof that found none; its truth value is false.

    Attributes
    ----------
    reason
        One sentence. It states that the method diverges only if it names the function.
    """

    reason: str

    def __bool__(self) -> bool:
        return False


@dataclass(frozen=True, kw_only=True)
class HeavyBallRate(ABC):
    """A convergence rate of the cluster dynamics that was proved in exact arithmetic.

    Attributes
    ----------
    parameters
        The dynamics.
    rate, prefactor
        r and C_0: |x_t - x*| <= C_0 r^t |x_0 - x*| for every t >= 0, where x_(-1) = x_0. They bound the distance, not
        its square.
    disturbance
        C_1, the effect of a unit disturbance of an iterate; None if the proof does not bound it.
    """

    parameters: Parameters
    rate: Fraction
    prefactor: Fraction
    disturbance: Fraction | None

    members: ClassVar[str]
    """The functions of which it is a rate, with the name phi."""
    of_disturbance: ClassVar[str]
    """The sentence about a disturbance, with its constant in braces."""

    @property
    @abstractmethod
    def claims_file(self) -> ClaimsFile:
        """The claims that are the rate together, and the records by which the kernel certifies them."""

    @property
    def is_norm(self) -> bool:
        """Whether the Lyapunov function is a squared norm, under which squares of independent disturbances add up."""
        return True

    @property
    def informative_from(self) -> int:
        """First round at which the bound is below the distance of the start."""
        excess = math.log(max(float(self.prefactor), 1.0))
        return math.floor(excess / -math.log(float(self.rate))) + 1

    @property
    def statement(self) -> str:
        """The sentence that is proved."""
        p = self.parameters
        text = (
            f"For every {self.members}, L = {p.condition_number} mu, in any dimension, and"
            f" x_(t+1) = x_t - ({p.largest}) / L * grad phi(x_t) + ({p.momentum}) * (x_t - x_(t-1))"
            f" from rest, x_(-1) = x_0: |x_t - x*| <= ({self.prefactor}) * ({self.rate})^t * |x_0 - x*|"
            f" for all t >= 0 (step_size * L = {p.step_size}, proportion {p.proportion})."
        )
        if self.disturbance is None:
            return text
        return f"{text} {self.of_disturbance.format(self.disturbance)}"
