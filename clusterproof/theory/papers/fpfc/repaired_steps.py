"""Claims on each step in the proof of the repaired theorem, about the augmented Lagrangian and the local steps."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np

from clusterproof.algorithms import FPFC
from clusterproof.algorithms.fpfc import FusionState
from clusterproof.algorithms.penalties import lengths_of
from clusterproof.checker.claims import Q, Sides, Stream, Z, among, at_least, at_most, claim, equal
from clusterproof.common import Randomness
from clusterproof.running import run
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.papers.fpfc.measured import augmented_lagrangian, losses_of, objective
from clusterproof.theory.papers.fpfc.repaired import Random
from clusterproof.theory.papers.fpfc.runs import bound_descent, bound_local_steps, suppose_the_hypotheses

ROUNDS = 25


def dense(algorithm: FPFC, state: FusionState) -> tuple[np.ndarray, np.ndarray]:
    """Return theta and v of one run, each of shape (m, m, d)."""
    clients, dimension = state.models.shape
    i, j = np.triu_indices(clients, 1)
    theta, dual = np.zeros((2, clients, clients, dimension))
    theta[i, j] = state.pairs.factor[:, None] * state.pairs.delta
    dual[i, j] = algorithm.augmentation * (state.pairs.delta - theta[i, j])
    return theta - theta.swapaxes(0, 1), dual - dual.swapaxes(0, 1)


def lagrangian(
    algorithm: FPFC, task: QuadraticMixture, models: np.ndarray, theta: np.ndarray, dual: np.ndarray
) -> float:
    """Compute L_rho by its definition, from the models (m, d) and all ordered pairs (m, m, d)."""
    gap = models[:, None] - models[None] - theta
    penalties = algorithm.fusion_penalty.value(lengths_of(theta)).sum()
    coupling = (dual * gap).sum() + algorithm.augmentation / 2 * (gap**2).sum()
    return float(losses_of(task, models) + (penalties + coupling) / (2 * task.clients))


def follow(case: Random, stream: np.random.Generator) -> tuple[np.ndarray, float]:
    """Simulate an admissible setting, and return seven quantities for each round, and L_rho before the first round.

    The first two quantities are the decrease of L_rho in the local steps, and the sum over participants of ||M_i||^2.
    The next three are the decrease of L_rho in the update of the pairs, and the sums over ordered pairs of ||d
    theta||^2 and ||d v||^2. The last two are the largest entry of grad_{w_i} L_0 - M_i + (rho / m) sum_j r_ij, and
    L_rho - F after the round. The initial L_rho determines the tolerance for rounding errors.
    """
    setting, task = case
    suppose_the_hypotheses(setting)
    algorithm, count = setting.algorithm, task.clients
    state = algorithm.initialise(3 * stream.standard_normal((1, task.dimension)), task)
    randomness = Randomness.from_seed(int(stream.integers(2**31)), "fpfc", "steps")
    models = np.asarray(state.models)
    theta, dual = dense(algorithm, state)
    values = [lagrangian(algorithm, task, models, theta, dual)]
    recorded = []
    for _ in range(ROUNDS):
        gradients = np.einsum("mij,mj->mi", task.hessians, models - task.centers)
        gap = models[:, None] - models[None] - theta
        augmented = gradients + (dual + algorithm.augmentation * gap).sum(axis=1) / count
        plain = gradients + dual.sum(axis=1) / count
        identity = np.abs(plain - augmented + algorithm.augmentation / count * gap.sum(axis=1)).max()
        state = algorithm.step(state, task, randomness)
        new_models = np.asarray(state.models)
        active = (new_models != models).any(axis=1)
        between = lagrangian(algorithm, task, new_models, theta, dual)
        new_theta, new_dual = dense(algorithm, state)
        after = lagrangian(algorithm, task, new_models, new_theta, new_dual)
        # from a common start a clean pair is updated only together with being stored: theta follows the models only
        # there
        excess = after - float(objective(algorithm, task, new_models))
        moves, dual_moves = ((new_theta - theta) ** 2).sum(), ((new_dual - dual) ** 2).sum()
        falls, squares = (values[-1] - between, between - after), (augmented[active] ** 2).sum()
        recorded.append([falls[0], squares, falls[1], moves, dual_moves, identity, excess])
        values.append(after)
        models, theta, dual = new_models, new_theta, new_dual
    return np.array(recorded).T, 1 + abs(values[0])


@claim(
    "fpfc/repaired-proof",
    label="proof of Theorem 1, line by line",
    source="ours",
    evaluations=30,
    expected="consistent, tight within 2",
    places="approach; algorithm 1, line 3; algorithm 1, line 5",
)
def repaired_proof(case: Random, stream: Stream) -> dict[str, Sides]:
    """Every step in the proof of the repaired theorem is true.

    Hypotheses
        The hypotheses of ``fpfc/repaired-models`` hold.

    Statement
        1. The T local steps lower L_rho by at least (1 - (1 - z)^(2T)) / (2 L_h) times the participants' sum of
           ||M_i||^2, z = alpha L_h: each step lowers h_i, which is L_h-smooth, by at least alpha (1 - z / 2) ||g_s||^2,
           and the gradients g_s of h_i have ||g_{s+1}|| >= (1 - z) ||g_s||.
        2. The pairs' update lowers L_rho by at least den / (4 m rho) times the sum over ordered pairs of ||d theta||^2.
        3. ||d v_ij|| <= L_g ||d theta_ij||.
        4. grad_{w_i} L_0 = M_i - (rho / m) sum_j r_ij, r_ij = w_i - w_j - theta_ij.
        5. L_rho >= F after every round.
        6. (x + y)^2 <= (x^2 / A + y^2 / B)(A + B).

    Source
        Ours. The note "FPFC's theorem, repaired" contains the whole proof.
    """
    (fall, squares, fall_of_pairs, moves, dual_moves, identity, excess), scale = follow(case, stream)
    setting, rounding = case[0], 1e-11 * scale
    # 1 / (p A)
    factor = 1 / (setting.participation * setting.local_steps_factor)
    pairs = setting.second_denominator / (4 * setting.clients * setting.algorithm.augmentation)
    steepest = setting.penalty.lipschitz**2 * moves
    return {
        "1: local steps": at_least(fall, descent=factor * squares, rounding=rounding),
        "2: pairs": at_least(fall_of_pairs, descent=pairs * moves, rounding=rounding),
        "3: duals follow": at_most(dual_moves, steepest=steepest, rounding=rounding),
        "4: two gradients": equal((identity, 0.0), rounding=10 * rounding),
        "5: from below": at_least(excess, nothing=0.0, rounding=rounding),
    }


CURVATURE, LENGTH = Q[-1:1:4], Q[0:1:4]
"""Mean second derivative of h_i along a step, in units of L_h, and z = alpha L_h."""


@repaired_proof.step("1: one step")
def one_step(
    z: Fraction = LENGTH, curvature: Fraction = CURVATURE, weighted: Fraction = CURVATURE
) -> dict[str, Sides]:
    """Check one local step on a function with L_h = 1, from a point with gradient 1.

    ``curvature`` is the mean second derivative along the step. ``weighted`` is twice the mean with a weight that
    decreases to 0 at the end of the step, as in Taylor's remainder. In several dimensions, the triangle inequality
    implies the first comparison.
    """
    return {
        "gradient": at_least(1 - z * curvature, smooth=1 - z),
        "fall": at_least(z * (1 - z * weighted / 2), smooth=z * (1 - z / 2)),
    }


@repaired_proof.step("1: all steps")
def all_steps(z: Fraction = LENGTH, remaining: Fraction = LENGTH) -> Sides:
    """Check D_1 = z (1 - z / 2) and D_{T+1} = D_1 + (1 - z)^2 D_T for D_T = (1 - (1 - z)^(2T)) / 2.

    These equations are an induction over T. ``remaining`` is (1 - z)^(2T).
    """
    shrinking = (1 - z) ** 2
    return equal(((1 - shrinking * remaining) / 2, z * (1 - z / 2) + shrinking * (1 - remaining) / 2))


FIVE = ("-1", "-1/2", "0", "1/2", "1")
CURVATURES = [" ".join(each) for steps in range(1, 5) for each in product(FIVE, repeat=steps)]
"""Curvatures between successive points of up to four steps, in units of L_h, for example "1 -1/2"."""


@repaired_proof.line("1: scalar functions", evaluations=3120)
def scalar_functions(curvatures: str = among(*CURVATURES), quarters: int = Z[1:4]) -> Sides:
    """Check the steps on a scalar function, convex or not, with L_h = 1 and alpha = z = ``quarters`` / 4.

    For z <= 1 the points of the steps are in order, so each curvature is the second derivative of the function
    between two neighbouring points.
    """
    z = Fraction(quarters, 4)
    gradient, fall = Fraction(1), Fraction(0)
    each = [Fraction(text) for text in curvatures.split()]
    for curvature in each:
        fall += z * gradient**2 * (1 - z * curvature / 2)
        gradient -= z * curvature * gradient
    return at_least(fall, descent=(1 - (1 - z) ** (2 * len(each))) / 2)


POSITIVE = Q[Fraction(1, 4) : 4 : 4]


@repaired_proof.line("6: two falls share one height")
def shared(
    x: Fraction = POSITIVE,
    y: Fraction = POSITIVE,
    first: Fraction = POSITIVE,
    second: Fraction = POSITIVE,
) -> Sides:
    """Check that A B times the difference between the two sides is a square; all numbers are from 1/4 to 4."""
    left = first * second * (x + y) ** 2
    right = (x**2 * second + y**2 * first) * (first + second)
    return equal((right - left, (x * second - y * first) ** 2))


@claim(
    "fpfc/descent",
    label="proof of Theorem 1",
    source="ours",
    bound=bound_descent,
    evaluations=30,
    expected="consistent, tight within 2",
    places="approach",
)
def descent(case: Random, stream: Stream, pair_rule: str = among("either", "all")) -> Sides:
    """For any participants, the augmented Lagrangian does not increase in a round.

    Hypotheses
        The hypotheses of ``fpfc/repaired-models`` hold. The server updates the pairs with a participant, or all
        pairs.

    Statement
        L_rho(w^(k+1), theta^(k+1), v^(k+1)) <= L_rho(w^k, theta^k, v^k).

    Proof
        As a function of w, sum_i h_i majorises L_rho, since the quadratic part of L_rho has the Hessian rho (I -
        11'/m) <= rho I. Each local step with a step size of at most 1 / (L_f + rho) decreases h_i. The update of the
        pairs decreases L_rho for rho > 2 L_g.

    Source
        Ours. The proof of Theorem 1 uses this claim, for simultaneous updates of any subset of the clients.
    """
    setting, task = case
    suppose_the_hypotheses(setting)
    algorithm = replace(setting.algorithm, pair_rule=pair_rule)
    state = algorithm.initialise(3 * stream.standard_normal((1, task.dimension)), task)
    randomness = Randomness.from_seed(int(stream.integers(2**31)), "fpfc", "descent")
    values = [float(augmented_lagrangian(algorithm, task, state))]
    for _ in range(60):
        state = algorithm.step(state, task, randomness)
        values.append(float(augmented_lagrangian(algorithm, task, state)))
    path = np.array(values)
    return at_most(path[1:], before=path[:-1], rounding=1e-12 * (1 + abs(path[0])))


@claim(
    "fpfc/local-steps",
    label="proof of Theorem 1",
    source="ours",
    bound=bound_local_steps,
    evaluations=30,
    expected="consistent, tight within 2",
    places="algorithm 1, line 2; algorithm 1, line 3",
)
def local_steps(case: Random, stream: Stream) -> Sides:
    """T local steps multiply a participant's distance from the minimiser of h_i by at most (1 - alpha rho)^T.

    Hypotheses
        Losses are convex and L_f-smooth, and 0 < alpha <= 1 / (L_f + rho). The server sends zeta_i, and w_i^* is the
        minimiser of h_i(w) = f_i(w) + rho / 2 ||w - zeta_i||^2.

    Statement
        ||w_i^(k+1) - w_i^*|| <= (1 - alpha rho)^T ||w_i^k - w_i^*|| for every participant of every round.

    Proof
        h_i is rho-strongly convex and (L_f + rho)-smooth. On quadratics, a gradient step with a step size of at most
        1 / (L_f + rho) multiplies the distance from the minimiser by at most 1 - alpha rho.

    Source
        Ours, proved for quadratics. The condition on T in Theorem 1 of Yu et al. (2023) depends on this claim.
    """
    setting, task = case
    start = 3 * stream.standard_normal((1, task.dimension))
    trace = run(setting.algorithm, task, rounds=30, seed=int(stream.integers(2**31)), initial=start)
    allowed = bound_local_steps(task, trace)
    bounded = np.isfinite(allowed.bound)
    # after twenty steps, the measured distance may consist only of rounding errors
    rounding = 1e-13 * (1 + float(np.abs(trace.models).max()))
    return at_most(
        np.asarray(allowed.measured)[bounded], contraction=allowed.bound[bounded], rounding=rounding
    )
