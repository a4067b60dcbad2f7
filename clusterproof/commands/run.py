"""The command ``run``: one experiment, its last errors, clustering, and the bound that speaks of it."""

from __future__ import annotations

import inspect
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter

from clusterproof import algorithms
from clusterproof.algorithms import ALGORITHMS, storage
from clusterproof.algorithms.atomic import check_writable, write_whole
from clusterproof.algorithms.validation import check_count, check_seed
from clusterproof.commands import experiment, terminal
from clusterproof.commands.run_record import RunRecord, record_of
from clusterproof.synthetic import TASKS, Mixture
from clusterproof.theory import report


def run(
    algorithm: str,
    /,
    *,
    task: str = "regression",
    rounds: terminal.Integer = 50,
    seed: terminal.Integer = 0,
    replicates: terminal.OptionalInteger = None,
    out: Path | None = None,
    json_file: Annotated[Path | None, Parameter("--json")] = None,
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
    json_file
        Write settings, errors, bound and clustering as JSON; `clusterproof schema run` prints its schema.
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
    if json_file is not None:
        check_writable("json", json_file)
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
    found = record_of(problem, trace, seconds)
    try:
        if out is not None:
            storage.save_trace(trace, out)
        if json_file is not None:
            write_whole("json", json_file, report.to_json(asdict(found)).encode())
    finally:  # a full disk or a closed pipe must not cost the other half of the result
        print(describe_run(problem, found))
    if out is not None:
        print(f"stored in {out}")
    return 0


def describe_run(task: Mixture, found: RunRecord) -> str:
    """Write the report of a run, several lines.

    Errors are medians over replicates, and under a separate model for every client medians over a
    cluster's clients too.
    """
    settings = found.settings
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
        f"{_count(settings['rounds'], 'round')}, {_count(replicates, 'replicate')}, seed {settings['seed']}, "
        f"{found.seconds:.2f} s",
        "",
    ]
    lines += _errors(found)
    lines += [
        "",
        f"purity {found.purity:.4g}, adjusted Rand index {found.adjusted_rand_index:.4g}, clusters "
        f"{found.cluster_count:g} of {task.clusters}: {_recovery(found, replicates)}",
        found.remark,
    ]
    return "\n".join(lines)


def _recovery(found: RunRecord, replicates: int) -> str:
    """Say in how many replicates the last assignments of all clients are the true clusters."""
    if replicates == 1:
        return f"the true clusters are {'' if found.recovered else 'not '}recovered"
    return f"the true clusters are recovered in {found.recovered} of {replicates} replicates"


def _errors(found: RunRecord) -> list[str]:
    """Tabulate the first and last errors."""
    if found.first_errors is None or found.last_errors is None:
        return ["the task does not know its optima: no errors"]
    header = f"{found.rows}  {'first error':>12}  {'last error':>12}"
    lines = [header if found.bound is None else f"{header}  {'bound':>12}"]
    for number, (first, last) in enumerate(zip(found.first_errors, found.last_errors, strict=True)):
        line = f"{number:<{len(found.rows)}}  {first:>12.6g}  {last:>12.6g}"
        lines.append(line if found.bound is None else f"{line}  {found.bound[number]:>12.6g}")
    return lines


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
