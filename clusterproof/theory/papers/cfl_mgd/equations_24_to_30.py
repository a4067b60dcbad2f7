"""(24)-(30): the inequalities that Lemma 1 is made of."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from clusterproof.algorithms import generator
from clusterproof.synthetic import Mixture, QuadraticMixture
from clusterproof.theory.claims import Q, Sides, Z, among, at_least, at_most, claim, equal, suppose
from clusterproof.theory.exact.basin_pairs import Pair
from clusterproof.theory.exact.placed import Placed, placed
from clusterproof.theory.exact.random_tasks import random_mixture
from clusterproof.theory.exact.two_point_losses import TwoPointLosses


def chebyshev(pair: Pair) -> float:
    """64 sigma^2 / (Delta^4 mu^2 n')."""
    task = pair.task
    return 64 * pair.sigma**2 / (task.separation**4 * task.strong_convexity**2 * task.samples)


@claim("cfl-mgd/equation-24", label="(24), (25), (29), (30)", tight=True)
def wrong_choice(law: TwoPointLosses) -> dict[str, Sides]:
    """A wrong choice needs an own loss above delta or another one below it, and both are rare.

    Hypotheses
        Models in the paper's basin; sigma^2 bounds the variance of one row's loss at both models. The losses have two
        values (mu = 1, Delta = 2), or those of Gaussian rows.

    Statement
        With delta = (phi^1(chi_1) + phi^1(chi_p)) / 2, phi^1 the expected loss of cluster 1, phi_i that on n' rows:

    Lines
        (24)
            P(xi^(1,p)) <= P(phi_i(chi_1) > delta) + P(phi_i(chi_p) <= delta), of Gaussian rows for any delta >= 0.
        (25)
            phi_i(chi_1) > delta iff phi_i(chi_1) - phi^1(chi_1) > (phi^1(chi_p) - phi^1(chi_1)) / 2, and phi_i(chi_p)
            <= delta iff phi_i(chi_p) - phi^1(chi_p) <= -(phi^1(chi_p) - phi^1(chi_1)) / 2.
        (29)
            P(phi_i(chi_1) > delta) <= 64 sigma^2 / (Delta^4 mu^2 n').
        (30)
            P(phi_i(chi_p) <= delta) <= 64 sigma^2 / (Delta^4 mu^2 n').

    Source
        Zhao et al. (2023), (24), (25) with the line after it, (29) and (30): Chebyshev with the gap mu Delta^2 / 8 of
        (28) and the variance sigma^2 / n'. (24) is an equality where one loss alone is random; (29) and (30) are tight
        for rare jumps of the loss, and for Gaussian rows the truth is exponentially small in n'.
    """
    delta = threshold(*law.expected)
    above, below = law.own_exceeds(delta), law.other_at_most(delta)
    allowed = 64 * law.loss_variance / (16 * law.samples)
    return {
        "(24)": at_most(law.error_probability, own_above=above, other_below=below),
        "(29)": at_most(above, chebyshev=allowed),
        "(30)": at_most(below, chebyshev=allowed),
    }


def threshold(own: Fraction, other: Fraction) -> Fraction:
    """delta of (25): the mean of the two expected losses phi^1(chi_1) and phi^1(chi_p)."""
    return (own + other) / 2


LOSS = Q[0::2]


@wrong_choice.line("(25)")
def events_of_25(
    own: Fraction = LOSS, other: Fraction = LOSS, mean_own: Fraction = LOSS, mean_other: Fraction = LOSS
) -> Sides:
    """The same numbers are compared with 0 in the two events of each line."""
    delta, half = threshold(mean_own, mean_other), (mean_other - mean_own) / 2
    return equal((own - delta, own - mean_own - half), (other - delta, other - mean_other + half))


def towards(noise: Fraction, samples: int, own_angle: Fraction) -> dict[str, Any]:
    """Both models on the rim, the other one between the optima, kappa = 1: where Chebyshev is tightest."""
    rim, ahead = Fraction(1), Fraction(1)
    pair = Pair(1, rim, noise, samples, 0, rim, own_angle, rim, ahead)
    return {"pair": pair, "multiple": Fraction(1)}


@wrong_choice.line(
    "Gaussian rows",
    evaluations=150,
    example=(towards(Fraction(3, 2), 200, Fraction(4, 5)), towards(Fraction(3, 7), 19, Fraction(4, 7))),
)
def wrong_choice_of_gaussian_rows(
    pair: Pair, multiple: Fraction = among(*(Fraction(k, 2) for k in (2, 1, 3, 6, 0)))
) -> dict[str, Sides]:
    """The same against exact chi-square tails; (24) at a multiple of delta."""
    delta = float(multiple) * pair.midpoint
    above, below = pair.loss_exceeds(0, delta), pair.loss_at_most(1, delta)
    return {
        "(24)": at_most(pair.exact, own_above=above, other_below=below),
        "(29)": at_most(pair.loss_exceeds(0, pair.midpoint), chebyshev=chebyshev(pair)),
        "(30)": at_most(pair.loss_at_most(1, pair.midpoint), chebyshev=chebyshev(pair)),
    }


def basin_models(task: Mixture, stream: np.random.Generator) -> np.ndarray:
    """Models (20, P, d) in and on the paper's basins; the first ones on the lines between the optima."""
    offsets = stream.standard_normal((20, *task.optima.shape))
    distances = np.linalg.norm(task.optima[:, None] - task.optima, axis=-1) + np.diag(
        [np.inf] * task.clusters
    )
    nearest = task.optima[distances.argmin(axis=-1)]
    offsets[:5] = nearest - task.optima
    offsets /= np.linalg.norm(offsets, axis=-1, keepdims=True)
    lengths = stream.choice([1.0, 0.5, 0.1], (20, task.clusters, 1))
    lengths[:5] = 1.0
    return np.asarray(task.optima + task.basin_radius * lengths * offsets)


SomeModels = Annotated[Placed[Mixture], placed(Mixture, random_mixture, basin_models)]
ROUND_TASK = QuadraticMixture.random(clusters=2, clients=4, dimension=2)
ROUND = {"models": Placed(ROUND_TASK, basin_models(ROUND_TASK, generator(0, "kappa = 1")))}
"""kappa = 1, where models between the optima attain the bounds."""


@claim(
    "cfl-mgd/equation-26",
    label="(26)-(28)",
    failure={"(27)": "misprint"},
    judges={"(27), smoothness, as meant": "reading", "(27), distance, as meant": "reading"},
    tight=True,
    evaluations=60,
    example=(ROUND,),
)
def costs_in_the_basin(models: SomeModels) -> dict[str, Sides]:
    """Another cluster's model costs cluster 1 at least mu Delta^2 / 4 more than its own.

    Hypotheses
        Assumptions 1 and 2; in the round, ||chi_p - chi*_p|| <= (1/4) sqrt(mu/L) Delta for all p.

    Statement
        In units of mu Delta^2:

    Lines
        (26), convexity
            phi^1(chi_p) >= phi^1(chi*_1) + (mu/2) ||chi_p - chi*_1||^2.
        (26), distance
            (mu/2) ||chi_p - chi*_1||^2 >= (9 mu / 32) Delta^2.
        (27), smoothness, as meant
            phi^1(chi_1) <= phi^1(chi*_1) + (L/2) ||chi_1 - chi*_1||^2.
        (27), distance, as meant
            (L/2) ||chi_1 - chi*_1||^2 <= (mu/32) Delta^2.
        (27)
            Both without the squares, as printed. A misprint: two lengths are compared with squares of them.
        (28)
            phi^1(chi_p) - phi^1(chi_1) >= (mu/4) Delta^2.

    Source
        Zhao et al. (2023), (26), (27) with its square, and (28). Attained for kappa = 1 with both models on the line
        between the optima.
    """
    task, points, mu = models.task, models.points, models.task.strong_convexity
    suppose("two clusters or more", task.clusters > 1)
    first, second = np.nonzero(~np.eye(task.clusters, dtype=bool))
    distances = np.linalg.norm(points[:, None] - task.optima[:, None], axis=-1)
    suppose("the models are in the basin", distances[:, first, first] <= task.basin_radius * (1 + 1e-12))
    least = [float(task.expected_loss(optimum, p)) for p, optimum in enumerate(task.optima)]
    gaps = np.stack([task.expected_loss(points, p) - least[p] for p in range(task.clusters)])
    unit = mu * task.separation**2
    own, other = gaps[first, :, first].T / unit, gaps[first, :, second].T / unit
    off = task.smoothness / 2 * distances[:, first, first] ** 2 / unit
    across = mu / 2 * distances[:, first, second] ** 2 / unit
    rounding = 1e-13 * (1 + max(least)) / unit
    return {
        "(26), convexity": at_least(other, distance=across, rounding=rounding),
        "(26), distance": at_least(across, separation=9 / 32),
        "(27), smoothness, as meant": at_most(own, distance=off, rounding=rounding),
        "(27), distance, as meant": at_most(off, separation=1 / 32),
        "(28)": at_least(other - own, separation=1 / 4, rounding=rounding),
    }


NOT_NEGATIVE, SHARE = Q[0::2], Q[0:1:4]


@costs_in_the_basin.step("proof", needed=False)
def costs_on_symbols(
    root: Fraction = Q[1::2],
    own: Fraction = SHARE,
    other: Fraction = SHARE,
    beyond: Fraction = NOT_NEGATIVE,
    below: Fraction = NOT_NEGATIVE,
    above: Fraction = NOT_NEGATIVE,
) -> dict[str, Sides]:
    """The triangle inequality and the radius, squared; the first steps are Assumptions 2 and 1 at the optimum.

    Delta = 1, mu = 1, L = root^2; ``own`` and ``other`` are the models' distances from their own optima, in radii. By
    the triangle inequality the other one is Delta less its own distance, and something ``beyond``, from the client's
    optimum. The own model's expected loss is something ``below`` (L / 2) times its squared distance, the other one's
    something ``above`` (mu / 2) times its own.
    """
    own_cost = root**2 * (own / (4 * root)) ** 2 / 2
    other_cost = (1 - other / (4 * root) + beyond) ** 2 / 2
    own_loss, other_loss = own_cost - below, other_cost + above
    return {
        "(26), convexity": at_least(other_loss, distance=other_cost),
        "(26), distance": at_least(other_cost, separation=Fraction(9, 32)),
        "(27), smoothness, as meant": at_most(own_loss, distance=own_cost),
        "(27), distance, as meant": at_most(own_cost, separation=Fraction(1, 32)),
        "(28)": at_least(other_loss - own_loss, separation=Fraction(1, 4)),
    }


def printed_cost(root_of_kappa: int, distance: Fraction) -> Fraction:
    """(L/2) ||chi_1 - chi*_1|| of (27) with mu = 1, L = kappa."""
    return Fraction(root_of_kappa**2, 2) * distance


@costs_in_the_basin.line("(27)")
def printed_bound(
    root_of_kappa: int = Z[1:],
    separation: Fraction = among(Fraction(1), Fraction(2), Fraction(1, 2)),
    share: Fraction = SHARE,
) -> Sides:
    """The own cost as printed; the distance is a ``share`` of the basin's radius."""
    # sqrt(kappa) is the instance's number, so that the basin's radius is rational
    distance = share * separation / (4 * root_of_kappa)
    return at_most(printed_cost(root_of_kappa, distance), squared=separation**2 / 32)
