"""Claims on option II, model averaging: exact recursion, fixed point, drift, divergence, and the rate O(1 / T)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Annotated

import numpy as np

from clusterproof.algorithms import CFLMGD
from clusterproof.checker.claims import Excluded, Q, Sides, Z, among, at_most, claim, equal, given, suppose
from clusterproof.checker.claims.ranges import drawn, integers, reals
from clusterproof.checker.claims.space import Stream
from clusterproof.running import run
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.exact.affine_rounds import RoundMap, drift_constant, first_order_drift, round_map
from clusterproof.theory.exact.heavy_ball import propagators
from clusterproof.theory.exact.random_tasks import random_clients

Momentum = Annotated[float, reals(0, Fraction(9, 10))]


def option_2(step_size: float, momentum: float, local_steps: int, reset: bool = False) -> CFLMGD:
    """Return option II of Algorithm 1."""
    return CFLMGD(
        step_size=step_size,
        momentum=momentum,
        averaging="model",
        local_steps=local_steps,
        reset_momentum=reset,
    )


@dataclass(frozen=True)
class OptionTwo:
    """The clients of one cluster, and parameters of option II, with and without reset of the momentum."""

    task: Annotated[QuadraticMixture, drawn(random_clients)]
    step_size: Annotated[float, reals(Fraction(1, 10), 1)]
    momentum: Momentum
    local_steps: Annotated[int, integers(1, 7)]
    reset: Annotated[bool, among(False, True)]

    @property
    def map(self) -> RoundMap:
        """Return a round as an affine map."""
        return round_map(
            self.task.hessians,
            self.task.centers,
            step_size=self.step_size,
            momentum=self.momentum,
            local_steps=self.local_steps,
            reset_momentum=self.reset,
        )

    def run(self, start: np.ndarray, rounds: int) -> np.ndarray:
        """Return the models before the first and after every round, (rounds + 1, d)."""
        algorithm = option_2(self.step_size, self.momentum, self.local_steps, self.reset)
        return np.asarray(run(algorithm, self.task, rounds=rounds, initial=start[None]).models[:, 0])


@claim(
    "cfl-mgd/model-averaging-recursion",
    label="Option II",
    source="ours",
    evaluations=60,
    expected="consistent, no sharpness",
    places="(14); (15); (16); (17); (18); (19); (20); section 7",
)
def model_averaging_recursion(option_two: OptionTwo, stream: Stream) -> dict[str, Sides | Excluded]:
    """On quadratics, a round of option II is one affine map of (chi, u), with a known fixed point.

    Hypotheses
        There is one cluster of clients with quadratic losses, Hessians A_i and centres c_i. All clients take part.

    Statement
        z = (chi, u) satisfies z' = M z + mean (I - B_i^H)(c_i, 0), M = mean B_i^H, B_i = ((I - eta A_i, -eta beta I),
        (A_i, beta I)). H is the number of local steps. With ``reset_momentum`` only chi satisfies such an equation,
        with the first block of M. If rho(M) < 1 the rounds converge linearly with factor rho(M) to (I - M)^-1 mean (I
        - B_i^H)(c_i, 0).

    Source
        Ours. The claim replaces (12)-(20).
    """
    suppose("one cluster", option_two.task.clusters == 1)
    dimension, affine = option_two.task.dimension, option_two.map
    state = np.zeros(len(affine.offset))
    state[:dimension] = start = stream.standard_normal(dimension)
    path, sizes = [], []
    models = option_two.run(start, 25)
    for _ in models:
        path.append(state[:dimension])
        sizes.append([1 + np.abs(state).max()])
        state = affine.matrix @ state + affine.offset

    def end() -> Sides:
        last = option_two.run(np.zeros(dimension), 150)[-1]
        return equal((last, affine.fixed_point[:dimension]), rounding=1e-10)

    return {
        "every round": equal((models / sizes, np.stack(path) / sizes), rounding=1e-10),
        "end": given("rho(M) < 0.8", bool(affine.rate < 0.8), end),
    }


@claim(
    "cfl-mgd/model-averaging-drift",
    label="Option II, drift",
    source="ours",
    evaluations=60,
    expected="consistent, tight within 2",
    headline=True,
    places="section 7",
)
def model_averaging_drift(
    task: Annotated[QuadraticMixture, drawn(partial(random_clients, condition_number=5.0, clients=(2, 6)))],
    momentum: Momentum,
    local_steps: Annotated[int, integers(2, 7)],
) -> dict[str, Sides | Excluded]:
    """Under option II, local steps move the limit away from the optimum, and momentum increases this drift.

    Hypotheses
        The hypotheses of ``cfl-mgd/model-averaging-recursion`` hold, H >= 2, and rho(M) < 1.

    Statement
        chi_inf - chi* = eta c_H(beta) (mean A)^-1 mean A_i^2 (chi* - c_i) + O(eta^2), with c_H(beta) = (1/H)
        sum_(j<H) sum_(k=1..j) (1 - beta^k) / (1 - beta). For example, c_5(0) = 2 and c_5(0.9) = 3.71. With H = 1, or
        with equal Hessians, there is no drift.

    Source
        Ours. The claim is an identity to first order in eta. The check divides errors by the size that the drift
        would have without cancellation between clients.
    """
    suppose("one cluster", task.clusters == 1)
    expected = first_order_drift(task.hessians, task.centers, momentum=momentum, local_steps=local_steps)
    pulls = np.einsum("nij,njk,nk->ni", task.hessians, task.hessians, task.optima[0] - task.centers)
    scale = drift_constant(momentum, local_steps) / task.strong_convexity
    size = scale * float(np.linalg.norm(pulls, axis=-1).mean()) + 1e-300
    errors = []
    for step in (1e-3, 5e-4):
        affine = round_map(
            task.hessians, task.centers, step_size=step, momentum=momentum, local_steps=local_steps
        )
        suppose("rho(M) < 1", affine.rate < 1)
        drift = (affine.fixed_point[: task.dimension] - task.optima[0]) / step
        errors.append(float(np.linalg.norm(drift - expected)) / size)
    first, second = errors
    return {
        "formula": at_most(first, second_order=0.05),
        # for smaller errors, the rounding error of the linear solve dominates
        "half the step": given(
            "the error is above 1e-5", first > 1e-5, lambda: at_most(second, half=0.6 * first)
        ),
    }


def exact_rounds(
    curvatures: Sequence[Fraction],
    centers: Sequence[Fraction],
    momentum: Fraction,
    steps: int,
    rounds: int,
    model: Fraction,
    buffer: Fraction = Fraction(0),
    reset: bool = False,
) -> tuple[Fraction, Fraction]:
    """Return exact values of chi and u after ``rounds`` rounds of option II with eta = 1 on scalar quadratics.

    The texts of six claims print these lines. They are independent of ``methods``, which the classes of algorithms run.

    Parameters
    ----------
    curvatures, centers
        Curvatures lambda_i, and centres c_i.
    momentum, steps
        Momentum beta, and number of local steps H.
    model, buffer
        chi and u before the first round.
    reset
        Whether every round starts with u = 0.
    """
    for _ in range(rounds):
        ends = []
        for curvature, center in zip(curvatures, centers, strict=True):
            chi, u = model, Fraction(0) if reset else buffer
            for _ in range(steps):
                u = momentum * u + curvature * (chi - center)
                chi = chi - u
            ends.append((chi, u))
        model, buffer = (sum(values) / Fraction(len(ends)) for values in zip(*ends, strict=True))
    return model, buffer


def clients(flat: Fraction, center: Fraction) -> tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]:
    """Return curvatures and minimisers of two clients: a flat one at ``center``, and one with curvature 1 at 0."""
    return (flat, Fraction(1)), (center, Fraction(0))


@claim(
    "cfl-mgd/model-averaging-stability",
    label="Option II, (6)",
    source="reading",
    repaired_by="cfl-mgd/model-averaging-reset",
    expected="violated",
    headline=(
        "Option II of the algorithm, which averages models, can diverge although each client alone converges. With "
        "curvatures 1/100 and 1, momentum 4/5 and 5 local steps, a round multiplies the error by "
        "1.058."
    ),
    rank=4,
    places="section 2.2; (6); algorithm 1, line 16; section 7",
)
def model_averaging_stability(
    flat: Fraction = among(*(Fraction(1, k) for k in (2, 4, 10, 100))),
    momentum: Fraction = Q[0 : Fraction(9, 10) : 10],
    local_steps: int = Z[1:],
) -> Sides:
    """Option II converges if every client alone converges.

    Hypotheses
        Clients have quadratic losses with the same minimiser and curvatures in (0, L], eta = 1/L, and beta is in [0,
        1). So the local gradient descent of each client converges. The number H >= 1 of local steps is arbitrary,
        although (12) has H = 1. The clients' curvatures differ.

    Statement
        The rounds of option II, which averages chi and u (line 16), converge: rho(M) <= 1. The check has two scalar
        clients with curvatures ``flat`` and 1. For a 2 x 2 matrix, rho(M) <= 1 means |det M| <= 1 and |tr M| <= 1 +
        det M.

    Source
        Zhao et al. (2023), Section 5: "the convergence of this algorithm can be shown by studying the following
        formula", (12), without a condition on beta or H. Our reading applies this to H > 1, and to client losses that
        differ within a cluster. (12) has one local step. With one local step, the statement is true for quadratics.
    """
    curvatures, centers = clients(flat, Fraction(0))
    (model, carried), (moved, buffer) = (
        exact_rounds(curvatures, centers, momentum, local_steps, 1, *start)
        for start in ((Fraction(1), Fraction(0)), (Fraction(0), Fraction(1)))
    )
    determinant, trace = model * buffer - moved * carried, model + buffer
    return at_most(max(abs(determinant), abs(trace) - determinant), one=1)


@claim(
    "cfl-mgd/model-averaging-reset",
    label="Option II, reset",
    source="ours",
    evaluations=80,
    expected="consistent, tight within 2",
    headline=True,
    places="(6); algorithm 1, line 11; algorithm 1, line 16",
)
def model_averaging_reset(
    task: Annotated[QuadraticMixture, drawn(partial(random_clients, condition_number=100.0))],
    momentum: Annotated[float, reals(0, Fraction(93, 100))],
    local_steps: Annotated[int, integers(1, 11)],
    stream: Stream,
) -> dict[str, Sides | Excluded]:
    """Option II is stable if every round starts with zero momentum.

    Hypotheses
        Clients have quadratic losses with curvatures in (0, 1 / eta], ``reset_momentum`` is True, and H >= 1.

    Statement
        chi' - c = mean Pi_H(eta A_i) (chi - c) if all clients share the minimiser c. Hence a round multiplies the
        error by at most g, the maximum of |Pi_H(a)| over the clients' spectra. Always g <= 2 / sqrt(3), and g < 1 for
        beta <= 0.93. If the minimisers differ, the bound holds for the distance from the fixed point.

    Proof
        B_i^H (e, 0) has the first block Pi_H(eta A_i) e, because H steps from u = 0 are heavy-ball steps without
        initial momentum. The matrices are symmetric, so ||mean Pi_H(eta A_i)|| <= max |Pi_H|. Lemma H
        (``cfl-mgd/lemma-h``) bounds Pi_H.

    Source
        Ours. The claim repairs option II.
    """
    suppose("one cluster", task.clusters == 1)
    spectra = np.linalg.eigvalsh(task.hessians)
    suppose("curvatures in (0, 1 / eta]", spectra.min() > 0 and spectra.max() <= 1 + 1e-12)
    factor = float(np.abs(propagators(spectra, momentum, local_steps)[0][-1]).max())
    one = OptionTwo(task, 1.0, momentum, local_steps, True)
    models = one.run(task.optima[0] + 3 * stream.standard_normal(task.dimension), 15)
    distances = np.linalg.norm(models - one.map.fixed_point, axis=-1)
    return {
        "rounds": at_most(distances[1:], factor=factor * distances[:-1], rounding=1e-12 * distances[0]),
        "factor": at_most(factor, one=1.0),
    }


def order_of_error(
    flat: Fraction, center: Fraction, momentum: Fraction, local_steps: int, rounds: int, constant: Fraction
) -> Sides:
    """Compare |chi^T - chi*| with C |chi^0 - chi*| / T, for |chi^0 - chi*| = 1/2."""
    curvatures, centers = clients(flat, center)
    pulls = sum((a * c for a, c in zip(curvatures, centers, strict=True)), Fraction(0))
    optimum = pulls / sum(curvatures)
    model, _ = exact_rounds(curvatures, centers, momentum, local_steps, rounds, optimum + Fraction(1, 2))
    return at_most(abs(model - optimum), order=constant / 2 / rounds)


@claim(
    "cfl-mgd/model-averaging-rate",
    label="Section 7, O(1/T)",
    source="reading",
    repaired_by="cfl-mgd/model-averaging-recursion",
    expected="violated",
    headline=True,
    places="after (20)",
)
def model_averaging_rate(
    flat: Fraction = among(Fraction(1, 100)),
    center: Fraction = among(Fraction(0)),
    momentum: Fraction = among(*(Fraction(k, 10) for k in (0, 5, 8, 9))),
    local_steps: int = Z[1:6],
    rounds: int = among(40),
    constant: Fraction = among(Fraction(1000)),
) -> Sides:
    """The error of model averaging is of the order 1 / T.

    Hypotheses
        The clients are L-smooth and strongly convex with the same minimiser, eta = 1/L, beta is in [0, 1), and there
        are H local steps.

    Statement
        ||chi_p^T - chi*_p|| <= (C / T) ||chi_p^0 - chi*_p|| for a constant C, up to logarithms. The check uses C =
        1000 and T = 40, without a logarithm. A counterexample refutes every smaller C, as well.

    Source
        Zhao et al. (2023), Section 7: "For the gradient averaging and model averaging methods [...], we show that
        their convergence rates are [...] and O~(1/T), respectively", by (20), which bounds eps_0. Our reading bounds
        eps_T, for H > 1 and client losses that differ within a cluster. (12) has one local step. With one local step
        or with equal losses, the statement is true for quadratics. In general the method converges linearly (to a
        biased limit if Hessians and minimisers differ) or diverges, see ``cfl-mgd/model-averaging-recursion``.
    """
    return order_of_error(flat, center, momentum, local_steps, rounds, constant)


@claim(
    "cfl-mgd/model-averaging-limit",
    label="Section 7, limit",
    source="reading",
    repaired_by="cfl-mgd/model-averaging-drift",
    # two local steps, and enough rounds to reach the limit
    example={
        "flat": Fraction(1, 2),
        "center": Fraction(2),
        "momentum": Fraction(1, 2),
        "local_steps": 2,
        "rounds": 30,
        "constant": Fraction(1),
    },
    expected="violated",
    headline=True,
)
def model_averaging_limit(
    flat: Fraction = among(Fraction(1, 2), Fraction(1, 10)),
    center: Fraction = among(Fraction(1), Fraction(2)),
    momentum: Fraction = Q[Fraction(1, 4) : Fraction(1, 2) : 4],
    local_steps: int = Z[1:5],
    rounds: int = Z[1:30],
    constant: Fraction = among(Fraction(1)),
) -> Sides:
    """Model averaging converges to the minimiser of the cluster's loss with an error of the order 1 / T.

    Hypotheses
        The clients are L-smooth and strongly convex, eta = 1/L, and there are H local steps. 0 < beta < 1, because
        (19) and (20) divide by beta. The clients' minimisers may differ, as they do for finite data, and chi*_p
        minimises the clients' mean loss.

    Statement
        ||chi_p^T - chi*_p|| <= (C / T) ||chi_p^0 - chi*_p||. The check uses C = 1. Since the error does not tend to
        0, no C is large enough for all T.

    Source
        Zhao et al. (2023), Section 7, quoted in ``cfl-mgd/model-averaging-rate``. Our reading allows H > 1 and
        minimisers that differ within a cluster. H >= 2 local steps with different Hessians move the limit away from
        chi*_p. H = 1 does not.
    """
    return order_of_error(flat, center, momentum, local_steps, rounds, constant)
