"""(5) and (6) for a cluster that nobody chose."""

from __future__ import annotations

import numpy as np

from algorithms import CFLMGD, run
from synthetic import QuadraticMixture
from theory.claim import Context, register
from theory.verdict import Finding, Kind


def unchosen_model(averaging: str) -> Finding:
    """Run with a model that no client chooses, and see what is left of its averages."""
    task = QuadraticMixture(
        hessians=np.ones((4, 1, 1)),
        centers=np.array([[1.0], [1.0], [-1.0], [-1.0]]),
        labels=np.array([0, 0, 1, 1]),
    )
    algorithm = CFLMGD(step_size=1.0, momentum=0.5, averaging=averaging)
    trace = run(algorithm, task, rounds=5, initial=np.array([[0.5], [100.0]]))
    chosen = int((trace.assignments == 1).sum())
    kept = bool((trace.models[:, 1] == 100.0).all())
    undefined = {"gradient": "u_p is 0/0", "model": "chi_p and u_p are 0/0"}[averaging]
    reading = {"gradient": "the model coasts on its momentum", "model": "model and momentum are kept"}[
        averaging
    ]
    return Finding(
        verdict=Kind.ILL_POSED if chosen == 0 and kept else Kind.CONSISTENT,
        reason=f"a model at 100 among optima +-1 is chosen {chosen} times in 5 rounds, so that {undefined}; "
        f"read: {reading}",
        measured=float(chosen),
    )


@register("cfl-mgd/equation-5", label="(5)", kind="definition", repaired_by="cfl-mgd/theorem-b")
def equation_5(context: Context) -> Finding:
    """Gradient averaging gives every cluster a model and a momentum in every round.

    Hypotheses
        None beyond Algorithm 1.

    Statement
        chi_p^t = chi_p^(t-1) - (eta/m) sum_i r_ip u_i^t and u_p^t = sum_i r_ip u_i^t / sum_i r_ip.

    Symbols
        r_ip the one-hot assignment, eta ``step_size``.

    Source
        Zhao et al. (2023), (5) and line 15. Definition. Its first line with one momentum a cluster,
        as (32), needs no average: theorem B reads it so. On its division by m:
        ``cfl-mgd/division-by-clients``.

    Checked
        By a run in which a model starts so far away that no client chooses it: its u_p is 0/0.
        What we do instead is ``empty_cluster="coast"``: momentum goes on without a gradient.
    """
    return unchosen_model("gradient")


@register("cfl-mgd/equation-6", label="(6)", kind="definition",
          repaired_by="cfl-mgd/equation-10-line-16")  # fmt: skip
def equation_6(context: Context) -> Finding:
    """Model averaging gives every cluster a model and a momentum in every round.

    Hypotheses
        None beyond Algorithm 1.

    Statement
        chi_p^t = sum_i r_ip chi_i^t / sum_i r_ip and u_p^t = sum_i r_ip u_i^t / sum_i r_ip.

    Symbols
        r_ip the one-hot assignment.

    Source
        Zhao et al. (2023), (6) and line 16. Definition.

    Checked
        By a run in which a model starts so far away that no client chooses it: both averages are
        0/0. Under option II we keep model and momentum.
    """
    return unchosen_model("model")
