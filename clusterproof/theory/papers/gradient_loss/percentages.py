"""The percentages of the abstract and Section III-B: their ceiling, and the meaning of "up to"."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from clusterproof.theory.claims import Replicates, Sides, Stream, at_most, choice, claim, integers
from clusterproof.theory.exact.algebra import NotNegative
from clusterproof.theory.papers.gradient_loss.iterations import APART, ONE_POINT, races
from clusterproof.theory.papers.gradient_loss.race import Setting, reduction

AtLeastTwo = Annotated[int, integers(2, 60, upwards=True)]


@claim("gradient-loss/reduction-ceiling", label="Section III-B, ceiling", judges="ours", replicates=7)
def reduction_ceiling(
    distance: Annotated[float, choice(APART, 0.3, ONE_POINT)],
    step_size: Annotated[float, choice(0.1, 0.3)],
    stream: Stream,
    replicates: Replicates,
) -> Sides:
    """A reduction of iterations is at most 1 - 2 / T for a baseline that needs T.

    Hypotheses
        S = 0 in the first iteration, where nothing has moved; the baseline shares data and starts. T is the first
        iteration with purity at least 0.9, counted from 1.

    Statement
        The first iteration is the baseline's own: T_new >= min(2, T_IFCA), hence the reduction is at most
        1 - 2 / T_IFCA for T_IFCA >= 2, and 99 % needs a baseline of at least 200 iterations.

    Source
        Ours. Proof: in the first iteration both maximise -L_ik.
    """
    setting = Setting(distance=distance, step_size=step_size)
    baseline, proposed = races(setting, stream, replicates)
    return at_most(reduction(baseline, proposed), ceiling=np.maximum(1 - 2 / baseline, 0.0))


@reduction_ceiling.proof("algebra")
def reduction_ceiling_on_symbols(baseline: AtLeastTwo, later: NotNegative) -> Sides:
    """T_new = 2 + later, since both methods are one in the first iteration and the baseline does not arrive in it."""
    return at_most(1 - (2 + later) / baseline, ceiling=1 - 2 / baseline)


@claim(
    "gradient-loss/reduction-up-to",
    label="Fig. 5, up to 98, 21 and 97 %",
    replicates=20,
    repaired_by="gradient-loss/sooner",
    ill_posed=True,
)
def reduction_up_to(
    weight: Annotated[float, choice(0.2, 0.5)], stream: Stream, replicates: Replicates
) -> Sides:
    """The method reduces the iterations to purity 0.9 by up to 98 %, 21 % and 97 %.

    Hypotheses
        None stated: not lambda, seeds, batch size, learning rate or initial models.

    Statement
        "reduces iterations required to achieve 0.9 clustering purity by up to 98 %, 21 % and 97 %".

    Source
        Lin et al. (2023), Section III-B and Fig. 5 (Fashion-MNIST, CIFAR10, EMNIST). "Up to" is a
        largest value over runs that are not counted. Read: the median over runs, with its interval.
    """
    saved = reduction(*races(Setting(distance=APART), stream, replicates, weight=weight))
    return at_most(
        float(saved.max() - saved.min()),
        alike=0.2,
        words=lambda: (
            f"lambda = {weight}: reductions in {replicates} pairs at one setting run from {100 * saved.min():.0f} to "
            f"{100 * saved.max():.0f} %, up to {100 * saved[:3].max():.0f} % in the first 3, with a median of "
            f"{100 * np.median(saved):.0f} %: 'up to' has no meaning without the number of runs; read: the median"
        ),
    )
