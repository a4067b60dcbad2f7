"""The command ``run``: run an algorithm, and print its page."""

from __future__ import annotations

import inspect
import textwrap
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
from clusterproof.commands.run_record import record_of
from clusterproof.experiments import synthetic_options
from clusterproof.experiments.run_defaults import PAGES, make_algorithm
from clusterproof.neural.custom.references import HOW, is_own, load_own, naming_user_code
from clusterproof.synthetic import TASKS
from clusterproof.theory.claims import report
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
    verbose: Annotated[bool, Parameter(negative=())] = False,
    plot: Path | None = None,
    **options: Any,
) -> int:
    """Run an algorithm on a synthetic task whose optima are known.

    Parameters
    ----------
    algorithm
        Name of an algorithm, such as cfl-mgd or ifca, or of a class of your own, as FILE.py:NAME or MODULE:NAME.
    task
        Name of a task, such as regression, quadratic, logistic or log-cosh; by default quadratic, and regression for
        cfl-mgd, ifca, gradient-loss and a class of your own.
    rounds
        Number of communication rounds; 50, and with the default task 25 for gradient-loss, 60 for cfl-mgd, sofl and
        proxskip, 100 for fedavg, fedprox, scaffold, fedlin, per-fedavg, fedbcd and local, 120 for ifca, 150 for cfl and
        300 for fpfc.
    seed
        Seed of the task and of the run.
    replicates
        Independent repetitions; with the default task 500 for cfl-mgd, ifca and proxskip, all from one start, and 40
        for gradient-loss.
    out
        New folder for the trace and its settings.
    json_file
        Write settings, errors, bound and clustering as JSON.
    record
        Fields of the algorithm's state to store after every round, separated by commas; needs --out.
    measure
        A function of (state, task) to evaluate and store after every round, as FILE.py:NAME or MODULE:NAME; needs
        --out.
    verbose
        After the page of the run, print all of its theorems, including those that take longer.
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
        drawn_by = None if defaults is None else defaults.start
        start = drawn_by(method, problem, seed, replicates) if drawn_by else None
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
        page = compare(problem, trace)
        print(page)
        for theorem in (*page.theorems, *page.further()) if verbose else ():
            words = textwrap.indent(textwrap.fill(theorem.words, 76), "    ")
            print(f"\n{theorem.claim}", words, sep="\n")
    if out is not None:
        print(f"stored in {out}")
    if plot is not None:
        _draw(page, plot)
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
