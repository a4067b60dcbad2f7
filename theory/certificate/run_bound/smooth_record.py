"""What a certificate of Theorem A' on a run holds, in rational numbers, and the sentence it proves."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from clusterproof.theory.certificate.record import Certificate
from clusterproof.theory.certificate.run_bound.record import Row

LAWS = ("additive", "bounded")
"""How a row's gradient is random: a Gaussian tilt, or a loss with bounded slope."""


@dataclass(frozen=True, kw_only=True)
class SmoothDynamics:
    """The run that the certificate speaks of.

    Attributes
    ----------
    own
        l_p m, clients of each cluster.
    dimension, samples, rounds
        d, n' and T.
    step_size, momentum
        eta and beta.
    smoothness, strong_convexity
        L and mu of the clusters' expected losses.
    separation, diameter
        Delta and D; both 0 for one cluster, which has nothing to be confused with.
    law
        ``"additive"``: a row adds y . chi to the loss, y ~ N(0, size I / d). ``"bounded"``: but for a part that is not
        random, a row's loss changes by at most sqrt(size) times the distance.
    size
        nu^2 or X^2.
    start
        ||e_0|| of each cluster.
    """

    own: tuple[int, ...]
    dimension: int
    samples: int
    rounds: int
    step_size: Fraction
    momentum: Fraction
    smoothness: Fraction
    strong_convexity: Fraction
    separation: Fraction
    diameter: Fraction
    law: str
    size: Fraction
    start: Row

    @property
    def clusters(self) -> int:
        """P."""
        return len(self.own)

    @property
    def clients(self) -> int:
        """m."""
        return sum(self.own)

    @property
    def proxy(self) -> Fraction:
        """v with log E exp<a, g - E g> <= v ||a||^2 / 2 for one row: nu^2 / d, or X^2 by Hoeffding's lemma."""
        return self.size / self.dimension if self.law == "additive" else self.size


@dataclass(frozen=True, kw_only=True)
class SmoothUse:
    """One use of the tail, for one cluster.

    Attributes
    ----------
    x
        That of Y_t; 0 at the start, where there is no noise.
    reach
        y_t.
    """

    x: Fraction
    reach: Fraction


@dataclass(frozen=True, kw_only=True)
class SmoothRunCertificate:
    """A bound on a run's errors on smooth losses, and its proof.

    Attributes
    ----------
    dynamics
        The run.
    failure
        delta_2 and delta_3.
    contractions
        The Lyapunov function of each cluster, a certificate by itself.
    misclassification
        pi of each round.
    uses
        For every round from the start on, then every cluster.
    last
        For every cluster: after the last round alone.
    misassignment
        Bound on the probability that any client is misassigned in any round.
    total
        The failure probability of everything that is stated.
    """

    dynamics: SmoothDynamics
    failure: tuple[Fraction, Fraction]
    contractions: tuple[Certificate, ...]
    misclassification: Row
    uses: tuple[tuple[SmoothUse, ...], ...]
    last: tuple[SmoothUse, ...]
    misassignment: Fraction
    total: Fraction

    @property
    def statement(self) -> str:
        """The sentence that is proved."""
        one = self.dynamics
        noise = {
            "additive": f"rows that add y . chi to the loss, y ~ N(0, I) times sqrt({one.size} / {one.dimension})",
            "bounded": f"rows whose loss changes by at most sqrt({one.size}) times the distance, but for a fixed part",
        }[one.law]
        ends = ", ".join(f"{float(use.reach):.6g}" for use in self.last)
        return (
            f"If the {one.clusters} clusters' expected losses are {one.smoothness}-smooth and"
            f" {one.strong_convexity}-strongly convex, their optima at least {one.separation} and at most"
            f" {one.diameter} apart, and {noise} are drawn afresh in every round, independent ones for choosing a"
            f" cluster and for the gradient, then gradient descent with server momentum {one.momentum}, step size"
            f" {one.step_size} and {one.samples} rows a client, in which all {one.clients} clients take part and sums"
            f" are divided by their number, started within the stated distances, stays in all {one.rounds} rounds"
            f" within the stated bounds of its optima, except with probability at most {self.total}. After the last"
            f" round the errors are at most {ends}. That losses and rows are such, fresh and independent, is about the"
            f" world and cannot be checked here."
        )
