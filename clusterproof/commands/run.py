"""The command ``run``: run an algorithm, and print its page."""

from __future__ import annotations

import inspect
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from cyclopts import App, Group, Parameter

from clusterproof import running
from clusterproof.algorithms import ALGORITHMS
from clusterproof.commands import terminal
from clusterproof.commands.child_process import in_child
from clusterproof.commands.options import option, options_of
from clusterproof.common import InvalidArgument
from clusterproof.common.atomic import write_whole
from clusterproof.common.options import parameter_descriptions
from clusterproof.common.validation import check_count, check_seed
from clusterproof.experiments import synthetic_runs
from clusterproof.experiments.run_defaults import PAGES, defaults_of
from clusterproof.neural.custom.references import HOW, is_own, load_own, naming_user_code, require_name
from clusterproof.running import storage
from clusterproof.synthetic import TASKS

app = App(
    name="run",
    help=f"Run an algorithm, or a class of your own ({HOW}), on a synthetic task whose optima are known.",
)


FIRST = {
    *("task", "rounds", "seed", "replicates", "out", "json", "csv", "plot", "help_all"),
    *("step_size", "momentum", "local_steps", "participation", "proximal", "penalty", "strength", "weight"),
    *("clusters", "clients", "dimension", "condition_number", "separation", "noise", "samples"),
}
"""Options of algorithms that ``--help`` shows; ``--help-all`` shows all options."""


def run_algorithm(
    algorithm: str,
    given: Mapping[str, Any],
    *,
    task: Literal[tuple(TASKS)] | None = None,  # type: ignore[valid-type]  # the tasks are found at run time
    rounds: int | None = None,
    seed: int = 0,
    replicates: int | None = None,
    out: Path | None = None,
    json: Path | None = None,
    record: str = "",
    measure: str | None = None,
    verbose: bool = False,
    plot: Path | None = None,
    csv: Path | None = None,
    help_all: bool = False,
) -> int:
    """Run an algorithm on a task, and print its page.

    Parameters
    ----------
    algorithm
        Name of an algorithm, or of the user's own class.
    given
        Settings of the algorithm and of the task.
    task
        Name of the task.
    rounds
        Number of communication rounds.
    seed
        Seed of the task and of the run.
    replicates
        Number of independent runs; one by default.
    out
        New folder for the trace and its settings.
    json
        Write settings, errors, bound, clustering and all facts of the page as JSON.
    record
        Fields of the algorithm's state to store after every round, separated by commas; needs --out.
    measure
        A function of (state, task) to evaluate and store after every round, as FILE.py:NAME or MODULE:NAME; needs
        --out.
    verbose
        After the page, also print theorems that take longer, every hypothesis, and the meaning of every symbol.
    plot
        Draw the errors of the run and the bounds of its theorems, as svg, pdf or png.
    csv
        Write the error of each model after each round as CSV.
    help_all
        Show the help with every option.
    """
    if help_all:
        _alone(algorithm, everything=True).help_print(["run", algorithm])
        return 0
    from clusterproof.checker.report import tables as report
    from clusterproof.commands.run_record import record_of  # help does not need the theory
    from clusterproof.theory.pages.compare import compare

    defaults = defaults_of(algorithm, task)
    task = defaults.task
    synthetic_runs.check_options(algorithm, task, given)
    settings = defaults.with_settings(given)
    rounds = defaults.rounds if rounds is None else rounds
    replicates = defaults.replicates if replicates is None else replicates
    check_count("rounds", rounds, at_least=0, remedy="give the number of communication rounds")
    check_seed(seed)
    if replicates is not None:
        check_count("replicates", replicates, at_least=1, remedy="leave it out for a single run")
    synthetic_runs.check_memory(algorithm, task, settings, rounds, replicates)
    in_child("measure", measure)
    terminal.check_outputs(out=out, json=json, plot=plot, csv=csv)
    if out is not None:
        storage.check_destination(out)
    for argument, value in (("record", record), ("measure", measure)):
        if value and out is None:
            raise InvalidArgument(argument, value, "is stored in the folder of the trace", "add --out FOLDER")
    own = {"algorithm": algorithm} if is_own("algorithm", algorithm) else {}
    own |= {"measure": measure} if measure else {}
    with terminal.progress(rounds) as advance, np.errstate(all="ignore"), _naming(own):
        advance(0, f"drawing the {task} task")
        problem = synthetic_runs.make_task(task, settings, seed)
        method = synthetic_runs.make_algorithm(algorithm, settings, problem)
        advance(0, algorithm)
        started = time.perf_counter()
        start = defaults.start(method, problem, seed, replicates) if defaults.start else None
        trace = running.run(
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
    page = None
    try:
        if out is not None:
            storage.save_trace(trace, out)
        page = compare(problem, trace)
        if json is not None:
            record_of_run = record_of(problem, trace, seconds, method.target, page)
            write_whole("json", json, report.to_json(record_of_run).encode())
        if csv is not None:
            storage.write_tables(trace.frame(), csv=csv)
    finally:  # print the result even if the disk is full
        page = compare(problem, trace) if page is None else page
        print(page.verbose() if verbose else page)
    if out is not None:
        print(f"stored in {out}")
    if plot is not None:
        from clusterproof.figures.files import file_content

        write_whole("plot", plot, file_content(page.plot(), plot.suffix.removeprefix("."), alt=page.title))
        print(f"drawn in {plot}")
    return 0


@contextmanager
def _naming(own: Mapping[str, str]) -> Iterator[None]:
    """In errors of a user's algorithm or measure, state the option and, as its value, the reference of the code."""
    try:
        with naming_user_code(own):
            yield
    except InvalidArgument as error:
        section = error.argument.removesuffix(".name")
        if section not in own:
            raise
        raise InvalidArgument(section, own[section], error.rule, error.remedy) from error


def _alone(algorithm: str, *, everything: bool = False) -> App:
    """Return a command line whose only command runs this algorithm."""
    own, runs = App(name="clusterproof", help_format="markdown"), App(name="run")
    own.command(runs)
    add_command(runs, algorithm, everything=everything)
    return own


def add_command(to: App, name: str, *, everything: bool = False) -> None:
    """Add the command that runs an algorithm, with options of its class, of tasks, and of every run.

    Its help shows the options in ``FIRST``, or all options.
    """
    common = {each.name: each for each in options_of(run_algorithm, _defaults_of_runs(name))}
    known = {**common, **{each.name: each for each in _settings_of(name)}}

    def command(**values: Any) -> int:
        settings = {key: value for key, value in values.items() if key not in common}
        return run_algorithm(name, settings, **{key: values[key] for key in common if key in values})

    documented = inspect.getdoc(synthetic_runs.algorithm_class(name)) or ""
    command.__doc__ = documented.partition("\n")[0]
    vars(command)["__signature__"] = inspect.Signature(list(known.values()))
    shown = FIRST if name in ALGORITHMS else FIRST | set(synthetic_runs.algorithm_parameters(name))
    command.__annotations__ = {
        key: Annotated[parameter.annotation, Parameter(show=everything or key in shown)]
        for key, parameter in known.items()
    }
    to.command(command, name=name)


def _defaults_of_runs(name: str) -> dict[str, str]:
    """Return the help of the options whose defaults depend on the algorithm."""
    page = defaults_of(name)
    on_task = f"by default on the {page.task} task, else"
    words = {"task": f"Name of the task; {page.task} by default."}
    words["rounds"] = (
        f"Communication rounds; {page.rounds} {on_task} 50."
        if name in PAGES
        else "Communication rounds; 50 by default."
    )
    if page.replicates is not None:
        words["replicates"] = f"Number of independent runs; {page.replicates} {on_task} one."
    return words


def _settings_of(name: str) -> Iterator[inspect.Parameter]:
    """Yield the parameters of an algorithm's class and of all tasks, with the defaults of a run."""
    page, kind = defaults_of(name), synthetic_runs.algorithm_class(name)
    texts = parameter_descriptions(kind)
    step_size = "1 / (L + 2 rho) on quadratics, else 1 / (L + rho)" if name == "fpfc" else "1 / L of the task"
    usual = {"step_size": step_size, **synthetic_runs.ALGORITHM_DEFAULTS, **page.settings}
    group = Group("Algorithm", sort_key=1)
    for field in fields(kind):
        if not field.init:
            continue
        key = synthetic_runs.option_of(field.name)
        default = None if field.default is MISSING else field.default
        if key in page.settings or not synthetic_runs.has_default(field):
            default = usual.get(key, default)
        annotation = synthetic_runs.algorithm_parameters(name)[key]
        yield option(key, annotation, default, texts.get(field.name, ""), group)
    group = Group("Task", help=f"Defaults are for {page.task}.", sort_key=2)
    usual = {**synthetic_runs.TASK_DEFAULTS, **page.settings}
    owners: dict[str, list[str]] = {}
    for name in (page.task, *(other for other in TASKS if other != page.task)):
        for key in synthetic_runs.task_parameters(name):
            owners.setdefault(key, []).append(name)
    for key, (first, *others) in owners.items():
        task, default = TASKS[first], inspect.signature(TASKS[first].random).parameters[key].default
        # ``random`` may refer to its class
        text = {
            **parameter_descriptions(task),
            **parameter_descriptions(task.random),
            **synthetic_runs.WORDS,
        }[key]
        if len(others) + 1 < len(TASKS):
            text = f"{text} ({', '.join(sorted([first, *others]))})"
        annotation = synthetic_runs.task_parameters(first)[key]
        yield option(key, annotation, usual.get(key, default), text, group)


for _name in ALGORITHMS:
    add_command(app, _name)


@app.default
def run_own(
    algorithm: Annotated[str, Parameter(help=f"Name of an algorithm, or of a class of your own, {HOW}.")],
    *options: Annotated[str, Parameter(allow_leading_hyphen=True, show=False)],
) -> Any:
    """Run the user's own class."""
    in_child("algorithm", algorithm)
    require_name("algorithm", algorithm)
    synthetic_runs.algorithm_class(algorithm)
    tokens = ["run", algorithm, *options]
    how: Any = {"exit_on_error": False, "print_error": False, "result_action": "return_value"}
    return _alone(algorithm)(tokens, **how)
