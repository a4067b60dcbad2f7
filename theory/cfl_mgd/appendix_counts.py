"""(A4)-(A6): how many clients of a cluster find their model."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from theory.cfl_mgd.appendix_records import basin_models, noisy_regression, with_samples
from theory.claim import Context, register
from theory.counterexample import Instance, Number, encode, replay_with, seek
from theory.exact_tails import exponential_bounds, quarter_deviation, quarter_tail
from theory.two_point_law import confirm_choices, error_probability, needed_samples, two_point_instances
from theory.verdict import Finding, Kind

CONSTANT = 256
"""Of n' >= 256 (P - 1) sigma^2 / (mu^2 Delta^4): twice the c_1 = 128 of Lemma 1."""

HOEFFDING = Fraction(1, 8)
"""c: a deviation of a quarter of the clients costs 2 (1/4)^2 in the exponent."""


def evaluate_error(instance: Instance) -> tuple[Number, Number]:
    """Probability of the wrong choice, and 1/2."""
    return error_probability(instance), Fraction(1, 2)


def largest_union_error(context: Context, trials: int) -> float:
    """Largest sum of exact pairwise errors on random regressions with just enough samples."""
    stream = context.generator("tasks")
    worst = 0.0
    for _ in range(trials):
        task = noisy_regression(stream)
        models = basin_models(task, stream)
        for cluster in range(task.clusters):
            variance = float(task.loss_variance(models, cluster).max())
            scale = task.strong_convexity**2 * task.separation**4
            needed = math.ceil(CONSTANT * (task.clusters - 1) * variance / scale)
            enough = with_samples(task, needed)
            worst = max(worst, float(enough.misclassification_probability(models, cluster).sum()))
    return worst


@register("cfl-mgd/a4", label="(A4)", kind="lower", replay=replay_with(evaluate_error))
def a4(context: Context) -> Finding:
    """At least half of a cluster's clients find their model, in expectation.

    Hypotheses
        Models in the basin, Lemma 1 with c_1 = 128, and what Assumption 4 hides in n' >~: n' >=
        256 (P - 1) sigma^2 / (mu^2 Delta^4).

    Statement
        P(a client of cluster 1 chooses model 1) >= 1/2, hence E |C_1 n C*_1| >= l_1 m / 2.

    Symbols
        n' ``samples``, Delta ``separation``, sigma^2 ``loss_variance`` at the models.

    Source
        Zhao et al. (2023), (A4), "using Lemma 1". Lower bound; by Cantelli's inequality 64 (2 P - 3)
        is enough. That some constant is needed: ``cfl-mgd/a4-constant``.

    Checked
        hypothesis searches laws with two values, numbers of samples and models, in rational
        arithmetic with P = 2; and the exact F tails of random regressions with two or three clusters
        and just enough samples.
    """
    finding = seek(
        context,
        two_point_instances().filter(lambda one: one["samples"] >= CONSTANT * needed_samples(one)),
        evaluate_error,
        violated=lambda instance, measured, _: f"P(wrong model) = {encode(measured)} > 1/2 at {instance}",
        consistent="no law with two values breaks it",
        budget=150,
        confirm=lambda instance, _: confirm_choices(instance),
    )
    trials = context.number_of_trials(40)
    union = largest_union_error(context, trials)
    if finding.verdict is Kind.VIOLATED:
        return finding
    return Finding(
        verdict=Kind.VIOLATED if union > 0.5 else Kind.CONSISTENT,
        reason=f"no law with two values breaks it; with n' = 256 (P - 1) sigma^2 / (mu^2 Delta^4) the exact union of "
        f"wrong choices is at most {union:.3g} on {trials} random regressions",
        measured=union,
        bound=0.5,
        slack=0.5 / union if union else None,
        trials=trials + (finding.trials or 0),
        failures=int(union > 0.5),
    )


@register("cfl-mgd/a4-constant", label="(A4), constant 1", kind="lower", replay=replay_with(evaluate_error),
          repaired_by="cfl-mgd/a4")  # fmt: skip
def a4_constant(context: Context) -> Finding:
    """The constant hidden in n' >~ p sigma^2 / (mu^2 Delta^4) may be one.

    Hypotheses
        As (A4), but only n' >= P sigma^2 / (mu^2 Delta^4).

    Statement
        P(a client chooses its own model) >= 1/2.

    Symbols
        As (A4).

    Source
        Zhao et al. (2023), Assumption 4 with the smallest constant a reader may suppose.

    Checked
        Two clusters, clients whose samples take two values: hypothesis searches the simplest law and
        models in the basin for which more than half of the clients go wrong; a round of the algorithm
        with one client for each possible batch confirms who goes where.
    """
    from hypothesis import strategies as st

    ends = st.sampled_from([Fraction(0), Fraction(-1, 2), Fraction(1, 2)])
    laws = two_point_instances(samples=st.integers(1, 2), first=ends, second=ends)
    instances = laws.filter(lambda one: one["samples"] >= 2 * needed_samples(one))
    return seek(
        context,
        instances,
        evaluate_error,
        violated=lambda instance, measured, _: (
            "chi* = +-1, mu = L = 1: a client of cluster 2 whose samples are -1 + "
            f"{encode(instance['jump'])} with probability {encode(instance['rarity'])} goes wrong with probability "
            f"{encode(measured)} > 1/2 from chi_1 = 1 + {encode(instance['first'])}, chi_2 = -1 + "
            f"{encode(instance['second'])}, n' = {instance['samples']} = "
            f"{float(instance['samples'] / needed_samples(instance)):.3g} sigma^2 / (mu^2 Delta^4)"
        ),
        consistent="no law with two values breaks it",
        budget=1000,
        confirm=lambda instance, _: confirm_choices(instance),
    )


def hoeffding_finding(context: Context, *, lower: bool) -> Finding:
    """Compare exact tails with 2 exp(-N / 8) for N = 1, 2, ... and p = 8/16 .. 16/16."""
    largest = context.number_of_trials(200)
    slack, failures, place = math.inf, 0, (0, 0)
    tail = quarter_tail if lower else quarter_deviation
    for count in range(1, largest + 1):
        bound = 2 * exponential_bounds(HOEFFDING * count)[0]
        for sixteenths in range(8, 17, 2):
            probability = tail(count, sixteenths)
            failures += probability > bound
            if probability and bound / probability < slack:
                slack, place = float(bound / probability), (count, sixteenths)
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"exact tails for N = 1 .. {largest} clients that are right with probability 1/2, 5/8, 3/4, 7/8 or 1, "
        f"in integers; slack is the smallest 2 exp(-N/8) / probability, at N = {place[0]}, p = {place[1]}/16",
        slack=slack,
        trials=5 * largest,
        failures=failures,
        counterexample={"count": place[0], "sixteenths": place[1]} if failures else None,
    )


def replay_deviation(counterexample: dict[str, Any]) -> tuple[float, float]:
    """Evaluate the exact deviation anew."""
    count, sixteenths = int(counterexample["count"]), int(counterexample["sixteenths"])
    return float(quarter_deviation(count, sixteenths)), 2 * math.exp(-count / 8)


@register("cfl-mgd/a5", label="(A5)", kind="probability", replay=replay_deviation)
def a5(context: Context) -> Finding:
    """Fewer than a quarter of the own clients stay with probability at most 2 exp(-clm), c = 1/8.

    Hypotheses
        Clients of cluster 1 choose independently and rightly with probability at least 1/2.

    Statement
        P(|C_1 n C*_1| <= l_1 m / 4) <= P(| |C_1 n C*_1| - E | >= l_1 m / 4) <= 2 exp(-clm).

    Symbols
        N = l_1 m >= l m the cluster's clients; c = 1/8 is Hoeffding's.

    Source
        Zhao et al. (2023), (A5). Probability. Below 1 only for l m > 8 log 2. The best exponent is
        KL(3/8 || 5/8) = 0.1277 for the middle term, at p = 5/8, and KL(1/4 || 1/2) = 0.1308 for the
        first; larger c fail: ``cfl-mgd/a5-constant``.

    Checked
        The middle term exactly, in integers, for all N up to 200 and p = 1/2, 5/8, 3/4, 7/8, 1,
        against a rational number below 2 exp(-N/8).
    """
    return hoeffding_finding(context, lower=False)


@register("cfl-mgd/a6", label="(A6)", kind="probability", replay=replay_deviation)
def a6(context: Context) -> Finding:
    """At least a quarter of the own clients stay with probability at least 1 - 2 exp(-clm), c = 1/8.

    Hypotheses
        As (A5).

    Statement
        P(|C_1 n C*_1| >= l_1 m / 4) >= 1 - 2 exp(-clm).

    Symbols
        As (A5).

    Source
        Zhao et al. (2023), (A6). Probability; 1 - exp(-clm) is true as well, since only one tail counts.

    Checked
        As (A5), for the lower tail.
    """
    return hoeffding_finding(context, lower=True)


def evaluate_large_constant(instance: Instance) -> tuple[Number, Number]:
    """P(Bin(N, 1/2) <= N / 4), and a rational above 2 exp(-cN)."""
    count = int(instance["count"])
    return quarter_tail(count, 8), 2 * exponential_bounds(Fraction(instance["constant"]) * count)[1]


@register("cfl-mgd/a5-constant", label="(A5), c = 1/5", kind="probability",
          replay=replay_with(evaluate_large_constant), repaired_by="cfl-mgd/a5")  # fmt: skip
def a5_constant(context: Context) -> Finding:
    """The constant c of (A5) may be 1/5.

    Hypotheses
        As (A5).

    Statement
        P(|C_1 n C*_1| <= l_1 m / 4) <= 2 exp(-l_1 m / 5).

    Symbols
        As (A5).

    Source
        Zhao et al. (2023), (A5), where c is not named. It can be at most KL(1/4 || 1/2) = log 2 +
        (1/4) log(1/4) + (3/4) log(3/4) = 0.1308.

    Checked
        For all numbers of clients up to 200, each right with probability 1/2, in rational arithmetic;
        shown is the smallest number that fails.
    """
    largest = context.number_of_trials(200)
    exponent = np.log(2) + 0.25 * np.log(0.25) + 0.75 * np.log(0.75)
    pairs = [
        evaluate_large_constant({"count": count, "constant": Fraction(1, 5)})
        for count in range(1, largest + 1)
    ]
    broken = [count for count, (measured, allowed) in enumerate(pairs, 1) if measured > allowed]
    if not broken:
        return Finding(
            verdict=Kind.CONSISTENT, reason=f"no N up to {largest} breaks it", trials=largest, failures=0
        )
    first = broken[0]
    measured, allowed = (float(number) for number in pairs[first - 1])
    return Finding(
        verdict=Kind.VIOLATED,
        reason=f"P(Bin({first}, 1/2) <= {first}/4) = {measured:.4g} > 2 exp(-{first}/5) = {allowed:.4g}, and at "
        f"{len(broken)} of {largest} N; no c above KL(1/4 || 1/2) = {exponent:.4f} serves all N",
        measured=measured,
        bound=allowed,
        slack=allowed / measured,
        trials=largest,
        failures=len(broken),
        counterexample={"count": first, "constant": "1/5"},
    )
