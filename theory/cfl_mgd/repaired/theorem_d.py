"""Theorem D: option I on Gaussian regression, two-sided, with the failure probability inside a logarithm."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from clusterproof.algorithms import run
from clusterproof.theory.bounds.experiments import Experiment, crowded_experiment, experiment
from clusterproof.theory.bounds.logarithmic.gaussian import (
    along_eigenvectors,
    gaussian_dynamics,
    reference_models,
)
from clusterproof.theory.bounds.logarithmic.run_bound import theorem_d_on
from clusterproof.theory.bounds.logarithmic.theorem_d import theorem_d_chains
from clusterproof.theory.bounds.logarithmic.tube import forward
from clusterproof.theory.instruments.heavy_ball import propagators
from clusterproof.theory.statement import (
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
Place = Annotated[str, choice("S1", "S2", "S3", "crowded")]
Tuned = Annotated[bool, choice(False, True)]
Rounds = Annotated[int, integers(1, 30)]


def place_of(place: str, tuned_momentum: bool) -> Experiment:
    """Give a setting of the audit, or the one in which clients are misassigned."""
    if place == "crowded":
        return crowded_experiment()
    return experiment(place, None if tuned_momentum else 0.0)


@PAPER.claim("theorem-d", label="Theorem D (ours)", kind="probability", part="runs", bound_trace=theorem_d_on,
             budget=8, replicates=200, quick=False)  # fmt: skip
def theorem_d(
    place: Place, tuned_momentum: Tuned, replicates: Replicates, stream: Stream
) -> dict[str, Sides]:
    """Gaussian regression: a run stays near its noise-free path, up to a logarithm of 1 / delta.

    Hypotheses
        Option I, full participation, division by m, server momentum updated first; fresh Gaussian rows,
        independent ones for choosing a cluster and for the gradient. Momentum in [0, 1), any step size.
        Deterministic start. The bound stays below B* = Delta / (1 + sqrt(kappa)).

    Statement
        With probability at least 1 - delta_1 - delta_2, for all t <= T and all p: ||e_t - Pi_t(alpha_p
        Sigma_p) e_0|| <= r_(t,p) and ||e_t|| <= ||Pi_t e_0|| + r_(t,p); with probability at least 1 - delta_1
        - delta_2 - delta_3 also the sharper bound after round T. r is computed forward from the bounds on
        earlier rounds: the drift of misassigned clients, counted by binomial quantiles, and Lemma N.

    Proof
        Freeze the noise at the first bad round; a linear recursion from there on; Lemma R and Lemma N for its
        martingale part; a union over rounds and clusters; induction: there is no bad round. In full in
        ``theory.bounds.logarithmic.theorem_d``.

    Symbols
        m ``clients``, n' ``samples``, alpha_p = eta l_p, Pi_t the noise-free response.

    Source
        Ours; replaces Theorem 1 of Zhao et al. (2023) on Gaussian regression, and is 5 to 30 times below
        Theorem B. Two-sided: a run that is too good breaks it, too.

    Checked
        Runs from one random start on S1, S2 and S3 of the audit at two momenta, and on a setting with
        misassigned clients: the deviation and the error at every round. The steps of the proof: the mean
        gradient, the linear recursion, the drift and the covariance of real gradients within the tube, the
        domination of the counts, and the size of the union.
    """
    one = place_of(place, tuned_momentum)
    initial = one.initial(stream, 1)[0]
    trace = run(
        one.algorithm, one.task, rounds=one.rounds, seed=int(stream.integers(2**31)), replicates=replicates,
        initial=initial,
    )  # fmt: skip
    dynamics, start = (
        gaussian_dynamics(one.regression, one.algorithm),
        along_eigenvectors(one.regression, initial),
    )
    tube = forward(theorem_d_chains(dynamics, start, rounds=one.rounds, failure=FAILURE))
    suppose("the bound stays in the basin", tube.applicable)
    curvature = one.algorithm.step_size * one.task.proportions[:, None] * dynamics.spectra
    response, _ = propagators(curvature, one.algorithm.momentum, one.rounds)
    path = reference_models(one.regression, start, response)
    distance = np.moveaxis(np.linalg.norm(trace.models - path[:, None], axis=-1), 1, 0)
    errors = np.moveaxis(np.asarray(trace.errors), 1, 0)
    lengths = np.linalg.norm(path - one.task.optima, axis=-1)
    return {
        "deviation": at_most(distance, noise=tube.deviation[None], failure=sum(FAILURE[:2]), rounding=1e-13),
        "errors": at_most(
            # at round 0 both sides are the start
            errors[:, 1:],
            path=lengths[None, 1:],
            noise=tube.deviation[None, 1:],
            failure=sum(FAILURE[:2]),
            rounding=1e-13,
        ),
        "two-sided": at_most(
            np.abs(errors - lengths), noise=tube.deviation[None], failure=sum(FAILURE[:2]), rounding=1e-13
        ),
        "last round": at_most(
            distance[:, -1], noise=tube.last_deviation[None], failure=sum(FAILURE), rounding=1e-13
        ),
    }
