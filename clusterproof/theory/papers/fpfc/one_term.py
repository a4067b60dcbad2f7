"""The repaired theorem's first inequality without the pairs' term: convex losses, every pair in every round."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.algorithms import Randomness
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.claims import (
    Expectation,
    Sides,
    Stream,
    at_least,
    at_most,
    choice,
    claim,
    drawn,
    equal,
    integers,
    rationals,
    suppose,
)
from clusterproof.theory.papers.fpfc.constants import Constants, HuberSum
from clusterproof.theory.papers.fpfc.measured import run_averages
from clusterproof.theory.papers.fpfc.repaired import (
    ROUNDS,
    Strain,
    alike,
    averages,
    draw_setting,
    expected,
    opposed_averages,
    read_setting,
    suppose_the_hypotheses,
    weakly_coupled,
    write_setting,
)
from clusterproof.theory.papers.fpfc.repaired_steps import dense
from clusterproof.theory.papers.fpfc.runs import bound_models_by_one_term

FOLLOWED, LONG = 25, 200
SMALL_SHARE = 0.03
Case = tuple[Constants, QuadraticMixture]


def draw_every_pair(stream: np.random.Generator) -> Case:
    """Draw as ``draw_setting`` does; the server updates every pair in every round."""
    setting, task = draw_setting(stream)
    return replace(setting, algorithm=replace(setting.algorithm, pair_rule="all")), task


EveryPair = Annotated[Case, drawn(draw_every_pair, write=write_setting, read=read_setting)]


def suppose_every_pair(setting: Constants) -> None:
    """Suppose the hypotheses of ``one_term``; the losses of a quadratic mixture are convex."""
    suppose_the_hypotheses(setting)
    suppose(
        "every pair is updated in every round",
        setting.algorithm.pair_rule == "all" or setting.participation == 1,
    )


@claim(
    "fpfc/one-term",
    label="Theorem 1, first inequality, convex losses",
    judges="ours",
    bound=bound_models_by_one_term,
    evaluations=20,
)
def one_term(case: EveryPair, stream: Stream) -> Sides | Expectation:
    """With convex losses and every pair updated, the mean of E||grad_w L_0||^2 is at most A D_0 / K.

    Hypotheses
        As ``fpfc/repaired-models``; moreover, the losses are convex, and every pair is updated in every round: all
        clients take part, or the rule is "all".

    Statement
        As the title, A = 2 L_h / (p (1 - (1 - alpha L_h)^(2T))): the pairs' term B of ``fpfc/repaired-models`` is not
        needed. For losses that are not quadratic and T >= 3, A is replaced by the smaller of A_1 = 2 / (alpha p (2 -
        alpha L_h)) and A + 2 A_1 / T.

    Proof
        Of client i let G = grad_{w_i} L_0 after a round, M = grad_{w_i} L_rho there, a the gradient G with the
        multipliers of the round before, and X the decrease of grad f_i by the next local steps. Since v moves by
        rho r in every round, G = (a + M) / 2, and the next a is G - X. With y = M - X this is an identity,

        ||a||^2 + ||M||^2 - ||G||^2 - ||G - X||^2 = ||a - y||^2 / 2 + ||X||^2 / 2 + 2 <X, y>.

        Let g_s be the gradients of h_i at the local steps, g_0 = M, w+ the last point. Convexity gives <X, y> >= 0 for
        T = 1 and for quadratics, where X and y are M times commuting positive semidefinite matrices; for
        T = 2 the right-hand side is at least 0. So the ||G||^2 of rounds 1 to K add up to no more than the ||M||^2 of
        rounds 0 to K, which lower L_rho by ||M||^2 / (p A). Else y = g_T + rho (w - w+) with <X, w - w+> >= 0, and the
        right-hand side is at least -2 ||g_T||^2, which is at least -(||g_1||^2 + ... + ||g_{T-1}||^2) and at least
        -(2 / T)(||g_0||^2 + ... + ||g_{T-1}||^2), as these gradients never grow; each lowers L_rho by alpha
        (1 - alpha L_h / 2) times itself. The note "FPFC's theorem, repaired" has the lines.

    Source
        Ours; ``fpfc/repaired-models`` with one term less.
    """
    setting, measured = case[0], averages(case, stream)
    suppose_every_pair(setting)
    # the least observed objective replaces F*: with F* itself the bound is larger
    gap = (measured.start - measured.end + setting.repaired_start) / ROUNDS
    return expected(setting, measured.models, local_steps=setting.local_steps_factor * gap)


@one_term.line("alike clients")
def alike_clients(clients: Annotated[int, choice(3)], local_steps: Annotated[int, choice(1, 3)]) -> Sides:
    """All clients take small steps towards one minimiser: nothing is random, F* = 0, and the factor is reached."""
    weak = weakly_coupled(clients, SMALL_SHARE, local_steps=local_steps)
    setting = replace(weak, algorithm=replace(weak.algorithm, participation=1.0))
    suppose_every_pair(setting)
    measured = run_averages(
        setting.algorithm, alike(setting), np.zeros((1, 1)), rounds=LONG, replicates=1, seed=0
    )
    gap = (measured.start + setting.repaired_start) / LONG
    return at_most(measured.models.item(), local_steps=setting.local_steps_factor * gap)


@one_term.line("opposed clients")
def opposed_clients(strain: Strain, rounds: Annotated[int, choice(1, 2, 5, 20)]) -> Sides:
    """The start is the minimum of F, so that D_0 is the term of the smoothing."""
    suppose("F is least at the start", 0 <= strain <= 1)
    setting, measured = opposed_averages(strain, rounds)
    suppose_every_pair(setting)
    return at_most(
        measured.models.item(), local_steps=setting.local_steps_factor * setting.repaired_start / rounds
    )


@dataclass(frozen=True)
class Norms:
    """Squared norms of one run, each (rounds, m).

    Attributes
    ----------
    before, augmented
        ||a||^2 and ||M||^2, of L_0 with the old multipliers and of L_rho.
    plain, after
        ||G||^2, and ||a||^2 of the next round.
    """

    before: np.ndarray
    augmented: np.ndarray
    plain: np.ndarray
    after: np.ndarray


def follow_norms(setting: Constants, task: QuadraticMixture, stream: np.random.Generator) -> Norms:
    """Follow a run in which every pair is updated, from L_rho and L_0 as they are defined."""
    algorithm, count = setting.algorithm, task.clients
    state = algorithm.initialise(3 * stream.standard_normal((1, task.dimension)), task)
    randomness = Randomness.from_seed(int(stream.integers(2**31)), "fpfc", "norms")
    models, (theta, dual) = np.asarray(state.models), dense(algorithm, state)
    earlier, norms_by_round = dual, []
    for _ in range(FOLLOWED):
        gap = models[:, None] - models[None] - theta
        gradients = _gradients(task, models)
        augmented = gradients + (dual + algorithm.augmentation * gap).sum(axis=1) / count
        before, plain = (gradients + vector.sum(axis=1) / count for vector in (earlier, dual))
        state = algorithm.step(state, task, randomness)
        models = np.asarray(state.models)
        after = _gradients(task, models) + dual.sum(axis=1) / count
        norms_by_round.append([(vector**2).sum(axis=-1) for vector in (before, augmented, plain, after)])
        earlier, (theta, dual) = dual, dense(algorithm, state)
    return Norms(*np.moveaxis(np.array(norms_by_round), 1, 0))


def _gradients(task: QuadraticMixture, models: np.ndarray) -> np.ndarray:
    return np.asarray(np.einsum("mij,mj->mi", task.hessians, models - task.centers))


@one_term.step("a round", evaluations=12)
def norms_fall(case: EveryPair, stream: Stream) -> Sides:
    """||G||^2 and the next ||a||^2 are at most ||a||^2 and ||M||^2, for each client: a quadratic's X is within M."""
    suppose_every_pair(case[0])
    norms = follow_norms(*case, stream)
    largest = float((norms.augmented + norms.before).max())
    return at_most(
        norms.plain + norms.after,
        before=norms.before,
        gradients=norms.augmented,
        rounding=1e-11 * (1 + largest),
    )


def lost_and_kept(lost: np.ndarray, gradients: list[np.ndarray]) -> Sides:
    """||X||^2 / 2 + 2 <X, y> is at least minus what the proof allows it; X ``lost``, g_0 to g_{T-1} given.

    For T >= 3 the smaller of the sum of the later gradients' squares and 2 / T of the sum of all, 0 for T <= 2.
    """
    squares = [float(gradient @ gradient) for gradient in gradients]
    steps = len(squares)
    return at_least(
        lost @ lost / 2 + 2 * (lost @ (gradients[0] - lost)),
        later=-min(sum(squares[1:]), 2 / steps * sum(squares)) if steps > 2 else 0.0,
        rounding=1e-12 * (1 + float(gradients[0] @ gradients[0])),
    )


@one_term.step("local steps", evaluations=100)
def convexity(
    local_steps: Annotated[int, choice(1, 2, 3, 8)], draw: Annotated[int, integers(0, 24)]
) -> Sides:
    """The inequality from convexity, on a sum of Huber losses."""
    stream = np.random.default_rng(draw)
    loss = HuberSum.draw(stream)
    rho = loss.smoothness * float(10 ** stream.uniform(-3, 1))
    step = float(stream.choice([0.5, 1.0])) / (loss.smoothness + rho)
    anchor, start = stream.standard_normal((2, loss.dimension))
    point, gradients = start, []
    for _ in range(local_steps):
        gradients.append(loss.gradient(point) + rho * (point - anchor))
        point = point - step * gradients[-1]
    return lost_and_kept(loss.gradient(start) - loss.gradient(point), gradients)


@one_term.step("turning curvature")
def turning(
    local_steps: Annotated[int, choice(1, 2, 3, 6)], degrees: Annotated[int, choice(10, 20, 30, 45, 60, 75)]
) -> Sides:
    """The inequality from convexity for steps that each remove one direction of the plane, which rotates; rho = 0."""
    gradient = np.array([1.0, 0.0])
    gradients, angle = [], np.pi / 2 - np.radians(degrees)
    for number in range(local_steps):
        gradients.append(gradient)
        # each projection keeps the component orthogonal to its direction
        direction = angle - number * np.radians(degrees)
        unit = np.array([np.cos(direction), np.sin(direction)])
        gradient = gradient - unit * (unit @ gradient)
    return lost_and_kept(gradients[0] - gradient, gradients)


Number = Annotated[Fraction, rationals(-4, 4, 4)]


@one_term.step("norms")
def norms(a: Number, slope: Number, lost: Number) -> Sides:
    """The identity, coordinate by coordinate, with G = (a + M) / 2."""
    plain, remaining = (a + slope) / 2, slope - lost
    left = a**2 + slope**2 - plain**2 - (plain - lost) ** 2
    return equal((left, (a - remaining) ** 2 / 2 + lost**2 / 2 + 2 * lost * remaining))
