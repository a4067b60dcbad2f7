"""Theorem 1, first inequality, where C_1's first denominator is positive: it holds, with a margin."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Annotated

import numpy as np

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
    rationals,
    suppose,
)
from clusterproof.theory.exact.algebra import Share
from clusterproof.theory.papers.fpfc.constants import Constants
from clusterproof.theory.papers.fpfc.measured import run_averages
from clusterproof.theory.papers.fpfc.partial_participation import CURVATURE, minimiser, setting_of
from clusterproof.theory.papers.fpfc.repaired import (
    MOMENTS,
    ROUNDS,
    averages,
    draw_setting,
    expected,
    expected_models,
    opposed,
    read_setting,
    suppose_the_hypotheses,
    write_setting,
)
from clusterproof.theory.papers.fpfc.runs import bound_models_as_printed


def draw_positive(stream: np.random.Generator) -> tuple[Constants, QuadraticMixture]:
    """Draw as ``draw_setting`` does; rho and T are such that C_1's first denominator is positive."""
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


Positive = Annotated[
    tuple[Constants, QuadraticMixture], drawn(draw_positive, write=write_setting, read=read_setting)
]


def suppose_positive(setting: Constants) -> None:
    """Suppose the hypotheses of Theorem 1, and that C_1's first denominator is positive."""
    suppose_the_hypotheses(setting)
    suppose("q = c^(T/2) < 1/3", setting.power < 1 / 3)
    suppose("rho > L_f (1 + q) / (1 - 3q)", setting.algorithm.augmentation > setting.least_augmentation)
    suppose("the hypotheses of Theorem 1", setting.admissible)


@claim(
    "fpfc/theorem-1-models-positive",
    label="Theorem 1, first inequality, C_1's denominators positive",
    judges="ours",
    bound=bound_models_as_printed,
    evaluations=30,
)
def theorem_1_models_positive(case: Positive, stream: Stream) -> Sides | Expectation:
    """Where C_1's denominators are positive, the first inequality of Theorem 1 holds.

    Hypotheses
        As ``fpfc/theorem-1-models``; moreover rho > L_f (1 + q) / (1 - 3q) and q = c^(T/2) < 1/3, T = min T_i, and
        pairs with a participant are updated.

    Statement
        The mean of E||grad_w L_0||^2 over K rounds is at most C_1 (F(w^0) - F* + m xi lambda / 4) / K, C_1 as
        ``fpfc/theorem-1-models`` with r = (c^(-T/2) - 1)^-1.

    Proof
        p C_1 >= 6 rho + 12 rho^3 / den, since rho - L_f - 2 r L_h is positive and at most rho; den = rho^2 - L_g rho -
        2 L_g^2. In ``fpfc/repaired-models`` p B <= 4 rho L_g^2 / den <= rho^3 / den by rho > 2 L_g; and c >= 1 - alpha
        L_h >= (1 - alpha L_h)^2 with L_h < 2 rho gives p A <= 2 L_h / (1 - c^(2T)) <= (81/80) 4 rho. As rho^3 / den >
        rho, C_1 >= 3.5 (A + B): the inequality follows from the repaired one. With r = c^(T/2), the other way to read
        (c - T/2)^-1, it follows likewise where rho - L_f - 2 r L_h > 0.

    Source
        Yu et al. (2023), Theorem 1, as ``fpfc/theorem-1-models`` reads it, with the condition that C_1 needs in the
        place of rho > L_f / (1 - 2q) and q < 1/2.
    """
    setting, measured = case[0], averages(case, stream)
    suppose_positive(setting)
    # the least observed objective replaces F*: with F* itself the bound is larger
    factor, gap = setting.first / ROUNDS, measured.start - measured.end
    return expected(setting, measured.models, descent=factor * gap, smoothing=factor * setting.start)


@theorem_1_models_positive.line("alike clients")
def alike_clients(clients: Annotated[int, choice(2, 4, 6, 8)]) -> Sides:
    """Exactly: one participant a round, clients with one minimiser, so that F* = 0."""
    setting = setting_of(clients)
    suppose_positive(setting)
    gap = clients * CURVATURE / 2 * minimiser(clients) ** 2
    factor = setting.first / MOMENTS
    return at_most(expected_models(setting, MOMENTS), descent=factor * gap, smoothing=factor * setting.start)


@theorem_1_models_positive.line("opposed clients")
def opposed_clients(rounds: Annotated[int, choice(1, 2, 5, 20)]) -> Sides:
    """Two clients start at the minimum of F, so that all of the bound is its term of the smoothing."""
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


Excess = Annotated[Fraction, rationals(Fraction(1, 4), 4, 4, upwards=True)]


@theorem_1_models_positive.step("constants")
def constants(smoothness: Share, excess: Excess) -> Sides:
    """p C_1 >= 6 rho + 12 rho^3 / den is at least 3.5 p (A + B), with p = rho = 1 and L_g = 1 / (2 + ``excess``)."""
    slope = 1 / (2 + excess)
    den = 1 - slope - 2 * slope**2
    factor = Fraction(7, 2)
    return at_least(
        6 + 12 / den,
        local_steps=factor * Fraction(81, 40) * (1 + smoothness),
        pairs=factor * 4 * slope**2 / den,
    )
