"""Success probability of IFCA over separation, noise and start, with Clopper-Pearson intervals."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

from algorithms import IFCA
from theory.claim import Context, register
from theory.counterexample import encode
from theory.ifca.success import PAPER_RADIUS, Cell, interval, successes
from theory.statistics import clopper_pearson, judge_failures
from theory.verdict import Confidence, Finding, Kind

ALGORITHM = IFCA(step_size=1.0)

ALLOWED = 0.05
"""Failure probability that "certain" leaves."""

SEPARATIONS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""At noise 1."""

NOISES = (0.25, 0.5, 1.0, 2.0, 4.0)
"""At separation 2."""

FAR_START = 1.0
"""In units of the separation: outside of the basin, whose end is at a half."""

Series = list[tuple[str, list[tuple[float, int]]]]
"""Name of a series, and (value, successes) along it, in the order in which success must not fall."""


def falls(series: Series, replicates: int, significance: float) -> tuple[int, int]:
    """Steps along which success falls beyond the two intervals, and the number of steps."""
    broken = steps = 0
    for _, points in series:
        ends = [interval(count, replicates, significance) for _, count in points]
        broken += sum(later.upper < earlier.lower for earlier, later in pairwise(ends))
        steps += len(points) - 1
    return broken, steps


def written(series: Series, replicates: int) -> str:
    """Success rates, series by series."""
    return "; ".join(
        f"{name} " + ", ".join(f"{value:g}: {count / replicates:.2f}" for value, count in points)
        for name, points in series
    )


@register("ifca/certain-in-basin", label="Initialisation condition", kind="probability")
def certain_in_basin(context: Context) -> Finding:
    """From the papers' radius IFCA finds all clusters with certainty once they are well separated.

    Hypotheses
        Regression mixtures with kappa = 1 and Delta = 8 s; starts at Delta / 4 in random directions; ten
        clients a cluster with 20 fresh rows, P = 2 and 4; eta = 1/L.

    Statement
        P(some client is in a wrong cluster after 60 rounds) <= 0.05.

    Symbols
        Delta ``separation``, s ``noise``, P ``clusters``; success is an adjusted Rand index of 1.

    Source
        IFCA (Ghosh et al., 2020) and Zhao et al. (2023), Assumption 4: ||w_p^0 - chi*_p|| <= sqrt(mu/L) Delta / 4.
        Probability.

    Checked
        Replicated runs, with the Clopper-Pearson interval of the failure probability.
    """
    replicates = context.number_of_trials(400)
    failures = 0
    for clusters in (2, 4):
        count = successes(ALGORITHM, Cell(8.0, 1.0, clusters=clusters), replicates, context.seed)
        failures += replicates - count
    trials = 2 * replicates
    ordinary = clopper_pearson(failures, trials, 0.05)
    return judge_failures(
        failures,
        trials,
        ALLOWED,
        context.significance,
        reason=f"{failures} of {trials} runs fail from Delta / 4 at Delta = 8 s; 95 % interval of the failure "
        f"probability [{ordinary.lower:.2g}, {ordinary.upper:.2g}]",
        measured=failures / trials,
        bound=ALLOWED,
    )


@register(
    "ifca/monotone-in-basin", label="Initialisation condition, separation and noise", kind="probability"
)
def monotone_in_basin(context: Context) -> Finding:
    """Within the papers' radius success grows with the separation and falls with the noise.

    Hypotheses
        As ``ifca/certain-in-basin``, any Delta and s.

    Statement
        P(success) does not fall as Delta grows at s = 1, nor as s falls at Delta = 2; P = 2 and 4.

    Symbols
        As ``ifca/certain-in-basin``.

    Source
        Ours; what readers expect of a map of success over separation and noise. Misclassification falls
        with Delta / s by the exact F law, and only Delta / s matters since starts scale with Delta.

    Checked
        Success rates along both axes; violated where an interval lies wholly below the one before it.
    """
    replicates = context.number_of_trials(150)
    series: Series = []
    for clusters in (2, 4):
        series.append(
            (
                f"P = {clusters}, s = 1, Delta =",
                [
                    (
                        value,
                        successes(ALGORITHM, Cell(value, 1.0, clusters=clusters), replicates, context.seed),
                    )
                    for value in SEPARATIONS
                ],
            )
        )
    series.append(
        (
            "P = 2, Delta = 2, s =",
            [
                (value, successes(ALGORITHM, Cell(2.0, value), replicates, context.seed))
                for value in reversed(NOISES)
            ],
        )
    )
    broken, steps = falls(series, replicates, context.significance / 20)
    return Finding(
        verdict=Kind.VIOLATED if broken else Kind.CONSISTENT,
        reason=f"success falls beyond the intervals in {broken} of {steps} steps, {replicates} runs each: "
        f"{written(series, replicates)}",
        measured=float(broken),
        bound=0.0,
        trials=steps,
        failures=broken,
    )


def compare_separations(instance: dict[str, Any]) -> tuple[Confidence, Confidence, int, int]:
    """Intervals and counts of success at the smaller and the larger separation."""
    replicates, seed = int(instance["replicates"]), int(instance["seed"])
    start, noise = float(Fraction(instance["start"])), float(Fraction(instance["noise"]))
    counts = [
        successes(
            ALGORITHM, Cell(float(Fraction(instance[name])), noise, start, clusters=4), replicates, seed
        )
        for name in ("smaller", "larger")
    ]
    ends = [interval(count, replicates, SIGNIFICANCE) for count in counts]
    return ends[0], ends[1], counts[0], counts[1]


SIGNIFICANCE = 1e-8
"""Error probability of each interval that a fall in success is judged by."""


def replay_fall(counterexample: dict[str, Any]) -> tuple[float, float]:
    """Lower end at the smaller separation and upper end at the larger one."""
    smaller, larger, _, _ = compare_separations(counterexample)
    return smaller.lower, larger.upper


@register("ifca/monotone-from-anywhere", label="Separation, any start", kind="probability",
          replay=replay_fall, repaired_by="ifca/monotone-in-basin")  # fmt: skip
def monotone_from_anywhere(context: Context) -> Finding:
    """IFCA's success grows with the separation wherever it starts.

    Hypotheses
        As ``ifca/certain-in-basin``, P = 4, but starts at the separation from their optima.

    Statement
        P(success) does not fall as Delta grows at s = 1.

    Symbols
        As ``ifca/certain-in-basin``.

    Source
        Ours; the expectation without the initialisation condition. False: at a small separation the noise
        of the choices carries models out of wrong clusters. True within the radius:
        ``ifca/monotone-in-basin``.

    Checked
        Success at Delta = 2 s and at Delta = 16 s from the same directions; violated where the interval at
        the larger separation lies wholly below that at the smaller one.
    """
    replicates = context.number_of_trials(600)
    instance: dict[str, Any] = {
        "smaller": 2,
        "larger": 16,
        "noise": 1,
        "start": encode(Fraction(FAR_START)),
        "replicates": replicates,
        "seed": context.seed,
    }
    smaller, larger, first, second = compare_separations(instance)
    violated = larger.upper < smaller.lower
    return Finding(
        verdict=Kind.VIOLATED if violated else Kind.CONSISTENT,
        reason=f"from {FAR_START:g} Delta away IFCA succeeds in {first / replicates:.3f} of {replicates} runs at "
        f"Delta = 2 s and in {second / replicates:.3f} at Delta = 16 s, P = 4; from {PAPER_RADIUS:g} Delta it does "
        "not fall",
        measured=smaller.lower,
        bound=larger.upper,
        slack=larger.upper / smaller.lower if smaller.lower else None,
        trials=None if violated else 2 * replicates,
        failures=int(violated),
        counterexample=instance if violated else None,
    )
