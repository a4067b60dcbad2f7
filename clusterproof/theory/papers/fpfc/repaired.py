"""Claims that replace Theorem 1, with repaired constants."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from clusterproof.algorithms import FPFC
from clusterproof.algorithms.penalties import SCAD, SmoothedSCAD
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
    expectation,
    suppose,
)
from clusterproof.common import InvalidArgument
from clusterproof.synthetic import QuadraticMixture, from_settings
from clusterproof.theory.exact.algebra import Share
from clusterproof.theory.papers.fpfc import partial_participation as participation
from clusterproof.theory.papers.fpfc.measured import Averages, run_averages, unit_prox_lengths
from clusterproof.theory.papers.fpfc.partial_participation import mean_of_squares, minimiser
from clusterproof.theory.papers.fpfc.runs import (
    bound_duals,
    bound_mapping,
    bound_models,
    bound_models_as_printed,
    suppose_the_hypotheses,
)
from clusterproof.theory.papers.fpfc.theorem_1 import Constants

ROUNDS, REPLICATES, MOMENTS = 100, 50, 400
STRAIN = among(1.0, 0.75, 0.5)
Case = tuple[Constants, QuadraticMixture]


def draw_setting(stream: np.random.Generator) -> Case:
    """Draw a quadratic mixture and parameters that satisfy the hypotheses of the repaired theorem."""
    clients, dimension = int(stream.integers(3, 11)), int(stream.integers(2, 5))
    task = QuadraticMixture.random(
        clusters=int(stream.integers(1, 4)),
        clients=clients,
        dimension=dimension,
        condition_number=float(stream.uniform(1, 8)),
        separation=float(stream.uniform(0.5, 6)),
        spread=float(stream.uniform(0, 0.5)),
        seed=int(stream.integers(2**31)),
    )
    strength, concavity = float(stream.uniform(0.2, 2)), float(stream.uniform(2.05, 5))
    smoothing = strength * float(stream.uniform(0.05, 0.95))
    rho = max(strength / smoothing, 1 / (concavity - 1)) * float(2 + 10 ** stream.uniform(-1.5, 1))
    smoothness = task.client_smoothness
    algorithm = FPFC(
        step_size=float(stream.uniform(0.2, 1)) / (smoothness + rho),
        local_steps=int(stream.choice([1, 3, 20])),
        strength=strength,
        concavity=concavity,
        smoothing=smoothing,
        augmentation=rho,
        threshold=max(0.5, smoothing),
        participation=float(stream.choice([1.0, 0.3, 1 / clients])),
    )
    return Constants(algorithm, clients, smoothness, 0.0), task


def write_setting(case: Case) -> dict[str, Any]:
    """Return the arguments of the algorithm and of the task as JSON."""
    setting, task = case
    return {**dict(setting.algorithm.settings), "task": task.settings}


def read_setting(written: dict[str, Any]) -> Case:
    """Read a setting from the JSON of ``write_setting``."""
    named = {name: value for name, value in written.items() if name not in ("algorithm", "task")}
    task = from_settings(written["task"])
    if not isinstance(task, QuadraticMixture):
        raise InvalidArgument(
            "task", written["task"], "must be a quadratic mixture", "copy the setting from a report"
        )
    return Constants(FPFC(**named), task.clients, task.client_smoothness, 0.0), task


Random = Annotated[Case, drawn(draw_setting, write=write_setting, read=read_setting)]


def averages(case: Case, stream: np.random.Generator) -> Averages:
    """Check the hypotheses, and estimate the left-hand sides of the bounds with runs from a random start."""
    setting, task = case
    suppose_the_hypotheses(setting)
    start = 3 * stream.standard_normal((1, task.dimension))
    return run_averages(
        setting.algorithm, task, start, rounds=ROUNDS, replicates=REPLICATES, seed=int(stream.integers(2**31))
    )


def expected(setting: Constants, means: np.ndarray, **terms: Any) -> Sides | Expectation:
    """State that the expected value of the means over rounds, (replicates,), is at most the sum of the ``terms``.

    With full participation the run is deterministic, and the comparison uses a single value.
    """
    if setting.algorithm.participation == 1:
        return at_most(float(means[0]), **terms)
    return expectation(means, at_most=sum(terms.values()), range=(0, np.inf))


CURVATURE, AUGMENTATION, STRENGTH, SMOOTHING = 10_000.0, 5.0, 1.0, 0.5


def weakly_coupled(
    clients: int, share: float, augmentation: float = AUGMENTATION, local_steps: int = 1
) -> Constants:
    """Return a setting with curvature 10000, rho = 5, one participant per round and a ``share`` of the largest step.

    The coupling of the clients is weak, so the gradients cause nearly all of the objective's decrease.
    """
    algorithm = FPFC(
        step_size=share / (CURVATURE + augmentation),
        local_steps=local_steps,
        strength=STRENGTH,
        smoothing=SMOOTHING,
        augmentation=augmentation,
        threshold=0.5,
        participation=1 / clients,
    )
    return Constants(algorithm, clients, CURVATURE, 0.0)


def alike(setting: Constants) -> QuadraticMixture:
    """Return scalar clients with a common minimiser and the setting's curvature, for which penalties stay quadratic."""
    clients = setting.clients
    return QuadraticMixture(
        hessians=np.full((clients, 1, 1), setting.smoothness),
        centers=np.full((clients, 1), minimiser(clients)),
        labels=np.zeros(clients, dtype=int),
    )


def opposed(strain: float) -> Case:
    """Return two scalar clients of curvature 1 with minimisers +-strain / 2. F is minimal if both models are equal.

    At 0, the derivative of the penalty is lambda = 1, and the derivative of the losses is ``strain``, which is at
    most 1. So F(w^0) = F* for w^0 = 0. The smoothed penalty has derivative 0 at w^0, so the models move apart.
    """
    algorithm = FPFC(
        step_size=1 / 6,
        local_steps=3,
        strength=STRENGTH,
        smoothing=SMOOTHING,
        augmentation=AUGMENTATION,
        threshold=0.5,
    )
    task = QuadraticMixture(
        hessians=np.ones((2, 1, 1)), centers=np.array([[strain], [-strain]]) / 2, labels=np.array([0, 1])
    )
    return Constants(algorithm, 2, 1.0, 0.0), task


def opposed_averages(strain: float, rounds: int) -> tuple[Constants, Averages]:
    """Return the left-hand sides of the bounds for the clients of ``opposed``. Both take part in every round."""
    setting, task = opposed(strain)
    return setting, run_averages(
        setting.algorithm, task, np.zeros((1, 1)), rounds=rounds, replicates=1, seed=0
    )


@claim(
    "fpfc/repaired-models",
    label="Theorem 1, first inequality",
    source="ours",
    bound=bound_models,
    evaluations=30,
    expected="consistent, tight within 2",
    headline=True,
    places="assumption 1; assumption 2; assumption 3",
)
def repaired_models(case: Random, stream: Stream) -> Sides | Expectation:
    """The mean of E||grad_w L_0||^2 over K rounds is at most (A + B) D_0 / K.

    Hypotheses
        Losses are L_f-smooth, and all models start at one point. Pairs with a participant are updated. Participants
        are drawn independently in every round, p_i >= p > 0, and P is the smallest probability that at least one of
        two clients takes part. xi < lambda, rho > 2 L_g, 0 < alpha <= 1 / (L_f + rho), and the T_i >= 1 are
        arbitrary.

    Statement
        The title states the claim, with A = 2 L_h / (p (1 - (1 - alpha L_h)^(2T))), T = min T_i, B = 4 rho L_g^2 (m -
        1) / (m P den), D_0 = F(w^0) - F* + (m - 1) xi lambda / 4, den = rho^2 - L_g rho - 2 L_g^2, L_h = L_f + rho.

    Proof
        Let z = alpha L_h. Let g_s be the gradient of the L_h-smooth h_i at local step s, so that g_0 = M_i =
        grad_{w_i} L_rho. Each step decreases L_rho by at least alpha (1 - z / 2) ||g_s||^2. Moreover ||g_{s+1}|| >=
        (1 - z) ||g_s||, since the gradient changes by at most L_h alpha ||g_s||. So T steps decrease L_rho by at
        least (1 - (1 - z)^(2T)) / (2 L_h) ||M_i||^2. The update of a pair decreases L_rho by at least den / (4 m rho)
        ||d theta||^2 for each order of the pair. Between two updates of a pair, its residual r_ij = d v / rho is
        constant. The number of these rounds has a geometric distribution with mean 1 / P_ij. Moreover grad_{w_i} L_0
        = M_i - (rho / m) sum_j r_ij, and L_rho >= F*. The sum of both decreases is at most D_0, and (x + y)^2 <= (x^2
        / A + y^2 / B)(A + B). ``fpfc/repaired-proof`` states the steps of this proof as claims. The kernel proves
        some of these claims, which a table in ``docs/explanation/fpfc-repaired.md`` lists.

    Source
        Ours. The claim replaces the first inequality of Theorem 1 of Yu et al. (2023), without a condition on T_i. A
        is 2 / (alpha p (2 - alpha L_h)) for T = 1, and decreases to 2 L_h / p as T grows.
    """
    setting, measured = case[0], averages(case, stream)
    # the least observed objective replaces F*; the bound with F* itself is larger
    gap = (measured.start - measured.end + setting.repaired_start) / ROUNDS
    return expected(
        setting,
        measured.models,
        local_steps=setting.local_steps_factor * gap,
        pairs=setting.pairs_factor * gap,
    )


@repaired_models.line("alike clients")
def models_of_alike_clients(
    clients: int = among(2, 4, 6), share: float = among(0.03, 0.1, 0.5, 1.0), local_steps: int = among(1, 3)
) -> Sides:
    """Compare exact values with the bound for one participant per round. The clients have one minimiser, so F* = 0."""
    setting = weakly_coupled(clients, share, local_steps=local_steps)
    suppose_the_hypotheses(setting)
    gap = (clients * setting.smoothness / 2 * minimiser(clients) ** 2 + setting.repaired_start) / MOMENTS
    return at_most(
        mean_of_squares(setting, MOMENTS, duals=False),
        local_steps=setting.local_steps_factor * gap,
        pairs=setting.pairs_factor * gap,
    )


@repaired_models.line("opposed clients")
def models_of_opposed_clients(strain: float = STRAIN, rounds: int = Z[1:20]) -> Sides:
    """Check the bound for two clients that start at the minimum of F, so D_0 contains only the smoothing term."""
    setting, measured = opposed_averages(strain, rounds)
    suppose_the_hypotheses(setting)
    gap = setting.repaired_start / rounds
    return at_most(
        measured.models.item(), local_steps=setting.local_steps_factor * gap, pairs=setting.pairs_factor * gap
    )


@claim(
    "fpfc/repaired-mapping",
    label="Theorem 1, second inequality",
    source="ours",
    bound=bound_mapping,
    evaluations=500,
    expected="consistent, tight within 2",
    places="approach",
)
def repaired_mapping(
    strength: Fraction = Q[Fraction(1, 10) : 10],
    share: Fraction = Q[Fraction(1, 100) : Fraction(99, 100)],
    concavity: Fraction = Q[Fraction(201, 100) : 6],
    length: Fraction = Q[0::],
) -> Sides:
    """||G||^2 is at most m (m - 1) (lambda xi / (lambda + xi))^2 after every round, on every run.

    Hypotheses
        The hypotheses of ``fpfc/repaired-models`` hold, and a > 2. The check uses one pair with ||theta|| = ``length``,
        and xi = ``share`` lambda.

    Statement
        The title states the claim: each of the m (m - 1) ordered pairs contributes at most (lambda xi / (lambda +
        xi))^2. The statement does not imply convergence. It is true for every theta for which v is the gradient of
        the smoothed penalty, and depends only on the smoothing.

    Proof
        For a > 2 the unit proximal map of SCAD is single-valued, and maps theta + v to theta where ||theta|| > xi.
        Otherwise theta + v has length (1 + lambda / xi) t with t <= xi. The map returns a vector of length 0 or t +
        lambda t / xi - lambda. So the distance to theta is at most lambda xi / (lambda + xi), with equality for t =
        lambda xi / (lambda + xi).

    Source
        Ours. The claim is the second inequality of Theorem 1 of Yu et al. (2023), ``fpfc/theorem-1-mapping``, with m
        (m - 1) instead of m^2, because a client has no pair with itself. The claim needs a > 2, which is part of the
        definition of SCAD. For a <= 2, the unit proximal objective has two local minima, and theta may be the higher
        one.
    """
    lam, xi, a = float(strength), float(share * strength), float(concavity)
    theta = np.array([float(length)])
    dual = SmoothedSCAD(strength=lam, concavity=a, smoothing=xi).derivative(theta)
    move = theta - unit_prox_lengths(SCAD(strength=lam, concavity=a), theta + dual)
    return at_most(move.item() ** 2, smoothing=(lam * xi / (lam + xi)) ** 2)


@repaired_mapping.line("random settings", evaluations=30)
def mapping_of_runs(case: Random, stream: Stream) -> Sides:
    """Check the claim for the largest ||G||^2 over all rounds and runs."""
    setting, measured = case[0], averages(case, stream)
    suppose("a > 2", setting.penalty.concavity > 2)
    return at_most(measured.mapping, smoothing=(1 - 1 / setting.clients) * setting.mapping_bound)


@claim(
    "fpfc/repaired-duals",
    label="Theorem 1, third inequality",
    source="ours",
    bound=bound_duals,
    expected="consistent, loose",
    headline=True,
)
def repaired_duals(clients: int = participation.CLIENTS, rounds: int = participation.ROUNDS) -> Sides:
    """The mean of E||grad_v L_0||^2 is at most C_2 D_0 / (P K).

    Hypotheses
        The hypotheses of ``fpfc/repaired-models`` hold.

    Statement
        The title states the claim, with the paper's C_2. The paper omits the factor 1 / P for partial participation.

    Proof
        As in ``fpfc/repaired-models``, the sum of ||d v||^2 is at most L_g^2 times the sum of ||d theta||^2, and each
        residual is constant for 1 / P rounds on average.

    Source
        Ours. The claim replaces the third inequality of Theorem 1 of Yu et al. (2023).
    """
    return participation.theorem_1_participation(clients, rounds, power_of_pairs=1)


@repaired_duals.line("random settings", evaluations=30)
def duals_of_runs(case: Random, stream: Stream) -> Sides | Expectation:
    """Check the bound for means over runs. The smallest observed F replaces F*, which makes the bound smaller."""
    setting, measured = case[0], averages(case, stream)
    factor = setting.second / setting.pair_participation / ROUNDS
    gap = measured.start - measured.end
    return expected(setting, measured.duals, descent=factor * gap, smoothing=factor * setting.repaired_start)


@repaired_duals.line("opposed clients")
def duals_of_opposed_clients(strain: float = STRAIN, rounds: int = Z[1:20]) -> Sides:
    """Check the bound for two clients that start at the minimum of F, so D_0 contains only the smoothing term."""
    setting, measured = opposed_averages(strain, rounds)
    suppose_the_hypotheses(setting)
    return at_most(measured.duals.item(), smoothing=setting.second * setting.repaired_start / rounds)


def draw_positive(stream: np.random.Generator) -> Case:
    """Draw a setting as ``draw_setting`` does, with rho and T for which the first denominator of C_1 is positive."""
    setting, task = draw_setting(stream)
    least = max(setting.smoothness, 2 * setting.penalty.lipschitz)
    rho = least * float(1 + 10 ** stream.uniform(-1.5, 1))
    step_size = float(stream.uniform(0.3, 1)) / (setting.smoothness + 2 * rho)
    algorithm = replace(setting.algorithm, augmentation=rho, step_size=step_size, local_steps=1)
    setting = replace(setting, algorithm=algorithm)
    while not rho > setting.least_augmentation:
        algorithm = replace(setting.algorithm, local_steps=setting.algorithm.local_steps + 1)
        setting = replace(setting, algorithm=algorithm)
    more = int(stream.choice([0, 1, 5, 20]))
    algorithm = replace(setting.algorithm, local_steps=setting.algorithm.local_steps + more)
    return replace(setting, algorithm=algorithm), task


Positive = Annotated[Case, drawn(draw_positive, write=write_setting, read=read_setting)]


def suppose_positive(setting: Constants) -> None:
    """Suppose the hypotheses of Theorem 1, and suppose that C_1's first denominator is positive."""
    suppose_the_hypotheses(setting)
    suppose("q = c^(T/2) < 1/3", setting.power < 1 / 3)
    suppose("rho > L_f (1 + q) / (1 - 3q)", setting.algorithm.augmentation > setting.least_augmentation)
    suppose("the hypotheses of Theorem 1", setting.admissible)


@claim(
    "fpfc/theorem-1-models-positive",
    label="Theorem 1, first inequality, C_1's denominators positive",
    source="ours",
    bound=bound_models_as_printed,
    evaluations=30,
    expected="consistent, loose",
    headline=True,
)
def theorem_1_models_positive(case: Positive, stream: Stream) -> Sides | Expectation:
    """If the denominators of C_1 are positive, the first inequality of Theorem 1 is true.

    Hypotheses
        The hypotheses of ``fpfc/theorem-1-models`` hold. Moreover rho > L_f (1 + q) / (1 - 3q) and q = c^(T/2) < 1/3
        with T = min T_i. Pairs with a participant are updated.

    Statement
        The mean of E||grad_w L_0||^2 over K rounds is at most C_1 (F(w^0) - F* + m xi lambda / 4) / K, with C_1 as in
        ``fpfc/theorem-1-models`` and r = (c^(-T/2) - 1)^-1.

    Proof
        Let den = rho^2 - L_g rho - 2 L_g^2. Then p C_1 >= 6 rho + 12 rho^3 / den, since rho - L_f - 2 r L_h is
        positive and at most rho. In ``fpfc/repaired-models``, rho > 2 L_g implies p B <= 4 rho L_g^2 / den <= rho^3 /
        den. Since c >= 1 - alpha L_h >= (1 - alpha L_h)^2 and L_h < 2 rho, p A <= 2 L_h / (1 - c^(2T)) <= (81/80) 4
        rho. As rho^3 / den > rho, C_1 >= 3.5 (A + B), and the inequality follows from the repaired inequality. For
        the other reading of (c - T/2)^-1, r = c^(T/2), the same proof works if rho - L_f - 2 r L_h > 0.

    Source
        Yu et al. (2023), Theorem 1, in the reading of ``fpfc/theorem-1-models``. The condition that makes C_1
        positive replaces rho > L_f / (1 - 2q) and q < 1/2.
    """
    setting, measured = case[0], averages(case, stream)
    suppose_positive(setting)
    # the least observed objective replaces F*; the bound with F* itself is larger
    factor, gap = setting.first / ROUNDS, measured.start - measured.end
    return expected(setting, measured.models, descent=factor * gap, smoothing=factor * setting.start)


@theorem_1_models_positive.line("alike clients")
def positive_of_alike_clients(clients: int = among(2, 4, 6, 8)) -> Sides:
    """Compare exact values with the bound for one participant per round. The clients have one minimiser, so F* = 0."""
    setting = participation.setting_of(clients)
    suppose_positive(setting)
    gap = clients * setting.smoothness / 2 * minimiser(clients) ** 2
    factor = setting.first / MOMENTS
    return at_most(
        mean_of_squares(setting, MOMENTS, duals=False), descent=factor * gap, smoothing=factor * setting.start
    )


@theorem_1_models_positive.line("opposed clients")
def positive_of_opposed_clients(rounds: int = among(1, 2, 5, 20)) -> Sides:
    """Check the bound for two clients that start at the minimum of F, so the bound contains only the smoothing term."""
    setting, task = opposed(1.0)
    longest = 1 / (setting.smoothness + 2 * setting.algorithm.augmentation)
    setting = replace(setting, algorithm=replace(setting.algorithm, step_size=longest, local_steps=10))
    suppose_positive(setting)
    measured = run_averages(setting.algorithm, task, np.zeros((1, 1)), rounds=rounds, replicates=1, seed=0)
    return at_most(measured.models.item(), smoothing=setting.first * setting.start / rounds)


@theorem_1_models_positive.step("C_1 and the repaired factors", evaluations=400)
def more_than_repaired(case: Positive) -> Sides:
    """C_1 is at least 3.5 times the factor of the repaired inequality."""
    suppose_positive(case[0])
    return at_least(case[0].first, repaired=3.5 * (case[0].local_steps_factor + case[0].pairs_factor))


@theorem_1_models_positive.step("constants")
def constants(smoothness: Share, excess: Fraction = Q[Fraction(1, 4) :: 4]) -> Sides:
    """p C_1 >= 6 rho + 12 rho^3 / den is at least 3.5 p (A + B), with p = rho = 1 and L_g = 1 / (2 + ``excess``)."""
    slope, factor = 1 / (2 + excess), Fraction(7, 2)
    den = 1 - slope - 2 * slope**2
    local_steps, pairs = factor * Fraction(81, 40) * (1 + smoothness), factor * 4 * slope**2 / den
    return at_least(6 + 12 / den, local_steps=local_steps, pairs=pairs)
