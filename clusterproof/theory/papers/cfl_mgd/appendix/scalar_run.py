"""Two clusters of scalar quadratics with prescribed batches, on which the sums of Lemma 2's proof are fractions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated

from clusterproof.theory.claims import choice, integers, rationals
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
