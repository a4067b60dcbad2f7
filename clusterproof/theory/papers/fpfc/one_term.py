"""Claims on the first inequality of the repaired theorem without the term B of the pairs, for convex losses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.checker.claims import (
    Expectation,
    Q,
    Sides,
    Stream,
    Z,
    among,
    at_least,
    at_most,
    claim,
    drawn,
    equal,
    suppose,
)
from clusterproof.common import Randomness
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.exact.algebra import Share
from clusterproof.theory.papers.fpfc.measured import run_averages
from clusterproof.theory.papers.fpfc.partial_participation import mean_of_squares, minimiser
from clusterproof.theory.papers.fpfc.repaired import (
    MOMENTS,
    ROUNDS,
    SMOOTHING,
    STRAIN,
    STRENGTH,
    Case,
    alike,
    averages,
    draw_setting,
    expected,
    opposed_averages,
    read_setting,
    weakly_coupled,
    write_setting,
)
from clusterproof.theory.papers.fpfc.repaired_steps import dense
from clusterproof.theory.papers.fpfc.runs import (
    bound_models_at_large_augmentation,
    bound_models_by_one_term,
    suppose_the_hypotheses,
)
from clusterproof.theory.papers.fpfc.simplex import Simplex
from clusterproof.theory.papers.fpfc.theorem_1 import Constants


@dataclass(frozen=True)
class HuberSum:
    """The loss f(w): the sum over samples (x, y) of the Huber loss of x . w - y.

    Attributes
    ----------
    features, targets
        The samples x of shape (n, d) and y of shape (n,).
    width
        Positive residual at which the loss changes from quadratic to linear.
    """

    features: np.ndarray
    targets: np.ndarray
    width: float

    @classmethod
    def draw(cls, stream: np.random.Generator) -> HuberSum:
        """Draw one to four samples in one to three dimensions."""
        rows, dimension = int(stream.integers(1, 5)), int(stream.integers(1, 4))
        features = stream.standard_normal((rows, dimension))
        return cls(features, stream.standard_normal(rows), float(10 ** stream.uniform(-2, 1)))

    @property
    def dimension(self) -> int:
        """The dimension d."""
        return int(self.features.shape[1])

    @property
    def smoothness(self) -> float:
        """The smoothness L_f."""
        return float(np.linalg.eigvalsh(self.features.T @ self.features)[-1])

    def value(self, point: np.ndarray) -> float:
        """Return f at a point (d,)."""
        away = np.abs(self.features @ point - self.targets)
        huber = np.where(away <= self.width, away**2 / 2, self.width * (away - self.width / 2))
        return float(huber.sum())

    def gradient(self, point: np.ndarray) -> np.ndarray:
        """Return the gradient at a point (d,)."""
        derivatives = np.clip(self.features @ point - self.targets, -self.width, self.width)
        return np.asarray(self.features.T @ derivatives)


FOLLOWED, LONG = 25, 200
SMALL_SHARE = 0.03


def draw_every_pair(stream: np.random.Generator) -> Case:
    """Draw a setting as ``draw_setting`` does. The server updates every pair in every round."""
    setting, task = draw_setting(stream)
    return replace(setting, algorithm=replace(setting.algorithm, pair_rule="all")), task


EveryPair = Annotated[Case, drawn(draw_every_pair, write=write_setting, read=read_setting)]


def suppose_every_pair(setting: Constants) -> None:
    """Suppose the hypotheses of ``one_term``, except convexity: the losses of a quadratic mixture are always convex."""
    suppose_the_hypotheses(setting)
    every = setting.algorithm.pair_rule == "all" or setting.participation == 1
    suppose("every pair is updated in every round", every)


@claim(
    "fpfc/one-term",
    label="Theorem 1, first inequality, convex losses",
    source="ours",
    bound=bound_models_by_one_term,
    evaluations=30,
    expected="consistent, tight within 2",
    headline=True,
)
def one_term(case: EveryPair, stream: Stream) -> Sides | Expectation:
    """If losses are convex and every pair is updated, the mean of E||grad_w L_0||^2 is at most A D_0 / K.

    Hypotheses
        The hypotheses of ``fpfc/repaired-models`` hold. Moreover, the losses are convex, and every pair is updated in
        every round: all clients take part, or ``pair_rule`` is "all".

    Statement
        The title states the claim, with A = 2 L_h / (p (1 - (1 - alpha L_h)^(2T))). The bound does not contain the
        term B of ``fpfc/repaired-models``. If the losses are not quadratic and T >= 3, the smaller of A_1 = 2 /
        (alpha p (2 - alpha L_h)) and A + 2 A_1 / T replaces A.

    Proof
        For client i let G = grad_{w_i} L_0 and M = grad_{w_i} L_rho after a round, and let a be the gradient G with
        the multipliers of the previous round. Let X be the decrease of grad f_i in the next local steps. Since v
        changes by rho r in every round, G = (a + M) / 2, and the next a is G - X. With y = M - X, the following
        identity holds:

        ||a||^2 + ||M||^2 - ||G||^2 - ||G - X||^2 = ||a - y||^2 / 2 + ||X||^2 / 2 + 2 <X, y>.

        Let g_s be the gradients of h_i at the local steps, with g_0 = M, and w+ the last point. By convexity, <X, y>
        >= 0 for T = 1 and for quadratics, where X and y are M times commuting positive semidefinite matrices; for T =
        2 the right-hand side is at least 0. So the sum of ||G||^2 over rounds 1 to K is at most the sum of ||M||^2
        over rounds 0 to K, and each round decreases L_rho by at least ||M||^2 / (p A). In all other cases, y = g_T +
        rho (w - w+) with <X, w - w+> >= 0, and the right-hand side is at least -2 ||g_T||^2. This is at least
        -(||g_1||^2 + ... + ||g_{T-1}||^2) and at least -(2 / T)(||g_0||^2 + ... + ||g_{T-1}||^2), because the norms
        of these gradients never increase. Each step decreases L_rho by at least alpha (1 - alpha L_h / 2) ||g_s||^2.
        The note "FPFC's theorem, repaired" has the details.

    Source
        Ours. This is ``fpfc/repaired-models`` without the term B.
    """
    setting, measured = case[0], averages(case, stream)
    suppose_every_pair(setting)
    # the least observed objective replaces F*: with F* itself the bound is larger
    gap = (measured.start - measured.end + setting.repaired_start) / ROUNDS
    return expected(setting, measured.models, local_steps=setting.local_steps_factor * gap)


@one_term.line("alike clients")
def alike_clients(clients: int = among(3), local_steps: int = among(1, 3)) -> Sides:
    """Check the bound for clients that all take small steps towards one minimiser.

    The run is deterministic, F* = 0, and the bound is nearly attained.
    """
    weak = weakly_coupled(clients, SMALL_SHARE, local_steps=local_steps)
    setting = replace(weak, algorithm=replace(weak.algorithm, participation=1.0))
    suppose_every_pair(setting)
    measured = run_averages(
        setting.algorithm, alike(setting), np.zeros((1, 1)), rounds=LONG, replicates=1, seed=0
    )
    gap = (measured.start + setting.repaired_start) / LONG
    return at_most(measured.models.item(), local_steps=setting.local_steps_factor * gap)


@one_term.line("opposed clients")
def opposed_clients(strain: float = STRAIN, rounds: int = among(1, 2, 5, 20)) -> Sides:
    """Check the bound for two clients that start at the minimum of F, so D_0 contains only the smoothing term."""
    setting, measured = opposed_averages(strain, rounds)
    suppose_every_pair(setting)
    return at_most(
        measured.models.item(), local_steps=setting.local_steps_factor * setting.repaired_start / rounds
    )


def follow_norms(setting: Constants, task: QuadraticMixture, stream: np.random.Generator) -> np.ndarray:
    """Compute ||a||^2, ||M||^2, ||G||^2 and the next round's ||a||^2 from the definitions, each of shape (rounds, m).

    The vectors are gradients of four functions: L_0 with the multipliers of the previous round, L_rho, L_0, and L_0
    after the local steps of the next round.
    """
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
    return np.moveaxis(np.array(norms_by_round), 1, 0)


def _gradients(task: QuadraticMixture, models: np.ndarray) -> np.ndarray:
    return np.asarray(np.einsum("mij,mj->mi", task.hessians, models - task.centers))


@one_term.step("a round", evaluations=30)
def norms_fall(case: EveryPair, stream: Stream) -> Sides:
    """Check that ||G||^2 plus the next ||a||^2 is at most ||a||^2 + ||M||^2 for each client with a quadratic loss."""
    suppose_every_pair(case[0])
    before, augmented, plain, after = follow_norms(*case, stream)
    rounding = 1e-11 * (1 + float((augmented + before).max()))
    return at_most(plain + after, before=before, gradients=augmented, rounding=rounding)


def lost_and_kept(lost: np.ndarray, gradients: list[np.ndarray]) -> Sides:
    """Check that ||X||^2 / 2 + 2 <X, y> is at least the lower bound in the proof, where X is ``lost``.

    For T <= 2, the lower bound is 0. For T >= 3, it is the larger of two numbers: minus the sum of all squared norms
    except the first, and -2 / T times the sum of all squared norms.
    """
    squares = [float(gradient @ gradient) for gradient in gradients]
    steps = len(squares)
    return at_least(
        lost @ lost / 2 + 2 * (lost @ (gradients[0] - lost)),
        later=-min(sum(squares[1:]), 2 / steps * sum(squares)) if steps > 2 else 0.0,
        rounding=1e-12 * (1 + float(gradients[0] @ gradients[0])),
    )


@one_term.step("local steps", evaluations=100)
def convexity(local_steps: int = among(1, 2, 3, 8), draw: int = Z[0:24]) -> Sides:
    """Check the inequality that follows from convexity on a sum of Huber losses."""
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
def turning(local_steps: int = among(1, 2, 3, 6), degrees: int = among(10, 20, 30, 45, 60, 75)) -> Sides:
    """Check the inequality that follows from convexity for steps that project the gradient onto rotating directions.

    In each step, the projection removes one component of a gradient in the plane. Here rho = 0.
    """
    gradient = np.array([1.0, 0.0])
    gradients, angle = [], np.pi / 2 - np.radians(degrees)
    for number in range(local_steps):
        gradients.append(gradient)
        # each projection keeps only the component orthogonal to its direction
        direction = angle - number * np.radians(degrees)
        unit = np.array([np.cos(direction), np.sin(direction)])
        gradient = gradient - unit * (unit @ gradient)
    return lost_and_kept(gradients[0] - gradient, gradients)


NUMBER = Q[-4:4:4]


@one_term.step("norms")
def norms(a: Fraction = NUMBER, slope: Fraction = NUMBER, lost: Fraction = NUMBER) -> Sides:
    """Check the identity for each coordinate, with G = (a + M) / 2."""
    plain, remaining = (a + slope) / 2, slope - lost
    left = a**2 + slope**2 - plain**2 - (plain - lost) ** 2
    return equal((left, (a - remaining) ** 2 / 2 + lost**2 / 2 + 2 * lost * remaining))


LARGEST = 1 / 8
"""The largest L_g / rho."""


def draw_large_augmentation(stream: np.random.Generator) -> Case:
    """Draw a setting as ``draw_setting`` does, with rho from 8 L_g to 18 L_g. Half of the settings update all pairs."""
    setting, task = draw_setting(stream)
    rho = setting.penalty.lipschitz * float(8 + 10 ** stream.uniform(-3, 1))
    share = setting.algorithm.step_size * setting.local_smoothness
    algorithm = replace(
        setting.algorithm,
        augmentation=rho,
        step_size=share / (setting.smoothness + rho),
        pair_rule=str(stream.choice(["either", "all"])),
    )
    return replace(setting, algorithm=algorithm), task


LargeAugmentation = Annotated[Case, drawn(draw_large_augmentation, write=write_setting, read=read_setting)]


def suppose_large_augmentation(setting: Constants) -> None:
    """Suppose the claim's hypotheses on a setting, except convexity, which all quadratic losses satisfy."""
    suppose_the_hypotheses(setting)
    suppose("rho >= 8 L_g", setting.largely_augmented)


@claim(
    "fpfc/one-term-large-augmentation",
    label="Theorem 1, first inequality, rho >= 8 L_g",
    source="ours",
    bound=bound_models_at_large_augmentation,
    evaluations=30,
    expected="consistent, tight within 2",
)
def one_term_large_augmentation(case: LargeAugmentation, stream: Stream) -> Sides | Expectation:
    """If losses are convex and rho >= 8 L_g, the mean of E||grad_w L_0||^2 is at most A_1 D_0 / K.

    Hypotheses
        The hypotheses of ``fpfc/repaired-models`` hold. Moreover, the losses are convex, all clients take part with
        the same probability, and rho >= 8 L_g.

    Statement
        The title states the claim, with A_1 = 2 / (alpha p (2 - alpha L_h)). This is the constant A of
        ``fpfc/repaired-models`` for one local step. The bound does not contain the term B, even if pairs wait for an
        update.

    Proof
        Let V_i = M_i - grad_{w_i} L_0 = (1/m) sum_j d v_ij, where d v_ij is the change in the last update of the
        pair. We show that the decrease of L_rho in the updates of pairs is at least the sum over clients of
        ||grad_{w_i} L_0||^2 - ||M_i||^2 = -2 <M_i, V_i> + ||V_i||^2. Summed over the rounds in which a pair waits, <d
        v_ij, M_i - M_j> is, in expectation, -1 / (alpha p) times the inner product of d v_ij with the first local
        steps at the pair's next update. Without later local steps, the first local steps equal d theta + (d v' - d v)
        / rho. So it suffices that, for each pair, a quadratic form in d theta, d v and the later steps of the pair is
        not negative. This is true for ||d v|| <= ||d theta|| rho / 8. For convex losses, later steps of total length
        l decrease h_i by at least rho l^2 / 8. The proof uses this decrease for the quadratic form. So A_1 contains
        only the decrease in the first step, and the proof does not imply the bound with A. The note "FPFC's theorem,
        repaired" has the details.

    Source
        Ours. This is ``fpfc/repaired-models`` without the term B. Close to rho = 2 L_g the statement is false, see
        ``fpfc/one-term-waiting``.
    """
    setting, measured = case[0], averages(case, stream)
    suppose_large_augmentation(setting)
    # the least observed objective replaces F*: with F* itself the bound is larger
    gap = (measured.start - measured.end + setting.repaired_start) / ROUNDS
    return expected(setting, measured.models, local_steps=setting.first_step_factor * gap)


@one_term_large_augmentation.line("alike clients")
def alike_at_large_augmentation(
    clients: int = among(2, 4, 6), share: float = among(0.1, 0.5, 1.0), local_steps: int = among(1, 3)
) -> Sides:
    """Compare exact values with the bound for one participant per round. The clients have one minimiser, so F* = 0."""
    rho = 8 * STRENGTH / SMOOTHING
    setting = weakly_coupled(clients, share, rho, local_steps)
    suppose_large_augmentation(setting)
    gap = (clients * setting.smoothness / 2 * minimiser(clients) ** 2 + setting.repaired_start) / MOMENTS
    return at_most(
        mean_of_squares(setting, MOMENTS, duals=False), local_steps=setting.first_step_factor * gap
    )


def pair_form(derivatives: np.ndarray, doubled: float) -> np.ndarray:
    """Return a pair's quadratic form in d theta and in the later local steps at each update, of shape (2 n, 2 n).

    The unit is rho = 1. The form is the decrease of L_rho in n updates, plus an eighth of the squared later steps,
    minus the terms from the gradients between the updates.

    Parameters
    ----------
    derivatives
        The quotient of d v by d theta in each update, of shape (n,).
    doubled
        The number 2 - alpha L_h, in [1, 2].
    """
    size = len(derivatives)
    moved, later = np.hsplit(np.eye(2 * size), 2)
    moved, later = moved.T, later.T
    dual = derivatives[:, None] * moved

    def product(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        return np.asarray((one.T @ other + other.T @ one) / 2)

    form = product(moved, moved) / 2 + product(dual, moved) / 2 - product(dual, dual)
    form -= doubled * (2 - doubled) * product(dual, dual)
    steps = moved[1:] + dual[1:] - dual[:-1] - later[1:]
    return np.asarray(form - doubled * product(dual[:-1], steps) + product(later, later) / 8)


@one_term_large_augmentation.step("a pair", evaluations=300)
def pairs_pay(updates: int = Z[1:5], doubled: float = among(1.0, 1.5, 2.0), draw: int = Z[0:19]) -> Sides:
    """Check that the form of a pair is not negative for derivatives in [-L_g, L_g], half of the time at both ends."""
    derivatives = LARGEST * np.random.default_rng(draw).uniform(-1, 1, updates)
    if draw % 2:
        derivatives = LARGEST * np.sign(derivatives)
    return at_least(float(np.linalg.eigvalsh(pair_form(derivatives, doubled))[0]), zero=0)


@one_term_large_augmentation.step("later steps", evaluations=100)
def later_steps(local_steps: int = among(2, 3, 8, 40), draw: int = Z[0:24]) -> Sides:
    """Check on Huber losses that steps of at most 1 / L_h decrease h by at least rho / 8 times their squared length."""
    stream = np.random.default_rng(draw)
    loss = HuberSum.draw(stream)
    rho = loss.smoothness * float(10 ** stream.uniform(-3, 1))
    anchor, start = stream.standard_normal((2, loss.dimension))

    def value(point: np.ndarray) -> float:
        return loss.value(point) + float(rho / 2 * ((point - anchor) ** 2).sum())

    point = start
    for _ in range(local_steps):
        gradient = loss.gradient(point) + rho * (point - anchor)
        point = point - gradient / (loss.smoothness + rho)
    length = float(((point - start) ** 2).sum())
    return at_least(
        value(start) - value(point), squared=rho / 8 * length, rounding=1e-12 * (1 + value(start))
    )


@one_term_large_augmentation.step("the constant")
def constant(short: Share) -> Sides:
    """Check that Young's inequality leaves a coefficient of ||d theta||^2 that is at least 0 for L_g = rho / 8.

    Here 2 - alpha L_h = 1 + ``short``.

    In units with rho = 1, the coefficient is 1/2 - L_g / 2 - (1 + short) L_g - (2 + short)^2 L_g^2.
    """
    slope, doubled = Fraction(1, 8), 1 + short
    rest = Fraction(1, 2) - slope / 2 - doubled * slope - (1 + doubled) ** 2 * slope**2
    return at_least(rest, zero=0)


@claim(
    "fpfc/one-term-waiting",
    label="Theorem 1, first inequality, pairs that wait",
    source="ours",
    repaired_by="fpfc/one-term-large-augmentation",
    expected="violated",
    headline=True,
)
def one_term_waiting(
    clients: int = among(8, 24, 64), ratio: float = among(3.0, 2.2, 2.001), share: float = among(0.1, 0.05)
) -> Sides:
    """If losses are convex, the mean of E||grad_w L_0||^2 over K rounds is at most A D_0 / K, even if pairs wait.

    Hypotheses
        The hypotheses of ``fpfc/repaired-models`` hold, and the losses are convex. ``ratio`` is rho / L_g, and
        ``share`` is alpha L_h. A pair waits if it is not updated in every round.

    Statement
        The title states the claim, with A = 2 L_h / (p (1 - (1 - alpha L_h)^(2T))). The bound does not contain the
        term B of ``fpfc/repaired-models``.

    Source
        Ours. This is the statement of ``fpfc/one-term`` without the hypothesis that every pair is updated in every
        round. If only one client of many takes part, grad_{w_i} L_0 and grad_{w_i} L_rho differ by the last
        displacements of all other clients. The decrease of L_rho in the local steps is smaller than the effect of
        this difference. In the limit of many clients and short steps, the decrease in the updates of pairs is large
        enough for rho >= (1 + sqrt(2)) L_g. For rho >= 8 L_g the inequality is true.
    """
    instance = Simplex(clients, ratio, share)
    setting, rounds = instance.setting, instance.rounds
    suppose_the_hypotheses(setting)
    return at_most(
        instance.mean_squared_gradients(rounds) / rounds,
        local_steps=setting.local_steps_factor * setting.repaired_start / rounds,
    )
