"""The command ``train``: train networks from options or a file, or resume a stored run."""

from __future__ import annotations

import inspect
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args

from cyclopts import Parameter

from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.options import Option
from clusterproof.algorithms.validation import check_count
from clusterproof.commands import terminal
from clusterproof.commands.train_seeds import train_seeds
from clusterproof.neural.custom.references import HOW, OWN, is_own
from clusterproof.neural.runs.configuration import (
    NAMES,
    Configuration,
    configuration_from,
    located,
    read_sections,
    refuse_code,
    user_code_names,
)
from clusterproof.neural.runs.options import SECTIONS, all_options, parameters
from clusterproof.neural.runs.report import describe_training, metrics_text
from clusterproof.neural.runs.resumption import CHANGEABLE
from clusterproof.neural.runs.storage.run_folder import (
    CHECKPOINTS,
    CONFIGURATION,
    stored_configuration,
)
from clusterproof.neural.runs.training import TrainingResult
from clusterproof.neural.runs.training import train as carry_out


def train(
    *,
    config: Path | None = None,
    resume: Path | None = None,
    out: Path | None = None,
    seeds: terminal.OptionalInteger = None,
    jobs: terminal.OptionalInteger = None,
    dask: str | None = None,
    slurm: terminal.OptionalInteger = None,
    plot: Path | None = None,
    **options: Any,
) -> int:
    """Train networks on data divided among clients.

    Exit status: 0 when all rounds are done, 2 for bad input, 130 when interrupted; finished rounds are kept.

    Parameters
    ----------
    config
        TOML file with a configuration, such as the configuration.toml of another run; other options override it.
        User-supplied code that it names is named on the command line, too.
    resume
        Folder of a run to resume; the results are bitwise those of an uninterrupted run. User-supplied code is named
        again.
    out
        New folder for checkpoints, metrics and configuration; by default the first free one of training-1,
        training-2 and so on.
    seeds
        Number of seeds, starting with --seed, each trained in a folder of --out. Prints a table of means and
        standard deviations of the metrics; rerun the command to resume.
    jobs
        With --seeds: parallel processes; by default as many as the cores allow with --threads each, or one per GPU.
    dask
        With --seeds: address of a Dask scheduler; its workers, on a shared file system, train the seeds.
    slurm
        With --seeds: number of SLURM jobs that train the seeds.
    plot
        With --seeds: file for a figure of the metrics round by round, png, svg or pdf; bands are one standard
        deviation.
    """
    given = {flag: value for flag, value in options.items() if value is not None}
    _check_seeds(seeds, resume, {"jobs": jobs, "dask": dask, "slurm": slurm, "plot": plot})
    configuration, translate = _configure(config, resume, out, given)
    folder = resume or out or _free_folder()
    if resume is None and out is None:
        terminal.complain(f"no --out was given: the run is stored in {folder}")
    if seeds is not None:
        options_to_resume = () if out is not None else ("--out", str(folder))
        return train_seeds(configuration, seeds, folder, jobs, dask, slurm, plot, *options_to_resume)
    rows: list[Mapping[str, Any]] = []
    result: TrainingResult | None = None
    words = "training"

    def advance(row: Mapping[str, Any]) -> None:
        nonlocal words
        rows.append(row)
        words = metrics_text(row) or words
        show(row["round"], words)

    rounds = configuration.training.rounds
    names = user_code_names(configuration).items()
    code = "".join(f" --{section} {name}" for section, name in names if is_own(section, name))
    command = f"clusterproof train --resume {folder}{code}"
    try:
        with terminal.progress(rounds, lines="rounds") as show, _deferred_interrupt() as stop:
            show(0, "getting ready")
            result = carry_out(
                configuration,
                out=folder,
                resume=resume is not None,
                progress=advance,
                stop=stop,
            )
    except InvalidArgument as error:
        raise translate(error) from error
    except KeyboardInterrupt:
        if not list((folder / CHECKPOINTS).glob("*.json")):
            raise
        terminal.complain(f"interrupted; run `{command}` to resume from the last checkpoint")
        return 130
    finally:  # print the metrics even if the disk is full
        if result is not None or rows:
            print(describe_training(configuration, rows, result))
    for remark in result.remarks:
        terminal.complain(remark)
    print(f"stored in {folder}")
    if not result.complete:
        done = result.metrics["round"][-1]
        terminal.complain(f"interrupted after round {done}; run `{command}` to resume")
        return 130
    return 0


def _check_seeds(seeds: int | None, resume: Path | None, others: Mapping[str, object]) -> None:
    """Reject options that cannot be combined with --seeds or that need it."""
    if seeds is not None:
        check_count("seeds", seeds, at_least=1, at_most=10_000, remedy="give a number of seeds")
        if resume is not None:
            rule = "does not go with --resume"
            raise InvalidArgument("seeds", seeds, rule, "rerun the command with --out to resume")
    for name, value in others.items():
        if seeds is None and value is not None:
            raise InvalidArgument(name, value, "asks for --seeds", "add --seeds, or leave it out")


def _configure(
    config: Path | None, resume: Path | None, out: Path | None, given: Mapping[str, Any]
) -> tuple[Configuration, Callable[[InvalidArgument], InvalidArgument]]:
    """Return the configuration and a function that adds the source of an error to its message."""
    flags = {(option.section, option.key): option.flag for option in all_options()}
    flags |= {(section, "name"): section for section in NAMES}
    keys = {flag: key for key, flag in flags.items()}
    if resume is not None:
        for name, value in (("config", config), ("out", out)):
            if value is not None:
                rule = "does not go with --resume, which continues a run in its own folder"
                raise InvalidArgument(name, str(value), rule, "leave it out")
        code = {name: value for name, value in given.items() if is_own(name, str(value))}
        _allow_changeable({name: value for name, value in given.items() if name not in code})
        sections, source = stored_configuration(resume, code=code).sections, resume / CONFIGURATION
    elif config is not None:
        sections, source = read_sections(config), config
    else:
        sections, source = {}, None

    def translate(error: InvalidArgument) -> InvalidArgument:
        section, _, key = error.argument.partition(".")
        flag = flags.get((section, key))
        if flag is not None and (source is None or flag in given):
            return InvalidArgument(flag, error.value, error.rule, error.remedy)
        if source is not None and (key or section in SECTIONS or section in sections) and source.is_file():
            return located(error, source)
        return error

    try:
        if config is not None:
            refuse_code({section: table for section, table in sections.items() if section not in given})
        dropped = _leave_out(sections, given)
        for flag, value in given.items():
            section, key = keys[flag]
            table = sections.setdefault(section, {})
            if isinstance(table, dict):
                table[key] = _numbers(flag, value) if isinstance(value, str) and flag in _LISTS else value
        configuration = configuration_from(sections)
    except InvalidArgument as error:
        raise translate(error) from error
    for name, left_out in dropped.items():
        terminal.complain(f"left out of {source}, as {name} has no such parameter: {', '.join(left_out)}")
    return configuration, translate


def _free_folder() -> Path:
    """Return the first of training-1, training-2, ... that does not exist."""
    return next(path for number in count(1) if not (path := Path(f"training-{number}")).exists())


def _allow_changeable(given: Mapping[str, Any]) -> None:
    """Reject options that may not be combined with --resume."""
    for flag, value in given.items():
        if flag not in CHANGEABLE:
            names = ", ".join("--" + name.replace("_", "-") for name in CHANGEABLE)
            remedy = f"leave it out; {names} may be combined with it"
            raise InvalidArgument(flag, value, "does not go with --resume", remedy)


def _leave_out(sections: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, list[str]]:
    """Remove, and return by the new name, parameters of a file whose owner an option replaces."""
    dropped: dict[str, list[str]] = {}
    for section in ("partition", "network", "algorithm"):
        name, table = str(given.get(section)), sections.get(section)
        is_known = name in SECTIONS[section] or is_own(section, name)
        if is_known and isinstance(table, dict) and name != table.get("name", NAMES[section]):
            known = parameters(section, name)
            dropped[name] = [key for key in table if key != "name" and key not in known]
            for key in dropped[name]:
                del table[key]
    return {name: keys for name, keys in dropped.items() if keys}


def _numbers(flag: str, text: str) -> list[int]:
    """Return the integers of a comma-separated text; an empty list for an empty text."""
    try:
        return [int(part) for part in text.split(",")] if text.strip() else []
    except ValueError as error:
        rule = "must be whole numbers separated by commas"
        raise InvalidArgument(flag, text, rule, "write it as 64,32") from error


@contextmanager
def _deferred_interrupt() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether Ctrl-C was pressed; a second one interrupts immediately."""
    interrupted = False

    def defer(*_: object) -> None:
        nonlocal interrupted
        interrupted = True
        signal.signal(signal.SIGINT, before)
        terminal.complain("finishing the round; press Ctrl-C again to stop immediately")

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.signal(signal.SIGINT, defer)
    try:
        yield lambda: interrupted
    finally:
        signal.signal(signal.SIGINT, before)


def _annotation(option: Option) -> Any:
    """Return the type of an option on the command line; ranges and choices are checked with the configuration."""
    text = f"{option.help} ({', '.join(option.owners)})" if option.owners else option.help
    words = Parameter(help=text, group=option.section.capitalize(), negative="")
    kind = str if option.flag in _LISTS else _plain_type(option.annotation)
    if kind is int:
        return Annotated[int | None, Parameter(converter=terminal.read_integer), words]
    return Annotated[kind | None, words]


def _plain_type(annotation: Any) -> Any:
    """Return the first type of a union other than None, without its range; str for a choice."""
    kind = next((part for part in get_args(annotation) if part is not NoneType), annotation)
    if isinstance(kind, str):
        return str
    return annotation if kind is annotation else _plain_type(kind)


def _declare_options() -> None:
    """Add the options of every section to the signature of ``train``."""
    annotations: dict[str, Any] = {}
    for section, default in NAMES.items():
        custom = f", or user-supplied code as {HOW}" if section in OWN else ""
        text = f"One of {', '.join(SECTIONS[section])}{custom}; {default} by default."
        annotations[section] = Annotated[str | None, Parameter(help=text)]
    annotations |= {option.flag: _annotation(option) for option in all_options()}
    declared = dict(inspect.signature(train).parameters)
    del declared["options"]
    for name, annotation in annotations.items():
        declared[name] = inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation
        )
    vars(train)["__signature__"] = inspect.Signature(list(declared.values()))
    train.__annotations__ |= {name: parameter.annotation for name, parameter in declared.items()}


_LISTS = {option.flag for option in all_options() if "Sequence" in str(option.annotation)}

_declare_options()
