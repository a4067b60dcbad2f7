"""(34)-(38): the three terms of Lemma 2's proof and their bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from algorithms import CFLMGD
from synthetic import RegressionMixture
from theory.cfl_mgd.lemma_2 import MISMATCH
from theory.claim import Context, register
from theory.counterexample import Instance, Number, confirm_equal, encode, replay_with, seek
from theory.statistics import judge_failures
from theory.switching_clients import exact_run
from theory.two_clusters import exact_path, run_two_clusters
from theory.verdict import Finding, Kind

DRAWS = 40
"""Independent rounds that are drawn on each random task."""

HOEFFDING = 1 / 8
"""c of exp(-c l m): Hoeffding's, for a quarter of l m below a mean of half of it."""


@dataclass(frozen=True)
class Round:
    """Models in the paper's basin on a random regression, and what Assumption 3 allows there.

    Attributes
    ----------
    task
        Two or three clusters in the unit ball, eta = 1 / L.
    models
        (P, d); model 0 is the one that the statement is about.
    loss_variance
        sigma^2: largest variance of one row's loss of any client at any model.
    gradient_variance
        v^2: largest variance of one row's gradient of any client at model 0.
    """

    task: RegressionMixture
    models: np.ndarray
    loss_variance: float
    gradient_variance: float

    def choices(self, stream: np.random.Generator) -> np.ndarray:
        """Draw every client's choice from a fresh batch, (m,)."""
        clients = np.arange(self.task.clients)
        return np.asarray(np.argmin(self.task.losses(self.models, clients, stream), axis=-1))

    def gradient_sum(self, clients: np.ndarray, stream: np.random.Generator) -> np.ndarray:
        """Draw fresh gradients of some clients at model 0, summed, (d,)."""
        points = np.broadcast_to(self.models[0], (len(clients), self.task.dimension))
        return np.asarray(self.task.gradients(points, clients, stream).sum(axis=0))


def random_round(stream: np.random.Generator, *, enough_rows: bool) -> Round:
    """Draw a task, and models anywhere in the basin.

    Parameters
    ----------
    enough_rows
        Whether n' is what (A4) needs, 256 (P - 1) sigma^2 / (mu^2 Delta^4), or 1 to 20.
    """
    clusters, dimension = int(stream.integers(2, 4)), int(stream.integers(2, 5))
    optima = stream.standard_normal((clusters, dimension))
    optima /= np.linalg.norm(optima, axis=-1, keepdims=True)
    arguments: dict[str, Any] = {
        "optima": optima,
        "covariance": np.geomspace(1 / stream.uniform(1, 5), 1, dimension),
        "noise": float(stream.uniform(0.1, 2)),
        "labels": np.repeat(np.arange(clusters), stream.integers(40, 100, clusters)),
    }
    task = RegressionMixture(**arguments, samples=int(stream.integers(1, 21)))
    offsets = stream.standard_normal(optima.shape)
    offsets /= np.linalg.norm(offsets, axis=-1, keepdims=True)
    models = optima + task.basin_radius * stream.uniform(0, 1, (clusters, 1)) * offsets
    spread = max(float(task.loss_variance(models, cluster).max()) for cluster in range(clusters))
    wander = max(float(task.gradient_variance(models[0], cluster)) for cluster in range(clusters))
    if enough_rows:
        needed = 256 * (clusters - 1) * spread / (task.strong_convexity**2 * task.separation**4)
        task = RegressionMixture(**arguments, samples=math.ceil(needed))
    return Round(task, models, spread, wander)


@register("cfl-mgd/equation-34", label="(34)", kind="identity")
def equation_34(context: Context) -> Finding:
    """The own clients' term is a step of exact descent plus the noise of their mean gradient.

    Hypotheses
        C_1 n C*_1 is not empty.

    Statement
        T_1 = chi_1 - chi*_1 - (eta/m) sum g_i = [chi_1 - chi*_1 - eta' grad phi^1(chi_1)]
        + eta' (grad phi^1(chi_1) - mean g_i), eta' = (eta/m) |C_1 n C*_1|, sums over C_1 n C*_1.

    Symbols
        eta ``step_size``, m ``clients``.

    Source
        Zhao et al. (2023), (34) and (A1). Identity.

    Checked
        Drawn rounds of random regressions: both sides of the identity.
    """
    stream = context.generator("tasks")
    trials = context.number_of_trials(40)
    worst = 0.0
    for _ in range(trials):
        one = random_round(stream, enough_rows=False)
        task, error = one.task, one.models[0] - one.task.optima[0]
        own = np.flatnonzero((one.choices(stream) == 0) & (task.labels == 0))
        if not len(own):
            continue
        total = one.gradient_sum(own, stream)
        step = len(own) / (task.clients * task.smoothness)
        exact = task.expected_gradient(one.models[0], 0)
        left = error - total / (task.clients * task.smoothness)
        right = (error - step * exact) + step * (exact - total / len(own))
        worst = max(worst, float(np.abs(left - right).max()))
    failures = int(worst > 1e-12)
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"largest difference of the two sides over {trials} drawn rounds",
        measured=worst,
        bound=1e-12,
        trials=trials,
        failures=failures,
    )


@register("cfl-mgd/equation-35", label="(35)", kind="probability")
def equation_35(context: Context) -> Finding:
    """The own clients' term contracts by 1 - l mu / 8L, up to the noise of their gradients.

    Hypotheses
        Models in the paper's basin, eta = 1/L, n' >= 256 (P - 1) sigma^2 / (mu^2 Delta^4) so that
        every client is right with probability 1/2 at least, independent batches.

    Statement
        With probability at least 1 - lambda_0 - 2 exp(-c l m), c = 1/8:
        ||T_1|| <= (1 - l mu / 8L) ||chi_1 - chi*_1|| + 2 v / (lambda_0 L sqrt(l m n')).

    Symbols
        l ``proportions``, v^2 the variance of one row's gradient.

    Source
        Zhao et al. (2023), (35) with (A1)-(A8). Upper bound; Markov makes the noise term loose.

    Checked
        Drawn rounds of random regressions with lambda_0 = 1/2; slack is the smallest bound / ||T_1||.
    """
    stream = context.generator("tasks")
    trials, chance = context.number_of_trials(60), 0.5
    failures, slack, allowed = 0, math.inf, 0.0
    for _ in range(trials):
        one = random_round(stream, enough_rows=True)
        task, error = one.task, one.models[0] - one.task.optima[0]
        smallest = float(task.proportions.min())
        contraction = 1 - smallest / (8 * task.condition_number)
        noise = math.sqrt(one.gradient_variance / (smallest * task.clients * task.samples))
        bound = contraction * float(np.linalg.norm(error)) + 2 * noise / (chance * task.smoothness)
        allowed = max(allowed, chance + 2 * math.exp(-HOEFFDING * smallest * task.clients))
        for _ in range(DRAWS):
            own = np.flatnonzero((one.choices(stream) == 0) & (task.labels == 0))
            moved = one.gradient_sum(own, stream) / (task.clients * task.smoothness)
            size = float(np.linalg.norm(error - moved))
            failures += size > bound
            slack = min(slack, bound / size)
    return judge_failures(
        failures, trials * DRAWS, allowed, context.significance, slack=slack, measured=1 / slack, bound=1.0,
        reason=f"||T_1|| above its bound in {failures} of {trials * DRAWS} drawn rounds, allowed {allowed:.3g}",
    )  # fmt: skip


def intruders_bound(one: Round, first: float, second: float) -> float:
    """Right side of (36) with lambda_1 = ``first`` and lambda_2 = ``second``."""
    task = one.task
    scale = task.strong_convexity * task.separation**2
    wrong = 384 * one.loss_variance / (scale**2 * second * task.samples)
    deviations = math.sqrt(one.gradient_variance * one.loss_variance * task.clusters)
    noise = math.sqrt(128 / (task.clients * second)) * deviations
    return wrong + noise / (first * scale * task.smoothness * task.samples)


@register("cfl-mgd/equation-36", label="(36)", kind="probability")
def equation_36(context: Context) -> Finding:
    """The gradients of clients that joined wrongly add little.

    Hypotheses
        Models in the paper's basin, ||chi*_p|| <= 1 for all p, eta = 1/L, independent batches.

    Statement
        With probability at least 1 - P lambda_1 - lambda_2:
        ||T_2|| <= c_1 sigma^2 / (mu^2 lambda_2 Delta^4 n')
        + c_2 v sigma sqrt(P) / (lambda_1 mu L Delta^2 n' sqrt(m lambda_2)), c_1 = 384, c_2 = sqrt(128).

    Symbols
        T_2 = (eta/m) sum g_i over clients of other clusters that chose model 1; sigma^2, v^2 the
        variances of one row's loss and gradient, n' ``samples``.

    Source
        Zhao et al. (2023), (36) with (A9)-(A17). Upper bound, very loose where n' is small, and
        T_2 = 0 nearly always where n' is large.

    Checked
        Drawn rounds of random regressions with n' up to 20, so that clients are wrong;
        lambda_1 = 0.4 / P, lambda_2 = 0.2; slack is the smallest bound / ||T_2||.
    """
    stream = context.generator("tasks")
    trials, allowed = context.number_of_trials(60), 0.6
    failures, wrong, largest = 0, 0, 0.0
    for _ in range(trials):
        one = random_round(stream, enough_rows=False)
        task = one.task
        bound = intruders_bound(one, 0.4 / task.clusters, 0.2)
        for _ in range(DRAWS):
            intruders = np.flatnonzero((one.choices(stream) == 0) & (task.labels != 0))
            wrong += len(intruders)
            moved = one.gradient_sum(intruders, stream) / (task.clients * task.smoothness)
            size = float(np.linalg.norm(moved))
            failures += size > bound
            largest = max(largest, size / bound)
    return judge_failures(
        failures, trials * DRAWS, allowed, context.significance, measured=largest, bound=1.0,
        slack=1 / largest if largest else None,
        reason=f"||T_2|| above its bound in {failures} of {trials * DRAWS} drawn rounds with {wrong} intruders, "
        f"allowed {allowed:g}",
    )  # fmt: skip


@register("cfl-mgd/equation-37", label="(37)", kind="identity")
def equation_37(context: Context) -> Finding:
    """The momentum term is that of the own clients plus that of the intruders.

    Hypotheses
        None. With C_1 of the round in which the u_i are sent, T_3 = beta (chi_1^(t-1) - chi_1^t).

    Statement
        T_3 = (beta eta/m) sum_(C_1) u_i = (eta beta/m) sum_(C_1 n C*_1) u_i + (beta eta/m) sum_(C_1 - C*_1) u_i.

    Symbols
        u_i the clients' momentum.

    Source
        Zhao et al. (2023), (37) and (A18). Identity, a definition of T_31 and T_32; what is
        wrong is their bound, ``cfl-mgd/equation-38``.

    Checked
        Random scalar clients in rational arithmetic: the two parts, and the move of the model in the
        same round.
    """
    stream = context.generator("clients")
    trials = context.number_of_trials(150)
    failures = 0
    for _ in range(trials):
        count = int(stream.integers(2, 7))
        centers = [Fraction(int(number), 4) for number in stream.integers(-8, 9, count)]
        own = set(np.flatnonzero(stream.integers(0, 2, count)).tolist())
        starts = [Fraction(int(number), 4) for number in stream.integers(-8, 9, 2)]
        momentum = Fraction(int(stream.integers(0, 10)), 10)
        path = exact_run(centers, starts, momentum=momentum, rounds=4, reading="line 15")
        for t, (chosen, momenta) in enumerate(zip(path.choices, path.momenta, strict=True)):
            terms = {i: momentum * momenta[i] / count for i in range(count) if chosen[i] == 0}
            parts = (
                sum((term for i, term in terms.items() if i in own), Fraction(0)),
                sum((term for i, term in terms.items() if i not in own), Fraction(0)),
            )
            move = path.models[t][0] - path.models[t + 1][0]
            failures += not sum(terms.values(), Fraction(0)) == sum(parts) == momentum * move
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"{failures} of {4 * trials} rounds of random scalar clients break it in rational arithmetic",
        trials=4 * trials,
        failures=failures,
    )


def evaluate_38(instance: Instance) -> tuple[Number, Number]:
    """||T_3|| = beta |e_t - e_(t-1)|, and c_4 l, the right side with v = sigma = 0."""
    clients, own = Fraction(instance["clients"]), Fraction(instance["own"])
    proportion, momentum, t = own / clients, Fraction(instance["momentum"]), int(instance["round"])
    path = exact_path(proportion, momentum, Fraction(1, 2), t)
    return momentum * abs(path[t] - path[t - 1]), MISMATCH * min(proportion, 1 - proportion)


def confirm_38(instance: Instance, measured: float) -> None:
    """Confirm T_3 = beta (chi^(t-1) - chi^t) by a run with the clients' momentum."""
    momentum, t = float(instance["momentum"]), int(instance["round"])
    algorithm = CFLMGD(step_size=1.0, momentum=momentum, momentum_owner="client")
    models = run_two_clusters(int(instance["clients"]), int(instance["own"]), algorithm, 0.5, t).models
    confirm_equal("||T_3||", momentum * abs(float(models[t, 0, 0] - models[t - 1, 0, 0])), measured)


@register("cfl-mgd/equation-38", label="(38)", kind="upper", replay=replay_with(evaluate_38),
          repaired_by="cfl-mgd/lemma-h")  # fmt: skip
def equation_38(context: Context) -> Finding:
    """The momentum term is at most c_4 l, up to terms that vanish with the noise.

    Hypotheses
        Assumptions 1-5, eta = 1/L.

    Statement
        With probability at least 1 - lambda_2 - lambda_3 - P lambda_4 - 2 exp(-c l m):
        ||T_3|| <= c_3 beta v sqrt(l t) / (lambda_3 (1 - beta) L sqrt(m n')) + c_4 l
        + c_5 beta sigma^2 / (mu^2 lambda_2 Delta^4 n')
        + c_6 beta sigma v sqrt(P t) / (lambda_4 mu L Delta^2 n' (1 - beta) sqrt(m lambda_2)), c_4 = 1/4.

    Symbols
        l = min l_p, v and sigma the deviations of Assumption 3.

    Source
        Zhao et al. (2023), (38) with (A18)-(A34). Upper bound. (A27) takes a lower bound on
        |C_1 n C*_1| for an upper one, and (A23) forgets the mean of the momentum; the honest term
        is of the order beta l_1 ||grad phi^1|| / L. Lemma H bounds the run without this split.

    Checked
        Two clusters of scalar quadratics with v = sigma = 0, where the right side is l / 4: hypothesis
        finds the simplest sizes, momentum and round in rational arithmetic, and option I is run.
    """
    from hypothesis import strategies as st

    instances: Any = st.fixed_dictionaries(
        {
            "clients": st.integers(2, 10),
            "own": st.integers(1, 9),
            "momentum": st.fractions(0, Fraction(9, 10), max_denominator=10),
            "round": st.integers(1, 6),
        }
    )
    return seek(
        context, instances.filter(lambda instance: instance["own"] < instance["clients"]), evaluate_38,
        violated=lambda instance, measured, allowed: (
            f"m = {encode(instance['clients'])}, |C*_1| = {encode(instance['own'])}, chi* = +-1, mu = L = 1, "
            f"v = sigma = 0, e_0 = 1/2, beta = {encode(instance['momentum'])}, t = {encode(instance['round'])}: "
            f"||T_3|| = {float(measured):.4g} > l / 4 = {float(allowed):.4g}"
        ),
        consistent="no instance breaks it", confirm=confirm_38,
    )  # fmt: skip
