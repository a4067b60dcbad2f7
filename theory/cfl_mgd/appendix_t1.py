"""(A1)-(A3): the own clients' part T_1 of a round, split into descent and noise."""

from __future__ import annotations

import numpy as np

from synthetic import QuadraticMixture
from theory.cfl_mgd.appendix_records import Round, judge_identity, judge_markov, momentum_runs
from theory.claim import Context, register
from theory.random_tasks import random_mixture
from theory.verdict import Finding, Kind


@register("cfl-mgd/a1", label="(A1)", kind="identity")
def a1(context: Context) -> Finding:
    """The own clients' part of a round is one gradient step plus averaged noise.

    Hypotheses
        Option I; some own client stays: |C_1 n C*_1| >= 1, since T_12 is 0/0 otherwise.

    Statement
        T_1 = [chi_1 - chi*_1 - h grad phi^1(chi_1)] + h [grad phi^1(chi_1) - mean of g_i over
        C_1 n C*_1], h = (eta/m) |C_1 n C*_1|, where chi_1^(t+1) - chi*_1 = T_1 - T_2 - T_3.

    Symbols
        h the paper's eta-hat, T_11 and T_12 the two brackets.

    Source
        Zhao et al. (2023), (A1) = (34). Identity.

    Checked
        On recorded runs of option I as printed, with clients that choose wrong clusters: T_1 built
        from (A1), less the intruders' gradients and the momentum, against the next model.
    """
    residuals, runs = [], 0
    for one in momentum_runs(context):
        runs += 1
        task, seen, step = one.task, one.seen, one.step / one.task.clients
        for t in range(len(seen.assignments)):
            model = seen.models[t, 0]
            own = ((seen.assignments[t] == 0) & (task.labels == 0)).sum()
            if own == 0:
                continue
            slope = task.expected_gradient(model, 0)
            first = model - task.optima[0] - step * own * slope
            second = slope - one.sum_over(t, seen.gradients[t], own=True) / own
            rest = step * one.sum_over(t, seen.gradients[t], own=False)
            momentum = step * one.momentum * seen.buffers[t][seen.assignments[t] == 0].sum(axis=0)
            after = first + step * own * second - rest - momentum
            residuals.append(float(np.abs(after + task.optima[0] - seen.models[t + 1, 0]).max()))
    return judge_identity(residuals, what="T_11 + h T_12 - T_2 - T_3 against the next model", runs=runs)


def contraction_ratio(context: Context, *, sharp: bool) -> Finding:
    """Largest ||chi - h grad phi(chi) - chi*|| over the claimed contraction, on random tasks."""
    stream = context.generator("tasks")
    trials = context.number_of_trials(150)
    worst, failures = 0.0, 0
    for _ in range(trials):
        task = random_mixture(stream)
        smooth, strong = task.smoothness, task.strong_convexity
        for cluster in range(task.clusters):
            offsets = stream.standard_normal((30, task.dimension))
            if isinstance(task, QuadraticMixture):
                flattest = np.linalg.eigh(task.cluster_hessians[cluster])[1][:, 0]
                offsets[:5] = flattest
            offsets *= 10.0 ** stream.uniform(-2, 1, (30, 1))
            step = stream.choice([1.0, 0.5, stream.uniform()], (30, 1)) / smooth
            moved = offsets - step * task.expected_gradient(task.optima[cluster] + offsets, cluster)
            rate = step[:, 0] * strong * (1.0 if sharp else smooth / (strong + smooth))
            length = np.linalg.norm(offsets, axis=-1)
            ratio = float((np.linalg.norm(moved, axis=-1) / ((1 - rate) * length + 1e-12)).max())
            worst = max(worst, ratio)
            failures += ratio > 1 + 1e-9
    factor = "1 - h mu" if sharp else "1 - h mu L / (mu + L)"
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"largest ||T_11|| / (({factor}) ||chi - chi*||) over {trials} regressions, quadratics and "
        "ridge-logistic losses, 30 points and steps a cluster",
        measured=worst,
        bound=1.0,
        slack=1 / worst,
        trials=trials,
        failures=failures,
    )


@register("cfl-mgd/a2", label="(A2)", kind="upper")
def a2(context: Context) -> Finding:
    """One gradient step with h <= 1/L contracts by 1 - h mu L / (mu + L).

    Hypotheses
        phi^1 is L-smooth and mu-strongly convex, 0 < h <= 1/L.

    Statement
        ||chi_1 - chi*_1 - h grad phi^1(chi_1)|| <= (1 - h mu L / (mu + L)) ||chi_1 - chi*_1||.

    Symbols
        h the paper's eta-hat, mu ``strong_convexity``, L ``smoothness``.

    Source
        Zhao et al. (2023), (A2). Upper bound, not tight: ``cfl-mgd/a2-sharp``.

    Checked
        On random regressions, quadratics and ridge-logistic losses, which are not quadratic, at
        distances 0.01 to 10 and steps up to 1/L, the flattest direction included.
    """
    return contraction_ratio(context, sharp=False)


@register("cfl-mgd/a2-sharp", label="(A2), sharper", kind="tight")
def a2_sharp(context: Context) -> Finding:
    """One gradient step with h <= 1/L contracts by 1 - h mu.

    Hypotheses
        As (A2).

    Statement
        ||chi_1 - chi*_1 - h grad phi^1(chi_1)|| <= (1 - h mu) ||chi_1 - chi*_1||, which is (A2)'s
        with up to twice the gain, since L / (mu + L) is in [1/2, 1).

    Symbols
        As (A2).

    Source
        Textbook bound max(|1 - h mu|, |1 - h L|) for h <= 2 / (mu + L) (Polyak 1987, 1.4). Attained on
        quadratics in the flattest direction.

    Checked
        As (A2).
    """
    return contraction_ratio(context, sharp=True)


def noise_broken(one: Round, level: float) -> np.ndarray:
    """Whether (A3) fails in each replicate."""
    shared = one.shared(0)
    noise = np.linalg.norm(one.deviation(0), axis=-1)
    # multiplied by |C_1 n C*_1|, so that an empty intersection says nothing
    return np.asarray(noise > one.gradient_deviation(0) / level * np.sqrt(shared / one.task.samples) + 1e-12)


@register("cfl-mgd/a3", label="(A3)", kind="probability")
def a3(context: Context) -> Finding:
    """The own clients' averaged noise is at most v / (lambda_0 sqrt(n' |C_1 n C*_1|)).

    Hypotheses
        Assumption 3 with v at chi_1, gradients on batches that the choice of clusters did not use.

    Statement
        Given the clusters, with probability at least 1 - lambda_0,
        ||T_12|| <= v / (lambda_0 sqrt(n' |C_1 n C*_1|)). The line before prints E ||T_12||^2 = v^2 / (n'
        |C_1 n C*_1|): meant is <=.

    Symbols
        v ``gradient_variance`` (its root), n' ``samples``.

    Source
        Zhao et al. (2023), (A3). Probability, by Markov's inequality; Chebyshev's would have
        lambda_0^(1/2).

    Checked
        Drawn gradients of rounds in which clients do choose wrong clusters, on random regressions
        and models in the basin, lambda_0 = 0.1, 0.5, 0.9, v in closed form.
    """
    return judge_markov(context, noise_broken, lambda _, level: level, what="(A3)")
