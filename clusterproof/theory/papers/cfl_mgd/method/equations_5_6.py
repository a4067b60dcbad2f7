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


@claim("cfl-mgd/equation-5", label="(5)", repaired_by="cfl-mgd/theorem-d", ill_posed=True)
def equation_5(start: Start) -> Sides:
    """Gradient averaging gives every cluster a model and a momentum in every round.

    Hypotheses
        None beyond Algorithm 1.

    Statement
        chi_p^t = chi_p^(t-1) - (eta/m) sum_i r_ip u_i^t and u_p^t = sum_i r_ip u_i^t / sum_i r_ip.

    Symbols
        r_ip the one-hot assignment, eta ``step_size``.

    Source
        Zhao et al. (2023), (5) and line 15. Definition. Its first line with one momentum a cluster,
        as (32), needs no average: Theorem D reads it so. On its division by m:
        ``cfl-mgd/division-by-clients``.
    """
    members = fewest_members("gradient", start)
    words = (
        f"a model at {start:g} among optima +-1 is chosen by {members} clients, so that u_p is 0/0; "
        "read: the model coasts on its momentum"
    )
    return at_least(members, one=1, words=words)


@claim("cfl-mgd/equation-6", label="(6)", repaired_by="cfl-mgd/equation-10-line-16", ill_posed=True)
def equation_6(start: Start) -> Sides:
    """Model averaging gives every cluster a model and a momentum in every round.

    Hypotheses
        None beyond Algorithm 1.

    Statement
        chi_p^t = sum_i r_ip chi_i^t / sum_i r_ip and u_p^t = sum_i r_ip u_i^t / sum_i r_ip.

    Symbols
        r_ip the one-hot assignment.

    Source
        Zhao et al. (2023), (6) and line 16. Definition.
    """
    members = fewest_members("model", start)
    words = (
        f"a model at {start:g} among optima +-1 is chosen by {members} clients, so that chi_p and u_p are 0/0; "
        "read: model and momentum are kept"
    )
    return at_least(members, one=1, words=words)
