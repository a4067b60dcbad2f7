"""(32) and (33): clients' momentum and the server's, when a client changes its cluster."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from theory.claim import Context, register
from theory.counterexample import Evaluate, Instance, Number, confirm_equal, encode, replay_with, seek
from theory.switching_clients import exact_run, run_algorithm
from theory.verdict import Finding, Kind

ROUNDS = 2
"""chi^(2) is the first model that a client's change of cluster can touch."""


def clients(instance: Instance) -> tuple[list[Fraction], list[Fraction]]:
    """Give the clients' minimisers, ``own`` of cluster 1 and one of cluster 2, and the two starts."""
    centers = [Fraction(instance["center"])] * int(instance["own"]) + [Fraction(instance["other_center"])]
    return centers, [Fraction(instance["first"]), Fraction(instance["second"])]


def sides(instance: Instance) -> tuple[Fraction, Fraction]:
    """Give chi_1^(2) by the first and by the second line of (32), in rational arithmetic."""
    centers, starts = clients(instance)
    momentum = Fraction(instance["momentum"])
    printed, server = (
        exact_run(centers, starts, momentum=momentum, rounds=ROUNDS, reading=reading).models[ROUNDS][0]
        for reading in ("line 15", "server")
    )
    return printed, server


def evaluate_32(instance: Instance) -> tuple[Number, Number]:
    """Distance of the two lines of (32), and 0."""
    printed, server = sides(instance)
    return abs(printed - server), Fraction(0)


def evaluate_33(instance: Instance) -> tuple[Number, Number]:
    """Distance of the second and the third line of (33), and 0."""
    printed, server = sides(instance)
    optimum = Fraction(instance["center"])
    return abs(abs(server - optimum) - abs(printed - optimum)), Fraction(0)


def runs(instance: Instance) -> tuple[float, float]:
    """Run option I with clients' and with the server's momentum, chi_1^(2)."""
    centers, starts = clients(instance)
    momentum = Fraction(instance["momentum"])
    printed, server = (
        float(
            run_algorithm(centers, starts, momentum=momentum, rounds=ROUNDS, owner=owner).models[ROUNDS, 0, 0]
        )
        for owner in ("client", "server")
    )
    return printed, server


def confirm_32(instance: Instance, measured: float) -> None:
    """Confirm both lines by runs."""
    printed, server = runs(instance)
    confirm_equal("(32)", abs(printed - server), measured)


def confirm_33(instance: Instance, measured: float) -> None:
    """Confirm both lines by runs."""
    printed, server = runs(instance)
    optimum = float(instance["center"])
    confirm_equal("(33)", abs(abs(server - optimum) - abs(printed - optimum)), measured)


def sentence(instance: Instance, measured: Number, allowed: Number) -> str:
    """Spell the instance out."""
    centers, starts = clients(instance)
    path = exact_run(
        centers, starts, momentum=Fraction(instance["momentum"]), rounds=ROUNDS, reading="line 15"
    )
    printed, server = sides(instance)
    return (
        f"clients at {', '.join(str(encode(c)) for c in centers)}, models from {encode(starts[0])} and "
        f"{encode(starts[1])}, eta = 1, beta = {encode(instance['momentum'])}; choices {path.choices}: a client that "
        f"changes its cluster carries foreign momentum, chi_1^(2) = {encode(printed)} with the clients' momentum and "
        f"{encode(server)} with the server's"
    )


def search(context: Context, evaluate: Evaluate, confirm: Any) -> Finding:
    """Search a few clients of cluster 1 and one of cluster 2 for the simplest difference."""
    from hypothesis import strategies as st

    place = st.fractions(-2, 2, max_denominator=4)
    instances: Any = st.fixed_dictionaries(
        {
            "own": st.integers(1, 4),
            "center": st.sampled_from([Fraction(1), Fraction(1, 2)]),
            "other_center": st.sampled_from([Fraction(-1), Fraction(-1, 2), Fraction(0)]),
            "momentum": st.fractions(0, Fraction(9, 10), max_denominator=10),
            "first": place,
            "second": place,
        }
    )

    def without_ties(instance: Instance) -> bool:
        centers, starts = clients(instance)
        momentum = Fraction(instance["momentum"])
        return not exact_run(centers, starts, momentum=momentum, rounds=ROUNDS, reading="line 15").ties

    return seek(
        context, instances.filter(without_ties), evaluate, violated=sentence,
        consistent="no instance tells the two apart", budget=1500, confirm=confirm,
    )  # fmt: skip


@register("cfl-mgd/equation-32", label="(32)", kind="identity", replay=replay_with(evaluate_32),
          repaired_by="cfl-mgd/equation-32-fixed-clusters")  # fmt: skip
def equation_32(context: Context) -> Finding:
    """Averaging the clients' momentum equals momentum on the average of their gradients.

    Hypotheses
        Option I as printed, full participation, no noise.

    Statement
        chi_1^(t+1) = chi_1^t - (eta/m) sum_(i in C_1) (beta u_i^t + g_i^t)
        = chi_1^t - (eta/m) sum_(i in C_1) g_i^t + beta (chi_1^t - chi_1^(t-1)).

    Symbols
        u_i ``momentum_owner="client"``, the right side ``momentum_owner="server"``.

    Source
        Zhao et al. (2023), (32). Identity; needs C_1^(t+1) = C_1^t. Our reading R2 takes the second
        line as the definition.

    Checked
        Both lines on scalar quadratics, in rational arithmetic, with one client that may change its
        cluster; hypothesis finds the simplest difference, and both are run.
    """
    return search(context, evaluate_32, confirm_32)


@register("cfl-mgd/equation-32-fixed-clusters", label="(32), fixed clusters", kind="identity")
def equation_32_fixed_clusters(context: Context) -> Finding:
    """While no client changes its cluster, clients' momentum and the server's give the same models.

    Hypotheses
        Option I, full participation, C_p^(t+1) = C_p^t for all p; each u_i the mean of its cluster
        (line 15), or each its own (A19).

    Statement
        As (32).

    Symbols
        As (32).

    Source
        Ours on Zhao et al. (2023), (32). Identity.

    Checked
        Random scalar clients in rational arithmetic, 6 rounds of all three readings: wherever the
        choices did not change, the models are equal exactly.
    """
    stream = context.generator("clients")
    trials = context.number_of_trials(150)
    compared = failures = 0
    for _ in range(trials):
        centers = [Fraction(int(number), 4) for number in stream.integers(-8, 9, int(stream.integers(2, 6)))]
        starts = [Fraction(int(number), 4) for number in stream.integers(-8, 9, 2)]
        momentum = Fraction(int(stream.integers(0, 10)), 10)
        paths = [
            exact_run(centers, starts, momentum=momentum, rounds=6, reading=reading)
            for reading in ("line 15", "own", "server")
        ]
        fixed = 1
        while fixed < 6 and paths[0].choices[fixed] == paths[0].choices[0]:
            fixed += 1
        # the round of a change is the first whose models may differ
        compared += fixed
        failures += any(path.models[: fixed + 1] != paths[0].models[: fixed + 1] for path in paths)
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"{failures} of {trials} instances differ; {compared} rounds were compared exactly",
        trials=trials,
        failures=failures,
    )


@register("cfl-mgd/equation-33", label="(33)", kind="identity", replay=replay_with(evaluate_33),
          repaired_by="cfl-mgd/equation-32-fixed-clusters")  # fmt: skip
def equation_33(context: Context) -> Finding:
    """The error after a round splits into own gradients, intruders' gradients and momentum.

    Hypotheses
        As (32).

    Statement
        ||chi_1^(t+1) - chi*_1|| = ||chi_1^t - (eta/m) sum g_i^t + beta (chi_1^t - chi_1^(t-1)) - chi*_1||
        = ||chi_1^t - chi*_1 - (eta/m) sum g_i^t - (beta eta/m) sum u_i^t|| <= ||T_1|| + ||T_2|| + ||T_3||,
        sums over C_1.

    Symbols
        T_1, T_2, T_3 as (34), (36), (37).

    Source
        Zhao et al. (2023), (33). Its last step is the triangle inequality; the step from
        beta (chi_1^t - chi_1^(t-1)) to the momentum is (32) again, and needs C_1^(t+1) = C_1^t.

    Checked
        As (32), the norms of the second and the third line.
    """
    return search(context, evaluate_33, confirm_33)
