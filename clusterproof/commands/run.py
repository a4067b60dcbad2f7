"""The command ``run``: run an algorithm; print its page, or its final errors, clustering and bound."""

from __future__ import annotations

import inspect
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter

from clusterproof import algorithms
from clusterproof.algorithms import ALGORITHMS, InvalidArgument, Trace, storage
from clusterproof.algorithms.atomic import check_writable, write_whole
from clusterproof.algorithms.validation import check_count, check_seed
from clusterproof.commands import terminal
from clusterproof.commands.run_record import RunRecord, record_of
from clusterproof.experiments import synthetic_options
from clusterproof.experiments.run_defaults import PAGES, common_start, make_algorithm
from clusterproof.neural.custom.references import HOW, is_own, load_own, naming_user_code
from clusterproof.synthetic import TASKS, Mixture
from clusterproof.theory.checker import report
from clusterproof.theory.runs.compare import compare
from clusterproof.theory.runs.page import Page


def run(
    algorithm: str,
    *,
    task: str | None = None,
    rounds: terminal.OptionalInteger = None,
    seed: terminal.Integer = 0,
    replicates: terminal.OptionalInteger = None,
    out: Path | None = None,
    json_file: Annotated[Path | None, Parameter("--json")] = None,
    record: str = "",
    measure: str | None = None,
    plot: Path | None = None,
    **options: Any,
) -> int:
    """Run an algorithm on a synthetic task whose optima are known.

    Parameters
    ----------
    algorithm
        Name of an algorithm, such as cfl-mgd or ifca, or of a class of your own, as FILE.py:NAME or MODULE:NAME.
    task
        Name of a task, such as regression, quadratic, logistic or log-cosh; by default regression, and quadratic for
        fpfc.
    rounds
        Number of communication rounds; 50, but with the default task 60 for cfl-mgd, 120 for ifca and 300 for fpfc.
    seed
        Seed of the task and of the run.
    replicates
        Independent repetitions; 500 for cfl-mgd and ifca on regression, all from one start.
    out
        New folder for the trace and its settings.
    json_file
        Write settings, errors, bound and clustering as JSON.
    record
        Fields of the algorithm's state to store after every round, separated by commas; needs --out.
    measure
        A function of (state, task) to evaluate and store after every round, as FILE.py:NAME or MODULE:NAME; needs
        --out.
    plot
        Draw the run beside its theorems to this svg, pdf or png.
    """
    given = {name: value for name, value in options.items() if value is not None}
    defaults = PAGES.get(algorithm)
    if task is None:
        task = "regression" if defaults is None else defaults.task
    synthetic_options.check_options(algorithm, task, given)
    if defaults is not None and task == defaults.task:
        rounds = defaults.rounds if rounds is None else rounds
        replicates = defaults.replicates if replicates is None else replicates
        shares = ["proportions"] if given.get("clusters", 3) != 3 else []
        given = {name: value for name, value in defaults.settings.items() if name not in shares} | given
    rounds = 50 if rounds is None else rounds
    check_count("rounds", rounds, at_least=0, remedy="give the number of communication rounds")
    check_seed(seed)
    if replicates is not None:
        check_count("replicates", replicates, at_least=1, remedy="leave it out for a single run")
    synthetic_options.check_memory(algorithm, task, given, rounds, replicates)
    if out is not None:
        storage.check_destination(out)
    if json_file is not None:
        check_writable("json", json_file)
    if plot is not None:
        from clusterproof.figures.sweep_curves import check_plot  # only pictures need matplotlib

        check_plot(plot)
        check_writable("plot", plot)
    for option, value in (("record", record), ("measure", measure)):
        if value and out is None:
            raise InvalidArgument(option, value, "is stored next to the trace", "add --out FOLDER")
    own = {"algorithm": algorithm} if is_own("algorithm", algorithm) else {}
    own |= {"measure": measure} if measure else {}
    with terminal.progress(rounds) as advance, np.errstate(all="ignore"), _naming(own):
        advance(0, f"drawing the {task} task")
        problem = synthetic_options.make_task(task, given, seed)
        method = make_algorithm(algorithm, given, problem)
        advance(0, algorithm)
        started = time.perf_counter()
        start = common_start(algorithm, method, problem, seed)
        trace = algorithms.run(
            method,
            problem,
            rounds=rounds,
            seed=seed,
            replicates=replicates,
            initial=start,
            progress=lambda done: advance(done, algorithm),
            record=[name.strip() for name in record.split(",") if name.strip()],
            measure={measure.rpartition(":")[2]: load_own("measure", measure)} if measure else {},
        )
        seconds = time.perf_counter() - started
    try:
        if out is not None:
            storage.save_trace(trace, out)
        if json_file is not None:
            summary = record_of(problem, trace, seconds, method.target)
            write_whole("json", json_file, report.to_json(asdict(summary)).encode())
    finally:  # print the result even if the disk is full
        page = None
        if defaults is not None and (algorithm == "fpfc" or method.model_count(problem) == problem.clusters):
            page = compare(problem, trace)
        print(page or describe_run(problem, record_of(problem, trace, seconds, method.target)))
    if out is not None:
        print(f"stored in {out}")
    if plot is not None:
        _draw(page or trace, plot)
    return 0


def _draw(result: Page | Trace, path: Path) -> None:
    """Draw a run; an svg adapts to the viewer's theme."""
    from clusterproof.figures.files import file_content

    form = path.suffix.removeprefix(".")
    theme: Any = "both" if form == "svg" else "light"
    title = result.title if isinstance(result, Page) else ""
    write_whole("plot", path, file_content(result.plot(), form, title=title, theme=theme))
    print(f"drawn in {path}")


@contextmanager
def _naming(own: Mapping[str, str]) -> Iterator[None]:
    """Name the option of a user-supplied algorithm or measure, by its reference, in errors of its code and checks."""
    try:
        with naming_user_code(own):
            yield
    except InvalidArgument as error:
        section = error.argument.removesuffix(".name")
        if section not in own:
            raise
        raise InvalidArgument(section, own[section], error.rule, error.remedy) from error


def describe_run(task: Mixture, record: RunRecord) -> str:
    """Return the report of a run in several lines.

    Errors are medians over replicates; if every client has a separate model, also over the clients of a
    cluster.
    """
    settings = record.settings
    replicates = settings["replicates"] or 1
    name = settings["algorithm"]["algorithm"]
    parameters = ", ".join(
        f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
        for key, value in settings["algorithm"].items()
        if key != "algorithm" and value is not None
    )
    recovered = (
        f"recovered in {record.recovered} of {replicates} replicates"
        if replicates > 1
        else f"{'' if record.recovered else 'not '}recovered"
    )
    lines = [
        f"{name} on {settings['task']['task']}: {task.clusters} clusters, {task.clients} clients, "
        f"dimension {task.dimension}, condition number {task.condition_number:.4g}, "
        f"separation {task.separation:.4g}",
        parameters,
        f"{settings['rounds']} round{'s' * (settings['rounds'] != 1)}, {replicates} replicate{'s' * (replicates > 1)}, "
        f"seed {settings['seed']}, {record.seconds:.2f} s",
        "",
    ]
    if record.first_errors is None or record.last_errors is None:
        lines.append("the task does not know its optima: no errors")
    else:
        bound = "" if record.bound is None else f"  {'bound':>12}"
        lines.append(f"{record.rows}  {'first error':>12}  {'last error':>12}{bound}")
        for number, (first, last) in enumerate(zip(record.first_errors, record.last_errors, strict=True)):
            bound = "" if record.bound is None else f"  {record.bound[number]:>12.6g}"
            lines.append(f"{number:<{len(record.rows)}}  {first:>12.6g}  {last:>12.6g}{bound}")
    lines += [
        "",
        f"purity {record.purity:.4g}, adjusted Rand index {record.adjusted_rand_index:.4g}, clusters "
        f"{record.cluster_count:g} of {task.clusters}: the true clusters are {recovered}",
        record.remark,
    ]
    return "\n".join(lines)


def _declare_options() -> None:
    """Add the options of every task and algorithm to the signature of ``run``."""
    parameters = dict(inspect.signature(run).parameters)
    del parameters["options"]
    for name, known in (("algorithm", ALGORITHMS), ("task", TASKS)):
        more = f", or {HOW}" if name == "algorithm" else ""
        words = Parameter(help=f"One of {', '.join(known)}{more}.")
        kind = str if name == "algorithm" else str | None
        parameters[name] = parameters[name].replace(annotation=Annotated[kind, words])
    for option in synthetic_options.experiment_options():
        words = Parameter(
            help=f"{option.help} ({', '.join(option.owners)})",
            group=option.section.capitalize(),
            negative_iterable=(),
            converter=terminal.read_integer if option.annotation is int else None,
        )
        parameters[option.flag] = inspect.Parameter(
            option.flag,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[option.annotation | None, words],
        )
    vars(run)["__signature__"] = inspect.Signature(list(parameters.values()))
    run.__annotations__ |= {name: parameter.annotation for name, parameter in parameters.items()}


_declare_options()
