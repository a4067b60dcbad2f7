"""(A1)-(A3): the own clients' part T_1 of a round, split into descent and noise."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from clusterproof.synthetic import Mixture, QuadraticMixture
from clusterproof.theory.claims import Replicates, Sides, Stream, at_most, claim, equal, suppose
from clusterproof.theory.exact.algebra import DescentStep, OwnTerm, Share
from clusterproof.theory.exact.placed import Draws, Placed, placed
from clusterproof.theory.exact.random_tasks import random_mixture
from clusterproof.theory.papers.cfl_mgd.appendix.rounds import Level, simulate_round
from clusterproof.theory.papers.cfl_mgd.appendix.runs import Momentum, NoisyStart, Start, momentum_run
from clusterproof.theory.papers.cfl_mgd.appendix.tasks import ExtremeTask, Place, two_values

STAYING = "|C_1 n C*_1| >= 1"


@claim("cfl-mgd/a1", label="(A1)", evaluations=50)
def a1(start: NoisyStart, momentum: Momentum, draws: Draws) -> Sides:
    """The own clients' part of a round is one gradient step plus averaged noise.

    Hypotheses
        Option I; some own client stays: |C_1 n C*_1| >= 1, since T_12 is 0/0 otherwise.

    Statement
        T_1 = [chi_1 - chi*_1 - h grad phi^1(chi_1)] + h [grad phi^1(chi_1) - mean of g_i over
        C_1 n C*_1], h = (eta/m) |C_1 n C*_1|, where chi_1^(t+1) - chi*_1 = T_1 - T_2 - T_3.

    Symbols
        h the paper's eta-hat, T_11 and T_12 the two brackets.

    Source
        Zhao et al. (2023), (A1) = (34). Identity.
    """
    one = momentum_run(start, momentum, draws)
    own = one.shared(0).sum(axis=-1)[:, None]
    suppose(STAYING, own.all())
    gradient, total = start.task.expected_gradient(one.models, 0), one.sum_over(one.gradients, own=True)
    error, step = one.models - start.task.optima[0], one.weight * own
    descent = error - step * gradient
    return equal((error - one.weight * total, descent + step * (gradient - total / own)), rounding=1e-10)


def own_terms(start: Start, momentum: float, draws: int) -> list[dict[str, Any]]:
    """Return the numbers of each round and coordinate."""
    one = momentum_run(start, momentum, draws)
    slopes, errors = start.task.expected_gradient(one.models, 0), one.models - start.task.optima[0]
    totals = one.sum_over(one.gradients, own=True)
    return OwnTerm.each(errors, slopes, totals, one.weight, one.shared(0).sum(axis=-1)[:, None])


@a1.proof("algebra", at=own_terms)
def a1_on_symbols(one: OwnTerm) -> Sides:
    """The identity in each coordinate, the own clients' gradients summed."""
    return one.split()


@a1.step("next model", evaluations=50, needed=False)
def a1_next_model(start: NoisyStart, momentum: Momentum, draws: Draws) -> Sides:
    """The algorithm's next model is that of (A1) less the false members' gradients and the momentum."""
    one = momentum_run(start, momentum, draws)
    own = one.shared(0).sum(axis=-1)[:, None]
    suppose(STAYING, own.all())
    gradient = start.task.expected_gradient(one.models, 0)
    step = one.weight * own
    descent = one.models - start.task.optima[0] - step * gradient
    noise = gradient - one.sum_over(one.gradients, own=True) / own
    false_members = one.weight * one.sum_over(one.gradients, own=False)
    buffers = one.sum_over(one.buffers, own=True) + one.sum_over(one.buffers, own=False)
    carried = one.weight * momentum * buffers
    after = descent + step * noise - false_members - carried
    return equal((after, one.following - start.task.optima[0]), rounding=1e-10)


def around_optima(task: Mixture, stream: np.random.Generator) -> np.ndarray:
    """Draw 10 models about each optimum, (10, P, d), the first two on quadratics in the flattest direction."""
    offsets = stream.standard_normal((10, *task.optima.shape))
    if isinstance(task, QuadraticMixture):
        offsets[:2] = np.linalg.eigh(task.cluster_hessians)[1][:, :, 0]
    return np.asarray(task.optima + offsets * 10.0 ** stream.uniform(-2, 1, (10, task.clusters, 1)))


AroundOptima = Annotated[Placed[Mixture], placed(Mixture, random_mixture, around_optima)]


def gradients_at(one: Placed[Any]) -> np.ndarray:
    """Expected gradients of each cluster at its points, (..., P, d)."""
    clusters = range(one.task.clusters)
    return np.stack([one.task.expected_gradient(one.points[..., p, :], p) for p in clusters], axis=-2)


def squared_ratio(models: Placed[Any], step: Any) -> Any:
    """||chi - chi* - h grad phi(chi)||^2 / ||chi - chi*||^2 for each model, (n, P), and steps that broadcast to it."""
    before = models.points - models.task.optima
    after = before - np.asarray(step)[..., None] * gradients_at(models)
    return (after**2).sum(axis=-1) / (before**2).sum(axis=-1)


def descent_steps(models: Placed[Any], share: Fraction) -> list[dict[str, Any]]:
    """Return the numbers of each model's step."""
    steps = DescentStep.each(models.task, models.points - models.task.optima, gradients_at(models))
    return [{"one": one, "share": share} for one in steps]


@claim("cfl-mgd/a2", label="(A2)", evaluations=150)
def a2(models: AroundOptima, share: Share) -> Sides:
    """One gradient step with h <= 1/L contracts by 1 - h mu L / (mu + L).

    Hypotheses
        phi^1 is L-smooth and mu-strongly convex, 0 < h <= 1/L.

    Statement
        ||chi_1 - chi*_1 - h grad phi^1(chi_1)|| <= (1 - h mu L / (mu + L)) ||chi_1 - chi*_1||.

    Symbols
        h = ``share`` / L the paper's eta-hat, mu ``strong_convexity``, L ``smoothness``.

    Source
        Zhao et al. (2023), (A2). Upper bound. No factor below 1 on the right side would keep it true, since both
        sides become equal as h tends to 0. Its decrease h mu L / (mu + L) is not the best: h mu is true, up to twice
        as much (``cfl-mgd/a2-sharp``).
    """
    suppose("h > 0", share > 0)
    mu, smooth = models.task.strong_convexity, models.task.smoothness
    step = share / smooth
    return at_most(squared_ratio(models, step), squared=(1 - step * mu * smooth / (mu + smooth)) ** 2)


@a2.proof("co-coercivity", at=descent_steps)
def a2_on_symbols(one: DescentStep, share: Share) -> Sides:
    """The square of the distance from the least inner product, h = share / L."""
    step = share / one.kappa
    return at_most(one.squared_distance(step), squared=(1 - step * one.kappa / (1 + one.kappa)) ** 2)


@claim("cfl-mgd/a2-sharp", label="(A2), sharper", judges="ours", tight=True, evaluations=150)
def a2_sharp(models: AroundOptima, share: Share) -> Sides:
    """One gradient step with h <= 1/L contracts by 1 - h mu.

    Hypotheses
        As (A2).

    Statement
        ||chi_1 - chi*_1 - h grad phi^1(chi_1)|| <= (1 - h mu) ||chi_1 - chi*_1||, which is (A2)'s
        with up to twice the gain, since L / (mu + L) is in [1/2, 1).

    Symbols
        As (A2).

    Source
        Textbook bound max(|1 - h mu|, |1 - h L|) for h <= 2 / (mu + L) (Polyak 1987, 1.4). Attained on
        quadratics in the flattest direction.
    """
    suppose("h > 0", share > 0)
    step = share / models.task.smoothness
    return at_most(squared_ratio(models, step), squared=(1 - step * models.task.strong_convexity) ** 2)


# one own client, whose noise has the norm v always: Markov's inequality on the norm is an equality
ALWAYS = {"task": two_values(1, 1, 0.1), "level": Fraction(9, 10), "place": "optima"}


@a2_sharp.proof("co-coercivity", at=descent_steps)
def a2_sharp_on_symbols(one: DescentStep, share: Share) -> Sides:
    """The same with 1 - h mu."""
    step = share / one.kappa
    return at_most(one.squared_distance(step), squared=(1 - step) ** 2)


@claim("cfl-mgd/a3", label="(A3)", replicates=300, evaluations=15, example=(ALWAYS,))
def a3(task: ExtremeTask, level: Level, place: Place, stream: Stream, replicates: Replicates) -> Sides:
    """The own clients' averaged noise is at most v / (lambda_0 sqrt(n' |C_1 n C*_1|)).

    Hypotheses
        Assumption 3 with v at chi_1, gradients on batches that the choice of clusters did not use.

    Statement
        Given the clusters, with probability at least 1 - lambda_0,
        ||T_12|| <= v / (lambda_0 sqrt(n' |C_1 n C*_1|)). The line before prints E ||T_12||^2 = v^2 / (n'
        |C_1 n C*_1|): meant is <=.

    Symbols
        v ``gradient_variance`` (its root), n' ``samples``.

    Source
        Zhao et al. (2023), (A3). Probability, by Markov's inequality; Chebyshev's would have
        lambda_0^(1/2).
    """
    one = simulate_round(task, place, replicates, stream, with_clients_of=0)
    # multiplied by |C_1 n C*_1|
    spread = one.gradient_deviation(0) * np.sqrt(one.shared(0) / task.samples)
    return at_most(
        np.linalg.norm(one.deviation(0), axis=-1), noise=spread / float(level), failure=float(level)
    )
