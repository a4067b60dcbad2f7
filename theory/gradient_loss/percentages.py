"""The percentages of the abstract and Section III-B, as far as regression mixtures can tell."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from theory.claim import Context, register
from theory.counterexample import Instance, Number, encode, replay_with, seek
from theory.gradient_loss.iterations import DISTANCES, GOAL
from theory.gradient_loss.race import LIMIT, Goal, Setting, explained_goal, in_words, race, reduction
from theory.identities import judge_largest
from theory.verdict import Finding, Kind


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
