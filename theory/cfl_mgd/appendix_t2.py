"""(A9)-(A14): the intruders' gradients T_2 of a round."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from theory.cfl_mgd.appendix_records import (
    Round,
    basin_models,
    judge_identity,
    judge_markov,
    momentum_runs,
    noisy_regression,
)
from theory.claim import Context, register
from theory.counterexample import Instance, Number, encode, replay_with, seek
from theory.random_tasks import random_mixture
from theory.verdict import Finding, Kind


@register("cfl-mgd/a9", label="(A9)", kind="identity")
def a9(context: Context) -> Finding:
    """The gradients of cluster p's clients in C_1 are their mean plus noise.

    Hypotheses
        Option I.

    Statement
        T_2p = |C_1 n C*_p| grad phi_p(chi_1) + sum over C_1 n C*_p of (g_i - grad phi_p(chi_1)), and
        T_2 = (eta/m) sum_(p >= 2) T_2p is what the intruders contribute to chi_1^(t+1).

    Symbols
        C_1 n C*_p the clients of cluster p that chose model 1.

    Source
        Zhao et al. (2023), (A9). Identity.

    Checked
        On recorded runs of option I as printed: the step of model 1, rebuilt with the right side of
        (A9), against the next model.
    """
    residuals, runs = [], 0
    for one in momentum_runs(context):
        runs += 1
        task, seen, step = one.task, one.seen, one.step / one.task.clients
        for t in range(len(seen.assignments)):
            model, members = seen.models[t, 0], seen.assignments[t] == 0
            total = np.zeros(task.dimension)
            for cluster in range(1, task.clusters):
                chosen = members & (task.labels == cluster)
                mean = task.expected_gradient(model, cluster)
                total += chosen.sum() * mean + (seen.gradients[t][chosen] - mean).sum(axis=0)
            own = one.sum_over(t, seen.gradients[t], own=True)
            momentum = one.momentum * seen.buffers[t][members].sum(axis=0)
            after = model - step * (own + total + momentum)
            residuals.append(float(np.abs(after - seen.models[t + 1, 0]).max()))
    return judge_identity(residuals, what="the step of model 1 rebuilt with (A9)", runs=runs)


@register("cfl-mgd/a10", label="(A10)", kind="upper")
def a10(context: Context) -> Finding:
    """The gradient of another cluster at chi_1 is at most 3 L.

    Hypotheses
        Assumption 1, chi_1 in the basin, and max ||chi*_p|| <= 1 with the constant 1 where Assumption 4
        says <~ 1; so Delta <= 2.

    Statement
        ||grad phi_p(chi_1) - grad phi_p(chi*_p)|| <= L ||chi_1 - chi*_p|| <= 3 L.

    Symbols
        L ``smoothness``.

    Source
        Zhao et al. (2023), (A10). Upper bound in the units in which the largest optimum has norm 1:
        ``cfl-mgd/a10-scale``; 2.5 L is enough. Free of units: ``cfl-mgd/a10-meant``.

    Checked
        On random regressions with max ||chi*|| <= 1 and models on the rim of the basin.
    """
    stream = context.generator("tasks")
    trials = context.number_of_trials(200)
    worst, failures = 0.0, 0
    for _ in range(trials):
        task = noisy_regression(stream)
        model = basin_models(task, stream)[0]
        for cluster in range(1, task.clusters):
            slope = float(np.linalg.norm(task.expected_gradient(model, cluster)))
            reach = task.smoothness * float(np.linalg.norm(model - task.optima[cluster]))
            failures += slope > reach * (1 + 1e-9) or reach > 3 * task.smoothness
            worst = max(worst, slope / (3 * task.smoothness))
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"largest ||grad phi_p(chi_1)|| / 3L over {trials} regressions with max ||chi*|| <= 1",
        measured=worst,
        bound=1.0,
        slack=1 / worst,
        trials=trials,
        failures=failures,
    )


def evaluate_scale(instance: Instance) -> tuple[Number, Number]:
    """||grad phi_2(chi_1)|| and 3 L for phi_p = (chi - chi*_p)^2 / 2, chi* = +-radius, L = 1."""
    radius, offset = Fraction(instance["radius"]), Fraction(instance["offset"])
    return abs(radius * (1 + offset) + radius), Fraction(3)


@register("cfl-mgd/a10-scale", label="(A10), any units", kind="upper", replay=replay_with(evaluate_scale),
          repaired_by="cfl-mgd/a10-meant")  # fmt: skip
def a10_scale(context: Context) -> Finding:
    """The bound 3 L holds for max ||chi*|| of any order that Assumption 4 allows.

    Hypotheses
        As (A10) with max ||chi*|| <~ 1 read as at most 10.

    Statement
        ||grad phi_p(chi_1)|| <= 3 L.

    Symbols
        As (A10).

    Source
        Zhao et al. (2023), (A10) with Assumption 4 as printed. The left side scales with the unit of
        chi, the right does not.

    Checked
        hypothesis searches two scalar clusters at +-radius for the simplest violation, in rational
        arithmetic.
    """
    from hypothesis import strategies as st

    instances: Any = st.fixed_dictionaries(
        {
            "radius": st.fractions(Fraction(1, 4), 10, max_denominator=4),
            # the basin is a quarter of Delta = 2 radius
            "offset": st.fractions(Fraction(-1, 2), Fraction(1, 2), max_denominator=4),
        }
    )
    return seek(
        context,
        instances,
        evaluate_scale,
        violated=lambda instance, measured, _: (
            f"chi* = +-{encode(instance['radius'])}, chi_1 = chi*_1 (1 + {encode(instance['offset'])}), mu = L = 1: "
            f"|grad phi_2(chi_1)| = {encode(measured)} > 3"
        ),
        consistent="no pair of clusters breaks it",
    )


@register("cfl-mgd/a10-meant", label="(A10), meant", kind="upper")
def a10_meant(context: Context) -> Finding:
    """The gradient of another cluster at chi_1 is at most L (D + B).

    Hypotheses
        Assumption 1, ||chi_1 - chi*_1|| <= B.

    Statement
        ||grad phi_p(chi_1)|| <= L ||chi_1 - chi*_p|| <= L (D + B), D = max ||chi*_p - chi*_q||.

    Symbols
        D ``diameter``, B ``basin_radius``, L ``smoothness``.

    Source
        What (A10) of Zhao et al. (2023) needs, in any units; b of Theorem B uses it. Upper bound,
        attained at kappa = 1 by two clusters that face away from each other.

    Checked
        On random regressions, quadratics and ridge-logistic losses, models on the rim of the basin.
    """
    stream = context.generator("tasks")
    trials = context.number_of_trials(150)
    worst, failures = 0.0, 0
    for _ in range(trials):
        task = random_mixture(stream)
        offsets = stream.standard_normal((20, task.dimension))
        offsets *= task.basin_radius / np.linalg.norm(offsets, axis=-1, keepdims=True)
        for cluster in range(1, task.clusters):
            slopes = np.linalg.norm(task.expected_gradient(task.optima[0] + offsets, cluster), axis=-1)
            ratio = float(slopes.max()) / (task.smoothness * (task.diameter + task.basin_radius))
            worst = max(worst, ratio)
            failures += ratio > 1 + 1e-9
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"largest ||grad phi_p(chi_1)|| / L (D + B) over {trials} tasks, 20 models a cluster",
        measured=worst,
        bound=1.0,
        slack=1 / worst,
        trials=trials,
        failures=failures,
    )


def evaluate_second_moment(instance: Instance) -> tuple[Number, Number]:
    """E |sum of g_i - grad phi_p|^2 over all samples of N clients, and N v^2 / n'."""
    clients, samples = int(instance["clients"]), int(instance["samples"])
    rarity, jump = Fraction(instance["rarity"]), Fraction(instance["jump"])
    values = {jump: rarity, -jump * rarity / (1 - rarity): 1 - rarity}
    variance = sum(weight * value**2 for value, weight in values.items())
    moment = Fraction(0)
    for drawn in product(values, repeat=clients * samples):
        weight = math.prod(values[value] for value in drawn)
        moment += weight * (Fraction(sum(drawn)) / samples) ** 2
    return moment, clients * variance / samples


@register("cfl-mgd/a11", label="(A11)", kind="tight", replay=replay_with(evaluate_second_moment))
def a11(context: Context) -> Finding:
    """The intruders' summed noise has second moment at most |C_1 n C*_p| v^2 / n'.

    Hypotheses
        Assumption 3; batches independent of each other and of the choice of clusters.

    Statement
        Given the clusters, E ||sum over C_1 n C*_p of (g_i - grad phi_p(chi_1))||^2 <=
        |C_1 n C*_p| v^2 / n'.

    Symbols
        v^2 ``gradient_variance`` at chi_1, n' ``samples``.

    Source
        Zhao et al. (2023), (A11). Tight: an equality where v^2 is the variance at chi_1.

    Checked
        hypothesis searches laws of gradients with two values, up to 3 clients and 3 samples; the
        expectation is summed over all outcomes in rational arithmetic.
    """
    from hypothesis import strategies as st

    instances: Any = st.fixed_dictionaries(
        {
            "clients": st.integers(1, 3),
            "samples": st.integers(1, 3),
            "rarity": st.sampled_from([Fraction(1, 2), Fraction(1, 3), Fraction(1, 10)]),
            "jump": st.fractions(Fraction(1, 4), 2, max_denominator=4),
        }
    )
    return seek(
        context,
        instances,
        evaluate_second_moment,
        violated=lambda instance, measured, allowed: f"{encode(measured)} > {encode(allowed)} at {instance}",
        consistent="no law with two values breaks it; slack 1: the two sides are equal",
        budget=60,
    )


def foreign_noise_broken(one: Round, level: float) -> np.ndarray:
    """Whether (A12) fails for p = 2 in each replicate."""
    noise = np.linalg.norm(one.deviation(1), axis=-1)
    scale = one.gradient_deviation(1) / (level * math.sqrt(one.task.samples))
    return np.asarray(noise > scale * np.sqrt(one.shared(1)) + 1e-12)


@register("cfl-mgd/a12", label="(A12)", kind="probability")
def a12(context: Context) -> Finding:
    """The noise of cluster p's clients in C_1 is at most sqrt(|C_1 n C*_p|) v / (lambda_1 sqrt(n')).

    Hypotheses
        As (A11).

    Statement
        Given the clusters, with probability at least 1 - lambda_1, ||sum over C_1 n C*_p of
        (g_i - grad phi_p(chi_1))|| <= sqrt(|C_1 n C*_p|) v / (lambda_1 sqrt(n')).

    Symbols
        As (A11).

    Source
        Zhao et al. (2023), (A12). Probability, by Markov's inequality.

    Checked
        Drawn rounds on random regressions with misclassified clients, lambda_1 = 0.1, 0.5, 0.9.
    """
    return judge_markov(context, foreign_noise_broken, lambda _, level: level, what="(A12)")


def foreign_total_broken(one: Round, level: float) -> np.ndarray:
    """Whether (A13) fails for p = 2 in each replicate."""
    scale = one.gradient_deviation(1) / (level * math.sqrt(one.task.samples))
    bound = 3 * one.task.smoothness * one.shared(1) + scale * np.sqrt(one.shared(1))
    return np.asarray(np.linalg.norm(one.total(1), axis=-1) > bound + 1e-12)


@register("cfl-mgd/a13", label="(A13)", kind="probability")
def a13(context: Context) -> Finding:
    """The gradients of cluster p's clients in C_1 sum to at most 3 L times their number, plus noise.

    Hypotheses
        As (A10) and (A11).

    Statement
        Given the clusters, with probability at least 1 - lambda_1, ||T_2p|| <= 3 L |C_1 n C*_p| +
        sqrt(|C_1 n C*_p|) v / (lambda_1 sqrt(n')).

    Symbols
        As (A9) and (A11).

    Source
        Zhao et al. (2023), (A13), from (A10) and (A12). Probability.

    Checked
        As (A12), with max ||chi*|| <= 1.
    """
    return judge_markov(context, foreign_total_broken, lambda _, level: level, what="(A13)")


def intrusion(one: Round) -> tuple[np.ndarray, np.ndarray, float]:
    """||T_2|| and the number of intruders in each replicate, and v: the largest over the clusters."""
    others = range(1, one.task.clusters)
    total = np.sum([one.total(p) for p in others], axis=0)
    norms = np.linalg.norm(total, axis=-1) / (one.task.clients * one.task.smoothness)
    counts = np.sum([one.shared(p) for p in others], axis=0)
    return norms, counts, max(one.gradient_deviation(p) for p in others)


def intrusion_broken(one: Round, level: float) -> np.ndarray:
    """Whether (A14) fails in each replicate."""
    norms, counts, deviation = intrusion(one)
    clients, smooth = one.task.clients, one.task.smoothness
    noise = (
        deviation * math.sqrt(one.task.clusters) / (smooth * level * clients * math.sqrt(one.task.samples))
    )
    return np.asarray(norms > 3 * counts / clients + noise * np.sqrt(counts) + 1e-12)


@register("cfl-mgd/a14", label="(A14)", kind="probability")
def a14(context: Context) -> Finding:
    """The intruders move model 1 by at most 3 L eta times their share, plus noise.

    Hypotheses
        As (A10) and (A11); v the largest over the clusters.

    Statement
        Given the clusters, with probability at least 1 - P lambda_1, ||T_2|| <= (3 L eta / m) |C_1 - C*_1| +
        (eta v sqrt(P) / (lambda_1 m sqrt(n'))) sqrt(|C_1 - C*_1|).

    Symbols
        C_1 - C*_1 the intruders, P ``clusters``.

    Source
        Zhao et al. (2023), (A14), from (A13) by a union over p and Cauchy-Schwarz. Probability.

    Checked
        As (A13), for all intruders together, eta = 1/L.
    """
    return judge_markov(context, intrusion_broken, lambda one, level: one.task.clusters * level, what="(A14)")
