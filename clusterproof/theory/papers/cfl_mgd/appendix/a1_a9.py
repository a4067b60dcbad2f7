"""(A1), (A9): the own clients' part T_1 of a round, and the false members' part T_2."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from clusterproof.theory.claims import Excluded, Sides, claim, equal, given
from clusterproof.theory.exact.algebra import Client, Number, OwnTerm
from clusterproof.theory.papers.cfl_mgd.appendix.scalar_run import ScalarRun, confirm_samples, total


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
