"""(A24)-(A27): the bound on the own clients' momentum T_31."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from theory.cfl_mgd.appendix_records import basin_models, noisy_regression
from theory.cfl_mgd.appendix_t3_momentum import seek_run
from theory.claim import Context, register
from theory.counterexample import Instance, Number, replay_with
from theory.two_clusters import exact_path
from theory.verdict import Finding, Kind


def evaluate_root(instance: Instance) -> tuple[Number, Number]:
    """Both sides of (A24), without noise."""
    own, t = Fraction(instance["own"]), int(instance["round"])
    momentum = Fraction(instance["momentum"])
    path = exact_path(own / Fraction(instance["clients"]), momentum, Fraction(instance["start"]), t)
    return abs(own * (sum(momentum ** (t - 1 - k) * path[k] for k in range(t)) - path[t])), Fraction(0)


@register("cfl-mgd/a24", label="(A24)", kind="upper", replay=replay_with(evaluate_root),
          repaired_by="cfl-mgd/a23-meant")  # fmt: skip
def a24(context: Context) -> Finding:
    """The distance of (A23) is, in expectation, at most v sqrt(|C_1 n C*_1| t / n') / (1 - beta).

    Hypotheses
        As (A23).

    Statement
        E ||sum over C_1 n C*_1 of (sum_k beta^(t-1-k) g_i^k - grad phi^1)|| <= (v / (1 - beta))
        sqrt(|C_1 n C*_1| t / n').

    Symbols
        As (A23).

    Source
        Zhao et al. (2023), (A24), the root of (A23). Upper bound.

    Checked
        As (A23).
    """
    return seek_run(context, evaluate_root, "(A24)")


@register("cfl-mgd/a25", label="(A25)", kind="probability", replay=replay_with(evaluate_root),
          repaired_by="cfl-mgd/a23-meant")  # fmt: skip
def a25(context: Context) -> Finding:
    """The distance of (A23) is at most v sqrt(|C_1 n C*_1| t / n') / ((1 - beta) lambda_3) mostly.

    Hypotheses
        As (A23), lambda_3 in (0, 1).

    Statement
        With probability at least 1 - lambda_3, ||sum over C_1 n C*_1 of (sum_k beta^(t-1-k) g_i^k -
        grad phi^1)|| <= (v / ((1 - beta) lambda_3)) sqrt(|C_1 n C*_1| t / n').

    Symbols
        As (A23).

    Source
        Zhao et al. (2023), (A25), Markov's inequality on (A24). Probability.

    Checked
        As (A23): without noise nothing is random, so that one violation has probability one.
    """
    return seek_run(context, evaluate_root, "(A25), with probability one")


@register("cfl-mgd/a26", label="(A26)", kind="upper")
def a26(context: Context) -> Finding:
    """The gradient of the own cluster at chi_1 is at most L.

    Hypotheses
        Assumption 1, chi_1 in the basin, max ||chi*_p|| <= 1 with the constant 1 (see ``a10-scale``).

    Statement
        ||grad phi^1(chi_1) - grad phi^1(chi*_1)|| <= L ||chi_1 - chi*_1|| <= L.

    Symbols
        L ``smoothness``.

    Source
        Zhao et al. (2023), (A26). Upper bound in the units of (A10); L Delta / (4 sqrt(kappa)) <= L/2 is
        meant in any.

    Checked
        On random regressions with max ||chi*|| <= 1 and models in the basin, half of them on its rim.
    """
    stream = context.generator("tasks")
    trials = context.number_of_trials(200)
    worst, failures = 0.0, 0
    for _ in range(trials):
        task = noisy_regression(stream)
        model = basin_models(task, stream)[0]
        slope = float(np.linalg.norm(task.expected_gradient(model, 0)))
        reach = task.smoothness * float(np.linalg.norm(model - task.optima[0]))
        failures += slope > reach * (1 + 1e-9) or reach > task.smoothness
        worst = max(worst, slope / task.smoothness)
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"largest ||grad phi^1(chi_1)|| / L over {trials} regressions with max ||chi*|| <= 1",
        measured=worst,
        bound=1.0,
        slack=1 / worst,
        trials=trials,
        failures=failures,
    )


def evaluate_momentum(instance: Instance) -> tuple[Number, Number]:
    """|T_31| without noise, and l / 4."""
    clients, own, t = Fraction(instance["clients"]), Fraction(instance["own"]), int(instance["round"])
    momentum, share = Fraction(instance["momentum"]), own / clients
    path = exact_path(share, momentum, Fraction(instance["start"]), t)
    buffer = sum((momentum ** (t - 1 - k) * path[k] for k in range(t)), Fraction(0))
    return momentum * share * abs(buffer), min(share, 1 - share) / 4


@register("cfl-mgd/a27", label="(A27)", kind="probability", replay=replay_with(evaluate_momentum),
          repaired_by="cfl-mgd/theorem-b")  # fmt: skip
def a27(context: Context) -> Finding:
    """The own clients' momentum is at most l / 4, up to noise.

    Hypotheses
        As (A25) and (A26), eta = 1/L, |C_1 n C*_1| >= l_1 m / 4.

    Statement
        With probability at least 1 - lambda_3 - 2 exp(-clm), ||T_31|| <= beta v sqrt(l t) / (2 lambda_3
        (1 - beta) L sqrt(m n')) + l / 4, that is c_3 = 1/2, c_4 = 1/4.

    Symbols
        l = min l_p ``proportions``.

    Source
        Zhao et al. (2023), (A27). Probability. It takes |C_1 n C*_1| = l m / 4, its lower bound, for an upper
        one, drops beta and, by (A25), the bias; without bias the honest term is beta l_1 ||grad phi^1|| / L,
        and l / 4 has no units. The momentum is kept whole in Theorem B.

    Checked
        On two scalar clusters without noise: hypothesis searches clients, momentum, start and round, in
        rational arithmetic, and the algorithm is run on what is found.
    """
    return seek_run(context, evaluate_momentum, "(A27), l / 4")
