"""A claim on the basin for exact losses: the initial models from which IFCA certainly converges."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.algorithms import IFCA
from clusterproof.checker.claims import (
    Q,
    Sides,
    Stream,
    among,
    at_most,
    claim,
    drawn,
    equal,
    integers,
    suppose,
)
from clusterproof.checker.claims.ranges import example_of
from clusterproof.running import run
from clusterproof.synthetic import RegressionMixture
from clusterproof.synthetic.mixture import make_labels
from clusterproof.theory.bounds.setting import largest_radius


def draw_mixture(stream: np.random.Generator) -> RegressionMixture:
    """Draw two to ten clusters with exact losses, cluster sizes up to 1 : 20, and a condition number up to 10^4."""
    from clusterproof.synthetic import strategies

    mixtures = strategies.wide_mixtures("regression", clusters=(2, 10), noise=1.0, data="population")
    task = example_of(mixtures, stream)
    assert isinstance(task, RegressionMixture)
    return task


def worst_pair(condition: float, radius: float) -> tuple[RegressionMixture, np.ndarray]:
    """Return two clusters at distance 1 along the axis with the smallest curvature, and the worst models at ``radius``.

    The model of the client's own cluster is displaced along the axis with the largest curvature, and the other model
    towards the client's optimum.
    """
    task = RegressionMixture(
        optima=np.array([[0.0, 0.0], [0.0, 1.0]]),
        covariance=np.array([1.0, 1 / condition]),
        noise=0.0,
        labels=make_labels(2, 2),
        samples=1,
        data="population",
    )
    return task, np.array([[radius, 0.0], [0.0, 1 - radius]])


def misassigned(condition: float, radius: float) -> bool:
    """Return whether a client chooses the wrong model from the worst pair of models."""
    task, models = worst_pair(condition, radius)
    trace = run(IFCA(step_size=1.0), task, rounds=1, initial=models)
    return bool((trace.assignments[0] != task.labels).any())


def contraction(
    step_size: float, proportions: np.ndarray, strong_convexity: float, rounds: np.ndarray
) -> np.ndarray:
    """Return (1 - eta l_p mu)^t, for rounds t (T,) and clusters p, (T, P)."""
    return np.asarray((1 - step_size * proportions * strong_convexity) ** rounds[:, None])


# with one curvature, every direction contracts by 1 - eta l_p mu
ROUND = {
    "task": RegressionMixture.random(clusters=2, clients=2, dimension=2, data="population"),
    "share": 0.5,
    "step": Fraction(1, 2),
}


@claim(
    "ifca/basin",
    label="Initialisation condition, exact losses",
    source="ours",
    tight=True,
    evaluations=30,
    example=(ROUND,),
    expected="consistent, tight within 2",
    headline=True,
    places="cfl-mgd/introduction; cfl-mgd/section 5; cfl-mgd/assumption 4",
)
def basin(
    task: Annotated[RegressionMixture, drawn(draw_mixture)],
    stream: Stream,
    share: float = among(0.999, 0.9, 0.5, 0.1),
    step: Fraction = Q[Fraction(1, 5) : 1 : 20],
    *,
    rate: float = 1.0,
) -> dict[str, Sides]:
    """With exact losses, IFCA certainly converges if every initial model is within Delta / (1 + sqrt(kappa)).

    Hypotheses
        Curvatures of phi_p are between mu and L. IFCA averages gradients with eta <= 1/L and full participation, and
        uses expected losses and gradients. ||w_p - chi*_p|| <= B < Delta / (1 + sqrt(kappa)) for all p.

    Statement
        Every client chooses its own cluster in every round, and ||w_p^t - chi*_p|| <= (1 - eta l_p mu)^t ||w_p^0 -
        chi*_p||, where l_p is ``proportions``. For B = Delta / (1 + sqrt(kappa)), a client can have equal losses at
        two models. The papers' radius sqrt(mu/L) Delta / 4, ``basin_radius``, is smaller: for kappa = 1 it is Delta /
        4, whereas this radius is Delta / 2.

    Source
        Ours, about the condition on initial models of IFCA (Ghosh et al., 2020), which Zhao et al. (2023) repeat in
        Assumption 4. The radius cannot be larger.

    Proof
        phi(own) <= L B^2 / 2 + s^2 / 2 < mu (Delta - B)^2 / 2 + s^2 / 2 <= phi(other). A step with eta <= 1/L
        contracts the distance by 1 - eta l_p mu, so the models stay within B.
    """
    suppose("losses and gradients are the expected ones", task.data == "population")
    directions = stream.standard_normal(task.optima.shape)
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    step_size, start = float(step) / task.smoothness, task.optima + share * largest_radius(task) * directions
    trace = run(IFCA(step_size=step_size), task, rounds=40, initial=start)
    errors = np.asarray(trace.errors)
    kept = contraction(rate * step_size, task.proportions, task.strong_convexity, np.arange(1, 41))
    right = np.broadcast_to(task.labels, np.shape(trace.assignments))
    return {
        "choices": equal((np.asarray(trace.assignments), right)),
        # before the first round, both sides are the initial error
        "errors": at_most(errors[1:], contraction=kept * errors[0], decrease_from=errors[0]),
    }


@basin.step("worst pair")
def worst_pair_ties(condition_number: Annotated[int, integers(1, 30, upwards=True)]) -> dict[str, Sides]:
    """For the worst pair of models, a client chooses correctly just within Delta / (1 + sqrt(kappa)) but not beyond."""
    limit = 1 / (1 + math.sqrt(condition_number))
    return {
        "within": equal((int(misassigned(condition_number, 0.999 * limit)), 0)),
        "beyond": equal((int(misassigned(condition_number, 1.001 * limit)), 1)),
    }
