"""(A18)-(A22): the momentum T_3 of a round, and what the clients' buffers hold."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.claims import Sides, choice, claim, equal, integers, rationals, suppose
from clusterproof.theory.exact.algebra import Client, Number, Positive, Share, fraction
from clusterproof.theory.exact.placed import Draws, placed
from clusterproof.theory.exact.prescribed_samples import Rounds, Table, confirm_play, play
from clusterproof.theory.exact.two_clusters import NoiseFreeRun, carried, confirm_path
from clusterproof.theory.papers.cfl_mgd.appendix.runs import (
    Momentum,
    MomentumRun,
    NoisyStart,
    Start,
    momentum_run,
)
from clusterproof.theory.papers.cfl_mgd.appendix.tasks import basin_models, noisy_regression, with_samples

LABELS = (0, 0, 1, 1)
"""True clusters of the four clients of the prescribed runs."""


def quiet_regression(stream: np.random.Generator) -> RegressionMixture:
    """Draw a regression with so many rows that clients seldom err."""
    return with_samples(noisy_regression(stream), 400)


QuietStart = Annotated[Start, placed(RegressionMixture, quiet_regression, basin_models)]


@claim("cfl-mgd/a18", label="(A18)", ill_posed=False, evaluations=50)
def a18(start: NoisyStart, momentum: Momentum, draws: Draws) -> Sides:
    """The momentum of a round is that of the own clients plus that of the false members.

    Hypotheses
        Option I as printed.

    Statement
        T_3 = (beta eta / m) sum_(C_1) u_i^t = T_31 + T_32, over C_1 n C*_1 and over C_1 - C*_1, and
        chi_1^(t+1) = chi_1^t - (eta/m) sum_(C_1) g_i^t - T_3.

    Symbols
        u_i^t the buffer that client i holds before round t, after line 15.

    Source
        Zhao et al. (2023), (A18) = (37), with the first line of (32). Definition.
    """
    one = momentum_run(start, momentum, draws)
    share = momentum * one.weight
    own, foreign = (share * one.sum_over(one.buffers, own=own) for own in (True, False))
    members = (one.seen.assignments == 0)[..., None]
    return equal((share * (one.buffers * members).sum(axis=-2), own + foreign), rounding=1e-10)


def buffers_of_members(start: Start, momentum: float, draws: int) -> list[list[dict[str, Any]]]:
    """Return the numbers of each client in C_1."""
    one = momentum_run(start, momentum, draws)
    is_own = np.multiply(start.task.labels == 0, 1)[:, None]
    return Client.each(momentum * one.weight * one.buffers, one.seen.assignments == 0, is_own=is_own)


@a18.proof("algebra", at=buffers_of_members)
def a18_on_symbols(one: Client, is_own: Share) -> Sides:
    """The term of each client, in each coordinate."""
    return one.of_parts(is_own)


@a18.step("next model", evaluations=50, needed=False)
def a18_next_model(start: NoisyStart, momentum: Momentum, draws: Draws) -> Sides:
    """The algorithm's next model is the present one less its gradients' and the momentum's terms."""
    one = momentum_run(start, momentum, draws)
    gradients = one.sum_over(one.gradients, own=True) + one.sum_over(one.gradients, own=False)
    own = momentum * one.weight * one.sum_over(one.buffers, own=True)
    foreign = momentum * one.weight * one.sum_over(one.buffers, own=False)
    return equal((one.models - one.weight * gradients - (own + foreign), one.following), rounding=1e-10)


@dataclass(frozen=True)
class PrescribedRun:
    """Four clients whose samples are prescribed, seen in round ``round``.

    Cluster 1 has clients 0 and 1, cluster 2 clients 2 and 3, chi* = +-1. Gradient batches of clients 0
    and 1 are 1 +- spread, those of 2 and 3 are -1. Client 3 chooses on the outlier +1 in the rounds
    whose bits ``outliers`` has, on -1 otherwise; the other clients choose on their cluster's mean.
    """

    round: Annotated[int, integers(1, 3)]
    outliers: Annotated[int, integers(0, 15)]
    spread: Annotated[Fraction, choice(Fraction(0), Fraction(1, 10), Fraction(1, 4))]
    momentum: Annotated[Fraction, rationals(Fraction(1, 10), Fraction(9, 10), 10)]
    start: Annotated[Fraction, choice(Fraction(0), Fraction(1, 2), Fraction(1, 4))]

    @property
    def samples(self) -> tuple[Table, Table, list[Fraction], Fraction]:
        """Choice and gradient batches of the rounds 0 .. t, first models and momentum."""
        ordinary = [Fraction(1), Fraction(1), Fraction(-1), Fraction(-1)]
        outlying = [*ordinary[:3], Fraction(1)]
        rounds = range(self.round + 1)
        chosen_on = [outlying if self.outliers >> t & 1 else ordinary for t in rounds]
        descended_on = [[1 + self.spread, 1 - self.spread, Fraction(-1), Fraction(-1)] for _ in rounds]
        return chosen_on, descended_on, [1 - self.start, -1 + self.start], self.momentum

    @cached_property
    def rounds(self) -> Rounds:
        """What option I as printed does on them."""
        return play(*self.samples)

    @property
    def buffers(self) -> list[Fraction]:
        """u_i^t."""
        return self.rounds.buffers[self.round]

    @property
    def past_gradients(self) -> list[Fraction]:
        """The right side of (A19) for each client."""
        past = zip(*self.rounds.gradients[: self.round], strict=True)
        return [carried(drawn, self.momentum) for drawn in past]

    def momentum_of(self, values: list[Fraction], *, own: bool) -> Fraction:
        """(beta eta / m) times the sum of values over C_1 n C*_1, or over the false members C_1 - C*_1."""
        members = zip(values, self.rounds.assignments[self.round], LABELS, strict=True)
        chosen = [value for value, cluster, label in members if cluster == 0 and (label == 0) == own]
        return self.momentum * sum(chosen, Fraction(0)) / len(LABELS)


def confirm_samples(one: PrescribedRun) -> None:
    """Run the very algorithm on the samples."""
    confirm_play(*one.samples)


@claim("cfl-mgd/a19", label="(A19)", confirm=confirm_samples, repaired_by="cfl-mgd/a19-sums")
def a19(one: PrescribedRun) -> Sides:
    """A client's buffer holds its own past gradients.

    Hypotheses
        Option I as printed, u_i^0 = 0.

    Statement
        u_i^t = sum_(k < t) beta^(t-1-k) g_i^k for all t >= 1.

    Symbols
        u_i^t the buffer that enters round t, after line 15.

    Source
        Zhao et al. (2023), (A19). Identity; line 15 replaces u_i by its cluster's mean u_p.
    """
    suppose("nobody is in a wrong cluster", one.outliers == 0)
    return equal(*zip(one.buffers, one.past_gradients, strict=True))


@claim("cfl-mgd/a20", label="(A20)", confirm=confirm_samples, repaired_by="cfl-mgd/a19-sums")
def a20(one: PrescribedRun) -> Sides:
    """The own clients' momentum is the sum of their own past gradients.

    Hypotheses
        Option I as printed.

    Statement
        T_31 = (eta beta / m) sum over C_1 n C*_1 of sum_(k < t) beta^(t-1-k) g_i^k.

    Symbols
        C_1 the clients that chose model 1 in round t.

    Source
        Zhao et al. (2023), (A20), by (A19). Identity; fails after a round with a false member, whose
        gradient line 15 has mixed in.
    """
    suppose("gradients without noise", one.spread == 0)
    return equal((one.momentum_of(one.buffers, own=True), one.momentum_of(one.past_gradients, own=True)))


@claim("cfl-mgd/a21", label="(A21)", confirm=confirm_samples, repaired_by="cfl-mgd/a19-sums")
def a21(one: PrescribedRun) -> Sides:
    """The false members' momentum is the sum of their own past gradients.

    Hypotheses
        Option I as printed.

    Statement
        T_32 = (eta beta / m) sum over C_1 - C*_1 of sum_(k < t) beta^(t-1-k) g_i^k.

    Symbols
        C_1 - C*_1 the false members in round t.

    Source
        Zhao et al. (2023), (A21), by (A19). Identity; fails for a false member that was one before.
    """
    suppose("gradients without noise", one.spread == 0)
    return equal((one.momentum_of(one.buffers, own=False), one.momentum_of(one.past_gradients, own=False)))


@claim("cfl-mgd/a19-sums", label="(A19)-(A21), meant", judges="ours", evaluations=50)
def a19_sums(start: QuietStart, momentum: Momentum, draws: Draws) -> Sides:
    """Over a cluster whose members never changed, the buffers sum to the past gradients.

    Hypotheses
        Option I as printed, C_1^0 = ... = C_1^t.

    Statement
        sum_(C_1) u_i^t = sum_(C_1) sum_(k < t) beta^(t-1-k) g_i^k, so that
        T_3 = (eta beta / m) sum_(C_1) sum_(k < t) beta^(t-1-k) g_i^k = beta (chi_1^(t-1) - chi_1^t).

    Symbols
        As (A18).

    Source
        What remains of (A19)-(A21) of Zhao et al. (2023) under line 15, which keeps sums. Identity.
    """
    one = momentum_run(start, momentum, draws)
    members, kept = unchanged_members(one)
    share = momentum * one.weight
    carried = share * (one.buffers * members[..., None]).sum(axis=1)
    past = share * (one.past_gradients * members[..., None]).sum(axis=1)
    displaced = momentum * -np.diff(one.seen.models[:, 0], axis=0, prepend=0)[:-1]
    return equal((carried[kept], past[kept]), (carried[kept], displaced[kept]), rounding=1e-10)


def unchanged_members(one: MomentumRun) -> tuple[np.ndarray, np.ndarray]:
    """Members of cluster 1 (rounds, m), and the rounds t >= 1 up to which they are the same."""
    members = one.seen.assignments == 0
    kept = np.logical_and.accumulate((members == members[0]).all(axis=-1))
    kept[0] = False
    suppose("C_1^0 = ... = C_1^t for some t >= 1", kept.any())
    return members, kept


@dataclass(frozen=True)
class FewRounds:
    """Cluster 1 with members that stay up to round t, in one coordinate.

    Attributes
    ----------
    round
        t.
    momentum, weight, count
        beta, eta / m and |C_1|.
    model
        chi_1^(t-1).
    first, second, third, fourth
        Sums over the members of the gradients in rounds 0, 1, 2 and 3.
    """

    round: Annotated[int, choice(1, 2, 3, 4)]
    momentum: Number
    weight: Number
    count: Positive
    model: Number
    first: Number
    second: Number
    third: Number
    fourth: Number


def few_rounds(start: Start, momentum: float, draws: int) -> list[dict[str, Any]]:
    """Return the numbers of each coordinate, up to each round."""
    one = momentum_run(start, momentum, draws)
    members, kept = unchanged_members(one)
    gradients = (one.gradients * members[..., None]).sum(axis=1)
    numbers = momentum, one.weight, members[0].sum()
    return [
        {"one": FewRounds(t, *map(fraction, (*numbers, one.models[t - 1, j], *gradients[:4, j])))}
        for t in np.flatnonzero(kept).tolist()
        for j in range(start.task.dimension)
    ]


@a19_sums.proof("algebra", at=few_rounds)
def a19_sums_on_symbols(one: FewRounds) -> Sides:
    """Line 15 gives every member the mean of beta u_i + g_i over the members, which moves the model, up to t = 4."""
    gradients = (one.first, one.second, one.third, one.fourth)[: one.round]
    buffers = 0 * one.model
    for gradient in gradients:
        buffers = one.count * ((one.momentum * buffers + gradient) / one.count)
    past = sum(
        (one.momentum ** (one.round - 1 - k) * gradient for k, gradient in enumerate(gradients)),
        0 * one.model,
    )
    following = one.model - one.weight * buffers
    share = one.momentum * one.weight
    moved = one.momentum * (one.model - following)
    return equal((share * buffers, share * past), (share * buffers, moved))


@claim("cfl-mgd/a22", label="(A22)", evaluations=50)
def a22(start: NoisyStart, momentum: Momentum, draws: Draws) -> Sides:
    """The weighted sum of past gradients is its distance from the present gradient, plus that gradient.

    Hypotheses
        None: algebra.

    Statement
        (eta beta / m) sum over C_1 n C*_1 of S_i = (eta beta / m) sum over C_1 n C*_1 of (S_i - grad
        phi^1(chi_1)) + (eta beta / m) |C_1 n C*_1| grad phi^1(chi_1), S_i = sum_(k < t) beta^(t-1-k) g_i^k.

    Symbols
        As (A20).

    Source
        Zhao et al. (2023), (A22), second line. Identity. (A23)-(A25) repeat it without the
        parentheses: ``cfl-mgd/a22-parentheses``.
    """
    one = momentum_run(start, momentum, draws)
    weight, gradient = momentum * one.weight, start.task.expected_gradient(one.models, 0)
    left = weight * one.sum_over(one.past_gradients, own=True)
    apart = one.sum_over(one.past_gradients - gradient[:, None], own=True)
    count = one.shared(0).sum(axis=-1)[:, None]
    return equal((left, weight * apart + weight * count * gradient), rounding=1e-10)


def past_of_own_clients(start: Start, momentum: float, draws: int) -> list[list[dict[str, Any]]]:
    """Return the numbers of each own client in C_1."""
    one = momentum_run(start, momentum, draws)
    weight, gradient = momentum * one.weight, start.task.expected_gradient(one.models, 0)
    return Client.each(weight * one.past_gradients, one.shared(0), mean=weight * gradient[:, None])


@a22.proof("algebra", at=past_of_own_clients)
def a22_on_symbols(one: Client, mean: Number) -> Sides:
    """The term of each client, in each coordinate."""
    return one.of_deviations(mean)


@claim(
    "cfl-mgd/a22-parentheses",
    label="(A22) in (A23)",
    failure="misprint",
    confirm=confirm_path,
    repaired_by="cfl-mgd/a22",
)
def a22_parentheses(noise_free: NoiseFreeRun) -> Sides:
    """(A22) holds with the difference as (A23)-(A25) print it, without parentheses.

    Hypotheses
        None: algebra.

    Statement
        T_31 = (eta beta / m) [sum over C_1 n C*_1 of S_i - grad phi^1(chi_1)] + (eta beta / m)
        |C_1 n C*_1| grad phi^1(chi_1), the first gradient outside of the sum.

    Symbols
        As (A22).

    Source
        Zhao et al. (2023), (A23)-(A25) and (A29)-(A31), which drop the parentheses of (A22) and (A28).
        Meant is (A22).
    """
    present, weight = noise_free.path[noise_free.round], noise_free.momentum / noise_free.clients
    left = weight * noise_free.own * noise_free.buffer
    right = weight * ((noise_free.own * noise_free.buffer - present) + noise_free.own * present)
    return equal((left, right))
