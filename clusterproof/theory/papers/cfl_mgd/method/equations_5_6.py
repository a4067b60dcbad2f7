"""(5) and (6) for a cluster that nobody chose."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from clusterproof.algorithms import CFLMGD, run
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.claims import Sides, at_least, choice, claim

Start = Annotated[float, choice(10.0, 100.0)]
"""Start of the second model; the optima are +-1."""


def fewest_members(averaging: str, start: float) -> int:
    """Fewest clients that choose the second model in one of five rounds."""
    task = QuadraticMixture(
        hessians=np.ones((4, 1, 1)),
        centers=np.array([[1.0], [1.0], [-1.0], [-1.0]]),
        labels=np.array([0, 0, 1, 1]),
    )
    algorithm = CFLMGD(step_size=1.0, momentum=0.5, averaging=averaging)
    trace = run(algorithm, task, rounds=5, initial=np.array([[0.5], [start]]))
    return int((trace.assignments == 1).sum(axis=-1).min())


@claim(
    "cfl-mgd/equation-5",
    label="(5), (6)",
    repaired_by=("cfl-mgd/theorem-d", "cfl-mgd/equation-10-line-16"),
    ill_posed=True,
)
def averages(start: Start) -> dict[str, Sides]:
    """Both kinds of averaging give every cluster a model and a momentum in every round.

    Hypotheses
        None beyond Algorithm 1.

    Statement
        With r_ip the one-hot assignment:

    Lines
        (5)
            chi_p^t = chi_p^(t-1) - (eta/m) sum_i r_ip u_i^t and u_p^t = sum_i r_ip u_i^t / sum_i r_ip. Its first line
            with one momentum a cluster, as (32), needs no average: Theorem D reads it so. On its division by m:
            ``cfl-mgd/division-by-clients``.
        (6)
            chi_p^t = sum_i r_ip chi_i^t / sum_i r_ip and u_p^t = sum_i r_ip u_i^t / sum_i r_ip.

    Source
        Zhao et al. (2023), (5), (6) and lines 15, 16. Definitions.
    """
    by_gradients, by_models = (fewest_members(averaging, start) for averaging in ("gradient", "model"))
    words = "a model at {:g} among optima +-1 is chosen by {} clients, so that {} 0/0; read: {}"
    return {
        "(5)": at_least(
            by_gradients,
            one=1,
            words=words.format(start, by_gradients, "u_p is", "the model coasts on its momentum"),
        ),
        "(6)": at_least(
            by_models,
            one=1,
            words=words.format(start, by_models, "chi_p and u_p are", "model and momentum are kept"),
        ),
    }
