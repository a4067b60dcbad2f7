"""(A28)-(A32): the false members' momentum T_32, with the steps of (A22)-(A25) again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import Annotated, Any

from clusterproof.theory.claims import Sides, at_most, choice, claim, integers, rationals, suppose
from clusterproof.theory.exact.algebra import Client, Number
from clusterproof.theory.exact.placed import Draws
from clusterproof.theory.exact.prescribed_samples import Table, confirm_play, play
from clusterproof.theory.exact.two_clusters import carried, exact_path
from clusterproof.theory.papers.cfl_mgd.appendix.runs import Momentum, NoisyStart, Start, momentum_run


@claim("cfl-mgd/a28", label="(A28)", evaluations=50)
def a28(start: NoisyStart, momentum: Momentum, draws: Draws) -> Sides:
    """The false members' past gradients are their distance from the present gradient, plus that gradient.

    Hypotheses
        None: algebra.

    Statement
        T_3p = sum over C_1 n C*_p of S_i = sum over C_1 n C*_p of (S_i - grad phi_p(chi_1)) +
        |C_1 n C*_p| grad phi_p(chi_1), S_i = sum_(k < t) beta^(t-1-k) g_i^k.

    Symbols
        C_1 n C*_p the clients of cluster p that chose model 1 in round t.

    Source
        Zhao et al. (2023), (A28). Identity. The line after it is ``cfl-mgd/a28-sum``.
    """
    one = momentum_run(start, momentum, draws)
    return one.deviations(one.past_gradients)


def past_of_false_members(start: Start, momentum: float, draws: int) -> list[list[dict[str, Any]]]:
    """Return the numbers of each false member."""
    one = momentum_run(start, momentum, draws)
    return one.each_deviation(one.past_gradients)


@a28.proof("algebra", at=past_of_false_members)
def a28_on_symbols(one: Client, mean: Number) -> Sides:
    """The term of each client, in each coordinate."""
    return one.of_deviations(mean)


@dataclass(frozen=True)
class FalseMemberRun:
    """A run in which one client joins the wrong cluster, in round t only.

    Cluster 1 has m - 1 clients without noise and chi_1^0 = chi*_1 = 1; cluster 2 has one client and
    chi_2^0 = -1 + start. Its samples are -1, or -1 +- 2 with probability ``rarity`` each; n' = 1.
    """

    clients: Annotated[int, integers(2, 5)]
    round: Annotated[int, integers(1, 2)]
    momentum: Annotated[Fraction, rationals(Fraction(1, 10), Fraction(9, 10), 10)]
    start: Annotated[Fraction, choice(Fraction(0), Fraction(1, 2), Fraction(-1, 2))]
    rarity: Annotated[Fraction, choice(*(Fraction(1, 10**k) for k in (3, 4, 5)))]

    @property
    def law(self) -> dict[Fraction, Fraction]:
        """The values of y + 1 for the client of cluster 2, and their probabilities."""
        return {Fraction(0): 1 - 2 * self.rarity, Fraction(2): self.rarity, Fraction(-2): self.rarity}

    @property
    def loss_variance(self) -> Fraction:
        """sigma^2 of f = (chi - y)^2 / 2 at chi = 1.5, beyond every model of the basins that is compared."""
        losses = {(Fraction(5, 2) - noise) ** 2 / 2: weight for noise, weight in self.law.items()}
        mean = sum(loss * weight for loss, weight in losses.items())
        return sum(((loss - mean) ** 2 * weight for loss, weight in losses.items()), Fraction(0))

    @property
    def noise_bound(self) -> Fraction:
        """v^2 t / (1 - beta)^2, with one false member and n' = 1."""
        variance = sum((weight * value**2 for value, weight in self.law.items()), Fraction(0))
        return variance * self.round / (1 - self.momentum) ** 2

    @property
    def scripts(self) -> Iterator[tuple[Fraction, Table, Table, list[Fraction]]]:
        """Every outcome of the gradient batches before round t, with probability, tables and models.

        The client chooses on -1 in rounds 0 .. t - 1 and on its rare value +1 in round t: choices and
        gradients are on batches of their own, so this says nothing of the gradients.
        """
        others = [Fraction(1)] * (self.clients - 1)
        choices = [[*others, Fraction(-1)]] * self.round + [[*others, Fraction(1)]]
        for noise in product(self.law, repeat=self.round):
            gradients = [[*others, -1 + value] for value in noise] + [[*others, Fraction(-1)]]
            weight = prod((self.law[value] for value in noise), start=Fraction(1))
            yield weight, choices, gradients, [Fraction(1), -1 + self.start]

    @cached_property
    def distances(self) -> list[tuple[Fraction, Fraction]]:
        """Probability and S - grad phi_2(chi_1) for every outcome; 0 if no false member."""
        found = []
        for weight, choices, gradients, initial in self.scripts:
            rounds = play(choices, gradients, initial, self.momentum)
            past = [drawn[-1] for drawn in rounds.gradients[: self.round]]
            is_false_member = rounds.assignments[self.round][-1] == 0
            distance = carried(past, self.momentum) - (rounds.models[self.round][0] + 1)
            found.append((weight, distance if is_false_member else Fraction(0)))
        return found

    def suppose_samples(self) -> None:
        """State the hypothesis on n', with the constants of the proof."""
        suppose("n' >= 256 (P - 1) sigma^2 / (mu^2 Delta^4)", 16 * self.loss_variance <= 1)


def confirm_scripts(one: FalseMemberRun) -> None:
    """Run the very algorithm on every outcome."""
    for _, choices, gradients, initial in one.scripts:
        confirm_play(choices, gradients, initial, one.momentum)


@claim("cfl-mgd/a29", label="(A29)", confirm=confirm_scripts, repaired_by="cfl-mgd/theorem-d")
def a29(one: FalseMemberRun) -> Sides:
    """The false members' weighted past gradients are near the present one, up to noise.

    Hypotheses
        Assumptions 1-4 with the constants of the proof; given the clusters.

    Statement
        E ||sum over C_1 n C*_p of (S_i - grad phi_p(chi_1))||^2 <= |C_1 n C*_p| v^2 t / ((1 - beta)^2 n').

    Symbols
        S_i as (A28), v ``gradient_variance`` (its root), n' ``samples``.

    Source
        Zhao et al. (2023), (A29): the three steps of (A23). Upper bound. A false member's past gradients were
        mostly taken at its own model, where they vanish; grad phi_p(chi_1) has length mu Delta.
    """
    one.suppose_samples()
    return at_most(
        sum((weight * gap**2 for weight, gap in one.distances), Fraction(0)), noise=one.noise_bound
    )


@claim("cfl-mgd/a30", label="(A30)", confirm=confirm_scripts, repaired_by="cfl-mgd/theorem-d")
def a30(one: FalseMemberRun) -> Sides:
    """The distance of (A29) is, in expectation, at most v sqrt(|C_1 n C*_p| t / n') / (1 - beta).

    Hypotheses
        As (A29).

    Statement
        E ||sum over C_1 n C*_p of (S_i - grad phi_p(chi_1))|| <= (v / (1 - beta)) sqrt(|C_1 n C*_p| t / n').

    Source
        Zhao et al. (2023), (A30), the root of (A29). Upper bound.
    """
    one.suppose_samples()
    mean = sum((weight * abs(gap) for weight, gap in one.distances), Fraction(0))
    return at_most(mean**2, noise=one.noise_bound)


@claim(
    "cfl-mgd/a31",
    label="(A31)",
    confirm=lambda one, **_: confirm_scripts(one),
    repaired_by="cfl-mgd/theorem-d",
)
def a31(one: FalseMemberRun, level: Annotated[Fraction, choice(Fraction(1, 2), Fraction(1, 10))]) -> Sides:
    """With probability 1 - lambda_4 (A29) is at most v sqrt(|C_1 n C*_p| t / n') / ((1 - beta) lambda_4).

    Hypotheses
        As (A29), lambda_4 in (0, 1).

    Statement
        Given the clusters, with probability at least 1 - lambda_4, ||sum over C_1 n C*_p of (S_i - grad
        phi_p(chi_1))|| <= (v / ((1 - beta) lambda_4)) sqrt(|C_1 n C*_p| t / n').

    Source
        Zhao et al. (2023), (A31), Markov's inequality on (A30). Probability.
    """
    one.suppose_samples()
    allowed = one.noise_bound / level**2
    fails = sum((weight for weight, gap in one.distances if gap**2 > allowed), Fraction(0))
    return at_most(fails, markov=level)


@dataclass(frozen=True)
class LongFalseMemberRun(FalseMemberRun):
    """The same with more clients and rounds."""

    clients: Annotated[int, choice(10, 20, 50, 100)]
    round: Annotated[int, integers(1, 20)]
    momentum: Annotated[Fraction, choice(Fraction(1, 2), Fraction(9, 10), Fraction(19, 20))]
    start: Annotated[Fraction, choice(Fraction(1, 2), Fraction(1, 4))]
    rarity: Annotated[Fraction, choice(*(Fraction(1, 10**k) for k in (4, 6, 8)))]
    level: Annotated[Fraction, choice(Fraction(1, 4))]


def confirm_total(one: LongFalseMemberRun) -> None:
    """Run the very algorithm without noise, and compare T_32 from its own buffers with the bound."""
    ordinary = [*[Fraction(1)] * (one.clients - 1), Fraction(-1)]
    choices = [ordinary] * one.round + [[Fraction(1)] * one.clients]
    initial = [Fraction(1), -1 + one.start]
    rounds = confirm_play(choices, [ordinary] * (one.round + 1), initial, one.momentum)
    false_member = rounds.buffers[one.round][-1]
    if rounds.assignments[one.round] != [0] * one.clients or abs(false_member) <= 3:
        raise ArithmeticError(f"(A32): the run's false member has u = {float(false_member)}")


@claim("cfl-mgd/a32", label="(A32)", confirm=confirm_total, repaired_by="cfl-mgd/theorem-d")
def a32(one: LongFalseMemberRun) -> Sides:
    """The false members' momentum is at most 3 L beta eta times their share, plus noise.

    Hypotheses
        As (A10) and (A31).

    Statement
        Given the clusters, with probability at least 1 - P lambda_4, ||T_32|| <= (3 L beta eta / m)
        |C_1 - C*_1| + (beta eta v sqrt(P) / (m (1 - beta) lambda_4)) sqrt(|C_1 - C*_1| t / n').

    Symbols
        C_1 - C*_1 the false members.

    Source
        Zhao et al. (2023), (A32), from (A28) and (A31). Probability. A false member brings the buffer of
        the cluster that it comes from, up to ||e|| / (1 - beta) for a small one.
    """
    one.suppose_samples()
    path = exact_path(Fraction(1, one.clients), one.momentum, one.start, one.round)
    excess = abs(carried(path[: one.round], one.momentum)) - 3
    # outcomes with noise in some gradient are left out; the square root is compared by squares
    fails = excess > 0 and excess**2 > 2 * one.noise_bound / one.level**2
    return at_most(one.law[Fraction(0)] ** one.round if fails else Fraction(0), union=2 * one.level)
