"""(24)-(28): the inequalities that Lemma 1 is made of."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from clusterproof.synthetic import Mixture, QuadraticMixture
from clusterproof.theory.checker import (
    Family,
    Sides,
    Stream,
    at_least,
    at_most,
    choice,
    drawn,
    equal,
    integers,
    rationals,
    suppose,
)
from clusterproof.theory.exact.algebra import AtLeastOne, NotNegative, Share
from clusterproof.theory.exact.basin_pairs import Pair
from clusterproof.theory.exact.random_tasks import random_mixture
from clusterproof.theory.exact.two_point_losses import TwoPointLosses

PAPER = Family("cfl-mgd")


@dataclass(frozen=True)
class BasinPair:
    """An own and another model of the basin: Delta = 1, mu = 1, L = root^2.

    Attributes
    ----------
    root
        sqrt(kappa).
    own, other
        Their distances from their own optima, in basin radii.
    beyond
        Of the other model's distance from the client's optimum above Delta less its own distance: the
        triangle inequality makes it nonnegative.
    below, above
        Of the own model's expected loss below (L / 2) times its squared distance from the client's optimum, and
        of the other's above (mu / 2) times its own: Assumptions 1 and 2 make them nonnegative.
    """

    root: AtLeastOne
    own: Share
    other: Share
    beyond: NotNegative
    below: NotNegative
    above: NotNegative

    @property
    def own_cost(self) -> Any:
        """(L / 2) times the squared distance of the own model, the most that it costs."""
        return self.root**2 * (self.own / (4 * self.root)) ** 2 / 2

    @property
    def other_cost(self) -> Any:
        """(mu / 2) times the squared distance of the other model, the least that it costs."""
        return (1 - self.other / (4 * self.root) + self.beyond) ** 2 / 2

    @property
    def own_loss(self) -> Any:
        """Expected loss of the own model, above the least."""
        return self.own_cost - self.below

    @property
    def other_loss(self) -> Any:
        """Expected loss of the other model, above the least."""
        return self.other_cost + self.above


@PAPER.claim("equation-24", label="(24)", kind="tight", part="Gaussian", budget=150)
def equation_24(
    pair: Pair,
    multiple: Annotated[
        Fraction, choice(Fraction(1), Fraction(1, 2), Fraction(3, 2), Fraction(3), Fraction(0))
    ],
) -> Sides:
    """A wrong choice is no likelier than that the own model's loss is above delta or the other's below it.

    Hypotheses
        Any delta >= 0; the proof takes the mean of the two expected losses.

    Statement
        P(xi^(1,p)) <= P(phi_i(chi_1) > delta) + P(phi_i(chi_p) <= delta).

    Symbols
        phi_i the loss on n' ``samples``.

    Source
        Zhao et al. (2023), (24). If phi_i(chi_1) >= phi_i(chi_p) and phi_i(chi_1) <= delta, then
        phi_i(chi_p) <= delta. Tight: an equality where one of the losses alone is random.

    Checked
        Gaussian regression, exactly: the F tail against two chi-square tails, at pairs of models in
        the basin and 0 to 3 times the paper's delta, searched for the largest ratio; and every law of a
        grid whose losses take two values, with the paper's delta.
    """
    delta = float(multiple) * pair.midpoint
    return at_most(
        pair.exact,
        own_above=pair.loss_exceeds(0, delta),
        other_below=pair.loss_at_most(1, delta),
    )


@equation_24.also("two values")
def equation_24_of_two_values(law: TwoPointLosses) -> Sides:
    """The same for losses with two values, in rational arithmetic."""
    delta = threshold(*law.expected)
    return at_most(
        law.error_probability, own_above=law.own_exceeds(delta), other_below=law.other_at_most(delta)
    )


def threshold(own: Fraction, other: Fraction) -> Fraction:
    """delta of (25): the mean of the two expected losses phi^1(chi_1) and phi^1(chi_p)."""
    return (own + other) / 2


Loss = Annotated[Fraction, rationals(0, 3, 2, upwards=True)]


@PAPER.claim(
    "equation-25",
    label="(25)",
    kind="identity",
    prove=True,
)
def equation_25(own: Loss, other: Loss, mean_own: Loss, mean_other: Loss) -> Sides:
    """A loss above the mean of the two expected losses exceeds its own mean by half their gap.

    Hypotheses
        delta = (phi^1(chi_1) + phi^1(chi_p)) / 2.

    Statement
        phi_i(chi_1) > delta iff phi_i(chi_1) - phi^1(chi_1) > (phi^1(chi_p) - phi^1(chi_1)) / 2, and
        phi_i(chi_p) <= delta iff phi_i(chi_p) - phi^1(chi_p) <= -(phi^1(chi_p) - phi^1(chi_1)) / 2.

    Symbols
        phi^1 the expected loss of cluster 1.

    Source
        Zhao et al. (2023), (25) and the line after it. Identity of events.

    Checked
        Proved symbolically: in each line the differences of the sides are the same polynomial.
    """
    delta, half = threshold(mean_own, mean_other), (mean_other - mean_own) / 2
    return equal((own - delta, own - mean_own - half), (other - delta, other - mean_other + half))


def basin_models(task: Mixture, stream: np.random.Generator) -> np.ndarray:
    """Models (60, P, d) in and on the paper's basins; the first ones on the lines between the optima."""
    offsets = stream.standard_normal((60, *task.optima.shape))
    distances = np.linalg.norm(task.optima[:, None] - task.optima, axis=-1) + np.diag(
        [np.inf] * task.clusters
    )
    nearest = task.optima[distances.argmin(axis=-1)]
    offsets[:5] = nearest - task.optima
    offsets /= np.linalg.norm(offsets, axis=-1, keepdims=True)
    lengths = stream.choice([1.0, 0.5, 0.1], (60, task.clusters, 1))
    lengths[:5] = 1.0
    return np.asarray(task.optima + task.basin_radius * lengths * offsets)


def basin_pairs(task: Mixture, stream: np.random.Generator) -> tuple[BasinPair, float]:
    """Evaluate models in and on the paper's basin: pairs (60, pairs of clusters), and rounding of their losses."""
    suppose("two clusters or more", task.clusters > 1)
    models = basin_models(task, stream)
    own, other = np.nonzero(~np.eye(task.clusters, dtype=bool))
    least = [float(task.expected_loss(optimum, p)) for p, optimum in enumerate(task.optima)]
    gaps = np.stack([task.expected_loss(models, p) - least[p] for p in range(task.clusters)])
    distances = np.linalg.norm(models[:, None] - task.optima[:, None], axis=-1)
    gap, unit = task.separation, task.strong_convexity * task.separation**2
    off, across, root = distances[:, own, own], distances[:, own, other], math.sqrt(task.condition_number)
    pair = BasinPair(
        root=root,
        own=4 * root * off / gap,
        other=4 * root * distances[:, other, other] / gap,
        beyond=(across + distances[:, other, other]) / gap - 1,
        below=(task.smoothness * off**2 / 2 - gaps[own, :, own].T) / unit,
        above=(gaps[own, :, other].T - task.strong_convexity * across**2 / 2) / unit,
    )
    return pair, 1e-13 * (1 + max(least)) / unit


SomeMixture = Annotated[Mixture, drawn(random_mixture)]
ROUND = {"task": QuadraticMixture.random(clusters=2, clients=4, dimension=2)}
"""kappa = 1, where models between the optima attain the bounds."""


@PAPER.claim("equation-26", label="(26)", kind="tight", extremes=(ROUND,), budget=60)
def equation_26(task: SomeMixture, stream: Stream) -> dict[str, Sides]:
    """Another cluster's model costs cluster 1 at least 9 mu Delta^2 / 32 above its least loss.

    Hypotheses
        Assumption 2; ||chi_p - chi*_p|| <= (1/4) sqrt(mu/L) Delta in the round at hand.

    Statement
        phi^1(chi_p) >= phi^1(chi*_1) + (mu/2) ||chi_p - chi*_1||^2 >= phi^1(chi*_1) + (9 mu / 32) Delta^2.

    Symbols
        mu ``strong_convexity``, Delta ``separation``.

    Source
        Zhao et al. (2023), (26). Lower bound, attained for kappa = 1 with chi_p between the optima.

    Checked
        Proved symbolically, the first step from Assumption 2 at the optimum. Both steps on random tasks at models
        in and on the basin, some on the lines between optima, in units of mu Delta^2.
    """
    pair, rounding = basin_pairs(task, stream)
    return equation_26_on_symbols(pair, rounding=rounding)


@equation_26.proof("algebra")
def equation_26_on_symbols(pair: BasinPair, *, rounding: float = 0.0) -> dict[str, Sides]:
    """The triangle inequality, squared; the first step is Assumption 2 at the optimum."""
    return {
        "convexity": at_least(pair.other_loss, distance=pair.other_cost, rounding=rounding),
        "distance": at_least(pair.other_cost, separation=Fraction(9, 32)),
    }


def printed_cost(root_of_kappa: int, distance: Fraction) -> Fraction:
    """(L/2) ||chi_1 - chi*_1|| of (27) with mu = 1, L = kappa."""
    return Fraction(root_of_kappa**2, 2) * distance


@PAPER.claim(
    "equation-27", label="(27)", failure="misprint", kind="upper", repaired_by="cfl-mgd/equation-27-squared"
)
def equation_27(
    root_of_kappa: Annotated[int, integers(1, 5, upwards=True)],
    separation: Annotated[Fraction, choice(Fraction(1), Fraction(2), Fraction(1, 2))],
    share: Annotated[Fraction, rationals(0, 1, 4)],
) -> Sides:
    """The own model costs at most (L/2) ||chi_1 - chi*_1||, and that at most mu Delta^2 / 32.

    Hypotheses
        Assumptions 1 and 4: ||chi_1 - chi*_1|| <= (1/4) sqrt(mu/L) Delta.

    Statement
        phi^1(chi_1) <= phi^1(chi*_1) + (L/2) ||chi_1 - chi*_1|| <= phi^1(chi*_1) + (mu/32) Delta^2, the
        distance not squared.

    Symbols
        L ``smoothness``, mu ``strong_convexity``, Delta ``separation``.

    Source
        Zhao et al. (2023), (27) as printed. Upper bound. Meant is the square:
        ``cfl-mgd/equation-27-squared``.

    Checked
        The second inequality with mu = 1, L = kappa and a model at a share of the basin's radius, in
        rational arithmetic; the simplest violation.
    """
    # sqrt(kappa) is the instance's number, so that the basin's radius is rational
    distance = share * separation / (4 * root_of_kappa)
    return at_most(printed_cost(root_of_kappa, distance), squared=separation**2 / 32)


@PAPER.claim(
    "equation-27-squared", label="(27), as meant", judges="ours", kind="tight", extremes=(ROUND,), budget=60
)
def equation_27_squared(task: SomeMixture, stream: Stream) -> dict[str, Sides]:
    """The own model costs cluster 1 at most mu Delta^2 / 32 above its least loss.

    Hypotheses
        Assumption 1; ||chi_1 - chi*_1|| <= (1/4) sqrt(mu/L) Delta.

    Statement
        phi^1(chi_1) <= phi^1(chi*_1) + (L/2) ||chi_1 - chi*_1||^2 <= phi^1(chi*_1) + (mu/32) Delta^2.

    Symbols
        L ``smoothness``, mu ``strong_convexity``, Delta ``separation``.

    Source
        Zhao et al. (2023), (27) with its square. Upper bound, attained on the rim of the basin.

    Checked
        Proved symbolically, the first step from Assumption 1 at the optimum. Both steps on random tasks at models
        in and on the basin, in units of mu Delta^2.
    """
    pair, rounding = basin_pairs(task, stream)
    return equation_27_squared_on_symbols(pair, rounding=rounding)


@equation_27_squared.proof("algebra")
def equation_27_squared_on_symbols(pair: BasinPair, *, rounding: float = 0.0) -> dict[str, Sides]:
    """The basin's radius, squared; the first step is Assumption 1 at the optimum."""
    return {
        "smoothness": at_most(pair.own_loss, distance=pair.own_cost, rounding=rounding),
        "distance": at_most(pair.own_cost, separation=Fraction(1, 32)),
    }


@PAPER.claim("equation-28", label="(28)", kind="tight", extremes=(ROUND,), budget=60)
def equation_28(task: SomeMixture, stream: Stream) -> Sides:
    """Another cluster's model costs cluster 1 at least mu Delta^2 / 4 more than its own.

    Hypotheses
        Assumptions 1 and 2, all models in the paper's basin in the round at hand.

    Statement
        phi^1(chi_p) - phi^1(chi_1) >= (mu/4) Delta^2.

    Symbols
        mu ``strong_convexity``, Delta ``separation``.

    Source
        Zhao et al. (2023), (28): 9/32 - 1/32 = 1/4. Lower bound, attained for kappa = 1.

    Checked
        Proved symbolically from (26) and (27). Random tasks at models in and on the basin, some on the lines
        between optima, in units of mu Delta^2.
    """
    pair, rounding = basin_pairs(task, stream)
    return equation_28_on_symbols(pair, rounding=rounding)


@equation_28.proof("algebra")
def equation_28_on_symbols(pair: BasinPair, *, rounding: float = 0.0) -> Sides:
    """The difference of what the two models cost."""
    return at_least(pair.other_loss - pair.own_loss, separation=Fraction(1, 4), rounding=rounding)
