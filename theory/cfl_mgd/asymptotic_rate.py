"""The rate 1 - l mu / 8L after many rounds: where it is slower than claimed, exactly."""

from __future__ import annotations

import math

import numpy as np

from algorithms import CFLMGD
from theory.claim import Context, register
from theory.counterexample import Instance, Number, replay_with
from theory.heavy_ball import spectral_rate
from theory.two_clusters import run_two_clusters
from theory.verdict import Finding, Kind


def claimed_rate(proportion: float, condition_number: float) -> float:
    """1 - l mu / 8L."""
    return 1 - proportion / (8 * condition_number)


def evaluate(instance: Instance) -> tuple[Number, Number]:
    """Rate of a run of two equal scalar clusters, and the claimed one.

    With a = l_p and beta, W_t = e_t^2 - (1 + beta - a) e_t e_(t-1) + beta e_(t-1)^2 satisfies
    W_(t+1) = beta W_t and is positive definite where underdamped: its growth is the exact rate,
    without a transient.
    """
    momentum, rounds = float(instance["momentum"]), int(instance["rounds"])
    algorithm = CFLMGD(step_size=1.0, momentum=momentum)
    errors = run_two_clusters(2, 1, algorithm, 0.5, rounds).models[:, 0, 0] - 1.0
    energy = errors[1:] ** 2 - (0.5 + momentum) * errors[1:] * errors[:-1] + momentum * errors[:-1] ** 2
    measured = (energy[-1] / energy[0]) ** (0.5 / (len(energy) - 1))
    return float(measured), claimed_rate(0.5, 1.0)


@register(
    "cfl-mgd/asymptotic-rate",
    label="Theorem 1, (A39)",
    kind="upper",
    replay=replay_with(evaluate),
    repaired_by="cfl-mgd/corollary-b1",
)
def asymptotic_rate(context: Context) -> Finding:
    """After many rounds the error falls at least as fast as (1 - l mu / 8L)^T, for every momentum.

    Hypotheses
        As Lemma 2 without noise; eta = 1/L; the paper's momentum 0.9.

    Statement
        lim sup ||chi_p^T - chi*_p||^(1/T) <= 1 - l mu / 8L.

    Symbols
        l ``proportions``, mu / L = 1 / ``condition_number``, beta ``momentum``.

    Source
        Zhao et al. (2023), Theorem 1 through (A39) with rho_0 = 0. Upper bound.

    Checked
        By a run of the algorithm at kappa = 1, l = 1/2, beta = 0.9, 80 rounds: the rate of the
        conserved quadratic form, which has no transient, against 1 - l mu / 8L.
    """
    instance: Instance = {"momentum": 0.9, "rounds": 80}
    measured, bound = (float(value) for value in evaluate(instance))
    slower = measured > bound + 1e-9
    reason = (
        f"kappa = 1, l = 1/2, beta = 0.9: the run's rate is {measured:.5f} (sqrt(beta) = "
        f"{math.sqrt(0.9):.5f}), the claimed {bound:.5f}; slower than claimed"
    )
    return Finding(
        verdict=Kind.VIOLATED if slower else Kind.CONSISTENT,
        reason=reason,
        measured=measured,
        bound=bound,
        slack=bound / measured,
        trials=1,
        failures=int(slower),
        counterexample=dict(instance) if slower else None,
    )


@register("cfl-mgd/asymptotic-region", label="ours, on (A39)", kind="identity")
def asymptotic_region(context: Context) -> Finding:
    """The true rate is slower than 1 - l mu / 8L exactly where sqrt(beta) > 1 - l mu / 8L.

    Hypotheses
        Quadratic expected losses with mu and L among the eigenvalues of the smallest cluster,
        no noise, eta = 1/L.

    Statement
        max over the spectrum of the rate r(eta l lambda) exceeds 1 - l mu / 8L iff
        sqrt(beta) > 1 - l mu / 8L.

    Proof
        r(a) = sqrt(beta) where underdamped; where overdamped, r(a) <= 1 - a, and
        1 - l mu / L < 1 - l mu / 8L.

    Symbols
        l ``proportions``, beta ``momentum``.

    Source
        Ours (audit of CFL-MGD, section 3). Identity of two regions.

    Checked
        On random (l, kappa, beta): spectral radius of the companion matrices of the spectrum's
        ends and of 20 eigenvalues between, by numpy's eigenvalue solver, against the inequality.
    """
    stream = context.generator("region")
    trials = context.number_of_trials(1000)
    disagreements = []
    for _ in range(trials):
        proportion, momentum = stream.uniform(0.01, 0.99), stream.uniform(0, 0.999)
        condition = 10 ** stream.uniform(0, 3)
        curvatures = proportion * np.geomspace(1 / condition, 1, 22)
        companions = np.zeros((22, 2, 2))
        companions[:, 0, 0] = 1 + momentum - curvatures
        companions[:, 0, 1] = -momentum
        companions[:, 1, 0] = 1
        radius = np.abs(np.linalg.eigvals(companions)).max()
        claimed = claimed_rate(proportion, condition)
        if abs(math.sqrt(momentum) - claimed) < 1e-6:
            continue
        closed_form = spectral_rate(curvatures, momentum).max()
        agrees = (radius > claimed) == (math.sqrt(momentum) > claimed)
        if not agrees or abs(closed_form - radius) > 1e-6:
            disagreements.append(
                {"proportion": proportion, "condition_number": condition, "momentum": momentum}
            )
    return Finding(
        verdict=Kind.VIOLATED if disagreements else Kind.CONSISTENT,
        reason=f"{len(disagreements)} of {trials} random (l, kappa, beta) disagree with the inequality",
        trials=trials,
        failures=len(disagreements),
        counterexample=disagreements[0] if disagreements else None,
    )
