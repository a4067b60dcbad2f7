"""Two clusters of scalar quadratics with prescribed batches, and (A1), (A9): the parts T_1 and T_2 of a round."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any

from clusterproof.theory.claims import Excluded, Sides, choice, claim, equal, given, integers, rationals
from clusterproof.theory.exact.algebra import Client, Number, OwnTerm
from clusterproof.theory.exact.prescribed_samples import Rounds, Table, confirm_play, play
from clusterproof.theory.exact.two_clusters import carried


@dataclass(frozen=True)
class ScalarRun:
    """Option I as printed, seen in round ``round``; phi^1 = (chi - 1)^2 / 2, phi^2 = (chi + 1)^2 / 2, eta = 1 / L = 1.

    Attributes
    ----------
    clients, own
        m, and the clients of cluster 1, which come first.
    momentum
        beta.
    start
        Distance of both first models from their optima, towards each other.
    round
        t.
    outliers
        The last client, of cluster 2, chooses on the outlier +1 in the rounds whose bits are set; all clients choose on
        the cluster's mean else.
    spread
        Gradient batches of the clients of cluster 1 are 1 + spread, 1 - spread, 1 + spread, ...; the others' are -1.
    """

    clients: Annotated[int, integers(2, 16)]
    own: Annotated[int, integers(1, lambda clients: clients - 1)]
    momentum: Annotated[Fraction, rationals(Fraction(1, 10), Fraction(9, 10), 10)]
    start: Annotated[Fraction, choice(*(Fraction(k, 20) for k in (0, 10, 5, 2)))]
    round: Annotated[int, integers(1, 6)]
    outliers: Annotated[int, integers(0, lambda round: 2 ** (round + 1) - 1)]  # noqa: A006, ARG005 - named as the field
    spread: Annotated[Fraction, choice(*(Fraction(k, 20) for k in (0, 2, 5)))]

    @property
    def samples(self) -> tuple[Table, Table, list[Fraction], Fraction]:
        """Choice and gradient batches of the rounds 0 .. t, first models and momentum."""
        others = [Fraction(-1)] * (self.clients - self.own)
        ordinary = [Fraction(1)] * self.own + others
        rounds = range(self.round + 1)
        chosen_on = [[*ordinary[:-1], Fraction(1)] if self.outliers >> k & 1 else ordinary for k in rounds]
        drawn_on = [1 + (-1) ** i * self.spread for i in range(self.own)] + others
        return chosen_on, [drawn_on for _ in rounds], [1 - self.start, -1 + self.start], self.momentum

    @cached_property
    def rounds(self) -> Rounds:
        """What the algorithm does on them."""
        return play(*self.samples)

    @property
    def weight(self) -> Fraction:
        """beta eta / m."""
        return self.momentum / self.clients

    @property
    def members(self) -> list[int]:
        """C_1^t."""
        return [i for i, cluster in enumerate(self.rounds.assignments[self.round]) if cluster == 0]

    @property
    def own_members(self) -> list[int]:
        """C_1^t n C*_1."""
        return [i for i in self.members if i < self.own]

    @property
    def false_members(self) -> list[int]:
        """C_1^t - C*_1 = C_1^t n C*_2."""
        return [i for i in self.members if i >= self.own]

    @property
    def same_members(self) -> bool:
        """Whether C_1^0 = ... = C_1^t."""
        chosen = self.rounds.assignments
        return all([p == 0 for p in now] == [p == 0 for p in chosen[0]] for now in chosen)

    @property
    def models(self) -> list[Fraction]:
        """chi_1^0 .. chi_1^(t+1)."""
        return [models[0] for models in self.rounds.models]

    @property
    def gradients(self) -> list[Fraction]:
        """g_i^t."""
        return self.rounds.gradients[self.round]

    @property
    def buffers(self) -> list[Fraction]:
        """u_i^t as it enters the round, after line 15."""
        return self.rounds.buffers[self.round]

    @property
    def past_gradients(self) -> list[Fraction]:
        """S_i^t = sum_(k < t) beta^(t-1-k) g_i^k."""
        return self.past_sums(self.momentum)

    def past_sums(self, factor: Fraction) -> list[Fraction]:
        """sum_(k < t) factor^(t-1-k) g_i^k."""
        return [carried(drawn, factor) for drawn in zip(*self.rounds.gradients[: self.round], strict=True)]


def total(values: Sequence[Fraction], clients: Iterable[int]) -> Fraction:
    """Sum the values of some clients."""
    return sum((values[i] for i in clients), Fraction(0))


def confirm_samples(run: ScalarRun) -> None:
    """Run the algorithm itself on the batches, and compare models, choices, gradients and buffers."""
    confirm_play(*run.samples)


@claim("cfl-mgd/appendix-a1", label="(A1) = (34), (A9)", confirm=confirm_samples, evaluations=300)
def parts_of_a_round(run: ScalarRun) -> dict[str, Sides | Excluded]:
    """A round is one gradient step plus averaged noise, less the false members' gradients and the momentum.

    Hypotheses
        Option I; for (A1) some own client stays, since T_12 is 0/0 otherwise.

    Statement
        chi_1^(t+1) - chi*_1 = T_1 - T_2 - T_3, T_3 of (A18).

    Lines
        (A1)
            T_1 = chi_1 - chi*_1 - (eta / m) sum over C_1 n C*_1 of g_i = T_11 + T_12 = [chi_1 - chi*_1 - h grad
            phi^1(chi_1)] + h [grad phi^1(chi_1) - mean of these g_i], h = (eta / m) |C_1 n C*_1|, the paper's eta-hat.
        (A9)
            T_2p, the sum over C_1 n C*_p of g_i, is |C_1 n C*_p| grad phi_p(chi_1) + sum of (g_i - grad phi_p(chi_1));
            here p = 2.
        next model
            chi_1^(t+1) - chi*_1 = T_11 + T_12 - (eta / m) sum_(p >= 2) T_2p - T_3, with the right sides above.

    Source
        Zhao et al. (2023), (A1) = (34) and (A9).
    """
    chi, g, own, false = run.models, run.gradients, run.own_members, run.false_members
    error, other = chi[-2] - 1, chi[-2] + 1
    T_2p = len(false) * other + total([each - other for each in g], false)
    T_3 = run.weight * total(run.buffers, run.members)

    def T_1() -> Fraction:  # noqa: N802 - the proof's symbol
        h, mean = Fraction(len(own), run.clients), total(g, own) / len(own)
        return (error - h * error) + h * (error - mean)

    stays = ("|C_1 n C*_1| >= 1", len(own) >= 1)
    return {
        "(A1)": given(*stays, lambda: equal((error - total(g, own) / run.clients, T_1()))),
        "(A9)": equal((total(g, false), T_2p)),
        "next model": given(*stays, lambda: equal((chi[-1] - 1, T_1() - T_2p / run.clients - T_3))),
    }


def own_part(run: ScalarRun) -> dict[str, Any]:
    """Return the numbers of the own clients' part."""
    numbers = run.models[-2] - 1, run.models[-2] - 1, total(run.gradients, run.own_members)
    return {"one": OwnTerm(*numbers, Fraction(1, run.clients), Fraction(max(1, len(run.own_members))))}


@parts_of_a_round.proof("(A1)", at=own_part)
def own_sum(one: OwnTerm) -> Sides:
    """The identity with the own clients' gradients summed."""
    return one.split()


def each_false_member(run: ScalarRun) -> list[list[dict[str, Any]]]:
    """Return the numbers of each client in C_1 n C*_2; nobody adds what a client who is not in it does."""
    clients, member = run.false_members or [0], Fraction(bool(run.false_members))
    return [[{"one": Client(run.gradients[i], member), "mean": run.models[-2] + 1} for i in clients]]


@parts_of_a_round.proof("(A9)", at=each_false_member)
def each_deviation(one: Client, mean: Number) -> Sides:
    """The term of each client."""
    return one.of_deviations(mean)
