"""(A29)-(A32): the false members' past gradients and their momentum, given the clusters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import Annotated

from clusterproof.theory.claims import Sides, at_most, choice, claim, integers, rationals, suppose
from clusterproof.theory.exact.prescribed_samples import Table, confirm_play, play
from clusterproof.theory.exact.two_clusters import carried, exact_path


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


@claim(
    "cfl-mgd/appendix-a29",
    label="(A29)-(A32)",
    judges="reading",
    confirm=lambda one, **_: confirm_scripts(one),
    repaired_by="cfl-mgd/theorem-d",
    evaluations=200,
)
def false_members(
    one: FalseMemberRun, level: Annotated[Fraction, choice(Fraction(1, 2), Fraction(1, 10))]
) -> dict[str, Sides]:
    """The false members' weighted past gradients are near the present one, up to noise.

    Hypotheses
        Assumptions 1-4 with the constants of the proof; given the clusters; lambda_4 = ``level``.

    Statement
        With D = sum over C_1 n C*_p of (S_i - grad phi_p(chi_1)), S_i as in (A28), and N = |C_1 n C*_p| v^2 t / ((1 -
        beta)^2 n'), D is sqrt(N), but for the probability. False: a false member's past gradients were mostly taken
        at its own model, where they vanish; grad phi_p(chi_1) has length mu Delta.

    Lines
        (A29)
            E ||D||^2 <= N, by the three steps of (A23).
        (A30)
            E ||D|| <= sqrt(N), squared.
        (A31)
            P(||D|| > sqrt(N) / lambda_4) <= lambda_4, Markov's inequality.
        (A32)
            With probability at least 1 - P lambda_4, ||T_32|| <= (3 L beta eta / m) |C_1 - C*_1| + (beta eta v sqrt(P)
            / (m (1 - beta) lambda_4)) sqrt(|C_1 - C*_1| t / n'). False: a false member brings the buffer of the
            cluster that it comes from, up to ||e|| / (1 - beta) for a small one.

    Source
        Zhao et al. (2023), (A29)-(A32); (A32) from (A28), (A10) and (A31). "given the clusters" is the reading's: the
        print has "with probability of at least 1 - lambda_4" over all.
    """
    one.suppose_samples()
    mean = sum((weight * abs(gap) for weight, gap in one.distances), Fraction(0))
    square = sum((weight * gap**2 for weight, gap in one.distances), Fraction(0))
    most = one.noise_bound / level**2
    fails = sum((weight for weight, gap in one.distances if gap**2 > most), Fraction(0))
    return {
        "(A29)": at_most(square, noise=one.noise_bound),
        "(A30)": at_most(mean**2, noise=one.noise_bound),
        "(A31)": at_most(fails, markov=level),
    }


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


@false_members.line("(A32)", confirm=confirm_total)
def momentum_of_false_members(one: LongFalseMemberRun) -> Sides:
    """The probability with which one false member's momentum is larger.

    Outcomes with noise in some gradient are left out; the square root is compared by squares.
    """
    one.suppose_samples()
    path = exact_path(Fraction(1, one.clients), one.momentum, one.start, one.round)
    excess = abs(carried(path[: one.round], one.momentum)) - 3
    fails = excess > 0 and excess**2 > 2 * one.noise_bound / one.level**2
    return at_most(one.law[Fraction(0)] ** one.round if fails else Fraction(0), union=2 * one.level)
