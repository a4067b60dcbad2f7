"""(5) and (6) for a cluster that nobody chose."""

from __future__ import annotations

import numpy as np

from algorithms import CFLMGD, run
from synthetic import QuadraticMixture
from theory.claim import Context, register
from theory.verdict import Finding, Kind


@register("cfl-mgd/equation-5-empty", label="(5), (6)", kind="definition")
def equation_5_empty(context: Context) -> Finding:
    """The server's averages are defined in every round.

    Hypotheses
        None beyond Algorithm 1.

    Statement
        u_p = sum_i r_ip u_i / sum_i r_ip and chi_p = sum_i r_ip chi_i / sum_i r_ip.

    Symbols
        r_ip the one-hot assignment.

    Source
        Zhao et al. (2023), (5), (6) and lines 15-16. Definition.

    Checked
        By a run in which a model starts so far away that no client chooses it: its average is
        0/0. What we do instead is ``empty_cluster``: the buffer coasts under option I, which
        needs no average, and model and buffer are kept under option II.
    """
    task = QuadraticMixture(
        hessians=np.ones((4, 1, 1)),
        centers=np.array([[1.0], [1.0], [-1.0], [-1.0]]),
        labels=np.array([0, 0, 1, 1]),
    )
    initial = np.array([[0.5], [100.0]])
    counts, kept = [], []
    for averaging in ("gradient", "model"):
        algorithm = CFLMGD(step_size=1.0, momentum=0.5, averaging=averaging)
        trace = run(algorithm, task, rounds=5, initial=initial)
        counts.append(int((trace.assignments == 1).sum()))
        kept.append(bool(np.isfinite(trace.models).all()))
    return Finding(
        verdict=Kind.ILL_POSED if counts == [0, 0] and all(kept) else Kind.VIOLATED,
        reason="a model at 100 among optima +-1 is chosen by nobody in 5 rounds, so its averages are 0/0; "
        "read: an empty cluster coasts (option I) or keeps its model (option II)",
        measured=float(sum(counts)),
    )
