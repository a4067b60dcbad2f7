"""Check a high-probability bound stage by stage, each stage where it is sharpest.

A bound that is loose as a whole (Chebyshev's factors cost up to ten) would hide a wrong rate or a
wrong floor from any number of runs. So each thing that its proof shows is compared with the truth by
itself: the noise-free envelope, the variance, the misclassification in the basin, and then the whole.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from algorithms import CFLMGD, generator, run
from synthetic import RegressionMixture
from synthetic.mixture import geometric_spectrum, make_labels, place_optima
from theory.bound import Bound, Parts
from theory.claim import Context
from theory.exact_moments import error_moments
from theory.experiments import Experiment
from theory.settings import Setting, setting_of
from theory.statistics import clopper_pearson, judge_failures
from theory.verdict import Finding, Kind

ROUNDING = 1e-9
"""Relative room for rounding error in comparisons of computed numbers."""


def check_bound(bound: Bound, experiments: Sequence[Experiment], context: Context, *, claim: str) -> Finding:
    """Run the four stages; the first that breaks decides, and the last gives the numbers.

    Parameters
    ----------
    bound
        The bound under check.
    experiments
        Settings for the runs with real data.
    context
        Seed and number of repetitions (400 a setting where it names none); the other stages use
        a tenth as many instances, at least 4 and at most 40.
    claim
        Id, an axis of the random numbers.
    """
    count = max(4, min(40, context.number_of_trials(400) // 10))
    instances = [_draw_instance(bound, context.generator("instance", number)) for number in range(count)]
    for stage in (check_envelope, check_variance):
        for instance in instances:
            broken = stage(bound, instance)
            if broken is not None:
                return broken
    for instance in instances:
        broken = check_misclassification(bound, instance, context.generator("rim"))
        if broken is not None:
            return broken
    return check_runs(
        lambda experiment, _: bound.best_parts(experiment.setting), experiments, context, claim=claim
    )


def check_envelope(bound: Bound, experiment: Experiment) -> Finding | None:
    """Compare the noise-free envelope with runs from every eigenvector, at every round."""
    task = dataclasses.replace(experiment.task, data="population")
    parts = bound.parts(_setting(experiment))
    displacement = 0.5 * task.basin_radius * np.eye(task.dimension)
    trace = run(
        experiment.algorithm,
        task,
        rounds=experiment.rounds,
        replicates=task.dimension,
        initial=task.optima + displacement[:, None, :],
    )
    errors = np.asarray(trace.errors).max(axis=1)
    return _first_excess(experiment, "noise-free error", errors, parts.mean)


def check_variance(bound: Bound, experiment: Experiment) -> Finding | None:
    """Compare the variance with the exact second moments of Gaussian regression, at every round."""
    task, algorithm = experiment.regression, experiment.algorithm
    parts = bound.parts(_setting(experiment))
    spectrum = task.covariances.eigenvalues[0]
    directions = 0.5 * task.basin_radius * np.eye(task.dimension)
    exact = np.stack(
        [
            error_moments(
                spectrum,
                directions,
                step=algorithm.step_size * proportion,
                momentum=algorithm.momentum,
                noise=task.noise,
                rows=proportion * task.clients * task.samples,
                rounds=experiment.rounds,
            )[1].max(axis=-1)
            for proportion in task.proportions
        ],
        axis=-1,
    )
    return _first_excess(experiment, "variance of the error", exact, parts.variance)


def check_misclassification(
    bound: Bound, experiment: Experiment, stream: np.random.Generator
) -> Finding | None:
    """Compare pi with the exact F tail at models on the rim of the largest admissible basin.

    The own model is displaced along the steepest direction, the other towards the own optimum
    along the flattest, which is the worst there is.
    """
    task = experiment.regression
    steep, flat = np.eye(task.dimension)[[-1, 0]]
    optima = np.stack([np.zeros(task.dimension), task.separation * flat])
    pair = RegressionMixture(
        optima=optima,
        covariance=task.covariances.matrices[0],
        noise=task.noise,
        labels=np.array([0, 1]),
        samples=task.samples,
    )
    limit = bound.largest_radius(task.smoothness, task.strong_convexity, task.separation)
    for share in (0.2, 0.5, 0.9, 0.999):
        radius = share * limit
        near = np.stack([radius * steep, (task.separation - radius) * flat])
        own, other = pair.expected_loss(near, 0)
        place = {"separation": task.separation, "condition_number": task.condition_number, "radius": radius}
        if own >= other:
            return _violation("expected loss of the own model", float(own), float(other), place)
        allowed = setting_of(task, experiment.algorithm, np.zeros(task.clusters), 1, radius).misclassification
        turned = stream.standard_normal((200, 2, task.dimension))
        turned *= radius / np.linalg.norm(turned, axis=-1, keepdims=True)
        models = np.concatenate([near[None], optima + turned])
        exact = float(pair.misclassification_probability(models, 0)[:, 1].max())
        if exact > allowed * (1 + ROUNDING) + 1e-300:
            return _violation("misclassification probability", exact, allowed, place)
    return None


def check_runs(
    parts_of: Callable[[Experiment, np.ndarray], Parts],
    experiments: Sequence[Experiment],
    context: Context,
    *,
    claim: str,
    replicates: int = 400,
) -> Finding:
    """Compare the whole bound with runs on fresh data, at every round and for every cluster.

    Parameters
    ----------
    parts_of
        Gives the bound for an experiment and starting models (replicates, P, d); its entries
        have the shape (T + 1, P), or (T + 1, replicates, P) where they depend on the start.
    experiments
        Settings; those whose hypotheses fail are named in the reason.
    context
        Seed and number of repetitions.
    claim
        Id, an axis of the random numbers.
    replicates
        Repetitions a setting where the context names none.
    """
    trials = context.number_of_trials(replicates)
    done, failures, allowed = 0, 0, 0.0
    worst: tuple[float, float, float] | None = None
    notes, skipped = [], []
    for experiment in experiments:
        initial = starting_models(experiment, context.seed, trials, claim)
        parts = parts_of(experiment, initial)
        if not parts.applicable:
            skipped.append(experiment.name)
            continue
        errors = run_errors(experiment, context.seed, initial)
        everywhere = parts.all_rounds if parts.all_rounds.ndim == 3 else parts.all_rounds[:, None, :]
        last = np.broadcast_to(parts.last_round, errors[-1].shape)
        broken = (errors > (1 + ROUNDING) * everywhere).any(axis=(0, 2))
        broken |= (errors[-1] > (1 + ROUNDING) * last).any(axis=-1)
        count = int(broken.sum())
        interval = clopper_pearson(count, trials, context.significance)
        observed = np.quantile(errors[-1], 0.95, axis=0)
        ratios = np.quantile(last / errors[-1], 0.05, axis=0)
        done, failures = done + trials, failures + count
        allowed = max(allowed, parts.last_round_failure)
        tightest = int(np.argmin(ratios))
        numbers = (
            float(ratios[tightest]),
            float(observed[tightest]),
            float(ratios[tightest] * observed[tightest]),
        )
        worst = numbers if worst is None else min(worst, numbers)
        notes.append(f"{experiment.name}: {ratios.min():.3g}-{ratios.max():.3g}")
        if interval.lower > parts.last_round_failure:
            return _violation(
                "share of runs that break the bound",
                count / trials,
                parts.last_round_failure,
                {"setting": experiment.name, "seed": context.seed, "replicates": trials},
            )
    if worst is None:
        return Finding(
            verdict=Kind.VACUOUS,
            reason=f"no setting meets the hypotheses: {'; '.join(skipped)}",
        )
    reason = (
        f"{failures} of {done} runs break it at any round (allowed {allowed:.3g}); "
        f"bound / error after T rounds, 5 % quantile over runs: {'; '.join(notes)}"
    )
    if skipped:
        reason += f"; hypotheses fail on {', '.join(skipped)}"
    return judge_failures(
        failures,
        done,
        allowed,
        context.significance,
        reason=reason,
        measured=worst[1],
        bound=worst[2],
        slack=worst[0],
    )


def starting_models(experiment: Experiment, seed: int, replicates: int, claim: str) -> np.ndarray:
    """Models in random directions for each repetition of an experiment, (replicates, P, d)."""
    return experiment.initial(generator(seed, claim, experiment.name, "start"), replicates)


def run_errors(experiment: Experiment, seed: int, initial: np.ndarray) -> np.ndarray:
    """Errors of one run from each of the starting models, (rounds + 1, replicates, P)."""
    trace = run(
        experiment.algorithm,
        experiment.task,
        rounds=experiment.rounds,
        seed=seed,
        replicates=len(initial),
        initial=initial,
    )
    return np.asarray(trace.errors)


def _draw_instance(bound: Bound, stream: np.random.Generator) -> Experiment:
    """Draw a small regression task over the whole range of the hypotheses."""
    condition = float(stream.choice([1.0, 1.0, 3.0, 10.0, 40.0]))
    clusters = int(stream.integers(2, 4))
    clients = int(stream.integers(clusters, 60))
    dimension = int(stream.integers(2, 6))
    task = RegressionMixture(
        optima=place_optima(clusters, dimension, 2.0, stream),
        covariance=geometric_spectrum(dimension, condition),
        labels=make_labels(clients, clusters, stream.dirichlet(np.full(clusters, 1.5)) + 1e-3),
        noise=float(stream.choice([0.0, 0.3, 5.0])),
        samples=int(stream.choice([50, 2000, 10**6])),
    )
    momentum = bound.draw_momentum(task, stream)
    return Experiment(
        name=f"kappa {condition:g}, momentum {momentum:.3g}",
        task=task,
        algorithm=CFLMGD(step_size=1 / task.smoothness, momentum=momentum),
        rounds=40,
    )


def _setting(experiment: Experiment) -> Setting:
    """The experiment's setting without misclassification, which has a stage of its own."""
    return dataclasses.replace(experiment.setting, misclassification=0.0)


def _first_excess(
    experiment: Experiment, what: str, measured: np.ndarray, bound: np.ndarray
) -> Finding | None:
    """Report the first round and cluster at which a computed quantity exceeds its bound."""
    excess = measured > bound * (1 + ROUNDING) + 1e-13
    if not excess.any():
        return None
    t, cluster = np.unravel_index(int(np.argmax(excess)), excess.shape)
    task = experiment.task
    place = {
        "condition_number": task.condition_number,
        "cluster_sizes": np.bincount(task.labels).tolist(),
        "dimension": task.dimension,
        "noise": task.noise,
        "samples": task.samples,
        "step_size": experiment.algorithm.step_size,
        "momentum": experiment.algorithm.momentum,
        "round": int(t),
        "cluster": int(cluster),
    }
    return _violation(what, float(measured[t, cluster]), float(bound[t, cluster]), place)


def _violation(what: str, measured: float, bound: float, place: dict[str, Any]) -> Finding:
    numbers = ", ".join(f"{name} {value}" for name, value in place.items())
    return Finding(
        verdict=Kind.VIOLATED,
        reason=f"{what} is {measured:.6g}, more than {bound:.6g}, at {numbers}",
        measured=measured,
        bound=bound,
        slack=bound / measured if measured > 0 and math.isfinite(measured) else None,
        counterexample={"quantity": what, **place, "measured": measured, "bound": bound},
    )
