"""Claims about rounds on every smooth, strongly convex loss. Each claim has a counterpart for quadratics.

The unit is L = 1. For ProxSkip and SCAFFOLD, mu is any number below 1. In all other claims mu = 1/10. Claims about
several clients hold for every number of clients. A vector such as ``f.parts.gradient(y)`` consists of one vector per
client, and ``u @ v`` is the mean of the clients' inner products.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Any

from clusterproof.checker.claims import (
    Function,
    Sides,
    Z,
    among,
    at_most,
    claim,
    functions,
    rationals,
    suppose,
)
from clusterproof.methods.any_number import any_number
from clusterproof.methods.averaging import fedavg
from clusterproof.methods.clustered import cfl_mgd_option_1
from clusterproof.methods.controls import fedlin, proxskip, scaffold
from clusterproof.methods.exact import exact_clients

MU, SHARE = Fraction(1, 10), Fraction(1, 2)
"""Strong convexity mu of losses with smoothness 1, and the share l of each of two clusters of equal size."""
Loss = Annotated[Function, functions(smoothness=1, strong_convexity=MU)]
Losses = Annotated[Function, functions(smoothness=1, strong_convexity=MU, count="any")]
Curvature = Annotated[Fraction, rationals(0, 1, 12)]
"""The quotient mu / L in claims that contain it."""
CurvedLosses = Annotated[
    Function, functions(smoothness=1, strong_convexity=lambda curvature: curvature, count="any")
]


def square(vector: Any) -> Any:
    """Return ||v||^2, or the mean of ||v_i||^2 if there is a vector v_i for each client."""
    return vector @ vector


def last_two_models(f: Function, momentum: Fraction, rounds: int) -> tuple[Any, Any]:
    """Return the last two models of a cluster, without noise and wrong assignments, with eta = 1/L."""
    start: Sequence[Any] = [f.start]
    zero: Sequence[Any] = [0 * f.start]
    models, momenta, before = start, zero, start
    for _ in range(rounds):
        before = models
        models, momenta = cfl_mgd_option_1(
            exact_clients([f.gradient], [1], count=1 / SHARE),
            models,
            momenta,
            step_size=1,
            momentum=momentum,
            chosen=[0],
        )
    return models[0], before[0]


@claim(
    "cfl-mgd/lemma-2-every-loss",
    label="Lemma 2, every loss",
    source="ours",
    repaired_by=("cfl-mgd/theorem-d", "cfl-mgd/theorem-a"),
    expected="violated",
)
def lemma_2_every_loss(
    f: Loss,
    momentum: Fraction = among(Fraction(0), Fraction(2, 3)),
    error: Fraction = among(Fraction(5, 64), Fraction(1, 4)),
    rounds: int = Z[1:3],
) -> Sides:
    """On every loss, each round reduces the error to at most (1 - l mu / 8L) times the error, plus l / 4.

    Statement
        ||chi^t - chi*|| <= s implies ||chi^(t+1) - chi*|| <= (1 - l mu / 8L) s + l / 4for every s. The check compares
        squares. All initial models are within 1/2 of their optima, without momentum. No client is misassigned, there
        is no noise, and eta = 1/L.

    Source
        Ours, after Lemma 2 of Zhao et al. (2023). ``cfl-mgd/lemma-2`` has the printed hypotheses, on quadratics. For
        momentum 0 the claim is true.
    """
    suppose("||chi^0 - chi*|| <= 1/2", f.distance**2 <= Fraction(1, 4))
    model, before = last_two_models(f, momentum, rounds)
    suppose("||chi^t - chi*|| <= error", square(before - f.minimiser) <= error**2)
    return at_most(square(model - f.minimiser), allowed=((1 - SHARE * MU / 8) * error + SHARE / 4) ** 2)


@claim(
    "cfl-mgd/asymptotic-rate-every-loss",
    label="(A39) without its floor, every loss",
    source="ours",
    repaired_by="cfl-mgd/momentum-certified",
    expected="violated",
)
def asymptotic_rate_every_loss(
    f: Loss, momentum: Fraction = among(Fraction(9, 10)), rounds: int = Z[1:8]
) -> Sides:
    """After T rounds with the paper's momentum, the error is at most (1 - l mu / 8L)^T times its initial value.

    Statement
        ||chi^T - chi*||^2 <= (1 - l mu / 8L)^(2T) ||chi^0 - chi*||^2, if the initial momentum is 0, no client is
        misassigned, there is no noise, and eta = 1/L. The initial error is arbitrary: c^2 f(x / c) has the same mu
        and L as f, and all its distances are c times as large.

    Source
        Ours. (A39) of Zhao et al. (2023) adds (8L / l mu) rho_0, which this error never exceeds.
    """
    model, _ = last_two_models(f, momentum, rounds)
    rate = (1 - SHARE * MU / 8) ** (2 * rounds)
    return at_most(square(model - f.minimiser), rate=rate * f.distance**2)


@claim("fedavg/every-loss", label="Drift bound, squared, every loss", source="ours", expected="certified")
def fedavg_every_loss(
    f: Losses,
    step_size: Fraction = among(Fraction(1, 4), Fraction(1, 2), Fraction(1)),
    steps: int = among(1, 2, 3),
    share: Fraction = among(Fraction(1, 4), Fraction(1)),
) -> Sides:
    """A round of FedAvg contracts the distance from the optimum, and adds at most the drift of clients at the optimum.

    Statement
        ||x+ - x*||^2 <= (1 + t) r^2 ||x - x*||^2 + (1 + 1/t) (eta^2 L K (K - 1) / 2)^2 zeta*^2 for every t > 0 and eta
        <= 2 / (L + mu), with r = (1 - eta mu)^K and zeta*^2 = mean ||grad f_i(x*)||^2. Any number of clients with exact
        gradients takes part.

    Proved for
        mu = L / 10, K = 1, 2 or 3, eta L = 1/4, 1/2 or 1, and t = 1/4 or 1.

    Source
        Ours. The claim is the square of ``fedavg/drift``, with Young's inequality. ``fedavg/drift`` is tested on
        quadratics.
    """
    end = fedavg(any_number(f.parts, steps), f.start, step_size=step_size)
    zeta = square(f.parts.gradient(f.minimiser))
    drift = step_size**2 * Fraction(steps * (steps - 1), 2)
    return at_most(
        square(end - f.minimiser),
        contraction=(1 + share) * (1 - step_size * MU) ** (2 * steps) * f.distance**2,
        drift=(1 + 1 / share) * drift**2 * zeta,
    )


@claim(
    "fedlin/every-loss",
    label="FedLin, one round, every loss",
    source="ours",
    tight=True,
    expected="certified",
)
def fedlin_every_loss(f: Losses, steps: int = among(1, 2, 3)) -> Sides:
    """A FedLin round multiplies the squared distance by at most (1 - eta mu)^(2K), and subtracts a disagreement term.

    Statement
        ||x+ - x*||^2 <= rho ||x - x*||^2 - (1/3) (eta K)^2 (1 - rho) mean ||grad f_i(x) - grad f(x) - g_i*||^2 with
        rho = (1 - eta mu)^(2K), g_i* = grad f_i(x*) and eta = 1 / (L K). The last term measures the disagreement
        between the clients' gradients. Any number of clients with exact gradients takes part.

    Proved for
        mu = L / 10 and K = 1, 2 or 3.

    Source
        Ours. ``fedlin/sharp`` is tested on quadratics, and the steps of its proof are proved for all N and K.
    """
    step_size = Fraction(1, steps)
    rate, own = (1 - step_size * MU) ** (2 * steps), f.parts.gradient(f.start)
    end = fedlin(any_number(f.parts, steps), f.start, step_size=step_size)
    apart = square(own - f.gradient(f.start) - f.parts.gradient(f.minimiser))
    return at_most(
        square(end - f.minimiser),
        contraction=rate * f.distance**2,
        spared=-Fraction(1, 3) * (step_size * steps) ** 2 * (1 - rate) * apart,
    )


@claim("fedlin/every-gap", label="FedLin's rate (recalled), every loss", expected="certified")
def fedlin_every_gap(f: Losses, steps: int = among(1, 2), rounds: int = among(1, 2)) -> Sides:
    """A round of FedLin multiplies f(x) - f* by at most 1 - 1 / (6 kappa), on all losses of any number of clients.

    Statement
        f(x_T) - f* <= (1 - mu / (6 L))^T (f(x_0) - f*) with eta = 1 / (6 L K).

    Proved for
        kappa = L / mu = 10, K = 1 or 2 local steps, and T = 1 or 2 rounds.

    Source
        Mitra, Jaafar, Pappas and Hassani (2021), recalled from memory. ``fedlin/rate`` tests the same rate on
        quadratics.
    """
    model = f.start
    for _ in range(rounds):
        model = fedlin(any_number(f.parts, steps), model, step_size=Fraction(1, 6 * steps))
    return at_most(f(model) - f.minimum, rate=(1 - MU / 6) ** rounds * (f(f.start) - f.minimum))


def of_proxskip(curvature: Any, length: Any, probability: Any) -> dict[str, Any]:
    """Return the multipliers for an iteration of ProxSkip. Vectors 5 and 9 are the grad f_i(x*) and the h_i."""
    weight = 2 * length * (1 - length * curvature)
    away = 3, length**2 / probability**2, {9: 1, 5: -1}
    return {"0:0,1:0": weight, "0:1,0:0": weight, "squares": [away]}


@claim(
    "proxskip/every-loss",
    label="One-step rate, every loss",
    source="ours",
    tight=True,
    expected="certified",
    multipliers={"line 0": of_proxskip},
)
def proxskip_every_loss(
    curvature: Curvature,
    length: Annotated[Fraction, rationals(0, lambda curvature: 2 / (1 + curvature), 12)],
    probability: Annotated[Fraction, rationals(0, 1, 12)],
    rate: Annotated[Fraction, rationals(lambda curvature, length: (1 - length * curvature) ** 2, 1, 12)],
    f: CurvedLosses,
) -> Sides:
    """An iteration of ProxSkip multiplies Psi by at most max{(1 - gamma mu)^2, 1 - p^2}, for all losses and every N.

    Statement
        E Psi+ <= rate Psi for every rate of at least (1 - gamma mu)^2 and 1 - p^2, with Psi = mean ||x_i - x*||^2 +
        (gamma / p)^2 mean ||h_i - grad f_i(x*)||^2. The number N of clients and the x_i are arbitrary, the sum of
        the h_i is 0, 0 < gamma <= 2 / (L + mu), 0 < p <= 1 and mu < L.

    Source
        Ours. ``proxskip/sharp`` is tested on quadratics, and the step of its proof is proved for every N.
    """
    suppose("mu < L", curvature < 1)
    suppose("0 < gamma", length > 0)
    suppose("0 < p", probability > 0)
    suppose("1 - p^2 <= rate", 1 - probability**2 <= rate)
    star = f.minimiser
    models, free = f.parts.point(), f.parts.point() - star
    controls = free - f.parts.mean(free)

    def psi(models: Any, controls: Any) -> Any:
        away = square(controls - f.parts.gradient(star))
        return square(models - star) + (length / probability) ** 2 * away

    met, skipped = [
        psi(
            *proxskip(
                any_number(f.parts),
                models,
                controls,
                step_size=length,
                probability=probability,
                communicates=coin,
            )
        )
        for coin in (True, False)
    ]
    return at_most(probability * met + (1 - probability) * skipped, start=rate * psi(models, controls))


def of_scaffold(curvature: Any, steps: int) -> dict[str, Any]:
    """Return the multipliers for a round of SCAFFOLD, one for each condition between x* and a local step's point."""
    rate = 1 - curvature / steps
    return {
        f"0:{pair}:0": 2 * rate ** (2 * (steps - point) + 1) / steps
        for point in range(1, steps + 1)
        for pair in (f"0,{point}", f"{point},0")
    }


@claim(
    "scaffold/every-loss",
    label="SCAFFOLD II, one round, every loss",
    source="ours",
    tight=True,
    expected="certified",
    multipliers={"line 0": of_scaffold},
)
def scaffold_every_loss(curvature: Curvature, f: CurvedLosses, steps: int = among(1, 2, 3)) -> Sides:
    """A round of SCAFFOLD II with K <= 3 multiplies Psi by at most (1 - eta mu)^(2K), for all losses, N and mu.

    Hypotheses
        Any number N of clients take part, with L-smooth losses that are mu-strongly convex (convex for mu = 0). The
        mean loss has a minimiser x*. Each client takes K = 1, 2 or 3 local steps.

    Statement
        Psi+ <= (1 - eta mu)^(2K) Psi with Psi = ||x - x*||^2 + (K eta)^2 mean ||c_i - c - grad f_i(x*)||^2, eta = 1 /
        (L K), eta_g = 1 and c = mean c_i, for any N, x and c_i, and every mu < L.

    Source
        Ours. ``scaffold/sharp`` is tested on quadratics, and the steps of its proof are proved for all N and K.
    """
    suppose("mu < L", curvature < 1)
    star, step_size = f.minimiser, Fraction(1, steps)
    free = f.parts.point() - star
    before = free - f.parts.mean(free)  # c_i - c

    def psi(model: Any, control: Any, controls: Any) -> Any:
        away = square(controls - control - f.parts.gradient(star))
        return square(model - star) + (steps * step_size) ** 2 * away

    after = scaffold(any_number(f.parts, steps), f.start, 0 * star, before, step_size=step_size)
    return at_most(
        psi(*after), rate=(1 - step_size * curvature) ** (2 * steps) * psi(f.start, 0 * star, before)
    )
