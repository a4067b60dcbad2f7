"""One round of a federated algorithm, in fractions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from clusterproof.common import InvalidArgument
from clusterproof.theory.rates.parameters import MAX_DIGITS

MAX_LOCAL_STEPS = 16
"""Largest number of local steps for which a bound on a round can be checked."""


class Algorithm(StrEnum):
    """Algorithms with rounds for which bounds can be proved."""

    FEDAVG = "fedavg"
    FEDPROX = "fedprox"
    SCAFFOLD = "scaffold"
    PROXSKIP = "proxskip"


class ClientClass(StrEnum):
    """Classes of the clients' losses f_i, whose mean is f."""

    STRONG = "strong"
    """Every f_i is L-smooth and mu-strongly convex."""

    CONVEX = "convex"
    """Every f_i is L-smooth and convex, and f is mu-strongly convex.

    Proofs use the strong convexity only between x* and the model before the round.
    """


@dataclass(frozen=True, kw_only=True)
class Round:
    """One round of an algorithm, in fractions.

    Attributes
    ----------
    algorithm, client_class
        The algorithm, and the class of the clients' losses.
    smoothness, strong_convexity
        L and mu, with 0 <= mu < L.
    step_size
        eta, the size of a local step, or None for FedProx.
    local_steps
        K, the number of local steps. It is 1 for FedProx and ProxSkip. A round of ProxSkip is one iteration.
    server_step_size
        eta_g for FedAvg and SCAFFOLD, and 1 for other algorithms.
    sampling
        theta = (N - S) / (S (N - 1)) in [0, 1], for FedAvg and FedProx. It is 0 if all clients take part.
    proximal
        m of FedProx, where clients minimise f_i + m/2 |. - x|^2 exactly, or None for other algorithms.
    probability
        p of ProxSkip, or None for other algorithms.
    option
        Option of SCAFFOLD, "I" or "II", or None for other algorithms.
    """

    algorithm: Algorithm
    client_class: ClientClass = ClientClass.STRONG
    smoothness: Fraction
    strong_convexity: Fraction
    step_size: Fraction | None = None
    local_steps: int = 1
    server_step_size: Fraction = Fraction(1)
    sampling: Fraction = Fraction(0)
    proximal: Fraction | None = None
    probability: Fraction | None = None
    option: str | None = None

    def __post_init__(self) -> None:
        prox, skip = self.algorithm is Algorithm.FEDPROX, self.algorithm is Algorithm.PROXSKIP
        scaffold = self.algorithm is Algorithm.SCAFFOLD
        theta = "must be at least 0 and at most 1"
        rules = {
            "smoothness": (self.smoothness > 0, "must be greater than 0", "choose 1"),
            "strong_convexity": (
                self.strong_convexity >= 0
                and (self.strong_convexity < self.smoothness or self.smoothness <= 0),
                "must be at least 0 and below the smoothness",
                f"give mu < L, which is {self.smoothness}",
            ),
            "local_steps": (
                isinstance(self.local_steps, int) and self.local_steps >= 1,
                "must be a whole number, at least 1",
                "choose 1",
            ),
            "server_step_size": (self.server_step_size > 0, "must be greater than 0", "choose 1"),
            "sampling": (0 <= self.sampling <= 1, theta, "give (N - S) / (S (N - 1))"),
            "option": (self.option in ("I", "II"), "must be I or II", "choose II"),
            "client_class": (
                not (skip and self.client_class is ClientClass.CONVEX),
                "must be strong for ProxSkip, whose clients start a round at different points",
                "choose strong",
            ),
        }
        for name, needed in {"step_size": not prox, "proximal": prox, "probability": skip}.items():
            value = getattr(self, name)
            if needed:
                rules[name] = (
                    value is not None and value > 0,
                    "must be greater than 0",
                    "give a positive number",
                )
            else:
                rules[name] = (value is None, f"is not a parameter of {self.algorithm}", "leave it out")
        if skip and (self.probability or 0) > 1:
            rules["probability"] = (False, "must be at most 1", "choose 1/2")
        if not scaffold:
            rules["option"] = (self.option is None, f"is not a parameter of {self.algorithm}", "leave it out")
        if prox or skip:
            one = "must be 1 for this algorithm"
            rules["local_steps"] = (self.local_steps == 1, one, "leave it out")
            rules["server_step_size"] = (self.server_step_size == 1, one, "leave it out")
        if scaffold or skip:
            rules["sampling"] = (
                self.sampling == 0,
                "must be 0 for this algorithm",
                "let all clients take part",
            )
        for name, value in vars(self).items():
            if isinstance(value, Fraction) and max(abs(value.numerator), value.denominator) >= 10**MAX_DIGITS:
                rules[name] = (False, f"must have at most {MAX_DIGITS} digits", "round it")
        errors = [
            InvalidArgument(name, _shown(getattr(self, name)), rule, remedy)
            for name, (holds, rule, remedy) in rules.items()
            if not holds
        ]
        if errors:
            first = errors[0]
            raise InvalidArgument(first.argument, first.value, first.rule, first.remedy, errors[1:])

    @property
    def unit(self) -> Fraction:
        """The step size that is the unit of length: eta, or 1 / m for FedProx."""
        if self.proximal is not None:
            return 1 / self.proximal
        assert self.step_size is not None
        return self.step_size

    @property
    def controls(self) -> bool:
        """Whether the algorithm has control variates. If so, their error replaces zeta*^2."""
        return self.algorithm in (Algorithm.SCAFFOLD, Algorithm.PROXSKIP)


def _shown(value: object) -> object:
    """Write an exact number, or a name, as text."""
    return str(value) if isinstance(value, Fraction | StrEnum) else value
