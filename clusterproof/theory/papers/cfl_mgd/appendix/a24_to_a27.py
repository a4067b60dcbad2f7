"""(A24)-(A27): the bound on the own clients' momentum T_31."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from clusterproof.theory.claims import Sides, Stream, at_most, claim, suppose
from clusterproof.theory.exact.two_clusters import (
    LargeRun,
    confirm_path,
    has_positive_probability,
)
from clusterproof.theory.papers.cfl_mgd.appendix.tasks import NoisyTask, basin_models, suppose_units


@claim("cfl-mgd/a26", label="(A26)", evaluations=200)
def a26(task: NoisyTask, stream: Stream) -> dict[str, Sides]:
    """The gradient of the own cluster at chi_1 is at most L.

    Hypotheses
        Assumption 1, chi_1 in the basin, max ||chi*_p|| <= 1 with the constant 1.

    Statement
        ||grad phi^1(chi_1) - grad phi^1(chi*_1)|| <= L ||chi_1 - chi*_1|| <= L.

    Symbols
        L ``smoothness``.

    Source
        Zhao et al. (2023), (A26). Upper bound in the units of (A10); L Delta / (4 sqrt(kappa)) <= L/2 is
        meant in any.
    """
    suppose_units(task)
    model = basin_models(task, stream)[0]
    reach = task.smoothness * float(np.linalg.norm(model - task.optima[0]))
    return {
        "smoothness": at_most(float(np.linalg.norm(task.expected_gradient(model, 0))), reach=reach),
        "units": at_most(reach, one=task.smoothness),
    }


# the instance that can be followed by hand
BY_HAND = LargeRun(clients=12, own=6, momentum=Fraction(2, 3), start=Fraction(1, 2), round=1)


@claim(
    "cfl-mgd/a27",
    label="(A27)",
    confirm=confirm_path,
    repaired_by="cfl-mgd/theorem-d",
    example=({"noise_free": BY_HAND},),
)
def a27(noise_free: LargeRun) -> Sides:
    """The own clients' momentum is at most l / 4, up to noise.

    Hypotheses
        As (A25) and (A26), eta = 1/L, |C_1 n C*_1| >= l_1 m / 4. The printed probability is positive:
        2 exp(-l m / 8) < 1, that is l m >= 6.

    Statement
        With probability at least 1 - lambda_3 - 2 exp(-clm), ||T_31|| <= beta v sqrt(l t) / (2 lambda_3
        (1 - beta) L sqrt(m n')) + l / 4, that is c_3 = 1/2, c_4 = 1/4.

    Symbols
        l = min l_p ``proportions``.

    Source
        Zhao et al. (2023), (A27). Probability. It takes |C_1 n C*_1| = l m / 4, its lower bound, for an upper
        one, drops beta and, by (A25), the bias; without bias the honest term is beta l_1 ||grad phi^1|| / L,
        and l / 4 has no units. The momentum is kept whole in Theorem D.
    """
    fewest = min(noise_free.own, noise_free.clients - noise_free.own)
    suppose("1 - ... - 2 exp(-clm) > 0", has_positive_probability(2, fewest))
    smallest = min(noise_free.share, 1 - noise_free.share)
    return at_most(noise_free.momentum * noise_free.share * abs(noise_free.buffer), mismatch=smallest / 4)
