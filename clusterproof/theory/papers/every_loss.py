"""Rounds on every smooth strongly convex loss; those of algorithms have a twin on quadratics."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Any

from clusterproof.theory.claims import Function, Sides, at_most, choice, claim, functions, integers, suppose

MU = Fraction(1, 10)
"""Strong convexity of the losses, whose smoothness is 1."""
SHARE = Fraction(1, 2)
"""l: two clusters with equally many clients."""
Loss = Annotated[Function, functions(smoothness=1, strong_convexity=MU)]
Losses = Annotated[Function, functions(smoothness=1, strong_convexity=MU, count=2)]


def mean(values: Sequence[Any]) -> Any:
    """Mean of points or numbers."""
    return sum(values[1:], start=values[0]) / len(values)


def square(vector: Any) -> Any:
    """||vector||^2."""
    return vector @ vector


def local_steps(client: Any, model: Any, step_size: Fraction, steps: int, correction: Any = None) -> Any:
    """Return y after steps y <- y - eta (grad f_i(y) + correction)."""
    for _ in range(steps):
        gradient = client.gradient(model)
        model = model - step_size * (gradient if correction is None else gradient + correction)
    return model


def last_two_models(f: Function, momentum: Fraction, rounds: int) -> tuple[Any, Any]:
    """Return the last model of a cluster and the one before it, without noise and wrong assignments, eta = 1/L."""
    model = before = f.start
    for _ in range(rounds):
        model, before = model - SHARE * f.gradient(model) + momentum * (model - before), model
    return model, before


@claim(
    "cfl-mgd/lemma-2-every-loss",
    label="Lemma 2, every loss",
    judges="ours",
    repaired_by=("cfl-mgd/theorem-d", "cfl-mgd/theorem-a"),
)
def lemma_2_every_loss(
    f: Loss,
    momentum: Annotated[Fraction, choice(Fraction(0), Fraction(2, 3))],
    error: Annotated[Fraction, choice(Fraction(5, 64), Fraction(1, 4))],
    rounds: Annotated[int, integers(1, 3)],
) -> Sides:
    """In every round the error shrinks by 1 - l mu / 8L, up to l / 4, on every loss.

    Hypotheses
        F_p L-smooth and mu-strongly convex with L = 1 and mu = 1/10, l = 1/2, no noise, no client misassigned, eta =
        1/L, all models start at rest within 1/2.

    Statement
        ||chi^t - chi*|| <= s implies ||chi^(t+1) - chi*|| <= (1 - l mu / 8L) s + l / 4, squared, for every s.

    Source
        Ours on Lemma 2 of Zhao et al. (2023): ``cfl-mgd/lemma-2`` has the printed hypotheses, on quadratics. Momentum
        0 meets it.
    """
    suppose("||chi^0 - chi*|| <= 1/2", f.distance**2 <= Fraction(1, 4))
    model, before = last_two_models(f, momentum, rounds)
    suppose("||chi^t - chi*|| <= error", square(before - f.minimiser) <= error**2)
    allowed = (1 - SHARE * MU / 8) * error + SHARE / 4
    return at_most(square(model - f.minimiser), allowed=allowed**2)


@claim(
    "cfl-mgd/asymptotic-rate-every-loss",
    label="(A39) without its floor, every loss",
    judges="ours",
    repaired_by="cfl-mgd/momentum-certified",
)
def asymptotic_rate_every_loss(
    f: Loss,
    momentum: Annotated[Fraction, choice(Fraction(9, 10))],
    rounds: Annotated[int, integers(1, 8)],
) -> Sides:
    """After T rounds the error is at most (1 - l mu / 8L)^T of the first, on every loss, with the paper's momentum.

    Hypotheses
        F_p L-smooth and mu-strongly convex with L = 1 and mu = 1/10, l = 1/2, no noise, no client misassigned, eta =
        1/L, all models start at rest.

    Statement
        ||chi^T - chi*||^2 <= (1 - l mu / 8L)^(2T) ||chi^0 - chi*||^2.

    Source
        Ours. (A39) of Zhao et al. (2023) adds (8L / l mu) rho_0, which this error never exceeds.
    """
    model, _ = last_two_models(f, momentum, rounds)
    return at_most(square(model - f.minimiser), rate=(1 - SHARE * MU / 8) ** (2 * rounds) * f.distance**2)


@claim("fedavg/every-loss", label="Drift bound, squared, every loss", judges="ours")
def fedavg_every_loss(
    f: Losses,
    step_size: Annotated[Fraction, choice(Fraction(1, 4), Fraction(1, 2), Fraction(1))],
    steps: Annotated[int, choice(1, 2, 3)],
    share: Annotated[Fraction, choice(Fraction(1, 4), Fraction(1))],
) -> Sides:
    """A round of FedAvg contracts to within the drift that its clients have at the optimum.

    Hypotheses
        N = 2, f_i L-smooth and mu-strongly convex with L = 1 and mu = 1/10, exact gradients, eta <= 2 / (L + mu).

    Statement
        ||x+ - x*||^2 <= (1 + t) r^2 ||x - x*||^2 + (1 + 1/t) (eta^2 L K (K - 1) / 2)^2 zeta*^2 for every t > 0, with
        r = (1 - eta mu)^K and zeta*^2 = mean ||grad f_i(x*)||^2.

    Source
        Ours: the square of ``fedavg/drift``, which is tried on quadratics, by Young's inequality.
    """
    end = mean([local_steps(client, f.start, step_size, steps) for client in f.parts])
    zeta = mean([square(client.gradient(f.minimiser)) for client in f.parts])
    drift = step_size**2 * Fraction(steps * (steps - 1), 2)
    return at_most(
        square(end - f.minimiser),
        contraction=(1 + share) * (1 - step_size * MU) ** (2 * steps) * f.distance**2,
        drift=(1 + 1 / share) * drift**2 * zeta,
    )


def fedlin_round(f: Function, model: Any, step_size: Fraction, steps: int) -> Any:
    """Return the mean of the clients' models after K corrected steps."""
    whole = f.gradient(model)
    return mean(
        [local_steps(client, model, step_size, steps, whole - client.gradient(model)) for client in f.parts]
    )


@claim("fedlin/every-loss", label="FedLin, one round, every loss", judges="ours", tight=True)
def fedlin_every_loss(f: Losses, steps: Annotated[int, choice(1, 2, 3)]) -> Sides:
    """A round of FedLin contracts by (1 - eta mu)^(2K) on every pair of losses, with a share of disagreement to spare.

    Hypotheses
        N = 2, f_i L-smooth and mu-strongly convex with L = 1 and mu = 1/10, exact gradients, eta = 1 / (L K).

    Statement
        ||x+ - x*||^2 <= rho ||x - x*||^2 - (1/3) (eta K)^2 (1 - rho) mean ||grad f_i(x) - grad f(x) - g_i*||^2 with
        rho = (1 - eta mu)^(2K) and g_i* = grad f_i(x*).

    Source
        Ours: ``fedlin/sharp`` is tried on quadratics, and its steps are proved for any N and K.
    """
    step_size = Fraction(1, steps)
    rate, whole = (1 - step_size * MU) ** (2 * steps), f.gradient(f.start)
    apart = [square(part.gradient(f.start) - whole - part.gradient(f.minimiser)) for part in f.parts]
    return at_most(
        square(fedlin_round(f, f.start, step_size, steps) - f.minimiser),
        contraction=rate * f.distance**2,
        spared=-Fraction(1, 3) * (step_size * steps) ** 2 * (1 - rate) * mean(apart),
    )


@claim("fedlin/every-gap", label="FedLin's rate (recalled), every loss")
def fedlin_every_gap(
    f: Losses, steps: Annotated[int, choice(1, 2)], rounds: Annotated[int, choice(1, 2)]
) -> Sides:
    """FedLin's gap contracts by 1 - 1 / (6 kappa) in a round, on every pair of losses.

    Hypotheses
        N = 2, f_i L-smooth and mu-strongly convex with L = 1 and mu = 1/10, exact gradients, eta = 1 / (6 L K).

    Statement
        f(x_T) - f* <= (1 - mu / (6 L))^T (f(x_0) - f*).

    Source
        Mitra, Jaafar, Pappas and Hassani (2021), recalled, as ``fedlin/rate``, which is tried on quadratics.
    """
    model = f.start
    for _ in range(rounds):
        model = fedlin_round(f, model, Fraction(1, 6 * steps), steps)
    return at_most(f(model) - f.minimum, rate=(1 - MU / 6) ** rounds * (f(f.start) - f.minimum))


@claim("proxskip/every-loss", label="One-step rate, every loss", judges="ours", tight=True)
def proxskip_every_loss(
    f: Losses,
    step_size: Annotated[Fraction, choice(Fraction(1, 2), Fraction(1), Fraction(3, 2))],
    probability: Annotated[Fraction, choice(Fraction(1, 4), Fraction(1, 2), Fraction(1))],
) -> Sides:
    """One iteration contracts by max{(1 - gamma mu)^2, (1 - gamma L)^2, 1 - p^2} on every pair of losses.

    Hypotheses
        N = 2, f_i L-smooth and mu-strongly convex with L = 1 and mu = 1/10, exact gradients; sum of h_i = 0.

    Statement
        E Psi+ <= max{(1 - gamma mu)^2, (1 - gamma L)^2, 1 - p^2} Psi with Psi = mean ||x_i - x*||^2 + (gamma / p)^2
        mean ||h_i - grad f_i(x*)||^2.

    Source
        Ours: ``proxskip/sharp`` is tried on quadratics, and its step is proved for any N.
    """
    goals = [client.gradient(f.minimiser) for client in f.parts]
    models, control = [f.point() for _ in f.parts], f.point() - f.minimiser
    controls = [control, -control]

    def psi(models: Sequence[Any], controls: Sequence[Any]) -> Any:
        distances = mean([square(x - f.minimiser) for x in models])
        apart = mean([square(h - goal) for h, goal in zip(controls, goals, strict=True)])
        return distances + (step_size / probability) ** 2 * apart

    moved = [
        x - step_size * (client.gradient(x) - h)
        for x, client, h in zip(models, f.parts, controls, strict=True)
    ]
    average = mean([x - step_size / probability * h for x, h in zip(moved, controls, strict=True)])
    shared = [h + probability / step_size * (average - x) for h, x in zip(controls, moved, strict=True)]
    expected = probability * psi([average, average], shared) + (1 - probability) * psi(moved, controls)
    rate = max((1 - step_size * MU) ** 2, (1 - step_size) ** 2, 1 - probability**2)
    before = psi(models, controls)
    return at_most(expected, start=rate * before)


@claim("scaffold/every-loss", label="SCAFFOLD II, one round, every loss", judges="ours", tight=True)
def scaffold_every_loss(
    f: Losses,
    steps: Annotated[int, choice(1, 2, 3)],
) -> Sides:
    """A round of SCAFFOLD II contracts by (1 - eta mu)^(2K) on every pair of losses.

    Hypotheses
        N = 2, f_i L-smooth and mu-strongly convex with L = 1 and mu = 1/10, exact gradients, eta = 1 / (L K), eta_g =
        1; c = mean c_i.

    Statement
        Psi+ <= (1 - eta mu)^(2K) Psi with Psi = ||x - x*||^2 + (K eta)^2 mean ||c_i - c - grad f_i(x*)||^2.

    Source
        Ours: ``scaffold/sharp`` is tried on quadratics, and its steps are proved for any N and K.
    """
    step_size, star = Fraction(1, steps), f.minimiser
    control = f.point() - star
    before = [control, -control]  # c_i - c
    ends = [
        local_steps(client, f.start, step_size, steps, -own)
        for client, own in zip(f.parts, before, strict=True)
    ]
    sent = [own + (f.start - end) / (steps * step_size) for own, end in zip(before, ends, strict=True)]
    after = [own - mean(sent) for own in sent]

    def psi(model: Any, controls: Sequence[Any]) -> Any:
        apart = [square(c - part.gradient(star)) for c, part in zip(controls, f.parts, strict=True)]
        return square(model - star) + (steps * step_size) ** 2 * mean(apart)

    return at_most(psi(mean(ends), after), rate=(1 - step_size * MU) ** (2 * steps) * psi(f.start, before))
