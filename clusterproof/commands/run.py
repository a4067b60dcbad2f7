"""The command ``run``: one experiment, its last errors, clustering, and the bound that speaks of it."""

from __future__ import annotations

import inspect
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter

from clusterproof import algorithms, theory
from clusterproof.algorithms import ALGORITHMS, InvalidArgument, Trace, storage
from clusterproof.algorithms.validation import check_count, check_seed
from clusterproof.commands import experiment, terminal
from clusterproof.synthetic import TASKS, Mixture
from clusterproof.theory.claim import REGISTRY

BOUND = "cfl-mgd/theorem-b"
"""The claim whose bound stands beside the errors."""


def run(
    algorithm: str,
    /,
    *,
    task: str = "regression",
    rounds: terminal.Integer = 50,
    seed: terminal.Integer = 0,
    replicates: terminal.OptionalInteger = None,
    out: Path | None = None,
    **options: Any,
) -> int:
    """Run an algorithm on a synthetic task whose optima are known.

    Parameters
    ----------
    algorithm
        Such as cfl-mgd or ifca.
    task
        Such as regression, quadratic, logistic or log-cosh.
    rounds
        Number of communication rounds.
    seed
        Seed of the task and of the run.
    replicates
        Independent repetitions.
    out
        New folder for the trace and its settings.
    """
    given = {name: value for name, value in options.items() if value is not None}
    experiment.check_options(algorithm, task, given)
    check_count("rounds", rounds, at_least=0, remedy="give the number of communication rounds")
    check_seed(seed)
    if replicates is not None:
        check_count("replicates", replicates, at_least=1, remedy="leave it out for a single run")
    experiment.check_memory(algorithm, task, given, rounds, replicates)
    if out is not None:
        storage.require_polars(out)
        storage.check_destination(out)
    with terminal.progress(rounds) as advance, np.errstate(all="ignore"):
        advance(0, f"drawing the {task} task")
        problem = experiment.make_task(task, given, seed)
        method = experiment.make_algorithm(algorithm, given, problem)
        advance(0, algorithm)
        started = time.perf_counter()
        trace = algorithms.run(
            method,
            problem,
            rounds=rounds,
            seed=seed,
            replicates=replicates,
            progress=lambda done: advance(done, algorithm),
        )
        seconds = time.perf_counter() - started
    try:
        if out is not None:
            storage.save_trace(trace, out)
    finally:  # a full disk or a closed pipe must not cost the other half of the result
        print(describe_run(problem, trace, seconds))
    if out is not None:
        print(f"stored in {out}")
    return 0


def describe_run(task: Mixture, trace: Trace, seconds: float) -> str:
    """Write the report of a run, several lines.

    Errors are medians over replicates, and under a separate model for every client medians over a
    cluster's clients too.
    """
    settings = trace.settings
    replicates = settings["replicates"] or 1
    name = settings["algorithm"]["algorithm"]
    parameters = ", ".join(
        f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
        for key, value in settings["algorithm"].items()
        if key != "algorithm" and value is not None
    )
    lines = [
        f"{name} on {settings['task']['task']}: {task.clusters} clusters, {task.clients} clients, "
        f"dimension {task.dimension}, condition number {task.condition_number:.4g}, "
        f"separation {task.separation:.4g}",
        parameters,
        f"{_count(trace.rounds, 'round')}, {_count(replicates, 'replicate')}, seed {settings['seed']}, "
        f"{seconds:.2f} s",
        "",
    ]
    bound, remark = _bound(task, trace)
    lines += _errors(task, trace, ALGORITHMS[name].target, bound)
    with np.errstate(all="ignore"):
        purity, index = np.median(trace.purity), np.median(trace.adjusted_rand_index)
        count = np.median(trace.cluster_count)
    lines += [
        "",
        f"purity {purity:.4g}, adjusted Rand index {index:.4g}, clusters {count:g} of {task.clusters}: "
        f"{_recovery(trace)}",
        remark,
    ]
    return "\n".join(lines)


def _recovery(trace: Trace) -> str:
    """Say in how many replicates the last assignments of all clients are the true clusters."""
    everybody = (trace.last_assignments >= 0).all(axis=-1)
    recovered = np.atleast_1d(everybody & (trace.adjusted_rand_index == 1))
    if len(recovered) == 1:
        return f"the true clusters are {'' if recovered[0] else 'not '}recovered"
    return f"the true clusters are recovered in {recovered.sum()} of {len(recovered)} replicates"


def _errors(task: Mixture, trace: Trace, target: str, bound: np.ndarray | None) -> list[str]:
    """Tabulate the first and last errors."""
    if trace.errors is None:
        return ["the task does not know its optima: no errors"]
    errors = trace.errors if trace.errors.ndim == 3 else trace.errors[:, None, :]
    names = {"clusters": "cluster", "pooled": "pooled model", "clients": "clients of cluster"}
    heading = names[target]
    groups = [np.array([column]) for column in range(errors.shape[-1])]
    if target == "clients":
        groups = [np.flatnonzero(task.labels == cluster) for cluster in range(task.clusters)]
    elif target == "clusters" and errors.shape[-1] != task.clusters:
        heading = "model"
    header = f"{heading}  {'first error':>12}  {'last error':>12}"
    lines = [header if bound is None else f"{header}  {'bound':>12}"]
    with np.errstate(all="ignore"):
        for number, group in enumerate(groups):
            first, last = (np.median(errors[step][:, group]) for step in (0, -1))
            line = f"{number:<{len(heading)}}  {first:>12.6g}  {last:>12.6g}"
            lines.append(line if bound is None else f"{line}  {bound[number]:>12.6g}")
    return lines


def _bound(task: Mixture, trace: Trace) -> tuple[np.ndarray | None, str]:
    """Bound on the last errors, one a model, and a line that says with which probability."""
    claim = REGISTRY.get(BOUND)
    if claim is None or claim.bound_trace is None or trace.errors is None:
        return None, "no bound speaks of such a run"
    try:
        with np.errstate(all="ignore"):
            allowed = theory.bound(BOUND, task, trace)
    except InvalidArgument as error:
        return None, f"no bound: {claim.id} asks more: {' '.join(str(error).split())}"
    except Exception as error:  # a defect of the claim must not cost the run
        return None, f"no bound: {claim.id} failed with {type(error).__name__}: {error}"
    bound = np.asarray(allowed.bound, dtype=float)
    if trace.errors.ndim == 3 and bound.ndim == 2:
        bound = bound[:, None, :]
    last = np.broadcast_to(bound, trace.errors.shape)[-1].reshape(-1, trace.errors.shape[-1]).max(axis=0)
    return last, f"bound: {claim.id}, broken with probability at most {allowed.failure_probability:.4g}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _declare_options() -> None:
    """Give ``run`` the options of every task and algorithm."""
    parameters = dict(inspect.signature(run).parameters)
    del parameters["options"]
    for name, known in (("algorithm", ALGORITHMS), ("task", TASKS)):
        words = Parameter(help=f"One of {', '.join(known)}.")
        parameters[name] = parameters[name].replace(annotation=Annotated[str, words])
    for option in experiment.experiment_options():
        words = Parameter(
            help=f"{option.help} ({', '.join(option.owners)})",
            group="Task" if option.of_task else "Algorithm",
            negative_iterable=(),
            converter=terminal.read_integer if option.annotation is int else None,
        )
        parameters[option.name] = inspect.Parameter(
            option.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[option.annotation | None, words],
        )
    vars(run)["__signature__"] = inspect.Signature(list(parameters.values()))
    run.__annotations__ |= {name: parameter.annotation for name, parameter in parameters.items()}


_declare_options()
