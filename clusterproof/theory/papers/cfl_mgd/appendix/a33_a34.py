"""(A33), (A34): the bound on T_32 and on the whole momentum T_3."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.theory.claims import (
    Replicates,
    Sides,
    Stream,
    at_most,
    choice,
    claim,
    integers,
    rationals,
    suppose,
)
from clusterproof.theory.exact.placed import Placed
from clusterproof.theory.exact.two_clusters import LargeRun, carried, confirm_path, exact_path
from clusterproof.theory.exact.two_point_law import TwoPointLaw, binomial_upper_tail
from clusterproof.theory.papers.cfl_mgd.appendix.a15_to_a17 import CONSTANT
from clusterproof.theory.papers.cfl_mgd.appendix.a24_to_a27 import BY_HAND, a27
from clusterproof.theory.papers.cfl_mgd.appendix.runs import Momentum, momentum_run
from clusterproof.theory.papers.cfl_mgd.appendix.tasks import NoisyTask, basin_models, suppose_units

LEVEL = 0.1
"""lambda_2 = lambda_4 on random runs."""


@dataclass(frozen=True)
class ErringRun:
    """Two scalar clusters, rounds without noise, and a law with two values by which clients err in round t."""

    clients: Annotated[int, integers(2, 20)]
    foreign: Annotated[int, integers(1, lambda clients: clients - 1)]
    round: Annotated[int, integers(1, 12)]
    momentum: Annotated[Fraction, choice(Fraction(1, 2), Fraction(9, 10), Fraction(99, 100))]
    start: Annotated[Fraction, choice(Fraction(1, 2), Fraction(-1, 2))]
    rarity: Annotated[Fraction, choice(*(Fraction(1, k) for k in (5, 10, 50, 1000)))]
    jump: Annotated[Fraction, rationals(Fraction(1, 4), 3, 4, upwards=True)]

    def path(self, share: Fraction) -> list[Fraction]:
        """e_0 .. e_t of the model of a cluster with this share of the clients."""
        return exact_path(share, self.momentum, self.start, self.round)

    @property
    def law(self) -> TwoPointLaw:
        """The law, with the models of round t."""
        foreign = Fraction(self.foreign, self.clients)
        return TwoPointLaw(
            samples=1,
            rarity=self.rarity,
            jump=self.jump,
            first=-self.path(1 - foreign)[-1],
            second=-self.path(foreign)[-1],
        )

    @property
    def buffer(self) -> Fraction:
        """|u_2^t|."""
        path = self.path(Fraction(self.foreign, self.clients))
        return abs(carried(path[: self.round], self.momentum))


@claim("cfl-mgd/a33", label="(A33)", evaluations=150)
def a33(
    erring: ErringRun,
    level: Annotated[Fraction, choice(Fraction(1, 1000), Fraction(1, 10), Fraction(1, 2), Fraction(99, 100))],
) -> Sides:
    """The false members' momentum is at most the last two terms of (38).

    Hypotheses
        As (A32) and (A16) as meant, eta = 1/L.

    Statement
        With probability at least 1 - lambda_2 - P lambda_4, ||T_32|| <= c_5 beta sigma^2 / (mu^2 lambda_2
        Delta^4 n') + c_6 beta sigma v sqrt(P t) / (lambda_4 mu L Delta^2 n' (1 - beta) sqrt(m lambda_2)),
        c_5 = 384 = 3 * 128, c_6 = sqrt(128).

    Symbols
        As (A32).

    Source
        Zhao et al. (2023), (A33). Probability. Its derivation is false, since (A32) is. No instance was
        found that breaks the conclusion: by line 15 the buffer of a client from cluster q is the last
        displacement of model q over eta |C_q| / m, at most 2 B L m / |C_q| within the basin, and c_1 = 128
        is at least twice what Chebyshev's inequality needs. For hundreds of clusters this leaves no slack.
    """
    law, buffer = erring.law, erring.buffer
    suppose("the models are in the basin", max(abs(law.first), abs(law.second)) <= Fraction(1, 2))
    if buffer == 0:
        return at_most(Fraction(0), markov=level)
    threshold = 3 * CONSTANT * law.needed_samples * erring.clients / (level * buffer)
    return at_most(binomial_upper_tail(erring.foreign, law.error_probability, threshold), markov=level)


@a33.line("regressions", replicates=100, evaluations=20)
def a33_of_regressions(
    task: NoisyTask,
    momentum: Momentum,
    round_: Annotated[int, integers(1, 2)],
    stream: Stream,
    replicates: Replicates,
) -> Sides:
    """The last round of random runs, where the models are in the basin."""
    suppose_units(task)
    start, seed, t = Placed(task, basin_models(task, stream)), int(stream.integers(2**31)), round_
    recorded = momentum_run(start, momentum, seed, rounds=t + 1, replicates=replicates)
    models = recorded.seen.models[t]
    inside = np.linalg.norm(models - task.optima, axis=-1).max(axis=-1) <= task.basin_radius
    others = range(1, task.clusters)
    deviation = np.sqrt(np.max([task.gradient_variance(models[:, 0], p) for p in others], axis=0))
    spread = np.max([task.loss_variance(models[:, q], p) for p in others for q in (0, p)], axis=0)
    size = (
        momentum
        * recorded.weight
        * np.linalg.norm(recorded.sum_over(recorded.buffers, own=False)[t], axis=-1)
    )
    gap = task.strong_convexity * task.separation**2
    root = np.sqrt(CONSTANT * spread * task.clusters * t / (task.clients * LEVEL))
    return at_most(
        np.where(inside, size, 0.0),
        count=3 * CONSTANT * momentum * spread / (gap**2 * LEVEL * task.samples),
        cross=momentum * deviation * root / (LEVEL * gap * task.smoothness * task.samples * (1 - momentum)),
        failure=LEVEL * (1 + task.clusters),
    )


@claim(
    "cfl-mgd/a34",
    label="(A34)",
    confirm=confirm_path,
    repaired_by="cfl-mgd/theorem-d",
    example=({"noise_free": BY_HAND},),
)
def a34(noise_free: LargeRun) -> Sides:
    """The momentum of a round is at most the four terms of (38).

    Hypotheses
        As (A27) and (A33). The printed probability is positive for the same clients as that of (A27).

    Statement
        With probability at least 1 - lambda_2 - lambda_3 - P lambda_4 - 2 exp(-clm), ||T_3|| <= c_3 beta v
        sqrt(l t) / (lambda_3 (1 - beta) L sqrt(m n')) + c_4 l + the bound of (A33), c_3 = 1/2, c_4 = 1/4.

    Symbols
        As (A27) and (A33).

    Source
        Zhao et al. (2023), (A34) = (38), from (A27) and (A33). Probability; inherits (A27).
    """
    return a27(noise_free)
