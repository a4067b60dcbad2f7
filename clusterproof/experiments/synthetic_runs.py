"""Tasks and algorithms from options, for `clusterproof run`, sweeps and figures."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from functools import cache
from typing import Any, get_type_hints

import numpy as np

from clusterproof import running
from clusterproof.algorithms import ALGORITHMS, Algorithm
from clusterproof.common import InvalidArgument
from clusterproof.common.limits import total_memory
from clusterproof.common.validation import check_name
from clusterproof.experiments.run_defaults import Start, defaults_of
from clusterproof.neural.custom.references import is_own, own_algorithm
from clusterproof.running import Trace
from clusterproof.synthetic import TASKS, Mixture, QuadraticMixture

TASK_DEFAULTS = {"clusters": 2, "clients": 40, "dimension": 20}
"""Default values for the task parameters that have no default in Python."""

ALGORITHM_DEFAULTS = {"momentum": 0.5}
"""Default values for the algorithm parameters that have no default in Python.

``step_size`` is not included, because its default depends on the task.
"""

WORDS = {
    "clusters": "Number of true clusters (P), and of models unless --models says otherwise.",
    "clients": "Number of clients (m).",
    "dimension": "Number of parameters of a model (d).",
    "noise": "Size of the noise, at least 0: deviation of a target (s), or for log-cosh of a row's gradient (nu).",
    "proportions": "Each cluster's share of the clients (l_p), as 0.6,0.4; equal by default.",
}


@cache
def task_parameters(task: str) -> dict[str, Any]:
    """Return the types of all arguments of a task's ``random`` except the seed, indexed by option."""
    hints = get_type_hints(TASKS[task].random)
    names = [name for name in inspect.signature(TASKS[task].random).parameters if name != "seed"]
    return {name: list[float] if name == "proportions" else hints[name] for name in names}


def algorithm_class(name: str) -> type[Algorithm[Any]]:
    """Return the algorithm with the given name in ``ALGORITHMS``, or the user's class with the given reference.

    Raises
    ------
    InvalidArgument
        If the name is unknown, or the user's class cannot be imported or is not an algorithm.
    """
    if name not in ALGORITHMS and is_own("algorithm", name):
        try:
            return own_algorithm(name)
        except InvalidArgument as error:
            raise InvalidArgument("algorithm", error.value, error.rule, error.remedy) from error
    check_name("algorithm", name, list(ALGORITHMS))
    return ALGORITHMS[name]


@cache
def algorithm_parameters(algorithm: str) -> dict[str, Any]:
    """Return the types of an algorithm's parameters, indexed by option."""
    kind = algorithm_class(algorithm)
    hints = get_type_hints(kind)
    return {option_of(field.name): hints[field.name] for field in fields(kind) if field.init}


def owners() -> dict[str, tuple[str, ...]]:
    """For each option, return the names of the tasks and algorithms that have the option."""
    found: dict[str, tuple[str, ...]] = {}
    for names, parameters in ((TASKS, task_parameters), (ALGORITHMS, algorithm_parameters)):
        for name in names:
            for option in parameters(name):
                found[option] = (*found.get(option, ()), name)
    return found


def check_options(algorithm: str, task: str, options: Mapping[str, Any]) -> None:
    """Raise ``InvalidArgument`` unless the names are known and every option belongs to the algorithm or task.

    Raises
    ------
    InvalidArgument
        If a name or an option is unknown. The message suggests similar names, or names tasks and algorithms with the
        option.
    """
    algorithm_class(algorithm)
    check_name("task", task, list(TASKS))
    known = {**task_parameters(task), **algorithm_parameters(algorithm)}
    for option in options:
        if option not in known:
            rule = f"is not an option of {algorithm} on the {task} task"
            others = owners().get(option, ())
            remedy = f"leave it out or choose {' or '.join(others)}" if others else "leave it out"
            raise InvalidArgument(option, options[option], rule, remedy)


def make_task(name: str, options: Mapping[str, Any], seed: int) -> Mixture:
    """Draw a task.

    Parameters
    ----------
    name
        One of ``TASKS``.
    options
        Options that ``check_options`` accepts. Options of algorithms are ignored.
    seed
        Seed of the task.

    Raises
    ------
    InvalidArgument
        If an option is out of range.
    """
    known = task_parameters(name)
    arguments = {**TASK_DEFAULTS, **{key: value for key, value in options.items() if key in known}}
    try:
        with np.errstate(all="ignore"):
            task = TASKS[name].random(**arguments, seed=seed)
            extent = [task.smoothness, 1 / task.strong_convexity, task.diameter, *np.ravel(task.optima)]
        if np.isfinite(extent).all():
            return task
        reason = "the task's optima or curvature overflow"
    except InvalidArgument as error:
        if error.argument in arguments or error.argument == "seed":
            raise
        reason = error.rule
    except (ArithmeticError, np.linalg.LinAlgError) as error:
        reason = str(error)
    # options that are valid separately may together exceed the range of float64
    numbers = {key: value for key, value in arguments.items() if isinstance(value, float)}
    extreme = max(numbers, key=lambda key: abs(np.log(abs(numbers[key]) + 1e-320)), default="task")
    rule = f"is too extreme for a {name} task in double precision ({reason})"
    raise InvalidArgument(extreme, numbers.get(extreme, name), rule, "use a value nearer to 1")


def make_algorithm(name: str, options: Mapping[str, Any], task: Mixture) -> Algorithm[Any]:
    """Make an algorithm for a task.

    Parameters
    ----------
    name
        One of ``ALGORITHMS``, or the name of a user's class.
    options
        Options that ``check_options`` accepts. Options of tasks are ignored.
    task
        Task for the algorithm, which determines the default step size, see ``default_step_size``.

    Raises
    ------
    InvalidArgument
        If an option is out of range, or a required option is missing.
    """
    cls = algorithm_class(name)
    arguments: dict[str, Any] = {}
    for field in fields(cls):
        option = option_of(field.name)
        if option in options:
            arguments[field.name] = options[option]
        elif has_default(field) or not field.init:
            continue  # keep a default that the class defines
        elif field.name == "step_size":
            augmentation = options.get("augmentation", getattr(cls, "augmentation", 0.0))
            arguments[field.name] = default_step_size(task, augmentation)
        elif field.name in ALGORITHM_DEFAULTS:
            arguments[field.name] = ALGORITHM_DEFAULTS[field.name]
        else:
            raise InvalidArgument(option, None, f"must be given for {name}", "add it to the command")
    try:
        algorithm = cls(**arguments)
        algorithm.model_count(task)
    except InvalidArgument as error:
        if error.argument != "clusters":
            raise
        raise InvalidArgument("models", error.value, error.rule, error.remedy) from error
    return algorithm


def default_step_size(task: Mixture, augmentation: float = 0.0) -> float:
    """Return 1 / L. For FPFC, L includes the augmentation, which increases the curvature of the local objectives.

    On quadratics, it is the largest step size that FPFC's Theorem 1 allows for convex losses.
    """
    if not 0 < augmentation < np.inf:
        return 1 / task.smoothness
    if isinstance(task, QuadraticMixture):
        return 1 / (task.client_smoothness + 2 * augmentation)
    return 1 / (task.smoothness + augmentation)


def run_with(
    name: str,
    seed: int,
    settings: Mapping[str, Any],
    *,
    task: str | None = None,
    rounds: int | None = None,
    replicates: int | None = None,
    start: Start | None = None,
) -> tuple[Mixture, Trace]:
    """Return the task and the run of ``clusterproof run NAME``, with some settings replaced.

    Parameters
    ----------
    name, seed
        Name of the algorithm, and seed of the task and the run.
    settings
        Options of the task and of the algorithm that replace the defaults.
    task, rounds, replicates
        See ``clusterproof run``. The defaults are the same as for the algorithm's page.
    start
        Initial models. The default is the same as for the algorithm's page.

    Raises
    ------
    InvalidArgument
        If an option is out of range, or a required option is missing.
    """
    defaults = defaults_of(name, task)
    settings = defaults.with_settings(settings)
    problem = make_task(defaults.task, settings, seed)
    algorithm = make_algorithm(name, settings, problem)
    replicates = defaults.replicates if replicates is None else replicates
    start = start or defaults.start
    trace = running.run(
        algorithm,
        problem,
        rounds=defaults.rounds if rounds is None else rounds,
        seed=seed,
        replicates=replicates,
        initial=start(algorithm, problem, seed, replicates) if start else None,
    )
    return problem, trace


def check_memory(
    algorithm: str, task: str, options: Mapping[str, Any], rounds: int, replicates: int | None
) -> None:
    """Raise ``InvalidArgument``, before the run, if memory does not suffice.

    The estimate is a lower bound: twice the size of the trace, plus the largest array of a round.

    Raises
    ------
    InvalidArgument
        If memory does not suffice. The message names the setting with the largest effect.
    """
    sizes = {
        **TASK_DEFAULTS,
        "samples": 1,
        "support": 1,
        **{key: value for key, value in options.items() if isinstance(value, int)},
        "rounds": rounds,
        "replicates": replicates or 1,
    }
    clients, dimension, clusters = (sizes[name] for name in ("clients", "dimension", "clusters"))
    target = algorithm_class(algorithm).target
    models = {"pooled": 1, "clients": clients}.get(target, sizes.get("models", clusters))
    runs = sizes["replicates"]
    record = 2 * runs * ((rounds + 1) * models * (dimension + 1) * 8 + rounds * clients * 2)
    per_round = 8 * runs * clients * models
    data = TASKS[task].numbers_held(sizes)
    if options.get("sampling") == "direct":
        per_round += 8 * runs * clients * sizes["samples"] * dimension
    elif options.get("data") == "fixed":
        data += clients * min(sizes["samples"], dimension + 1) * dimension + sizes["samples"] * dimension
    needed, present = record + per_round + 8 * data, total_memory()
    if needed > present:
        largest = max(
            (name for name in sizes if name not in ("models", "samples", "support") or name in options),
            key=lambda name: sizes[name],
        )
        raise InvalidArgument(
            largest,
            sizes[largest],
            f"needs at least {needed / 2**30:.3g} GiB of memory; this machine has {present / 2**30:.3g}",
            "use a smaller value, or fewer rounds, replicates, clients, clusters or dimensions",
        )


def has_default(parameter: Field[Any]) -> bool:
    """Return whether a class defines a default for a parameter."""
    return parameter.default is not MISSING or parameter.default_factory is not MISSING


def option_of(parameter: str) -> str:
    """Return the option for an algorithm's parameter.

    ``clusters`` becomes ``models``, because tasks also have clusters.
    """
    return "models" if parameter == "clusters" else parameter
