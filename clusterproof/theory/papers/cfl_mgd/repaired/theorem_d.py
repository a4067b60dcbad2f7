"""Theorem D: Gaussian regression, two-sided, with the failure probability inside a logarithm."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from clusterproof.algorithms import run
from clusterproof.theory.bounds.audit_settings import Experiment, crowded_experiment, experiment
from clusterproof.theory.bounds.gaussian import (
    along_eigenvectors,
    gaussian_dynamics,
    reference_models,
)
from clusterproof.theory.bounds.run_bound import theorem_d_on
from clusterproof.theory.bounds.theorem_d import theorem_d as bound_before
from clusterproof.theory.claims import Replicates, Sides, Stream, at_most, choice, claim, integers, suppose
from clusterproof.theory.exact.heavy_ball import propagators

FAILURE = (0.01, 0.02, 0.02)
Place = Annotated[str, choice("S1", "S2", "S3", "crowded")]
Tuned = Annotated[bool, choice(False, True)]
Rounds = Annotated[int, integers(1, 30)]


def experiment_at(place: str, tuned_momentum: bool) -> Experiment:
    """Return one of the named settings, or the one in which clients are misassigned."""
    if place == "crowded":
        return crowded_experiment()
    return experiment(place, None if tuned_momentum else 0.0)


@claim(
    "cfl-mgd/theorem-d",
    label="Theorem D",
    judges="ours",
    replicates=400,
    quick=False,
    bound=theorem_d_on,
    evaluations=8,
)
def theorem_d(
    place: Place, tuned_momentum: Tuned, replicates: Replicates, stream: Stream
) -> dict[str, Sides]:
    """Gaussian regression: a run stays near its noise-free path, up to a logarithm of 1 / delta.

    Hypotheses
        Server momentum updated first; fresh Gaussian rows, independent ones for choosing a cluster and for the
        gradient. K of the m clients take part in a round, drawn uniformly without replacement and independently
        of all data. Option I, the sum of gradients divided by m, K or the cluster's members; or option II with H
        local steps, all clients of a cluster sharing the covariance. Momentum in [0, 1), any step size.
        Deterministic start. The bound stays below B* = Delta / (1 + sqrt(kappa)).

    Statement
        With probability at least 1 - delta_1 - delta_2, for all t <= T and all p: ||e_t - Pi_t(alpha_p
        Sigma_p) e_0|| <= r_(t,p) and ||e_t|| <= ||Pi_t e_0|| + r_(t,p); with probability at least 1 - delta_1
        - delta_2 - delta_3 also the sharper bound after round T. r is computed forward from the bounds on
        earlier rounds: the drift of misassigned clients, counted by binomial quantiles, and Lemma N. Under option
        II, and on request under option I, no client is counted: the probability of any misassignment adds to the
        failure probability. Where K < m: on the record of participants, the same for each run with the known step
        eta k / N of every round; before the run, with the least count k_- that a hypergeometric tail does not
        exclude (divided by the members, option II), or with the mean step and an added term for its fluctuation.

    Proof
        Freeze the noise at the first bad round; a linear recursion from there on; Lemma R (``cfl-mgd/row-lemma``)
        and Lemma N (``cfl-mgd/norm-inequality``) for its martingale part, Lemma P (``cfl-mgd/pairwise-error``)
        for the counts; a union over rounds and clusters; induction: there is no bad round. Given the record the
        rows keep their law. The mean over a cluster's participants follows the recursion of T H steps; inside a
        round a client's own noise replaces the mean's. A centred hypergeometric count is sub-Gaussian (Hoeffding
        1963, Serfling 1974). In full in ``theory.bounds.theorem_d``.

    Symbols
        m ``clients``, n' ``samples``, alpha_p = eta l_p, Pi_t the noise-free response, K participants, k_(t,p)
        those of cluster p in round t, H ``local_steps``.

    Source
        Ours; replaces Theorem 1 of Zhao et al. (2023) on Gaussian regression. Two-sided: a run whose error is
        too small violates it as well.
    """
    setting = experiment_at(place, tuned_momentum)
    initial = setting.initial(stream, 1)[0]
    trace = run(
        setting.algorithm,
        setting.task,
        rounds=setting.rounds,
        seed=int(stream.integers(2**31)),
        replicates=replicates,
        initial=initial,
    )
    dynamics, start = (
        gaussian_dynamics(setting.regression, setting.algorithm),
        along_eigenvectors(setting.regression, initial),
    )
    tube = bound_before(dynamics, start, rounds=setting.rounds, failure=FAILURE)
    suppose("the bound stays in the basin", tube.applicable)
    curvature = setting.algorithm.step_size * setting.task.proportions[:, None] * dynamics.spectra
    response, _ = propagators(curvature, setting.algorithm.momentum, setting.rounds)
    path = reference_models(setting.regression, start, response)
    distance = np.moveaxis(np.linalg.norm(trace.models - path[:, None], axis=-1), 1, 0)
    errors = np.moveaxis(np.asarray(trace.errors), 1, 0)
    lengths = np.linalg.norm(path - setting.task.optima, axis=-1)
    return {
        "deviation": at_most(distance, noise=tube.deviation[None], failure=sum(FAILURE[:2])),
        "errors": at_most(
            # at round 0 both sides are the start
            errors[:, 1:],
            path=lengths[None, 1:],
            noise=tube.deviation[None, 1:],
            failure=sum(FAILURE[:2]),
        ),
        "two-sided": at_most(np.abs(errors - lengths), noise=tube.deviation[None], failure=sum(FAILURE[:2])),
        "last round": at_most(distance[:, -1], noise=tube.last_deviation[None], failure=sum(FAILURE)),
    }
