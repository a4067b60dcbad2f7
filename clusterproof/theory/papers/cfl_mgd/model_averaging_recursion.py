"""The exact behaviour of option II: recursion, fixed point, drift and divergence."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Annotated

import numpy as np

from clusterproof.algorithms import CFLMGD, run
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.claims import (
    Excluded,
    Sides,
    Stream,
    at_most,
    choice,
    claim,
    drawn,
    equal,
    given,
    integers,
    rationals,
    reals,
    suppose,
)
from clusterproof.theory.exact.affine_rounds import (
    RoundMap,
    drift_constant,
    first_order_drift,
    round_map,
)
from clusterproof.theory.exact.heavy_ball import propagators


def random_cluster(
    stream: np.random.Generator, condition_number: float = 20.0, fewest: int = 1
) -> QuadraticMixture:
    """Draw one cluster of up to 6 clients, each with a Hessian and a centre of its own, L at most 1."""
    clients, dimension = int(stream.integers(fewest, 7)), int(stream.integers(1, 5))
    rotations = np.linalg.qr(stream.standard_normal((clients, dimension, dimension)))[0]
    spectra = stream.uniform(1 / condition_number, 1, (clients, dimension))
    hessians = (rotations * spectra[:, None, :]) @ np.swapaxes(rotations, -1, -2)
    return QuadraticMixture(
        hessians=(hessians + np.swapaxes(hessians, -1, -2)) / 2,
        centers=stream.standard_normal((clients, dimension)),
        labels=np.zeros(clients, dtype=int),
    )


@dataclass(frozen=True)
class OptionTwo:
    """A cluster and parameters of option II, with and without reset."""

    task: Annotated[QuadraticMixture, drawn(random_cluster)]
    step_size: Annotated[float, reals(Fraction(1, 10), 1)]
    momentum: Annotated[float, reals(0, Fraction(9, 10))]
    local_steps: Annotated[int, integers(1, 7)]
    reset: Annotated[bool, choice(False, True)]

    @property
    def map(self) -> RoundMap:
        """A round as an affine map."""
        return round_map(
            self.task.hessians,
            self.task.centers,
            step_size=self.step_size,
            momentum=self.momentum,
            local_steps=self.local_steps,
            reset_momentum=self.reset,
        )

    def run(self, start: np.ndarray, rounds: int) -> np.ndarray:
        """Models of the algorithm, (rounds + 1, d)."""
        algorithm = CFLMGD(
            step_size=self.step_size,
            momentum=self.momentum,
            averaging="model",
            local_steps=self.local_steps,
            reset_momentum=self.reset,
        )
        return np.asarray(run(algorithm, self.task, rounds=rounds, initial=start[None]).models[:, 0])


@claim("cfl-mgd/model-averaging-recursion", label="Option II", judges="ours", evaluations=60)
def model_averaging_recursion(option_two: OptionTwo, stream: Stream) -> dict[str, Sides | Excluded]:
    """On quadratics, a round of option II is one affine map of (chi, u), with a known fixed point.

    Hypotheses
        One cluster of quadratic clients with Hessians A_i and centres c_i, full participation.

    Statement
        z = (chi, u) obeys z' = M z + mean (I - B_i^H)(c_i, 0), M = mean B_i^H; with
        ``reset_momentum`` chi alone does, with M's first block. If rho(M) < 1 the rounds converge
        linearly with factor rho(M) to (I - M)^-1 mean (I - B_i^H)(c_i, 0).

    Symbols
        B_i = ((I - eta A_i, -eta beta I), (A_i, beta I)), H ``local_steps``.

    Source
        Ours; replaces (12)-(20).
    """
    suppose("one cluster", option_two.task.clusters == 1)
    dimension, affine = option_two.task.dimension, option_two.map
    start = stream.standard_normal(dimension)
    state = np.zeros(len(affine.offset))
    state[:dimension] = start
    path, sizes = [], []
    models = option_two.run(start, 25)
    for _ in models:
        path.append(state[:dimension])
        sizes.append(1 + np.abs(state).max())
        state = affine.matrix @ state + affine.offset
    scale = np.array(sizes)[:, None]

    def end() -> Sides:
        last = option_two.run(np.zeros(dimension), 150)[-1]
        return equal((last, affine.fixed_point[:dimension]), rounding=1e-10)

    return {
        "every round": equal((models / scale, np.stack(path) / scale), rounding=1e-10),
        "end": given("rho(M) < 0.8", bool(affine.rate < 0.8), end),
    }


def pulls(task: QuadraticMixture, momentum: float, local_steps: int) -> float:
    """Return the size of the drift if the clients' pulls did not cancel, the scale of the errors."""
    client_pulls = np.einsum("nij,njk,nk->ni", task.hessians, task.hessians, task.optima[0] - task.centers)
    scale = drift_constant(momentum, local_steps) / task.strong_convexity
    return scale * float(np.linalg.norm(client_pulls, axis=-1).mean()) + 1e-300


@claim("cfl-mgd/model-averaging-drift", label="Option II, drift", judges="ours", evaluations=60)
def model_averaging_drift(
    task: Annotated[QuadraticMixture, drawn(partial(random_cluster, condition_number=5.0, fewest=2))],
    momentum: Annotated[float, reals(0, Fraction(9, 10))],
    local_steps: Annotated[int, integers(2, 7)],
) -> dict[str, Sides | Excluded]:
    """Local steps move option II's limit away from the optimum, and momentum multiplies that drift.

    Hypotheses
        As ``cfl-mgd/model-averaging-recursion``, H >= 2, rho(M) < 1.

    Statement
        chi_inf - chi* = eta c_H(beta) (mean A)^-1 mean A_i^2 (chi* - c_i) + O(eta^2), with
        c_H(beta) = (1/H) sum_(j<H) sum_(k=1..j) (1 - beta^k) / (1 - beta): 2 at (5, 0) and 3.71 at
        (5, .9). With H = 1, or with equal Hessians, there is no drift.

    Source
        Ours. Identity to first order.
    """
    suppose("one cluster", task.clusters == 1)
    expected = first_order_drift(task.hessians, task.centers, momentum=momentum, local_steps=local_steps)
    errors = []
    for step in (1e-3, 5e-4):
        affine = round_map(
            task.hessians, task.centers, step_size=step, momentum=momentum, local_steps=local_steps
        )
        suppose("rho(M) < 1", affine.rate < 1)
        drift = (affine.fixed_point[: task.dimension] - task.optima[0]) / step
        errors.append(float(np.linalg.norm(drift - expected)) / pulls(task, momentum, local_steps))
    first, second = errors
    return {
        "formula": at_most(first, second_order=0.05),
        # below, the rounding error of the linear solve dominates
        "half the step": given(
            "the error is above 1e-5", first > 1e-5, lambda: at_most(second, half=0.6 * first)
        ),
    }


@dataclass(frozen=True)
class TwoClients:
    """Two scalar clients with the same minimiser, curvatures ``flat`` and 1, eta = 1."""

    flat: Annotated[Fraction, choice(*(Fraction(1, k) for k in (2, 4, 10, 100)))]
    momentum: Annotated[Fraction, rationals(0, Fraction(9, 10), 10)]
    local_steps: Annotated[int, integers(1, 10, upwards=True)]

    @property
    def hessians(self) -> np.ndarray:
        """Curvatures, (2, 1, 1)."""
        return np.array([[[float(self.flat)]], [[1.0]]])

    @property
    def rate(self) -> float:
        """rho(M)."""
        affine = round_map(
            self.hessians,
            np.zeros((2, 1)),
            step_size=1.0,
            momentum=float(self.momentum),
            local_steps=self.local_steps,
        )
        return affine.rate


@claim(
    "cfl-mgd/model-averaging-stability",
    label="Option II, (6)",
    judges="reading",
    repaired_by="cfl-mgd/model-averaging-reset",
)
def model_averaging_stability(two_clients: TwoClients) -> Sides:
    """Option II converges when every client alone does.

    Hypotheses
        Quadratic clients with the same minimiser and curvatures in (0, L], eta = 1/L, beta in [0, 1): each client's
        local descent converges. Any number H >= 1 of local steps, where (12) has one; the clients' curvatures differ.

    Statement
        The rounds of option II, which averages chi and u (line 16), converge: rho(M) <= 1.

    Source
        Zhao et al. (2023), Section 5: "the convergence of this algorithm can be shown by studying the following
        formula", (12), without a condition on beta or H. That it is said of H > 1 and of client losses that differ
        within a cluster is the reading's; (12) has one local step, with which it is true of quadratics.
    """
    return at_most(two_clients.rate, one=1.0)


@claim("cfl-mgd/model-averaging-reset", label="Option II, reset", judges="ours", evaluations=80)
def model_averaging_reset(
    task: Annotated[QuadraticMixture, drawn(partial(random_cluster, condition_number=100.0))],
    momentum: Annotated[float, reals(0, Fraction(93, 100))],
    local_steps: Annotated[int, integers(1, 11)],
    stream: Stream,
) -> dict[str, Sides | Excluded]:
    """Starting every round of option II from zero momentum keeps it stable.

    Hypotheses
        Quadratic clients with curvatures in (0, 1 / eta], ``reset_momentum``, H >= 1.

    Statement
        chi' - c = mean Pi_H(eta A_i) (chi - c) when all clients share the minimiser c; hence a round multiplies the
        error by at most g = max |Pi_H(a)| over the clients' spectra, with g < 1 for beta <= 0.93 and at most 2 /
        sqrt(3) in any case. With minimisers of their own the same holds for the distance from the fixed point.

    Proof
        B_i^H (e, 0) has first block Pi_H(eta A_i) e: from u = 0, H steps are heavy ball from rest. Symmetric matrices:
        ||mean Pi_H(eta A_i)|| <= max |Pi_H|. Lemma H (``cfl-mgd/lemma-h``) bounds Pi_H.

    Source
        Ours; repairs option II.
    """
    suppose("one cluster", task.clusters == 1)
    spectra = np.linalg.eigvalsh(task.hessians)
    suppose("curvatures in (0, 1 / eta]", spectra.min() > 0 and spectra.max() <= 1 + 1e-12)
    factor = float(np.abs(propagators(spectra, momentum, local_steps)[0][-1]).max())
    option_two = OptionTwo(task, 1.0, momentum, local_steps, True)
    models = option_two.run(task.optima[0] + 3 * stream.standard_normal(task.dimension), 15)
    distances = np.linalg.norm(models - option_two.map.fixed_point, axis=-1)
    return {
        "rounds": at_most(distances[1:], factor=factor * distances[:-1], rounding=1e-12 * distances[0]),
        "factor": at_most(factor, one=1.0),
    }
