"""Claims on (A18)-(A25): the momentum T_3 of a round, and the momentum buffers of the clients."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

from clusterproof.checker.claims import (
    Excluded,
    Q,
    Sides,
    Z,
    among,
    at_most,
    claim,
    equal,
    given,
    iterate,
    known,
    sequences,
)
from clusterproof.theory.papers.cfl_mgd.appendix.a1_to_a9 import (
    ANY,
    CLIENTS,
    OF_CLIENTS,
    SHARE,
    ScalarRun,
    sums,
    total,
)

OF_OTHERS: Any = sequences(ANY, lambda others: others)
OF_ROUNDS: Any = sequences(ANY, lambda rounds: rounds)
NOTHING_RANDOM = (
    # the last client is misassigned in rounds 0 and 2, so u_i differs from S_i even before line 15
    ScalarRun(3, 2, Fraction(1, 2), Fraction(1, 2), 2, 5, Fraction(0)),
    ScalarRun(2, 1, Fraction(1, 2), Fraction(1, 2), 1, 0, Fraction(0)),
    ScalarRun(3, 2, Fraction(1, 2), Fraction(1, 2), 1, 0, Fraction(0)),
    ScalarRun(
        3, 2, Fraction(2, 3), Fraction(1, 2), 5, 0, Fraction(0)
    ),  # in these instances, gradients change sign
)


@claim(
    "cfl-mgd/appendix-a18",
    label="(A18)-(A25)",
    source={"(A19)-(A21), meant": "ours"},
    repaired_by={"(A23), third step": "cfl-mgd/a23-meant", "(A23)": "cfl-mgd/a23-meant"},
    evaluations=300,
    example=[{"run": run} for run in NOTHING_RANDOM],
    expected="violated",
    places="after (6); algorithm 1, line 15; (A19); (A20); (A21); (A22); (A23); (A24); (A25); (A28); "
    "after (A28)",
)
def own_momentum(run: ScalarRun) -> dict[str, Sides | Excluded]:
    """Each client's momentum buffer sums its own past gradients, which equal the present gradient up to noise.

    Hypotheses
        Option I runs as printed, with u_i^0 = 0.

    Statement
        T_3 = (beta eta / m) sum_(C_1) u_i^t is at most the noise of the past gradients, plus |C_1 n C*_1| times the
        present gradient. Here u_i^t is the buffer before round t, after line 15 of the previous round. The lines use
        S_i = sum_(k < t) beta^(t-1-k) g_i^k, e_k = grad phi^1(chi_1^k) and C = C_1 n C*_1.

    Lines
        (A18)
            T_3 = T_31 + T_32, the sum over C_1 n C*_1 plus the sum over C_1 - C*_1.
        (A18), next model
            chi_1^(t+1) = chi_1^t - (eta / m) sum_(C_1) g_i^t - T_3.
        (A19)
            u_i^t = S_i. False: line 15 replaces u_i by the mean over its cluster. If u_i^t = beta u_i^(t-1) +
            g_i^(t-1) is the buffer before line 15, it still contains the mean of the previous round. The first
            counterexample refutes (A19)-(A21) for both meanings of u_i^t.
        (A20)
            T_31 = (beta eta / m) sum_C S_i. False after a round with a misassigned client: line 15 averages the
            gradient of this client into all buffers.
        (A21)
            T_32 = (beta eta / m) sum_(C_1 - C*_1) S_i. False for a client that was already misassigned in an earlier
            round. The line after (A28) repeats this equation.
        (A19)-(A21), meant
            This identity remains true in spite of line 15: if C_1^0 = ... = C_1^t, then T_3 = (beta eta / m)
            sum_(C_1) S_i = beta (chi_1^(t-1) - chi_1^t).
        (A22)
            sum_C S_i = sum_C (S_i - e_t) + |C| e_t, times beta eta / m.
        (A23), first step
            E ||sum_C (S_i - e_t)||^2 <= E ||sum_C (sum_k g_i^k / (1 - beta) - e_t)||^2. False if gradients change sign,
            as for beta = 1/2, g = (1, -1), e_t = 0: 1/4 <= 0.
        (A23), second step
            <= E ||sum_C (sum_k g_i^k - e_t)||^2 / (1 - beta)^2. False for sum_k g_i^k = e_t = 1: 1 <= 0 at beta = 1/2.
        (A23), third step
            <= |C| v^2 t / ((1 - beta)^2 n'). False: the mean of the difference is sum_k e_k - e_t, not 0.
        (A23)
            The first expression is at most the last. (A24) takes the square root, and (A25) applies Markov's
            inequality to the root. False: the bias sum_k beta^(t-1-k) e_k - e_t remains, which is (1 / (1 - beta) -
            1) e_t if the iterates do not change.
        (A23), with noise
            (A23) along the errors 0.4 * 0.8^k of scalar regressions, where the right side is not 0.

    Source
        Zhao et al. (2023), (A18) = (37), with the first line of (32), to (A25). We set parentheses as in (A22).
    """
    u, S, own = run.buffers, run.past_gradients, run.own_members
    w, beta, chi = run.weight, run.momentum, run.models
    T_3, T_31, T_32 = (w * total(u, clients) for clients in (run.members, own, run.false_members))
    e_t, count, past, plain = chi[-2] - 1, len(own), total(S, own), total(run.past_sums(Fraction(1)), own)
    first = (past - count * e_t) ** 2
    second = (plain / (1 - beta) - count * e_t) ** 2
    third = (plain - count * e_t) ** 2 / (1 - beta) ** 2
    sure = ("v = 0, so that no gradient is random", run.spread == 0)
    return {
        "(A18), next model": equal(
            (chi[-1], chi[-2] - total(run.rounds.gradients[run.round], run.members) / run.clients - T_3)
        ),
        "(A19)": equal(*zip(u, S, strict=True)),
        "(A20)": equal((T_31, w * past)),
        "(A21)": equal((T_32, w * total(S, run.false_members))),
        "(A23), first step": given(*sure, lambda: at_most(first, raised=second)),
        "(A23), second step": given(*sure, lambda: at_most(second, factored=third)),
        "(A23), third step": given(*sure, lambda: at_most(third, noise=0)),
        "(A23)": given(*sure, lambda: at_most(first, noise=0)),
    }


@own_momentum.line("(A18)")
def parts_of_the_momentum(
    clients: int = CLIENTS,
    own: tuple[Fraction, ...] = OF_CLIENTS,
    others: int = CLIENTS,
    false: tuple[Fraction, ...] = OF_OTHERS,
    weight: Fraction = ANY,
) -> Sides:
    """Check (A18) for arbitrary buffers of correctly assigned and of misassigned clients."""
    of_own, _ = sums(own, 0)
    everyone, of_false = iterate(
        lambda so_far, buffer: (so_far[0] + buffer, so_far[1] + buffer),
        (of_own, Fraction(0)),
        false,
        invariant=lambda so_far, _: so_far[0] == of_own + so_far[1],
    )
    return equal((weight * everyone, weight * of_own + weight * of_false))


@own_momentum.line("(A19)-(A21), meant")
def momentum_of_fixed_members(
    rounds: int = Z[0:6],
    gradients: tuple[Fraction, ...] = OF_ROUNDS,
    clients: int = Z[1:],
    members: int = Z[1 : lambda clients: clients],
    momentum: Fraction = SHARE,
    model: Fraction = ANY,
) -> Sides:
    """Check our reading of (A19)-(A21), for fixed members and any sums of their gradients.

    Here eta = 1, and there is no initial momentum.

    By line 15 each member's buffer is the mean of beta u_i + g_i over the members.
    """
    weight = known(lambda: Fraction(1) / clients, lambda _: ())

    def one_round(state: tuple[Any, ...], gradient: Any) -> tuple[Any, ...]:
        """Return chi_1, the buffer of each member, the sum of the S_i, and chi_1 of the previous round."""
        now, buffer, past, _ = state
        carried = momentum * buffer + gradient / members
        return now - weight * members * carried, carried, momentum * past + gradient, now

    now, buffer, past, before = iterate(
        one_round,
        (model, Fraction(0), Fraction(0), model),
        gradients,
        invariant=lambda state, _: (state[2] == members * state[1], state[3] == state[0] + weight * state[2]),
    )
    T_3 = momentum * weight * members * buffer
    return equal((T_3, momentum * weight * past), (T_3, momentum * (before - now)))


@own_momentum.line("(A22)")
def around_the_present_gradient(
    clients: int = CLIENTS,
    past: tuple[Fraction, ...] = OF_CLIENTS,
    gradient: Fraction = ANY,
    weight: Fraction = ANY,
) -> Sides:
    """Check (A22) for arbitrary sums S_i and an arbitrary present gradient."""
    added, apart = sums(past, gradient)
    return equal((weight * added, weight * apart + weight * clients * gradient))


@own_momentum.line("(A23), with noise")
def with_noise(
    clients: int = Z[1:],
    samples: int = among(1000, 100, 10),
    momentum: Fraction = Q[Fraction(1, 10) : Fraction(9, 10) : 10],
    round_: int = Z[1:5],
) -> Sides:
    """Check (A23) for s = 0.1, where the gradient of round k has mean e_k and variance (s^2 + 2 e_k^2) / n'."""
    errors = [Fraction(2, 5) * Fraction(4, 5) ** k for k in range(round_ + 1)]
    weights = [momentum ** (round_ - 1 - k) for k in range(round_)]
    variances = [Fraction(1, 100) + 2 * error**2 for error in errors]
    mean = clients * (sum(w * e for w, e in zip(weights, errors[:-1], strict=True)) - errors[-1])
    noise = sum(w**2 * v for w, v in zip(weights, variances[:-1], strict=True))
    left = mean**2 + Fraction(clients, samples) * noise
    return at_most(left, noise=clients * max(variances) * round_ / (samples * (1 - momentum) ** 2))


@claim(
    "cfl-mgd/a23-meant",
    label="(A23), noise part",
    source="ours",
    evaluations=60,
    expected="certified",
    places="(A24); (A25)",
)
def a23_meant(
    clients: int = Z[1:2],
    round_: int = Z[1:3],
    momentum: Fraction = Q[0 : Fraction(9, 10) : 10],
    curvature: Fraction = among(Fraction(1), Fraction(1, 2), Fraction(1, 10)),
    rarity: Fraction = among(Fraction(1, 2), Fraction(1, 10)),
    jump: Fraction = among(Fraction(1), Fraction(1, 4)),
) -> Sides:
    """The noise in the weighted past gradients has second moment at most |C| v^2 / (n' (1 - beta^2)).

    Hypotheses
        Assumption 3 holds along the run, each round has new batches, and C = C_1 n C*_1 is the same set in all
        rounds.

    Statement
        E ||sum over C of sum_(k < t) beta^(t-1-k) (g_i^k - grad phi^1(chi^k))||^2 <= |C| v^2 / (n' (1 - beta^2)). The
        bias sum_k beta^(t-1-k) grad phi^1(chi^k) is not noise. Theorem D treats it as part of the heavy-ball
        recursion.

    Proved for
        One or two clients with one sample each, a scalar quadratic of curvature 1, 1/2 or 1/10, noise with two values,
        at most 3 rounds, and beta <= 9/10.

    Source
        This part of (A23) of Zhao et al. (2023) is true, because the terms are martingale differences. If each
        gradient has variance v^2 / n', the left side is 1 - beta^(2t) times the right side.
    """
    law = {jump: rarity, -jump * rarity / (1 - rarity): 1 - rarity}
    variance = sum(weight * value**2 for value, weight in law.items())
    moment = Fraction(0)
    for outcome in product(product(law, repeat=clients), repeat=round_):
        weight = prod(law[value] for batch in outcome for value in batch)
        error, buffer, past = Fraction(1, 2), Fraction(0), Fraction(0)
        for batch in outcome:
            gradient = error + Fraction(sum(batch)) / clients
            past = momentum * past + clients * (gradient - error)
            buffer = momentum * buffer + gradient
            error -= curvature * buffer
        moment += weight * past**2
    return at_most(moment, martingale=clients * variance / (1 - momentum**2))
