"""Claims on (A1)-(A9): the parts T_1 and T_2 of a round, and the contraction by correctly assigned clients."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

from clusterproof.checker.claims import (
    Excluded,
    Q,
    Sides,
    Z,
    among,
    at_least,
    at_most,
    claim,
    equal,
    given,
    iterate,
    sequences,
    suppose,
)
from clusterproof.checker.claims.ranges import integers
from clusterproof.theory.exact.one_point import square_after
from clusterproof.theory.exact.prescribed_samples import Rounds, Table, play
from clusterproof.theory.exact.scalar_clusters import carried

ANY, SHARE, KAPPA = Q[::2], Q[0:1:4], Q[1::2]
"""Range of numbers: a claim that is linear in vectors holds if it holds for each coordinate."""
CLIENTS: Any = integers(1, 6, upwards=True)
OF_CLIENTS: Any = sequences(ANY, lambda clients: clients)


@dataclass(frozen=True)
class ScalarRun:
    """A run of printed option I with phi^1 = (chi - 1)^2 / 2, phi^2 = (chi + 1)^2 / 2 and eta = 1 / L = 1.

    Attributes
    ----------
    clients, own
        Number m of clients, and number of clients of cluster 1; these clients come first.
    momentum
        Momentum beta.
    start
        Distance between each initial model and its optimum. The models are displaced towards each other.
    round
        The round t.
    outliers
        Bit mask of rounds. In these rounds the last client, from cluster 2, chooses a model with the outlying sample
        +1. In all other cases, clients choose with the mean of their cluster.
    spread
        Gradient batches of the clients of cluster 1 are 1 + spread, 1 - spread, 1 + spread, ...; all other batches are
        -1.
    """

    clients: Annotated[int, Z[2:16]]
    own: Annotated[int, Z[1 : lambda clients: clients - 1]]
    momentum: Annotated[Fraction, Q[Fraction(1, 10) : Fraction(9, 10) : 10]]
    start: Annotated[Fraction, among(*(Fraction(k, 20) for k in (0, 10, 5, 2)))]
    round: Annotated[int, Z[1:6]]
    outliers: Annotated[int, Z[0 : lambda round: 2 ** (round + 1) - 1]]  # noqa: A006, ARG005 - named as the field
    spread: Annotated[Fraction, among(*(Fraction(k, 20) for k in (0, 2, 5)))]

    @property
    def samples(self) -> tuple[Table, Table, list[Fraction], Fraction]:
        """Return batches for choices and gradients in rounds 0 .. t, the initial models, and the momentum."""
        others = [Fraction(-1)] * (self.clients - self.own)
        ordinary = [Fraction(1)] * self.own + others
        rounds = range(self.round + 1)
        chosen_on = [[*ordinary[:-1], Fraction(1)] if self.outliers >> k & 1 else ordinary for k in rounds]
        drawn_on = [1 + (-1) ** i * self.spread for i in range(self.own)] + others
        return chosen_on, [drawn_on for _ in rounds], [1 - self.start, -1 + self.start], self.momentum

    @property
    def rounds(self) -> Rounds:
        """The run of the algorithm on these batches."""
        return play(*self.samples)

    @property
    def weight(self) -> Fraction:
        """Weight beta eta / m of past gradients in the momentum."""
        return self.momentum / self.clients

    @property
    def members(self) -> list[int]:
        """Clients that chose cluster 1 in round t (C_1^t)."""
        return [i for i, cluster in enumerate(self.rounds.assignments[self.round]) if cluster == 0]

    @property
    def own_members(self) -> list[int]:
        """Clients of cluster 1 that chose it in round t (C_1^t n C*_1)."""
        return [i for i in self.members if i < self.own]

    @property
    def false_members(self) -> list[int]:
        """Clients of cluster 2 that chose cluster 1 in round t (C_1^t n C*_2)."""
        return [i for i in self.members if i >= self.own]

    @property
    def same_members(self) -> bool:
        """Whether the same clients chose cluster 1 in all rounds from 0 to t."""
        chosen = self.rounds.assignments
        return all([p == 0 for p in now] == [p == 0 for p in chosen[0]] for now in chosen)

    @property
    def models(self) -> list[Fraction]:
        """Models chi_1^0, ..., chi_1^(t+1) of cluster 1."""
        return [models[0] for models in self.rounds.models]

    @property
    def buffers(self) -> list[Fraction]:
        """Buffers u_i^t of the clients before round t, after line 15 of the previous round."""
        return self.rounds.buffers[self.round]

    @property
    def past_gradients(self) -> list[Fraction]:
        """Weighted sums of past gradients, S_i^t = sum_(k < t) beta^(t-1-k) g_i^k."""
        return self.past_sums(self.momentum)

    def past_sums(self, factor: Fraction) -> list[Fraction]:
        """Return sum_(k < t) factor^(t-1-k) g_i^k."""
        return [carried(drawn, factor) for drawn in zip(*self.rounds.gradients[: self.round], strict=True)]


def total(values: Sequence[Fraction], clients: Iterable[int]) -> Fraction:
    """Return the sum of some clients' values."""
    return sum((values[i] for i in clients), Fraction(0))


@claim(
    "cfl-mgd/appendix-a1",
    label="(A1) = (34), (A9)",
    evaluations=300,
    expected="consistent, no sharpness",
    places="(34); after (35); (A9)",
)
def parts_of_a_round(run: ScalarRun) -> dict[str, Sides | Excluded]:
    """A round is one gradient step plus averaged noise, minus the gradients of misassigned clients and the momentum.

    Hypotheses
        The algorithm is option I. For (A1), some client of cluster 1 chooses model 1, because T_12 is otherwise 0/0.

    Statement
        chi_1^(t+1) - chi*_1 = T_1 - T_2 - T_3, with T_3 as in (A18).

    Lines
        (A1)
            T_1 = chi_1 - chi*_1 - (eta / m) sum over C_1 n C*_1 of g_i = T_11 + T_12 = [chi_1 - chi*_1 - h grad
            phi^1(chi_1)] + h [grad phi^1(chi_1) - mean of these g_i], h = (eta / m) |C_1 n C*_1|, the paper's eta-hat.
        (A9)
            T_2p, the sum over C_1 n C*_p of g_i, is |C_1 n C*_p| grad phi_p(chi_1) + sum of (g_i - grad phi_p(chi_1)).
        next model
            chi_1^(t+1) - chi*_1 = T_11 + T_12 - (eta / m) sum_(p >= 2) T_2p - T_3, with the right sides of (A1) and
            (A9), for two clusters.

    Source
        Zhao et al. (2023), (A1) = (34) and (A9).
    """
    g, count, error = run.rounds.gradients[run.round], len(run.own_members), run.models[-2] - 1
    T_2 = total(g, run.false_members)
    T_3 = run.weight * total(run.buffers, run.members)

    def next_model() -> Sides:
        own = total(g, run.own_members)
        T_1 = step_and_noise(own, Fraction(count), error, error, Fraction(1, run.clients))
        return equal((run.models[-1] - 1, T_1 - T_2 / run.clients - T_3))

    return {"next model": given("|C_1 n C*_1| >= 1", count >= 1, next_model)}


def step_and_noise(own: Any, count: Any, error: Any, slope: Any, weight: Any) -> Any:
    """Return T_11 + T_12 from the gradients of cluster 1's clients, their number, grad phi^1(chi_1) and eta / m."""
    h = weight * count
    return (error - h * slope) + h * (slope - own / count)


def sums(numbers: Sequence[Fraction], center: Any) -> Any:
    """Return the sum of numbers, and the sum of their differences from a centre."""
    return iterate(
        lambda so_far, number: (so_far[0] + number, so_far[1] + (number - center)),
        (Fraction(0), Fraction(0)),
        numbers,
        invariant=lambda so_far, count: so_far[0] == so_far[1] + count * center,
    )


@parts_of_a_round.line("(A1)")
def first_part(
    clients: int = CLIENTS,
    gradients: tuple[Fraction, ...] = OF_CLIENTS,
    error: Fraction = ANY,
    slope: Fraction = ANY,
    weight: Fraction = ANY,
) -> Sides:
    """Check (A1) for arbitrary client gradients, and arbitrary chi_1 - chi*_1, grad phi^1(chi_1) and eta / m."""
    own, _ = sums(gradients, slope)
    return equal((error - weight * own, step_and_noise(own, clients, error, slope, weight)))


@parts_of_a_round.line("(A9)")
def around_a_center(
    clients: int = CLIENTS, numbers: tuple[Fraction, ...] = OF_CLIENTS, center: Fraction = ANY
) -> Sides:
    """Check (A9) for any numbers of clients and any centre."""
    added, apart = sums(numbers, center)
    return equal((added, clients * center + apart))


@claim(
    "cfl-mgd/appendix-a2",
    label="(A2), (A7)",
    source={"(A2), sharper": "ours"},
    expected="certified",
    places="(A7)",
)
def descent(
    kappa: Fraction = KAPPA, along: Fraction = SHARE, bent: Fraction = SHARE, share: Fraction = SHARE
) -> dict[str, Sides | Excluded]:
    """One gradient step on phi^1 contracts.

    Hypotheses
        phi^1 is L-smooth and mu-strongly convex, and eta = 1/L.

    Statement
        ||chi_1 - chi*_1 - h grad phi^1(chi_1)|| <= factor ||chi_1 - chi*_1||, with both sides squared. Here h is the
        paper's eta-hat. The claim is proved for every phi^1 and chi_1: it holds for every gradient that such a
        function can have at chi_1 (``exact/one_point.py``).

    Lines
        (A2)
            For 0 < h = ``share`` / L <= 1/L the factor is 1 - h mu L / (mu + L). The right side cannot be multiplied
            by a constant below 1, because the ratio of the two sides tends to 1 as h tends to 0.
        (A2), sharper
            The factor is 1 - h mu, which decreases the error by up to twice as much as (A2). This line is ours. It is
            the textbook bound max(|1 - h mu|, |1 - h L|) for h <= 2 / (mu + L) (Polyak 1987, 1.4). Quadratics attain
            it in the flattest direction.
        (A7)
            For |C_1 n C*_1| >= l_1 m / 4 and h = |C_1 n C*_1| / (m L) the factor is 1 - l mu / 8L with l = min l_p,
            because h >= l / 4L and L / (mu + L) >= 1/2.

    Source
        Zhao et al. (2023), (A2) and (A7).
    """
    step, moves = share / kappa, ("h > 0", share > 0)
    after = square_after(step, kappa, along, bent)
    return {
        "(A2)": given(*moves, lambda: at_most(after, squared=(1 - step * kappa / (1 + kappa)) ** 2)),
        "(A2), sharper": given(*moves, lambda: at_most(after, squared=(1 - step) ** 2)),
    }


@descent.line("(A7)")
def with_the_clients_that_stay(
    kappa: Fraction = KAPPA,
    along: Fraction = SHARE,
    bent: Fraction = SHARE,
    smallest: Fraction = SHARE,
    own: Fraction = Q[lambda smallest: smallest : 1 : 4],
    staying: Fraction = Q[lambda own: Fraction(1, 4) * own : lambda own: own : 16],
) -> Sides:
    """State (A7) with the quantities l, l_1 = |C*_1| / m and |C_1 n C*_1| / m."""
    after = square_after(staying / kappa, kappa, along, bent)
    return at_most(after, squared=(1 - smallest / (8 * kappa)) ** 2)


@dataclass(frozen=True)
class Shares:
    """Numbers of clients of two clusters, and number of clients of the first cluster that choose model 1."""

    clients: Annotated[int, integers(2, 40, upwards=True)]
    own: Annotated[int, integers(1, lambda clients: clients - 1)]
    shared: Annotated[int, integers(1, lambda own: own)]

    @property
    def step(self) -> Fraction:
        """Clients of cluster 1 that choose model 1, as a share of all clients; it equals L h for the step size h."""
        return Fraction(self.shared, self.clients)

    @property
    def smallest(self) -> Fraction:
        """The smallest share l of a cluster."""
        return Fraction(min(self.own, self.clients - self.own), self.clients)


@claim(
    "cfl-mgd/a7-step",
    label="before (A7)",
    source={"at least": "reading", "at most": "reading"},
    ill_posed={"at least, printed": True},
    expected="ill-posed",
)
def a7_step(one: Shares) -> dict[str, Sides]:
    """If a quarter of a cluster's clients choose its model, the effective step size is between l / 4L and 1 / L.

    Hypotheses
        |C_1 n C*_1| >= l_1 m / 4 and eta = 1/L. There are two clusters, P = 2. With more clusters, the smallest share
        l = min l_p is no larger.

    Statement
        The claim concerns h = (eta/m) |C_1 n C*_1|, the paper's eta-hat.

    Lines
        (at least, printed)
            h >= p / (4 L). Elsewhere in the paper, p is the index of a cluster, and (A7) has l.
        (at least)
            h >= l / (4 L), which (A7) uses. We read p as l. Equality occurs for l_1 = l.
        (at most)
            h <= 1/L.

    Source
        Zhao et al. (2023), the line before (A7): "we have eta-hat <= 1/L and eta-hat >= p / 4L".
    """
    suppose("|C_1 n C*_1| >= l_1 m / 4", 4 * one.shared >= one.own)
    words = (
        f"{one.clients} clients, {one.own} in cluster 1, {one.shared} of which stay: L h = {one.step} is below p / 4 "
        f"with the cluster's number p = 1 and at least l / 4 = {one.smallest / 4}; p is nowhere a number; read: l"
    )
    return {
        "at least, printed": at_most(Fraction(1, 4), step=one.step, words=words),
        "at least": at_least(one.step, quarter=one.smallest / 4),
        "at most": at_most(one.step, one=1),
    }
