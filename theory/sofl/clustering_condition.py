"""Section 4.1: when SoFL clusters, and the recommended thresholds."""

from __future__ import annotations

import numpy as np

from theory.claim import Context, register
from theory.verdict import Finding, Kind

LARGEST_FACTOR = 10
"""delta_2 is recommended in [delta_1, 10 delta_1]."""


@register("sofl/clustering-condition", label="Section 4.1, conditions (a), (b)", kind="hypothesis")
def clustering_condition(context: Context) -> Finding:
    """Clients are clustered when (a) the global update is small and (b) the clients' still fluctuate.

    Hypotheses
        The recommended delta_1 = max ||Delta w_i|| / 10 and delta_2 in [delta_1, 10 delta_1].

    Statement
        (a) 0 < ||sum_i Delta w_i|| < delta_1 and (b) max_i ||Delta w_i|| > delta_2 > 0.

    Symbols
        Delta w_i the clients' updates; ``trigger="stationary"``.

    Source
        Zhang and Qiao (2024), Section 4.1. Read: the mean for the sum of (a), as in Sattler et al., and (a)
        alone; thresholds that are fixed before training would make (b) a condition again, but no value
        is given. The paper's alternative, a round that is specified, is ``trigger="round"``.

    Proof
        10 delta_1 = max ||Delta w_i||, so (b) is true for every delta_2 < 10 delta_1 and false at the end.

    Checked
        Random updates of 2 to 30 clients and every tenth of the range of delta_2: (b) decides nowhere. The
        norm of the sum and of the mean, over the largest update, for homogeneous clients: the sum grows
        with their number, so that (a) as printed depends on it.
    """
    stream = context.generator("updates")
    trials = context.number_of_trials(200)
    decides = 0
    for _ in range(trials):
        updates = stream.standard_normal((int(stream.integers(2, 31)), 5)) * 10 ** stream.uniform(-3, 3)
        largest = float(np.linalg.norm(updates, axis=1).max())
        for factor in np.linspace(1, LARGEST_FACTOR, 46)[:-1]:
            decides += not largest > factor * (largest / 10) * (1 - 1e-12)
    noise = stream.standard_normal((100, 200))
    largest = float(np.linalg.norm(noise, axis=1).max())
    ratios = [float(np.linalg.norm(noise[:n].sum(axis=0))) / largest for n in (4, 100)]
    return Finding(
        verdict=Kind.CONSISTENT if decides else Kind.VACUOUS,
        reason=f"(b) holds for every delta_2 in [delta_1, 10 delta_1) in {trials} of {trials} sets of updates: it says "
        f"nothing; and the sum of (a) over pure noise is {ratios[0]:.2g} of the largest update with 4 clients, "
        f"{ratios[1]:.2g} with 100: read with the mean",
        measured=decides / trials,
        bound=0.0,
        trials=trials,
        failures=0,
    )
