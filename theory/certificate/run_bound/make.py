"""Write the certificate of a bound that was computed: every number rounded to where the proof needs it."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.algorithms import InvalidArgument, Trace
from clusterproof.synthetic import Mixture
from clusterproof.theory.bounds.logarithmic.gaussian import (
    DEFAULT_FAILURE,
    GaussianDynamics,
    algorithm_of,
    along_eigenvectors,
    fresh_regression,
    gaussian_dynamics,
)
from clusterproof.theory.bounds.logarithmic.norm_inequality import NormBound, ball_quantile
from clusterproof.theory.bounds.logarithmic.theorem_e import (
    ParticipationBound,
    theorem_e,
    theorem_e_recorded,
)
from clusterproof.theory.certificate.parameters import exact
from clusterproof.theory.certificate.run_bound.check import failing_run_condition
from clusterproof.theory.certificate.run_bound.record import Dynamics, RunCertificate, Turn, Use
from clusterproof.theory.certificate.run_bound.rounding import (
    LEAST_CHANCE,
    SLACK,
    above,
    divided,
    one_replicate,
)


def certify_run(
    task: Mixture,
    trace: Trace,
    *,
    failure_probability: float = DEFAULT_FAILURE,
    replicate: int = 0,
    recorded: bool = True,
) -> RunCertificate:
    """Write down Theorem E's bound on one run, which is Theorem D's where everybody takes part, and check it.

    Parameters
    ----------
    task, trace
        A Gaussian regression mixture with fresh rows, and a run on it.
    failure_probability
        Of all that is stated, without misassignment where that is not counted.
    replicate
        Which of the replicates, where there are several.
    recorded
        On the record of who took part; otherwise before the run.

    Raises
    ------
    InvalidArgument
        If the theorem does not speak of such a run, a number is out of range, the bound leaves the basin, or
        python-flint is not installed.
    """
    models, assignments = one_replicate(trace, replicate, failure_probability)
    regression = fresh_regression(task)
    dynamics = gaussian_dynamics(regression, algorithm_of(trace))
    start = along_eigenvectors(regression, models)
    present = assignments >= 0
    own = np.stack([(present & (trace.labels == p)).sum(axis=-1) for p in range(task.clusters)], axis=-1)
    failure = divided(failure_probability)
    floats = (float(failure[0]), float(failure[1]), float(failure[2]))
    counted = dynamics.algorithm.averaging == "gradient"
    if recorded:
        bound = theorem_e_recorded(dynamics, start, own[:, None], failure=floats, counted=counted)
    else:
        bound = theorem_e(dynamics, start, rounds=trace.rounds, failure=floats, counted=counted)
    if not bound.tube.applicable:
        raise InvalidArgument(
            "trace",
            "...",
            "must have a bound that stays inside the basin",
            "raise the clients or the samples, start nearer, or lower the momentum",
        )
    certificate = _write(dynamics, start, bound, own if recorded else None, failure, counted)
    wrong = failing_run_condition(certificate)
    if wrong is not None:
        raise InvalidArgument(
            "trace", "...", f"has a bound that its own check refuses ({wrong})", "change delta"
        )
    return certificate


def _write(
    dynamics: GaussianDynamics,
    start: np.ndarray,
    bound: ParticipationBound,
    own: np.ndarray | None,
    failure: tuple[Fraction, Fraction, Fraction],
    counted: bool,
) -> RunCertificate:
    algorithm, tube = dynamics.algorithm, bound.tube
    rounds, clusters = tube.misclassification.shape
    several, rows = clusters > 1, dynamics.rows
    reach = tube.steps * (1 + 2 * SLACK)
    # at the stated bounds, which are a little wider than those that the counts were computed from
    widest = [float(max(above(float(one)) for one in row)) for row in reach[: -1 : dynamics.local_steps]]
    chances = [max(above(rows.misclassification(one) * (1 + SLACK)), LEAST_CHANCE) for one in widest]
    wrong = dynamics.participants * (clusters - 1) * sum(chances, Fraction(0))
    wrong = Fraction(0) if counted else above(float(wrong) * (1 + SLACK))
    last = (bound.tube.last_reach * (1 + 2 * SLACK), tube.searches[-1])
    return RunCertificate(
        dynamics=Dynamics(
            own=_integers(dynamics.own),
            participants=dynamics.participants,
            samples=rows.samples,
            rounds=rounds,
            local_steps=dynamics.local_steps,
            step_size=exact("step_size", float(algorithm.step_size)),
            momentum=exact("momentum", float(algorithm.momentum)),
            variance=Fraction(rows.noise) ** 2,
            separation=Fraction(rows.separation) if several else Fraction(0),
            diameter=Fraction(dynamics.diameter) if several else Fraction(0),
            spectra=tuple(tuple(Fraction(float(one)) for one in row) for row in dynamics.spectra),
            common_covariance=dynamics.common_covariance,
            start=tuple(tuple(Fraction(float(one)) for one in row) for row in start),
            divisor="cluster" if algorithm.averaging == "model" else algorithm.normalisation,
            freezes=algorithm.averaging == "model" or algorithm.empty_cluster == "freeze",
            resets=algorithm.reset_momentum,
        ),
        knowledge="before" if own is None else "recorded",
        counted=counted,
        failure=failure,
        fewest=_integers(bound.members.least_own[0]) if own is None else (),
        most=_integers(bound.members.own[0]) if own is None else (),
        turns=tuple(
            Turn(
                misclassification=chance,
                intruders=_integers(inward),
                strays=_integers(outward),
                own=() if own is None else _integers(own[turn]),
            )
            for turn, (chance, inward, outward) in enumerate(
                zip(chances, tube.intruders, tube.strays, strict=True)
            )
        ),
        first=tuple(above(float(one)) for one in reach[0]),
        uses=tuple(
            _uses(search, after, start.shape[-1])
            for search, after in zip(tube.searches[:-1], reach[1:], strict=True)
        ),
        last=_uses(last[1], last[0], start.shape[-1]),
        misassignment=wrong,
        total=sum(failure if counted or own is None else failure[1:], Fraction(0)) + wrong,
    )


def _uses(search: NormBound, reach: np.ndarray, dimension: int) -> tuple[Use, ...]:
    """Write one use of W for every cluster."""
    found = []
    for p, form in enumerate(np.asarray(search.form, dtype=int)):
        truncation = float(search.truncation[p])
        found.append(
            Use(
                form=int(form),
                b=above(float(search.inverse_variance[p])),
                c=above(float(search.tilt[p])),
                g=above(float(search.factor[p]) * (1 + SLACK)),
                truncation=exact("truncation", truncation),
                quantile=above(ball_quantile(dimension, truncation)) if form in (1, 2) else Fraction(0),
                radius=above(float(search.radius[p]) * (1 + SLACK)),
                reach=above(float(reach[p])),
            )
        )
    return tuple(found)


def _integers(values: Iterable[Any]) -> tuple[int, ...]:
    return tuple(int(value) for value in values)
