"""Theorem E: Theorem D under partial participation, with any divisor, and for option II with local steps."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from clusterproof.algorithms import run
from clusterproof.theory.bounds.audit_settings import PARTICIPATION, participation_experiment
from clusterproof.theory.bounds.gaussian import gaussian_dynamics
from clusterproof.theory.bounds.run_bound import theorem_e_on
from clusterproof.theory.bounds.theorem_e import theorem_e as bound_before
from clusterproof.theory.checker import (
    Family,
    Replicates,
    Sides,
    Stream,
    at_most,
    choice,
    integers,
    suppose,
)

PAPER = Family("cfl-mgd")
FAILURE = (0.01, 0.02, 0.02)
Kind = Annotated[str, choice(*PARTICIPATION)]
Steps = Annotated[int, integers(1, 5)]


@PAPER.claim(
    "theorem-e",
    label="Theorem E (ours)",
    kind="probability",
    part="runs",
    bound_trace=theorem_e_on,
    budget=5,
    replicates=100,
    quick=False,
)
def theorem_e(kind: Kind, replicates: Replicates, stream: Stream) -> dict[str, Sides]:
    """Partial participation and local steps: a run stays near the noise-free path of its own record.

    Hypotheses
        As Theorem D, but K participants in a round, drawn uniformly without replacement and independently of
        all data; the sum of gradients divided by m, K or the cluster's members; or option II with H local
        steps, all clients of a cluster sharing the covariance.

    Statement
        On the record of participants: with the known step eta k / N of every round, Theorem D's bound holds
        for each run. Before the run: the same with the least count k_- that a hypergeometric tail does not
        exclude (divisor "cluster", option II), or with the mean step and an added term for its fluctuation.
        Misassignment either adds its probability or is counted as in Theorem D.

    Proof
        Given the record the rows keep their law. The mean over a cluster's participants follows the recursion
        of T H steps; inside a round a client's own noise replaces the mean's. A centred hypergeometric count
        is sub-Gaussian (Hoeffding 1963, Serfling 1974). In full in ``theory.bounds.theorem_e``.

    Symbols
        K participants, k_(t,p) those of cluster p in round t, H ``local_steps``.

    Source
        Ours. Two-sided on the record.

    Checked
        Runs with half or a quarter of 40 clients, every divisor, and five local steps: the deviation on the
        record, and the error before the run. The steps of the proof: full participation gives Theorem D exactly,
        the law of the counts, the fluctuation of the step, counted false members, a client's path from stored
        noise, and the size of the union.
    """
    setting = participation_experiment(kind)
    initial = setting.initial(stream, 1)[0]
    trace = run(
        setting.algorithm,
        setting.task,
        rounds=setting.rounds,
        seed=int(stream.integers(2**31)),
        replicates=replicates,
        initial=initial,
    )
    bound = theorem_e_on(setting.task, trace, failure_probability=sum(FAILURE))
    norms = np.linalg.norm(initial - setting.task.optima, axis=-1)
    before = bound_before(
        gaussian_dynamics(setting.regression, setting.algorithm),
        norms,
        rounds=setting.rounds,
        failure=FAILURE,
    )
    suppose("the bounds stay in the basin", before.tube.applicable)
    suppose("the record gives a two-sided bound", bound.reference is not None and bound.deviation is not None)
    distance = np.linalg.norm(trace.models - np.asarray(bound.reference), axis=-1)
    failure = sum(FAILURE) + float(before.misassignment.max())
    return {
        "on the record": at_most(
            np.moveaxis(distance, 1, 0),
            noise=np.moveaxis(np.asarray(bound.deviation), 1, 0),
            failure=bound.failure_probability,
        ),
        "before the run": at_most(
            # at round 0 both sides are the start
            np.moveaxis(np.asarray(trace.errors), 1, 0)[:, 1:],
            reach=before.tube.reach[None, 1:],
            failure=failure,
        ),
    }
