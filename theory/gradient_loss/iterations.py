"""Section III-B: how many iterations the similarity saves, on regression mixtures."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import numpy as np

from algorithms import Randomness
from theory.claim import Context, register
from theory.counterexample import Instance, Number, encode, replay_with, seek
from theory.gradient_loss.race import (
    LIMIT,
    Goal,
    Setting,
    entrant,
    explained_goal,
    in_words,
    purities,
    purity_goal,
    race,
    reduction,
)
from theory.identities import judge_largest
from theory.statistics import judge_failures
from theory.verdict import Finding, Kind

DISTANCES = (0.01, 0.3, 1.0, 2.0)
"""Of the initial models from the pooled optimum, in units of the clusters' separation."""

STEP_SIZES = (0.03, 0.1, 0.3)
BATCHES = (10, 20, 100)

FEW = 2
"""Rounds that may be saved where all models start from one point."""

GOAL = purity_goal(0.9)


@register("gradient-loss/sooner", label="Section III-B, purity", kind="probability")
def sooner(context: Context) -> Finding:
    """From models that start apart, gradient and loss together reach purity 0.9 no later than the loss.

    Hypotheses
        Regression mixture, 40 devices in 4 clusters, batches of 20 rows, alpha = 0.1; models start
        independently at about the clusters' separation from the pooled optimum. Descent sign, mean loss,
        lambda = 0.2; both methods pin devices to empty clusters.

    Statement
        P(T > T_IFCA) <= 1/2 for the first iterations T and T_IFCA with purity at least 0.9.

    Symbols
        lambda ``weight``, alpha ``step_size``.

    Source
        Lin et al. (2023), Section III-B: "the proposed algorithm can reduce the iterations". With the
        printed sign or the summed loss it cannot: ``gradient-loss/equation-3`` and ``-1``.

    Checked
        40 pairs of runs on the same data from the same starts, at most 60 rounds; the reason gives the
        median reduction with its 95 % interval (order statistics).
    """
    runs = context.number_of_trials(40)
    baseline, proposed = race(Setting(distance=1.0), seed=context.seed, replicates=runs, goal=GOAL)
    later = int((proposed > baseline).sum())
    return judge_failures(
        later,
        runs,
        0.5,
        context.significance,
        reason=f"iterations to purity 0.9: median {np.median(baseline):g} with the loss and {np.median(proposed):g} "
        f"with both, reduced by {in_words(reduction(baseline, proposed))}; later in {later} of {runs} pairs",
        measured=later / runs,
        bound=0.5,
    )


def curve(setting: Setting, seed: int, replicates: int) -> tuple[str, np.ndarray]:
    """Medians over the initial distances in words, and the rounds saved from one point."""
    parts, saved = [], np.empty(0)
    for distance in DISTANCES:
        one = dataclasses.replace(setting, distance=distance)
        baseline, proposed = race(one, seed=seed, replicates=replicates, goal=GOAL)
        if distance == DISTANCES[0]:
            saved = baseline - proposed
        parts.append(
            f"{distance:g}: {np.median(baseline):g} -> {np.median(proposed):g}, "
            f"{in_words(reduction(baseline, proposed))}"
        )
    return "; ".join(parts), saved


@register("gradient-loss/same-start", label="Section III-B, one start (ours)", kind="probability")
def same_start(context: Context) -> Finding:
    """Where the models start from one point, the similarity saves hardly any iteration.

    Hypotheses
        As ``gradient-loss/sooner``, but the models start within 0.01 of the separation of one point.

    Statement
        P(T_IFCA - T > 2) <= 1/2: the method's saving is that over a slow start of its baseline, which
        independent initial models cause, since their losses differ for reasons other than the cluster.

    Symbols
        T and T_IFCA first iterations with purity at least 0.9; lambda = 0.2 ``weight``.

    Source
        Ours; says what the reductions of Section III-B are reductions of. The paper does not state how
        the K models are initialised.

    Checked
        16 pairs of runs at each of four initial distances (0.01, 0.3, 1 and 2 separations); the reason
        gives the measured curve: medians of T_IFCA -> T and the reduction with its 95 % interval.
    """
    runs = context.number_of_trials(16)
    words, saved = curve(Setting(distance=0.0), context.seed, runs)
    failures = int((saved > FEW).sum())
    return judge_failures(
        failures,
        runs,
        0.5,
        context.significance,
        reason=f"iterations of IFCA -> with similarity and reduction, by initial distance: {words}; from one point "
        f"the median saving is {np.median(saved):g}",
        measured=float(np.median(saved)),
        bound=float(FEW),
    )


@register(
    "gradient-loss/reduction-curve", label="Section III-B, curves (ours)", kind="probability", quick=False
)
def reduction_curve(context: Context) -> Finding:
    """At every step and batch size, models that start from one point leave little to save.

    Hypotheses
        As ``gradient-loss/same-start``, with alpha 0.03, 0.1 and 0.3 and batches of 10, 20 and 100 rows.

    Statement
        P(T_IFCA - T > 2) <= 1/2 for each of the nine, from one point.

    Symbols
        As ``gradient-loss/same-start``.

    Source
        Ours; the image version is a matter of runs with networks.

    Checked
        30 pairs of runs for each of nine settings and four initial distances; the interval of each
        setting has a ninth of the error probability. The reason gives all curves.
    """
    runs = context.number_of_trials(30)
    lines, worst = [], 0
    for step in STEP_SIZES:
        for rows in BATCHES:
            words, saved = curve(Setting(distance=0.0, step_size=step, rows=rows), context.seed, runs)
            lines.append(f"alpha {step:g}, {rows} rows: {words}")
            worst = max(worst, int((saved > FEW).sum()))
    return judge_failures(
        worst,
        runs,
        0.5,
        context.significance / len(lines),
        reason="iterations of IFCA -> with similarity and reduction, by initial distance. "
        + ". ".join(lines),
        measured=worst / runs,
        bound=0.5,
    )


def single_race(instance: Instance, goal: Goal, noise: float) -> tuple[int, int]:
    """Rounds of IFCA and of GL-CFL in one pair of runs."""
    setting = Setting(distance=float(instance["distance"]), noise=noise)
    baseline, proposed = race(setting, seed=int(instance["seed"]), replicates=1, goal=goal)
    return int(baseline[0]), int(proposed[0])


def ratio_99(instance: Instance) -> tuple[Number, Number]:
    """T / T_IFCA to purity 0.9 and the 1/100 that a reduction by 99 % leaves."""
    baseline, proposed = single_race(instance, GOAL, 0.5)
    return (0, Fraction(1, 100)) if baseline > LIMIT else (Fraction(proposed, baseline), Fraction(1, 100))


def ratio_14(instance: Instance) -> tuple[Number, Number]:
    """T / T_IFCA to 0.8 explained variance and the 86/100 that a reduction by 14 % leaves."""
    baseline, proposed = single_race(instance, explained_goal(0.8), 0.1)
    return (0, Fraction(86, 100)) if baseline > LIMIT else (Fraction(proposed, baseline), Fraction(86, 100))


def races() -> Any:
    """Give a seed and an initial distance, as a hypothesis strategy."""
    from hypothesis import strategies as st

    distances = st.sampled_from([Fraction(1, 100), Fraction(3, 10), Fraction(1)])
    return st.fixed_dictionaries({"distance": distances, "seed": st.integers(0, 100)})


@register("gradient-loss/reduction-99", label="Abstract and Fig. 4, 99 %", kind="upper", replay=replay_with(ratio_99),
          repaired_by="gradient-loss/reduction-ceiling")  # fmt: skip
def reduction_99(context: Context) -> Finding:
    """With lambda = 0.2 the method needs 99 % fewer iterations to purity 0.9 than its baseline.

    Hypotheses
        As ``gradient-loss/sooner``, from any of three initial distances; the baseline arrives within 60
        iterations.

    Statement
        T <= (1 - 0.99) T_IFCA.

    Symbols
        T and T_IFCA first iterations with purity at least 0.9.

    Source
        Lin et al. (2023), abstract ("up to") and Section III-B (MNIST); one number, without seeds, batch
        size, learning rate or initialisation. Here on regression mixtures.

    Checked
        Pairs of runs on the same data: T / T_IFCA. The first iteration is the baseline's own, hence
        no reduction by 99 % of fewer than 200 iterations exists: ``gradient-loss/reduction-ceiling``.
    """

    def sentence(one: Instance, measured: Number, allowed: Number) -> str:
        baseline, proposed = single_race(one, GOAL, 0.5)
        return (
            f"initial distance {encode(one['distance'])}, seed {one['seed']}: {baseline} iterations with the loss and "
            f"{proposed} with both, a reduction by {100 * (1 - proposed / baseline):.0f} %"
        )

    return seek(context, races(), ratio_99, violated=sentence, consistent="all pairs saved 99 %", budget=30)


@register("gradient-loss/accuracy-14", label="Fig. 4, 14 %", kind="upper", replay=replay_with(ratio_14),
          repaired_by="gradient-loss/same-start")  # fmt: skip
def accuracy_14(context: Context) -> Finding:
    """The method needs 14 % fewer iterations to test accuracy 0.8 than its baseline.

    Hypotheses
        As ``gradient-loss/reduction-99``, noise 0.1, with the share of the targets' variance that the
        chosen models explain, on new data, in place of the accuracy.

    Statement
        T <= (1 - 0.14) T_IFCA.

    Symbols
        T and T_IFCA first iterations with a mean explained variance of at least 0.8.

    Source
        Lin et al. (2023), Section III-B and Fig. 4 (MNIST). Here on regression mixtures.

    Checked
        Pairs of runs on the same data; the reason adds the reduction over 20 pairs from one point and
        from models that start apart, with 95 % intervals.
    """

    def sentence(one: Instance, measured: Number, allowed: Number) -> str:
        baseline, proposed = single_race(one, explained_goal(0.8), 0.1)
        both = []
        for distance in (0.01, 1.0):
            setting = Setting(distance=distance, noise=0.1)
            pair = race(setting, seed=context.seed, replicates=20, goal=explained_goal(0.8))
            both.append(in_words(reduction(*pair)))
        return (
            f"initial distance {encode(one['distance'])}, seed {one['seed']}: {baseline} iterations with the loss and "
            f"{proposed} with both; over 20 pairs reduced by {both[0]} from one point and {both[1]} from models "
            "that start apart"
        )

    return seek(context, races(), ratio_14, violated=sentence, consistent="all pairs saved 14 %", budget=30)


def above_ceiling(stream: np.random.Generator) -> float:
    """By how much a reduction exceeds 1 - 2 / T_IFCA, in a pair of runs."""
    setting = Setting(
        distance=float(stream.choice(DISTANCES[:3])), step_size=float(stream.choice([0.1, 0.3]))
    )
    baseline, proposed = race(setting, seed=int(stream.integers(2**31)), replicates=2, goal=GOAL)
    ceiling = np.maximum(1 - 2 / baseline, 0.0)
    return float((reduction(baseline, proposed) - ceiling).max())


@register("gradient-loss/reduction-ceiling", label="Section III-B, ceiling (ours)", kind="upper")
def reduction_ceiling(context: Context) -> Finding:
    """A reduction of iterations is at most 1 - 2 / T for a baseline that needs T.

    Hypotheses
        S = 0 in the first iteration, where nothing has moved; the baseline shares data and starts.

    Statement
        The first iteration is the baseline's own: T_new >= min(2, T_IFCA), hence the reduction is at most
        1 - 2 / T_IFCA for T_IFCA >= 2, and 99 % needs a baseline of at least 200 iterations.

    Symbols
        T the first iteration with purity at least 0.9, counted from 1.

    Source
        Ours. Proof: in the first iteration both maximise -L_ik.

    Checked
        Pairs of runs on random settings: the reduction minus its ceiling.
    """
    return judge_largest(
        context, above_ceiling, "excess of a reduction over 1 - 2 / T_IFCA", trials=20, tolerance=1e-12
    )


@register("gradient-loss/reduction-up-to", label="Fig. 5, up to 98, 21 and 97 %", kind="definition",
          repaired_by="gradient-loss/sooner")  # fmt: skip
def reduction_up_to(context: Context) -> Finding:
    """The method reduces the iterations to purity 0.9 by up to 98 %, 21 % and 97 %.

    Hypotheses
        None stated: not lambda, seeds, batch size, learning rate or initial models.

    Statement
        "reduces iterations required to achieve 0.9 clustering purity by up to 98 %, 21 % and 97 %".

    Symbols
        T and T_IFCA as in ``gradient-loss/sooner``.

    Source
        Lin et al. (2023), Section III-B and Fig. 5 (Fashion-MNIST, CIFAR10, EMNIST). "Up to" is a
        largest value over runs that are not counted. Read: the median over runs, with its interval.

    Checked
        20 pairs of runs at one setting of a regression mixture: smallest, largest and median reduction,
        and the largest of the first 3, for lambda = 0.2 and 0.5.
    """
    words, spread = [], 0.0
    for weight in (0.2, 0.5):
        pair = race(Setting(distance=1.0), seed=context.seed, replicates=20, goal=GOAL, weight=weight)
        saved = reduction(*pair)
        spread = max(spread, float(saved.max() - saved.min()))
        words.append(
            f"lambda = {weight}: {100 * saved.min():.0f} to {100 * saved.max():.0f} %, up to "
            f"{100 * saved[:3].max():.0f} % in the first 3, median {in_words(saved)}"
        )
    return Finding(
        verdict=Kind.ILL_POSED if spread > 0.2 else Kind.CONSISTENT,
        reason=f"reductions in 20 pairs at one setting, {'; '.join(words)}: 'up to' says nothing without the number "
        "of runs; read: the median",
        measured=spread,
        bound=0.2,
    )


@register("gradient-loss/weight-at-start", label="Section III-B, lambda", kind="probability")
def weight_at_start(context: Context) -> Finding:
    """A higher weight of the similarity, 0.5 against 0.1, gives a higher purity at the beginning.

    Hypotheses
        As ``gradient-loss/sooner``, models that start at 0.3 separations.

    Statement
        P(mean purity of iterations 2-4 with lambda = 0.5 < that with lambda = 0.1) <= 1/2.

    Symbols
        lambda ``weight``.

    Source
        Lin et al. (2023), Section III-B: "when lambda changes from 0.1 to 0.5, the proposed algorithm can
        achieve higher purity at the beginning". Its price comes later: near the optima the gradient is
        noise, and so is its direction.

    Checked
        40 pairs of runs on the same data; the reason gives the mean purity at the beginning and after 25
        iterations.
    """
    runs = context.number_of_trials(40)
    setting = Setting(distance=0.3)
    task = setting.task(context.seed)
    starts = setting.starts(task, context.seed, runs)
    early, late = [], []
    for weight in (0.1, 0.5):
        algorithm, randomness = entrant(setting, weight), Randomness.from_seed(context.seed, "race")
        state, path = algorithm.initialise(starts, task), []
        for _ in range(25):
            state = algorithm.step(state, task, randomness)
            path.append(purities(task, state))
        early.append(np.mean(path[1:4], axis=0))
        late.append(float(path[-1].mean()))
    lower = int((early[1] < early[0]).sum())
    return judge_failures(
        lower,
        runs,
        0.5,
        context.significance,
        reason=f"mean purity of iterations 2-4 is {early[0].mean():.2f} with lambda = 0.1 and {early[1].mean():.2f} "
        f"with 0.5, lower in {lower} of {runs} pairs; after 25 iterations it is {late[0]:.2f} and {late[1]:.2f}",
        measured=lower / runs,
        bound=0.5,
    )
