"""A repaired Theorem 1 without noise: an exponential rate for every momentum and number of rounds."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from clusterproof.checker.claims import (
    Function,
    Sides,
    Z,
    at_most,
    claim,
    functions,
    iterate,
    rationals,
    suppose,
)
from clusterproof.methods.clustered import cfl_mgd_option_1
from clusterproof.methods.exact import exact_clients

Curvature = Annotated[Fraction, rationals(0, 1, 12)]
SmallCurvature = Annotated[Fraction, rationals(0, Fraction(1, 4), 12)]
"""The quotient mu / L."""
Momentum = Annotated[Fraction, rationals(0, 1, 12)]
Length = Annotated[Fraction, rationals(0, 1, 12)]
LengthWithMomentum = Annotated[Fraction, rationals(0, lambda momentum: 1 - momentum, 12)]
"""s = eta L l_p, the product of the step size, the smoothness and the cluster's share of the clients."""
Bound = Annotated[Fraction, rationals(1, 9, 8, upwards=True)]
"""The initial bound b_0, which is at least delta = 1."""
Loss = Annotated[Function, functions(smoothness=1, strong_convexity=lambda curvature: curvature)]
"""Expected loss of a cluster, in units with L = 1."""


def one_round(f: Function, model: Any, buffer: Any, length: Any, momentum: Any) -> tuple[Any, Any]:
    """Return the model and the buffer of a cluster after a round of option I in which all clients choose correctly."""
    models, buffers = cfl_mgd_option_1(
        exact_clients([f.gradient], [1]), [model], [buffer], step_size=length, momentum=momentum, chosen=[0]
    )
    return models[0], buffers[0]


def squared_error(f: Function, model: Any) -> Any:
    """Return ||chi - chi*||^2."""
    apart = model - f.minimiser
    return apart @ apart


def potential(f: Function, model: Any, buffer: Any, length: Any, momentum: Any, rate: Any) -> Any:
    """Return (1 - beta)^2 rate times V = ||z||^2 + 2 s beta / ((1 - beta)^2 rate) (f(chi_prev) - f*).

    Here (1 - beta) z = (1 - beta) (chi - chi*) + beta (chi - chi_prev). The previous model chi_prev is chi + s u, where
    u is the buffer.
    """
    z = (1 - momentum) * (model - f.minimiser) - momentum * length * buffer
    return rate * (z @ z) + 2 * length * momentum * (f(model + length * buffer) - f.minimum)


def error_after(
    f: Function, length: Fraction, momentum: Fraction, rate: Any, slope: Any, rounds: int
) -> Sides:
    """Compare ||chi^T - chi*||^2 with C rate^T ||chi^0 - chi*||^2, without initial momentum. ``slope`` is 1 - rate."""
    first = potential(f, f.start, 0 * f.start, length, momentum, rate)

    def next_state(state: Any) -> Any:
        model, buffer, factor = state
        model, buffer = one_round(f, model, buffer, length, momentum)
        return model, buffer, rate * factor

    def says(state: Any, passed: Any) -> Any:
        model, buffer, factor = state
        return factor >= 0, potential(f, model, buffer, length, momentum, rate) <= factor * first

    model, _, factor = iterate(next_state, (f.start, 0 * f.start, 1), rounds, invariant=says)
    of_lengths = 1 / slope + 1 / ((1 - momentum) * rate)
    constant = of_lengths * ((1 - momentum) ** 2 * rate + length * momentum)
    return at_most(squared_error(f, model), rate=constant * factor * f.distance**2)


def allowed_share(length: np.ndarray, momentum: float, curvature: float, rounds: int) -> np.ndarray:
    """Return a bound on ||chi_p^t - chi*_p|| / ||chi_p^0 - chi*_p|| after t = 0, ..., T rounds.

    Parameters
    ----------
    length
        The value s = eta L l_p of each cluster, of shape (P,).
    momentum, curvature, rounds
        The momentum beta, the quotient mu / L and the number T of rounds.

    Returns
    -------
    np.ndarray
        (T + 1, P).
    """
    t = np.arange(rounds + 1)[:, None]
    if momentum == 0:
        return np.asarray((1 - length * curvature) ** t)
    slope = length * curvature if curvature <= 1 / 4 else length * curvature / 2
    of_lengths = 1 / slope + 1 / ((1 - momentum) * (1 - slope))
    constant = of_lengths * ((1 - momentum) ** 2 * (1 - slope) + length * momentum)
    return np.sqrt(constant * (1 - slope) ** t)


def multipliers_of(rate_of: Callable[[Any, Any], Any], slope_of: Callable[[Any, Any], Any]) -> dict[str, Any]:
    """Return the multipliers of a proof for a given rate, and 1 - rate as a function of s and mu."""

    def of_a_round(length: Any, momentum: Any, curvature: Any) -> dict[str, Any]:
        rate = rate_of(length, curvature)
        return {
            "0:0,3:0": 2 * length * (1 - momentum) * rate,
            "0:3,0:0": 2 * length * (rate - momentum),
            "0:2,3:0": 2 * length * momentum * rate,
            "hypothesis 0": rate,
        }

    def of_the_line(length: Any, momentum: Any, curvature: Any, factor: Any) -> dict[str, Any]:
        weight = 1 / slope_of(length, curvature) + 1 / ((1 - momentum) * rate_of(length, curvature))
        return {
            "hypothesis 0": weight,
            "0:2,0:0": 2 * length * momentum * weight,
            "0:0,1:0": 2 * length * momentum * factor * weight,
        }

    return {"round 0": of_a_round, "line 0": of_the_line}


@claim(
    "cfl-mgd/theorem-1-without-noise",
    label="Theorem 1 without noise",
    source="ours",
    expected="certified",
    headline=True,
    places="abstract; contribution 2; (11)",
    multipliers=multipliers_of(lambda s, mu: 1 - s * mu, lambda s, mu: s * mu),
)
def theorem_1_without_noise(
    curvature: SmallCurvature, momentum: Momentum, length: LengthWithMomentum, f: Loss, rounds: int = Z[1:]
) -> Sides:
    """Without noise and without wrong assignments, the error decreases exponentially, for every momentum and every T.

    Hypotheses
        Option I has full participation, exact gradients, correct assignments, and no initial momentum. The expected
        loss of cluster p is L-smooth and mu-strongly convex with 0 < mu <= L / 4. The momentum beta is in [0, 1), and
        s = eta L l_p has 0 < s <= 1 - beta.

    Statement
        ||chi_p^T - chi*_p||^2 <= C (1 - s mu / L)^T ||chi_p^0 - chi*_p||^2 for every T, with C = (L / (s mu) + 1 /
        ((1 - beta) rho)) ((1 - beta)^2 rho + s beta) and rho = 1 - s mu / L.

        *any curvature*: for every mu < L, the bound holds with rho = 1 - s mu / 2L and with 2L / (s mu) instead of L /
        (s mu) in C.

        *no momentum*: ||chi_p^T - chi*_p||^2 <= (1 - s mu / L)^(2T) ||chi_p^0 - chi*_p||^2 for beta = 0, every s <= 1
        and mu < L.

        *inexact gradients*: let beta = 0, and let the error of every gradient be at most L delta. Then ||chi_p^T -
        chi*_p|| <= b_T, b_(t+1) = (1 - s mu / L) b_t + s delta, where b_0 is the larger of ||chi_p^0 - chi*_p|| and
        delta.

    Remarks
        Like Theorem 1, the claim is about the algorithm with momentum on smooth strongly convex losses, and it states
        an exponential rate. The factor of Theorem 1 for the step 1/L, 1 - l mu / 8L, is weaker. The claim allows
        neither noise nor wrong assignments, so it has neither an additive error nor a probability.

    Proof
        V = ||chi + beta / (1 - beta) (chi - chi_prev) - chi*||^2 + 2 s beta / ((1 - beta)^2 rho) (f(chi_prev) - f*)
        decreases by the factor rho in every round: V+ <= rho V.

    Source
        Ours. This claim replaces Theorem 1 of Zhao et al. (2023) if nothing is random.
    """
    suppose("0 < mu", curvature > 0)
    suppose("0 < s", length > 0)
    suppose("beta < 1", momentum < 1)
    return error_after(f, length, momentum, 1 - length * curvature, length * curvature, rounds)


@theorem_1_without_noise.line(
    "any curvature", multipliers=multipliers_of(lambda s, mu: 1 - s * mu / 2, lambda s, mu: s * mu / 2)
)
def any_curvature(
    curvature: Curvature, momentum: Momentum, length: LengthWithMomentum, f: Loss, rounds: int = Z[1:]
) -> Sides:
    """With the rate 1 - s mu / 2, the proof works for every curvature mu below 1."""
    suppose("0 < mu", curvature > 0)
    suppose("mu < L", curvature < 1)
    suppose("0 < s", length > 0)
    suppose("beta < 1", momentum < 1)
    return error_after(f, length, momentum, 1 - length * curvature / 2, length * curvature / 2, rounds)


@theorem_1_without_noise.line("no momentum")
def no_momentum(curvature: Curvature, length: Length, f: Loss, rounds: int = Z[1:]) -> Sides:
    """With momentum 0, the error itself is multiplied by at most 1 - s mu in every round."""
    suppose("mu < L", curvature < 1)

    def next_state(state: Any) -> Any:
        model, factor = state
        model, _ = one_round(f, model, 0 * model, length, 0)
        return model, (1 - length * curvature) ** 2 * factor

    def says(state: Any, passed: Any) -> Any:
        model, factor = state
        return factor >= 0, squared_error(f, model) <= factor * f.distance**2

    model, factor = iterate(next_state, (f.start, 1), rounds, invariant=says)
    return at_most(squared_error(f, model), rate=factor * f.distance**2)


def of_an_inexact_round(length: Any, curvature: Any, passed: Any, now: Any) -> dict[str, Any]:
    """Return the multipliers for a round with an inexact gradient, where ``now`` is b_t."""
    rate = 1 - length * curvature
    share = (rate * now + length) / now
    return {
        "0:0,1:0": 2 * length * share,
        "0:1,0:0": 2 * length * share,
        "hypothesis 1": rate * share,
        "hypothesis 2": length**2 + length * rate * now,
    }


@theorem_1_without_noise.line("inexact gradients", multipliers={"round 0": of_an_inexact_round})
def inexact_gradients(
    curvature: Curvature, length: Length, bound: Bound, f: Loss, rounds: int = Z[1:]
) -> Sides:
    """A gradient error of at most delta = 1 in a round adds s delta to the bound."""
    suppose("mu < L", curvature < 1)
    suppose("0 < s", length > 0)
    suppose("||chi^0 - chi*|| <= b_0", f.distance**2 <= bound**2)

    def next_state(state: Any) -> Any:
        model, bound = state
        error = f.point() - f.minimiser
        suppose("||error|| <= delta", error @ error <= 1)
        after, _ = one_round(f, model, 0 * model, length, 0)
        return after - length * error, (1 - length * curvature) * bound + length

    def says(state: Any, passed: Any) -> Any:
        model, bound = state
        return bound >= 1, squared_error(f, model) <= bound**2

    model, last = iterate(next_state, (f.start, bound), rounds, invariant=says)
    return at_most(squared_error(f, model), bound=last**2)
