"""Lines 11, 12, 15 and 16 of Algorithm 1: whose momentum, which average."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from algorithms import CFLMGD, run
from synthetic import QuadraticMixture
from theory.cfl_mgd.algorithm_choices import ambiguous
from theory.claim import Context, register
from theory.counterexample import confirm_equal
from theory.switching_clients import READINGS, exact_run, run_algorithm
from theory.verdict import Finding


@register("cfl-mgd/algorithm-line-15-momentum-of-switchers", label="Algorithm 1, line 15", kind="definition",
          repaired_by="cfl-mgd/equation-32-fixed-clusters")  # fmt: skip
def algorithm_line_15_momentum_of_switchers(context: Context) -> Finding:
    """A client that changes its cluster brings its momentum along.

    Hypotheses
        Option I.

    Statement
        Line 15 sets u_i to the mean u_p of its cluster; (9) and (A19) keep each client's own; the second
        line of (32) is one momentum a cluster.

    Symbols
        u_i the clients' momentum; ``momentum_owner``.

    Source
        Zhao et al. (2023), line 15, (9), (32) and (A19). Read: one momentum a cluster, owned by the
        server (R2); ``momentum_owner="client"`` is line 15 to the letter (R1).

    Checked
        Four clients, one of which changes its cluster after round 1, in rational arithmetic and by
        runs: the three readings give three different chi_1^(2). While nobody changes they agree:
        ``cfl-mgd/equation-32-fixed-clusters``.
    """
    centers = [Fraction(-1, 2), Fraction(0), Fraction(1, 2), Fraction(1)]
    starts, momentum = [Fraction(-1, 4), Fraction(-1)], Fraction(1, 10)
    results = [
        exact_run(centers, starts, momentum=momentum, rounds=2, reading=reading).models[2][0]
        for reading in READINGS
    ]
    for owner, exact in (("client", results[0]), ("server", results[2])):
        models = run_algorithm(centers, starts, momentum=momentum, rounds=2, owner=owner).models
        confirm_equal(f"momentum owned by the {owner}", float(models[2, 0, 0]), float(exact))
    line_15, own, server = (float(result) for result in results)
    return ambiguous(
        len(set(results)) > 1,
        f"clients at -1/2, 0, 1/2, 1, the first of which changes its cluster, beta = 1/10: chi_1^(2) = {line_15:g} "
        f"with u_i = u_p (line 15), {own:g} with each client's own (A19), {server:g} with one a cluster (32); read: "
        "the last",
        float(max(results) - min(results)),
    )


@register("cfl-mgd/algorithm-line-12-option-2-momentum", label="Algorithm 1, lines 11-12, 16",
          kind="definition", repaired_by="cfl-mgd/model-averaging-reset")  # fmt: skip
def algorithm_line_12_option_2_momentum(context: Context) -> Finding:
    """Local updates of option II start from the momentum of a cluster.

    Hypotheses
        Option II, H >= 2.

    Statement
        LocalUpdate(chi_p_hat^t, u_p^t, eta, H): the model has the index p_hat, the momentum p. Line 16
        averages u over the cluster; (10) does not.

    Symbols
        H ``local_steps``; ``reset_momentum``.

    Source
        Zhao et al. (2023), lines 11, 12, 16 and (10). Read: u of the chosen cluster, averaged, as
        printed; ``reset_momentum`` starts from zero, which is always stable.

    Checked
        Two clients with lambda = 1/100 and 1 and the same minimiser, eta = 1/L, beta = 0.9, H = 5: the
        printed reading diverges and the reset converges, though each client alone converges.
    """
    task = QuadraticMixture(
        hessians=np.array([[[0.01]], [[1.0]]]), centers=np.zeros((2, 1)), labels=np.zeros(2, dtype=int)
    )
    ends = [
        float(
            np.abs(
                run(
                    CFLMGD(
                        step_size=1.0, momentum=0.9, averaging="model", local_steps=5, reset_momentum=reset
                    ),
                    task,
                    rounds=60,
                    initial=np.array([[0.5]]),
                ).models[-1, 0, 0]
            )
        )
        for reset in (False, True)
    ]
    return ambiguous(
        ends[0] > 1 > ends[1],
        f"lambda = (1/100, 1), beta = 0.9, H = 5, 60 rounds from 1/2: |chi| = {ends[0]:.3g} when u is averaged and "
        f"passed on, {ends[1]:.3g} when a round starts from u = 0; read: as printed, reset_momentum being an option",
        ends[0],
    )


@register("cfl-mgd/algorithm-lines-15-16-weights", label="Algorithm 1, lines 15-16, weights", kind="definition",
          repaired_by="cfl-mgd/equation-1-mean")  # fmt: skip
def algorithm_lines_15_16_weights(context: Context) -> Finding:
    """Clients with different amounts of data have the same weight.

    Hypotheses
        |D_i| differ from client to client.

    Statement
        (5), (6) and lines 15-16 average without weights, (1) weighs by |D_p| / |D|.

    Symbols
        |D_i| the rows of client i.

    Source
        Zhao et al. (2023), (1), (5), (6) and lines 15-16. Read: no weights, and equal |D_i| = n.

    Checked
        Two clients at 0 and 1 with 1 and 3 rows: option II with equal weights, and with the second
        client written three times, which is the weighted average, rest at different models.
    """
    ends = []
    for copies in (1, 3):
        centers = np.array([0.0] + [1.0] * copies)[:, None]
        task = QuadraticMixture(
            hessians=np.ones((1 + copies, 1, 1)), centers=centers, labels=np.zeros(1 + copies, dtype=int)
        )
        algorithm = CFLMGD(step_size=0.5, momentum=0.0, averaging="model")
        ends.append(float(run(algorithm, task, rounds=80, initial=np.zeros((1, 1))).models[-1, 0, 0]))
    return ambiguous(
        abs(ends[0] - ends[1]) > 1e-9,
        f"clients at 0 and 1 with 1 and 3 rows: the unweighted average rests at {ends[0]:g}, the weighted at "
        f"{ends[1]:g}; read: unweighted, equal amounts of data",
        abs(ends[0] - ends[1]),
    )
