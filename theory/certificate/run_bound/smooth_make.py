"""Write the certificate of Theorem A' on a run: every number rounded to where the proof needs it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from clusterproof.algorithms import InvalidArgument, Trace
from clusterproof.synthetic import Mixture
from clusterproof.theory.bounds.logarithmic.gaussian import DEFAULT_FAILURE, algorithm_of
from clusterproof.theory.bounds.logarithmic.run_bound import smooth_rows, smooth_tube
from clusterproof.theory.bounds.logarithmic.theorem_a_prime import (
    AdditiveGaussianRows,
    LogisticRows,
    SmoothTube,
    SubGaussianRows,
)
from clusterproof.theory.certificate.parameters import exact
from clusterproof.theory.certificate.record import Certificate
from clusterproof.theory.certificate.run_bound.rounding import (
    LEAST_CHANCE,
    SLACK,
    above,
    divided,
    one_replicate,
)
from clusterproof.theory.certificate.run_bound.smooth_check import failing_smooth_condition, misclassification
from clusterproof.theory.certificate.run_bound.smooth_record import (
    SmoothDynamics,
    SmoothRunCertificate,
    SmoothUse,
)


def certify_smooth_run(
    task: Mixture, trace: Trace, *, failure_probability: float = DEFAULT_FAILURE, replicate: int = 0
) -> SmoothRunCertificate:
    """Write down Theorem A''s bound on one run, and check it.

    L and mu of the statement are those of its Lyapunov functions: kappa of the task rounded up.

    Parameters
    ----------
    task, trace
        A log-cosh or a logistic mixture with fresh rows, and a run of option I with full participation on it.
    failure_probability
        Of all that is stated; a fifth of it is left for misassignment.
    replicate
        Which of the replicates, where there are several.

    Raises
    ------
    InvalidArgument
        If the theorem does not speak of such a run, a number is out of range, the bound leaves the basin, or a
        package of the extra ``certify`` is not installed.
    """
    models, _ = one_replicate(trace, replicate, failure_probability)
    shares = divided(failure_probability)
    distances = np.linalg.norm(models - task.optima, axis=-1)
    floats = (float(shares[0]), float(shares[1]), float(shares[2]))
    certificate = _write(
        task, trace, smooth_tube(task, trace, distances, floats), distances, (shares[1], shares[2])
    )
    wrong = failing_smooth_condition(certificate)
    if wrong is not None:
        raise InvalidArgument(
            "trace", "...", f"has a bound that its own check refuses ({wrong})", "change delta"
        )
    return certificate


def _write(
    task: Mixture,
    trace: Trace,
    tube: SmoothTube,
    distances: np.ndarray,
    failure: tuple[Fraction, Fraction],
) -> SmoothRunCertificate:
    algorithm, rows = algorithm_of(trace), smooth_rows(task)
    proofs = tuple(one.source for one in tube.chosen if isinstance(one.source, Certificate))
    step_size = exact("step_size", float(algorithm.step_size))
    smoothness = proofs[0].parameters.step_size / step_size
    several = task.clusters > 1
    reach, last = tube.reach * (1 + SLACK), tube.last_reach * (1 + SLACK)
    stated = [[above(float(one)) for one in row] for row in reach]
    law, size = _law(rows)
    dynamics = SmoothDynamics(
        own=tuple(int(count) for count in np.bincount(task.labels, minlength=task.clusters)),
        dimension=rows.dimension,
        samples=rows.samples,
        rounds=trace.rounds,
        step_size=step_size,
        momentum=exact("momentum", float(algorithm.momentum)),
        smoothness=smoothness,
        strong_convexity=smoothness / proofs[0].parameters.condition_number,
        separation=Fraction(rows.separation) if several else Fraction(0),
        diameter=Fraction(rows.diameter) if several else Fraction(0),
        law=law,
        size=size,
        start=tuple(Fraction(float(one)) for one in distances),
    )
    # at the stated bounds and constants, a little wider than those that the probabilities were computed from
    chances = [_chance(dynamics, max(row)) for row in stated[:-1]]
    wrong = task.clients * (task.clusters - 1) * sum(chances, Fraction(0))
    return SmoothRunCertificate(
        dynamics=dynamics,
        failure=failure,
        contractions=proofs,
        misclassification=tuple(chances),
        uses=tuple(
            tuple(SmoothUse(x=above(float(x)), reach=one) for x, one in zip(weights, row, strict=True))
            for weights, row in zip(tube.weights, stated, strict=False)
        ),
        last=tuple(
            SmoothUse(x=above(float(x)), reach=above(float(one)))
            for x, one in zip(tube.weights[-1], last, strict=True)
        ),
        misassignment=wrong,
        total=sum(failure, Fraction(0)) + wrong,
    )


def _chance(dynamics: SmoothDynamics, radius: Fraction) -> Fraction:
    """Round a round's probability of a wrong choice up; 1 beyond the basin, where the check refuses."""
    if dynamics.clusters == 1:
        return Fraction(0)
    chance = misclassification(dynamics, radius)
    if chance is None:
        return Fraction(1)
    return max(above(float(chance.upper()) * (1 + SLACK)), LEAST_CHANCE)


def _law(rows: SubGaussianRows) -> tuple[str, Fraction]:
    """How a row is random, and nu^2 or X^2."""
    if isinstance(rows, AdditiveGaussianRows):
        return "additive", Fraction(rows.noise) ** 2
    if isinstance(rows, LogisticRows):
        return "bounded", Fraction(rows.largest_feature) ** 2
    raise InvalidArgument("task", type(rows).__name__, "must have rows of a known law", "use another task")
