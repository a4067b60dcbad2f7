"""Results of a search: a rate of heavy ball with claims for the kernel, or the reason why no rate was found."""

from __future__ import annotations

import math
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

from clusterproof.checker import kernel
from clusterproof.checker.claims.claim import REGISTRY, Claim, find_claim
from clusterproof.checker.claims.kind import Kind
from clusterproof.checker.freeze import freeze
from clusterproof.checker.freeze.load import load_claims
from clusterproof.checker.report.judged import judged
from clusterproof.checker.report.verdict import Line, Verdict, main_of, version
from clusterproof.theory.rates.parameters import Parameters
from clusterproof.user_files import file_of

NAME = "rate"
"""Name of the file with claims, and part of the claims' ids before the slash."""


@dataclass(frozen=True)
class ClaimsFile:
    """Claims that state a rate in the kernel's language, and evidence for these claims.

    Attributes
    ----------
    source
        Text of the Python file that states the claims, ``rate/...``.
    evidence
        One record of evidence per line, with the id of the claim under the key ``claim``.
    """

    source: str
    evidence: list[dict[str, Any]]

    def verdicts(self) -> list[Verdict]:
        """Return the kernel's verdict on every claim.

        The verdict is *certified* if the kernel accepts the evidence for all lines.
        """
        with stated(self.source) as claims:
            return [self._verdict(claim) for claim in claims]

    def _verdict(self, claim: Claim[..., Any]) -> Verdict:
        own = [each for each in self.evidence if each["claim"] == claim.id]
        # for a user's file, the kernel's caller compares text and functions; here we wrote both
        text = freeze(claim, {"": tuple(each["line"] for each in own)}, compared=False).text or ""
        lines = [
            Line(
                name=kernel.printed(record["statement"], record["line"]),
                verdict=Kind.CERTIFIED,  # ``judged`` changes this if the kernel disagrees
                reason="proved by the numbers that were found with the rate",
                exhausted=True,
                proof=record["rule"],
                evidence={name: value for name, value in record.items() if name != "claim"},
            )
            for record in own
        ]
        return judged(
            Verdict(
                **vars(main_of(lines)),
                claim=claim.id,
                paper=claim.paper,
                label=claim.label,
                seed=0,
                lines=tuple(lines),
                version=version(),
                text=text,
            )
        )


@contextmanager
def stated(source: str) -> Iterator[list[Claim[..., Any]]]:
    """Yield the claims of a source text, which are registered only inside the ``with`` block."""
    before = dict(REGISTRY)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{NAME}.py"
        path.write_text(source, encoding="utf-8")
        try:
            for name in [name for name, claim in before.items() if file_of(claim.module) is not None]:
                del REGISTRY[name]
            yield [find_claim(name) for name in load_claims(path)]
        finally:
            REGISTRY.clear()
            REGISTRY.update(before)


@dataclass(frozen=True)
class NoRate:
    """The result of a search that found no proof. Its truth value is false.

    Attributes
    ----------
    reason
        One sentence. The method is known to diverge only if the sentence names a function on which it diverges.
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
        r and C_0: |x_t - x*| <= C_0 r^t |x_0 - x*| for every t >= 0, where x_(-1) = x_0. The bound is on the distance,
        not on the squared distance.
    disturbance
        C_1, a bound on the effect of a unit disturbance of one iterate, or None if the proof does not bound this
        effect.
    """

    parameters: Parameters
    rate: Fraction
    prefactor: Fraction
    disturbance: Fraction | None

    members: ClassVar[str]
    """Description of the functions phi to which the rate applies."""
    of_disturbance: ClassVar[str]
    """A sentence about the effect of a disturbance, in which braces replace the constant."""

    @property
    @abstractmethod
    def claims_file(self) -> ClaimsFile:
        """The claims that together state the rate, and their evidence for the kernel."""

    @property
    def is_norm(self) -> bool:
        """Whether the Lyapunov function is a squared norm. The squares of independent disturbances then add up."""
        return True

    @property
    def informative_from(self) -> int:
        """The first round in which the bound is below the initial distance."""
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
