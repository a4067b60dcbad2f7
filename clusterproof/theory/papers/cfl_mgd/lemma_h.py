"""Lemma H, and Lemma 2 without the additive error rho_0, in one round and over many rounds."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.algorithms import CFLMGD
from clusterproof.checker.claims import Q, Sides, Z, among, at_most, claim, equal, reals, suppose
from clusterproof.common import InvalidArgument
from clusterproof.running import Trace
from clusterproof.synthetic import Mixture
from clusterproof.theory.bounds.dynamics import dynamics_of
from clusterproof.theory.bounds.trace_bound import TraceBound
from clusterproof.theory.exact.heavy_ball import propagators, spectral_rate, start_envelope
from clusterproof.theory.exact.scalar_clusters import exact_path

HALF = Fraction(1, 2)


@claim(
    "cfl-mgd/per-step-contraction",
    label="(31) without its floor rho_0",
    source="ours",
    repaired_by="cfl-mgd/per-step-region",
    expected="violated",
    headline=True,
)
def per_step_contraction(momentum: Fraction = Q[0 : Fraction(99, 100) : 20], round_: int = Z[0:12]) -> Sides:
    """Without noise, every round multiplies the error by at most 1 - l mu / 8L, for every momentum.

    Hypotheses
        Assumptions 1 to 5 hold with exact losses and gradients, eta = 1/L, and beta is in [0, 1).

    Statement
        ||chi_p^(t+1) - chi*_p|| <= (1 - l mu / 8L) ||chi_p^t - chi*_p||.

    Source
        Ours. (31) of Zhao et al. (2023) adds rho_0, which is at least c_4 l > 0 even without noise. The
        counterexample to this claim does not break (31) with the appendix's c_4 = 1/4, since 0 + 1/8 = |e_3|.
        ``cfl-mgd/lemma-2`` has a counterexample to (31) itself.
    """
    path = exact_path(HALF, momentum, HALF, round_ + 1)
    return at_most(abs(path[round_ + 1]), contraction=Fraction(15, 16) * abs(path[round_]))


HORIZON = 4000
"""A round without contraction must occur within this number of rounds."""


def fails(proportion: float, momentum: float) -> bool:
    """Return whether a noise-free run from the steepest direction has a round without contraction.

    The ratio z_t = e_(t+1) / e_t satisfies z_(t+1) = (1 + beta - a) - beta / z_twith a = l_p. If |z_t| > 1, round t
    contradicts the contraction by 1 - l mu / 8L, for every kappa.
    """
    ratio = 1 - proportion
    for _ in range(HORIZON):
        if abs(ratio) > 1:
            return True
        if ratio == 0:
            return momentum > 0
        ratio = (1 + momentum - proportion) - momentum / ratio
    return False


def resonant(proportion: float, momentum: float) -> bool:
    """Return whether the phase of an underdamped recursion is nearly periodic, so that it may miss an arc.

    Let cos(theta) = (1 + beta - l_p) / (2 q) with q = sqrt(beta). The phase of e_t advances by theta modulo pi. The
    contraction fails if the phase is in an arc whose length is a share w of pi. By the three-distance theorem,
    HORIZON phases can miss the arc only if ||k theta / pi|| < 1 / HORIZON for some k <= 2 / w.
    """
    q = math.sqrt(momentum)
    cosine = (1 + momentum - proportion) / (2 * q)
    theta = math.acos(cosine)
    upper, lower = (math.atan((cosine + sign / q) / math.sin(theta)) for sign in (1, -1))
    share = 1 - (upper - lower) / math.pi
    turns = np.arange(1, math.floor(2 / share) + 1) * theta / math.pi
    return bool((np.abs(turns - np.round(turns)) < 1 / HORIZON).any())


@claim(
    "cfl-mgd/per-step-region",
    label="(31) without its floor, region",
    source="ours",
    expected="consistent, no sharpness",
    headline=True,
    places="introduction",
)
def per_step_region(
    proportion: Fraction = Q[Fraction(1, 200) : Fraction(199, 200) : 12],
    momentum: Fraction = Q[0 : Fraction(199, 200) : 12],
) -> Sides:
    """Without noise, the contraction in a round fails exactly if beta > (1 - sqrt(l_p))^2.

    Hypotheses
        The hypotheses of ``cfl-mgd/per-step-contraction`` hold, with L among the eigenvalues of cluster p.

    Statement
        For every kappa, some reachable round has ||chi_p^(t+1) - chi*_p|| > ||chi_p^t - chi*_p|| iff beta > (1 -
        sqrt(l_p))^2. Resonances are excepted. In a resonance the phase advances by a rational multiple of pi, and may
        never enter the arc in which the contraction fails.

    Proof
        In the overdamped case, the ratio e_(t+1) / e_t starts at 1 - l_p and decreases to a positive limit. In the
        underdamped case, e_t changes its sign infinitely often, and near a change of sign the ratio is arbitrarily
        large.

    Source
        Ours.
    """
    share, beta = float(proportion), float(momentum)
    boundary = (1 - math.sqrt(share)) ** 2
    # if beta is closer to the boundary, the contraction first fails after the horizon
    suppose("beta differs from (1 - sqrt(l_p))^2 by 2e-4", abs(beta - boundary) >= 2e-4)
    underdamped, failing = beta > boundary, fails(share, beta)
    if underdamped and not failing:
        suppose("the phase does not advance by nearly a rational part of pi", not resonant(share, beta))
    return equal((int(failing), int(underdamped)))


@claim(
    "cfl-mgd/asymptotic-rate",
    label="(A39) without its floor, many rounds",
    source="ours",
    repaired_by="cfl-mgd/lemma-h",
    expected="violated",
    headline=True,
)
def asymptotic_rate(momentum: Fraction = among(Fraction(9, 10)), rounds: int = among(80)) -> Sides:
    """After many rounds, the error falls at least as fast as (1 - l mu / 8L)^T, for every momentum.

    Hypotheses
        Assumptions 1 to 5 hold with exact losses and gradients, eta = 1/L, and the momentum is the paper's, 0.9.

    Statement
        lim sup ||chi_p^T - chi*_p||^(1/T) <= 1 - l mu / 8L. For two equal scalar clusters, the claim measures the
        growth of W_t = e_t^2 - (1 + beta - l) e_t e_(t-1) + beta e_(t-1)^2 in T rounds. W_t is positive definite if
        beta > (1 - sqrt(l))^2, and satisfies W_(t+1) = beta W_t, so the error falls as sqrt(beta)^T.

    Source
        Ours. (A39) of Zhao et al. (2023) implies no rate of decrease, because it adds (8L / l mu) rho_0 >= 8 kappa
        c_4 > 0. Every error that tends to 0 eventually satisfies this bound.
    """
    path = exact_path(HALF, momentum, HALF, rounds + 1)
    first, last = (
        now**2 - (HALF + momentum) * now * before + momentum * before**2
        for before, now in (path[:2], path[-2:])
    )
    claimed = Fraction(15, 16)
    return at_most(
        last / first,
        claimed=claimed ** (2 * rounds),
        words=lambda: (
            f"kappa = 1, l = 1/2, beta = {momentum}: the run's rate is {float(last / first) ** (0.5 / rounds):.5f} "
            f"(sqrt(beta) = {math.sqrt(momentum):.5f}), slower than 1 - l mu / 8L = {float(claimed):.5f}"
        ),
    )


def companion_radius(curvatures: np.ndarray, momentum: float) -> float:
    """Return the largest spectral radius of ((1 + beta - a, -beta), (1, 0)) over the curvatures a, (n,), in floats."""
    companions = np.zeros((len(curvatures), 2, 2))
    companions[:, 0, 0], companions[:, 0, 1], companions[:, 1, 0] = 1 + momentum - curvatures, -momentum, 1
    return float(np.abs(np.linalg.eigvals(companions)).max())


@claim(
    "cfl-mgd/asymptotic-region",
    label="(A39) without its floor, region",
    source="ours",
    expected="consistent, no sharpness",
    places="theorem 1",
)
def asymptotic_region(
    proportion: Fraction = Q[Fraction(1, 100) : Fraction(99, 100) : 6],
    condition_number: int = among(1, 2, 10, 100, 1000),
    momentum: Fraction = among(*(Fraction(k, 20) for k in range(20)), Fraction(99, 100), Fraction(999, 1000)),
) -> dict[str, Sides]:
    """The true rate is slower than 1 - l mu / 8L exactly if sqrt(beta) > 1 - l mu / 8L.

    Hypotheses
        Expected losses are quadratic, with mu and L among the eigenvalues of the smallest cluster. There is no noise,
        and eta = 1/L.

    Statement
        The largest rate r(eta l lambda) over the eigenvalues lambda exceeds 1 - l mu / 8L iff sqrt(beta) > 1 - l mu /
        8L.

    Proof
        In the underdamped case, r(a) = sqrt(beta). In the overdamped case, r(a) <= 1 - a, and 1 - l mu / L < 1 - l mu
        / 8L.

    Source
        Ours.
    """
    curvatures = float(proportion) * np.geomspace(1 / condition_number, 1, 22)
    radius = companion_radius(curvatures, float(momentum))
    claimed, root = 1 - float(proportion) / (8 * condition_number), math.sqrt(momentum)
    suppose("sqrt(beta) is not 1 - l mu / 8L to six digits", abs(root - claimed) >= 1e-6)
    largest = float(spectral_rate(curvatures, float(momentum)).max())
    return {
        "region": equal((int(radius > claimed), int(root > claimed))),
        "closed form": equal((largest, radius), rounding=1e-6),
    }


ROUNDS = 300


def lemma_h_bound(curvature: float, momentum: float, rounds: int) -> np.ndarray:
    """Return the bound of Lemma H for the case to which a curvature belongs, (T + 1,)."""
    q, times = math.sqrt(momentum), np.arange(rounds + 1)
    if curvature < (1 - q) ** 2:
        return np.asarray((1 - curvature) ** times)
    if curvature <= 1 - momentum:
        return np.asarray(q**times * (1 + (1 - q) * times))
    return np.asarray(q**times / math.sqrt(1 - momentum / 4))


def bound_trace(task: Mixture, trace: Trace, failure_probability: float | None = None) -> TraceBound:
    """Bound the error of a noise-free quadratic run after every round, with probability 1.

    Raises
    ------
    InvalidArgument
        If the task is not a noise-free quadratic, the run is not option I with a step size of at most 1/L, or a client
        chose a wrong model.
    """
    settings, algorithm = task.settings, dynamics_of(trace)
    quadratic = settings["task"] == "quadratic" or (
        settings["task"] == "regression" and settings["data"] == "population"
    )
    is_plain = isinstance(algorithm, CFLMGD) and replace(algorithm, clusters=None) == CFLMGD(
        step_size=algorithm.step_size, momentum=algorithm.momentum
    )
    if not (isinstance(algorithm, CFLMGD) and quadratic and is_plain) or (
        algorithm.step_size * task.smoothness > 1 + 1e-12
    ):
        name, rule = f"{algorithm.name} on {settings['task']}", "must be option I on a noise-free quadratic"
        raise InvalidArgument(
            "trace", name, f"{rule} with step_size at most 1/L", "run option I on QuadraticMixture"
        )
    misassigned = np.argwhere(trace.assignments != trace.labels)
    if len(misassigned):
        found = f"client {misassigned[0][-1]} with another cluster's model in round {misassigned[0][0] + 1}"
        rule = "must have every client with its own cluster's model, in every round"
        raise InvalidArgument("trace", found, rule, "use initial models nearer to the optima")
    errors, steps = np.asarray(trace.errors), algorithm.step_size * task.proportions
    ends = zip(steps * task.strong_convexity, np.minimum(1.0, steps * task.smoothness), strict=True)
    envelopes = [start_envelope(float(a), float(b), algorithm.momentum, trace.rounds) for a, b in ends]
    envelope = np.stack(envelopes, axis=-1)
    return TraceBound((envelope[:, None, :] if errors.ndim == 3 else envelope) * errors[0])


EXTREME = [
    {"curvature": min(1.0, edge * near), "momentum": momentum}
    for momentum in (0.0, 0.25, 0.81, 0.99, 0.9999)
    for edge in ((1 - math.sqrt(momentum)) ** 2, 1 - momentum, 1.0)
    for near in (0.97, 1.0, 1.03)
    if edge > 0
]
"""Pairs (a, beta) at and near the boundaries between the cases of the lemma."""


@claim(
    "cfl-mgd/lemma-h",
    label="Lemma H",
    source="ours",
    bound=bound_trace,
    tight=True,
    evaluations=1000,
    example=EXTREME,
    expected="consistent, tight within 2",
    places="abstract; introduction; contribution 2; section 2.2; section 5; theorem 1; remark 1; "
    "after (17); lemma 2; (31); (38); section 6.3; (A35); (A37); after (A38); (A39)",
)
def lemma_h(curvature: Annotated[float, reals(0, 1)], momentum: Annotated[float, reals(0, 1)]) -> Sides:
    """Without noise |e_t| <= |Pi_t(a)| |e_0|, with bounds on Pi_t in closed form for three cases.

    Hypotheses
        0 < a <= 1, 0 <= beta < 1, e_(t+1) = (1 + beta - a) e_t - beta e_(t-1), e_(-1) = e_0, q = sqrt(beta).

    Statement
        (i) a < (1 - q)^2: 0 < Pi_t <= (1 - a)^t, decreasing in a. (ii) (1 - q)^2 <= a <= 1 - beta: |Pi_t| <= q^t (1 +
        (1 - q) t) <= 1. (iii) a >= 1 - beta: |Pi_t| <= q^t / sqrt(1 - beta/4) <= 2/sqrt(3). In this case momentum can
        make the error larger than its initial value.

    Proof
        (i) The ratio e_(t+1) / e_t starts at 1 - a and decreases to r(a). (ii) Pi_t = q^t [T_t(x) + (x - q) U_(t-1)(x)]
        with q <= x <= 1. (iii) W_t = e_t^2 - (1 + beta - a) e_t e_(t-1) + beta e_(t-1)^2 satisfies W_(t+1) = beta W_t,
        W_0 = a e_0^2, and W_t >= e_t^2 [a - (1 - beta - a)^2 / 4 beta].

    Source
        Ours. The claim replaces the contraction in Lemma 2. In each of the three cases, equality can occur.
    """
    suppose("0 < a", curvature > 0)
    suppose("beta < 1", momentum < 1)
    response = np.abs(propagators(curvature, momentum, ROUNDS)[0])
    # before the first round, both sides are 1
    return at_most(response[1:], envelope=lemma_h_bound(curvature, momentum, ROUNDS)[1:])
