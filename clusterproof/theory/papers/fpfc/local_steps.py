"""The contraction by a participant's local steps, on which the theorem's condition on T rests."""

from __future__ import annotations

import numpy as np

from clusterproof.algorithms import run
from clusterproof.theory.claims import Sides, Stream, at_most, claim
from clusterproof.theory.papers.fpfc.repaired import Random
from clusterproof.theory.papers.fpfc.runs import bound_local_steps

ROUNDS = 30


@claim("fpfc/local-steps", label="proof of Theorem 1", judges="ours", bound=bound_local_steps, evaluations=30)
def local_steps(case: Random, stream: Stream) -> Sides:
    """T local steps bring a participant (1 - alpha rho)^T times nearer to the minimiser of h_i.

    Hypotheses
        Convex L_f-smooth losses, 0 < alpha <= 1 / (L_f + rho), h_i(w) = f_i(w) + rho / 2 ||w - zeta_i||^2 with
        zeta_i as the server sends it, w_i^* its minimiser.

    Statement
        ||w_i^(k+1) - w_i^*|| <= (1 - alpha rho)^T ||w_i^k - w_i^*|| for every participant of every round.

    Proof
        h_i is rho-strongly convex and (L_f + rho)-smooth; a gradient step of at most 1 / (L_f + rho) contracts
        the distance from its minimiser by 1 - alpha rho on quadratics.

    Source
        Ours, on quadratics: the condition of Theorem 1 of Yu et al. (2023) on T rests on it.
    """
    setting, task = case
    start = 3 * stream.standard_normal((1, task.dimension))
    trace = run(setting.algorithm, task, rounds=ROUNDS, seed=int(stream.integers(2**31)), initial=start)
    allowed = bound_local_steps(task, trace)
    bounded = np.isfinite(allowed.bound)
    # after twenty steps the measured distance may be the rounding of the models only
    rounding = 1e-13 * (1 + float(np.abs(trace.models).max()))
    return at_most(
        np.asarray(allowed.measured)[bounded], contraction=allowed.bound[bounded], rounding=rounding
    )
