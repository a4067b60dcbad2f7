"""What one round of a federated algorithm proves: the record of a certificate, and its check in exact arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.theory.certificates.rounds import (
    MAX_LOCAL_STEPS,
    Algorithm,
    Block,
    ClientClass,
    Round,
    Trajectory,
    interpolation,
    trajectory,
)
from clusterproof.theory.squares.exact import is_positive_semidefinite, rational

MEAN = "mean "
"""Begins the name of a multiplier of f between x* and the round's start; the others are of every client's f_i."""


@dataclass(frozen=True, kw_only=True)
class RoundCertificate:
    """A bound on one round and its proof, in rational numbers.

    With D^2 = |x - x*|^2 before and D+^2 after the round (ProxSkip: means over clients), and G the mean of
    |grad f_i(x*)|^2 (zeta*^2; SCAFFOLD: of |c_i - c - grad f_i(x*)|^2 before, G+ after the round; ProxSkip: of
    |h_i - grad f_i(x*)|^2)::

        E D+^2 + weight G+ <= rate D^2 + constant G

    Attributes
    ----------
    round
        The round.
    rate, constant
        rho and c.
    weight
        a >= 0, for SCAFFOLD and ProxSkip; otherwise 0. With constant = rate * weight this is a rate of
        D^2 + weight G.
    multipliers
        lambda_ab >= 0 by the names ``a,b`` of points: ``*`` is x*, 0 to K - 1 are those of the local gradients
        (FedProx: 0 is the proximal point, ``x`` the start). Absent ones are 0. In class convex, ``mean a,b`` is of f.
    """

    round: Round
    rate: Fraction
    constant: Fraction
    weight: Fraction = Fraction(0)
    multipliers: Mapping[str, Fraction]

    @property
    def statement(self) -> str:
        """The sentence that is proved."""
        r = self.round
        members = {
            ClientClass.STRONG: f"f_i that are L-smooth and mu-strongly convex, L = {r.smoothness},"
            f" mu = {r.strong_convexity}",
            ClientClass.CONVEX: f"f_i that are convex and L-smooth, L = {r.smoothness}, whose mean f is mu-strongly"
            f" convex, mu = {r.strong_convexity}",
        }[r.client_class]
        steps = f"{r.local_steps} local steps of size {r.step_size}"
        server = f"server step size {r.server_step_size}"
        sampling = f"sampling with (N - S) / (S (N - 1)) = {r.sampling}"
        rule, error = {
            Algorithm.FEDAVG: (f"FedAvg ({steps}, {server}, {sampling})", ""),
            Algorithm.FEDPROX: (f"FedProx with exact proximal steps, m = {r.proximal}, {sampling}", ""),
            Algorithm.SCAFFOLD: (
                f"SCAFFOLD, option {r.option} ({steps}, {server}, all clients)",
                "|c_i - c - grad f_i(x*)|^2",
            ),
            Algorithm.PROXSKIP: (
                f"ProxSkip (one iteration, step size {r.step_size}, probability {r.probability})",
                "|h_i - grad f_i(x*)|^2",
            ),
        }[r.algorithm]
        distance = "mean|x_i - x*|^2" if r.algorithm is Algorithm.PROXSKIP else "|x - x*|^2"
        before, after = (
            (f"mean{error}", f" + ({self.weight}) * G+") if error else ("mean|grad f_i(x*)|^2", "")
        )
        return (
            f"For every N >= 2 and all {members}, in any dimension, one round of {rule} gives"
            f" E D+^2{after} <= ({self.rate}) * D^2 + ({self.constant}) * G, where D^2 = {distance},"
            f" G = {before}, and + is after the round."
        )


def failing_condition(certificate: RoundCertificate) -> str | None:
    """Return the first condition that does not hold; None if the statement is proved."""
    return next(failing_conditions(certificate), None)


def failing_conditions(certificate: RoundCertificate) -> Iterator[str]:
    """Yield every condition that does not hold, in the order of the checks."""
    round_ = certificate.round
    unit = round_.unit**2
    if round_.local_steps > MAX_LOCAL_STEPS:
        yield f"the round has more than {MAX_LOCAL_STEPS} local steps"
        return
    if certificate.weight < 0 or (certificate.weight > 0 and not round_.controls):
        yield "the weight is negative, or the algorithm has no control variates"
        return
    proof = Proof(round_, weight=certificate.weight / unit)
    unknown = certificate.multipliers.keys() - set(proof.pairs)
    if unknown:
        yield f"a multiplier is of a pair of points that the round does not have: {min(unknown)}"
        return
    if any(multiplier < 0 for multiplier in certificate.multipliers.values()):
        yield "a multiplier is negative"
    if any(proof.imbalances(certificate.multipliers).values()):
        yield "the function values do not cancel"
    for name, matrix in proof.remainders(
        certificate.rate, certificate.constant / unit, certificate.multipliers
    ).items():
        if not is_positive_semidefinite(matrix):
            yield f"{name}: the remaining quadratic form is not positive semidefinite"


class Proof:
    """The linear conditions on the multipliers of a round.

    Parameters
    ----------
    round_
        The round.
    rounds
        Number of rounds of a run; None for a round between others.
    weight
        Weight of the controls' error after them, in units of the squared step.

    Attributes
    ----------
    trajectory
        The points.
    pairs
        The two points of each multiplier, by its name.
    """

    def __init__(self, round_: Round, rounds: int | None = None, weight: Fraction = Fraction(0)) -> None:
        self.round = round_
        self.trajectory: Trajectory = trajectory(round_, rounds, weight)
        places = {label: place for place, label in enumerate(self.trajectory.labels)}
        self.pairs = {f"{a},{b}": (i, j) for a, i in places.items() for b, j in places.items() if i != j}
        if round_.client_class is ClientClass.CONVEX:
            start = self.trajectory.start
            self.pairs |= {MEAN + name: self.pairs[name] for name in (f"*,{start}", f"{start},*")}

    def curvatures(self, name: str) -> tuple[Fraction, Fraction]:
        """Return L and mu of the inequality of a multiplier, in units of the step."""
        convex = self.round.client_class is ClientClass.CONVEX and not name.startswith(MEAN)
        strong = Fraction(0) if convex else self.round.strong_convexity
        return self.round.smoothness * self.round.unit, strong * self.round.unit

    def imbalances(self, multipliers: Mapping[str, Fraction]) -> dict[str, Fraction]:
        """Return by how much the multipliers of f_a - f_b exceed those of f_b - f_a at each point a."""
        surplus = [Fraction(0)] * len(self.trajectory.labels)
        for name, multiplier in multipliers.items():
            a, b = self.pairs[name]
            surplus[a] += multiplier
            surplus[b] -= multiplier
        return dict(zip(self.trajectory.labels, surplus, strict=True))

    def remainders(
        self, rate: Fraction, constant: Fraction, multipliers: Mapping[str, Fraction]
    ) -> dict[str, list[list[Any]]]:
        """Return rate D^2 + constant G - E D+^2 - weight G+ - sum of lambda_ab Q_ab in both blocks, exactly."""
        from flint import fmpq, fmpq_mat

        points = len(self.trajectory.labels)
        of_clients, of_mean = (np.full((2 * points, 2 * points), fmpq(0), dtype=object) for _ in range(2))
        matrices: dict[tuple[Fraction, Fraction], np.ndarray] = {}
        for name, multiplier in multipliers.items():
            at = self.curvatures(name)
            if at not in matrices:
                matrices[at] = np.vectorize(rational, otypes=[object])(interpolation(*at))
            a, b = self.pairs[name]
            rows = np.ix_(*2 * [[a, b, points + a, points + b]])
            table = of_mean if name.startswith(MEAN) else of_clients
            table[rows] += rational(multiplier) * matrices[at]

        def remainder(block: Block, pairs: np.ndarray) -> list[list[Any]]:
            squares = [(rate, block.start), (constant, block.disagreement)]
            squares += [(-share, vector) for share, vector in block.outcomes]
            size = 2 * points + len(squares)
            inner = np.full((size, size), fmpq(0), dtype=object)
            inner[: 2 * points, : 2 * points] = -pairs
            inner[range(2 * points, size), range(2 * points, size)] = [
                rational(share) for share, _ in squares
            ]
            vectors = [*block.positions, *block.gradients, *(vector for _, vector in squares)]
            outer = fmpq_mat([[rational(entry) for entry in vector] for vector in vectors])
            result: list[list[Any]] = (outer.transpose() * fmpq_mat(inner.tolist()) * outer).tolist()
            return result

        return {
            "means": remainder(self.trajectory.means, of_clients + of_mean),
            "deviations": remainder(self.trajectory.deviations, of_clients),
        }
