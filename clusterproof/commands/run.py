"""The command ``run``: run an algorithm, and print its page."""

from __future__ import annotations

import inspect
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter

from clusterproof import algorithms
from clusterproof.algorithms import ALGORITHMS, InvalidArgument, storage
from clusterproof.algorithms.atomic import check_writable, write_whole
from clusterproof.algorithms.validation import check_count, check_seed
from clusterproof.commands import terminal
from clusterproof.commands.run_record import record_of
from clusterproof.experiments import synthetic_options
from clusterproof.neural.custom.references import HOW, is_own, load_own, naming_user_code
from clusterproof.synthetic import TASKS, Mixture, QuadraticMixture, RegressionMixture
from clusterproof.theory.checker import report
from clusterproof.theory.runs.compare import compare

REGRESSION: dict[str, Any] = {
    "clusters": 3,
    "clients": 100,
    "dimension": 20,
    "condition_number": 4.0,
    "separation": 1.6,
    "noise": 0.2,
    "samples": 10_000,
    "proportions": ["5,3,2"],
}
"""With a separation of 2 the optima would be longer than 1, which Theorem 1 of CFL-MGD excludes, with 100 samples noise
would cover the linear phase, and equal shares would hide the smallest one."""

QUADRATIC: dict[str, Any] = {
    "clusters": 4,
    "clients": 40,
    "dimension": 5,
    "condition_number": 4.0,
    "separation": 4.0,
    "spread": 0.05,
    "local_steps": 10,
    "strength": 1.0,
    "smoothing": 0.5,
    "concavity": 3.7,
    "augmentation": 10.0,
    "threshold": 0.5,
}
"""FPFC's groups are found, and the conditions of its Theorem 1 met; with 3 local steps they are, too, and C_1 < 0."""

ONE_MODEL: dict[str, Any] = {
    "clusters": 3,
    "clients": 100,
    "dimension": 20,
    "condition_number": 4.0,
    "separation": 1.6,
    "proportions": ["5,3,2"],
    "local_steps": 5,
    "step_size": 0.1,
}
"""Hessians that differ, so that clients drift in several local steps; L = 1."""

SKIPPING = ONE_MODEL | {"clients": 20, "dimension": 5, "step_size": 0.5, "probability": 0.5}
"""Small, as the rates of ProxSkip are about a mean over many runs; its models decide them, not its controls."""


PERSONAL: dict[str, Any] = {
    "clusters": 3,
    "clients": 30,
    "dimension": 5,
    "condition_number": 4.0,
    "separation": 2.0,
    "spread": 0.3,
}
"""Clients' Hessians and minimisers differ, so that each method rests at a point of its own."""

CUT: dict[str, Any] = {
    "clusters": 3,
    "clients": 30,
    "dimension": 5,
    "separation": 4.0,
    "step_size": 0.5,
    "warm_up": 60,
}
"""With the Hessian I and equal clients in a cluster the pooled model is at rest before the first cut, as is supposed
where cosines are stated."""

MAP: dict[str, Any] = {
    "clusters": 4,
    "clients": 24,
    "dimension": 5,
    "condition_number": 4.0,
    "separation": 4.0,
    "spread": 0.2,
}
"""Clients of a cluster differ, but less than clusters do, so that the map has something to do and finds them."""

RACE: dict[str, Any] = {
    "clusters": 4,
    "clients": 40,
    "dimension": 20,
    "separation": 1.0,
    "noise": 0.5,
    "samples": 20,
    "step_size": 0.1,
    "empty_cluster": "when-empty",
}
"""The setting in which GL-CFL was compared with IFCA: the models start far from the optima, about Delta apart."""

Start = Callable[[Any, Mixture, int, int | None], np.ndarray | None]
"""Starting models, from the algorithm, the task, the seed and the number of replicates; None for the task's own."""


@dataclass(frozen=True)
class Defaults:
    """Defaults of a run: they hold for one task."""

    task: str
    rounds: int
    replicates: int | None
    settings: Mapping[str, Any]
    start: Start | None = None


def one_start(method: Any, task: Mixture, seed: int, _: int | None) -> np.ndarray:
    """Return one start of all replicates, (P, d)."""
    return np.asarray(algorithms.run(method, task, rounds=0, seed=seed).models[0])


def starts_apart(method: Any, task: Mixture, seed: int, replicates: int | None) -> np.ndarray | None:
    """Draw models about Delta from a regression's pooled optimum and from each other, (replicates, P, d)."""
    if not isinstance(task, RegressionMixture):
        return None
    shape = (*(() if replicates is None else (replicates,)), method.model_count(task), task.dimension)
    drawn = algorithms.generator(seed, "run", "starts").standard_normal(shape)
    separation = task.separation if task.clusters > 1 else 1.0
    return np.asarray(task.pooled_optimum + separation * drawn / np.sqrt(task.dimension))


PAGES = {
    "cfl-mgd": Defaults("regression", 60, 500, REGRESSION, one_start),
    "ifca": Defaults("regression", 120, 500, REGRESSION, one_start),
    "fpfc": Defaults("quadratic", 300, None, QUADRATIC),
    "per-fedavg": Defaults("quadratic", 100, None, PERSONAL),
    "fedbcd": Defaults("quadratic", 100, None, PERSONAL),
    "local": Defaults("quadratic", 100, None, PERSONAL),
    "gradient-loss": Defaults("regression", 25, 40, RACE, starts_apart),
    "cfl": Defaults("quadratic", 150, None, CUT),
    "sofl": Defaults("quadratic", 60, None, MAP),
    "fedavg": Defaults("quadratic", 100, None, ONE_MODEL, one_start),
    "fedprox": Defaults("quadratic", 100, None, ONE_MODEL, one_start),
    "scaffold": Defaults("quadratic", 100, None, ONE_MODEL, one_start),
    "fedlin": Defaults(
        "quadratic", 100, None, ONE_MODEL | {"step_size": 1 / 30}, one_start
    ),  # 1 / (6 L K), as printed
    "proxskip": Defaults("quadratic", 60, 500, SKIPPING, one_start),
}
"""Algorithms with a default task of their own."""


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
    for option, value in (("record", record), ("measure", measure)):
        if value and out is None:
            raise InvalidArgument(option, value, "is stored next to the trace", "add --out FOLDER")
    own = {"algorithm": algorithm} if is_own("algorithm", algorithm) else {}
    own |= {"measure": measure} if measure else {}
    with terminal.progress(rounds) as advance, np.errstate(all="ignore"), _naming(own):
        advance(0, f"drawing the {task} task")
        problem = synthetic_options.make_task(task, given, seed)
        if algorithm == "fpfc" and isinstance(problem, QuadraticMixture) and given.get("augmentation", 0) > 0:
            # the largest step that Theorem 1 allows for convex losses
            given.setdefault("step_size", 1 / (problem.client_smoothness + 2 * given["augmentation"]))
        method = synthetic_options.make_algorithm(algorithm, given, problem)
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
    return 0


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
