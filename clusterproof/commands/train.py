"""The command ``train``: a neural run from options, from a file, or from where another one stopped."""

from __future__ import annotations

import inspect
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args

from cyclopts import Parameter
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from clusterproof.algorithms import InvalidArgument
from clusterproof.commands import terminal
from clusterproof.neural.own.references import GROUPS, HOW
from clusterproof.neural.runs.configuration import (
    NAMES,
    Configuration,
    configuration_from,
    located,
    read_sections,
    refuse_code,
)
from clusterproof.neural.runs.options import SECTIONS, Option, all_options
from clusterproof.neural.runs.report import describe_training
from clusterproof.neural.runs.storage.run_folder import (
    CHECKPOINTS,
    CONFIGURATION,
    DIAGNOSIS,
    stored_configuration,
)
from clusterproof.neural.runs.training import CHANGEABLE, TrainingResult
from clusterproof.neural.runs.training import train as carry_out

BESIDE_A_FILE = ("rounds", "seed", "device", "threads")
"""Options that may stand beside --config; they override what the file says."""


def train(
    *,
    config: Path | None = None,
    resume: Path | None = None,
    out: Path | None = None,
    trust: Annotated[bool, Parameter(negative="")] = False,
    **options: Any,
) -> int:
    """Train networks on data divided among clients.

    Exit status: 0 when all rounds are done, 2 for bad input, 130 when interrupted; what was done is kept.

    Parameters
    ----------
    config
        TOML file of a configuration, such as the configuration.toml of another run.
    resume
        Folder of a run to go on with, to the bits that it would have had.
    out
        New folder for checkpoints, metrics and configuration; by default the first free one of training-1,
        training-2 and so on.
    trust
        Run the code of your own that the file of --config or --resume names.
    """
    given = {flag: value for flag, value in options.items() if value is not None}
    configuration, translate = _configure(config, resume, out, given, trust)
    place = resume or out or _free_folder()
    if resume is None and out is None:
        terminal.complain(f"no --out was given: the run goes into {place}")
    rows: list[Mapping[str, Any]] = []
    result: TrainingResult | None = None
    try:
        with _progress(configuration.training.rounds) as show, _patience() as asked:

            def advance(row: Mapping[str, Any]) -> None:
                rows.append(row)
                show(row)

            result = carry_out(
                configuration, out=place, resume=resume is not None, progress=advance, stop=asked
            )
    except InvalidArgument as error:
        raise translate(error) from error
    except KeyboardInterrupt:
        if not list((place / CHECKPOINTS).glob("*.json")):
            raise
        terminal.complain(
            f"interrupted; `clusterproof train --resume {place}` goes on from the last checkpoint"
        )
        return 130
    finally:  # a full disk must not cost what was measured
        if result is not None or rows:
            print(describe_training(configuration, rows, result))
    for remark in result.remarks:
        terminal.complain(remark)
    print(f"stored in {place}")
    if result.complete and configuration.training.diagnose:
        print(f"hypotheses of CFL-MGD's theory in {place / DIAGNOSIS}")
    if not result.complete:
        done = result.metrics["round"][-1]
        terminal.complain(f"interrupted after round {done}; `clusterproof train --resume {place}` goes on")
        return 130
    return 0


def _configure(
    config: Path | None, resume: Path | None, out: Path | None, given: Mapping[str, Any], trust: bool
) -> tuple[Configuration, Callable[[InvalidArgument], InvalidArgument]]:
    """Make the configuration, and what names the source of an error in it."""
    flags = {(option.section, option.key): option.flag for option in all_options()}
    flags |= {(section, "name"): section for section in NAMES}
    keys = {flag: place for place, flag in flags.items()}
    if resume is not None:
        for name, value in (("config", config), ("out", out)):
            if value is not None:
                rule = "does not go with --resume, which continues a run in its own folder"
                raise InvalidArgument(name, str(value), rule, "leave it out")
        _allow_only(given, CHANGEABLE, "--resume")
        sections, source = stored_configuration(resume, trust=trust).sections, resume / CONFIGURATION
    elif config is not None:
        _allow_only(given, BESIDE_A_FILE, "--config")
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
        if config is not None and not trust:
            refuse_code(sections)
        for flag, value in given.items():
            section, key = keys[flag]
            table = sections.setdefault(section, {})
            if isinstance(table, dict):
                table[key] = _numbers(flag, value) if isinstance(value, str) and flag in _LISTS else value
        return configuration_from(sections), translate
    except InvalidArgument as error:
        raise translate(error) from error


def _free_folder() -> Path:
    """Give the first folder here that is not there yet."""
    return next(path for number in count(1) if not (path := Path(f"training-{number}")).exists())


def _allow_only(given: Mapping[str, Any], allowed: Sequence[str], beside: str) -> None:
    """Refuse options that would contradict a file."""
    for flag, value in given.items():
        if flag not in allowed:
            names = ", ".join("--" + name.replace("_", "-") for name in allowed)
            raise InvalidArgument(
                flag, value, f"does not go with {beside}", f"leave it out; beside it there may be {names}"
            )


def _numbers(flag: str, text: str) -> list[int]:
    """Read whole numbers separated by commas; none where there is nothing."""
    try:
        return [int(part) for part in text.split(",")] if text.strip() else []
    except ValueError as error:
        rule = "must be whole numbers separated by commas"
        raise InvalidArgument(flag, text, rule, "write it as 64,32") from error


@contextmanager
def _progress(rounds: int) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Give a function that shows a round's metrics and the time that is left, on a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=terminal.QuietConsole(stderr=True), transient=True) as bar:
        task = bar.add_task("getting ready", total=rounds)
        words = "training"

        def show(row: Mapping[str, Any]) -> None:
            nonlocal words
            if row["accuracy"] is not None:
                words = f"accuracy {row['accuracy']:.4f}"
            bar.update(task, completed=row["round"], description=words)

        yield show


@contextmanager
def _patience() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C into a wish, which the function that is given tells of."""
    asked = False
    if threading.current_thread() is not threading.main_thread():
        yield lambda: asked
        return

    def wish(*_: object) -> None:
        nonlocal asked
        asked = True
        signal.signal(signal.SIGINT, before)
        terminal.complain("finishing the round; Ctrl-C again stops at once")

    before = signal.signal(signal.SIGINT, wish)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)


def _annotation(option: Option) -> Any:
    """Type of an option's value on the command line."""
    words = Parameter(
        help=f"{option.help} ({', '.join(option.owners)})" if option.owners else option.help,
        group=option.section.capitalize(),
        negative="",
    )
    kinds = [kind for kind in get_args(option.annotation) or (option.annotation,) if kind is not NoneType]
    if option.flag in _LISTS:
        return Annotated[str | None, words]
    if kinds == [int]:
        return Annotated[int | None, Parameter(converter=terminal.read_integer), words]
    return Annotated[kinds[0] | None, words]


def _declare_options() -> None:
    """Give ``train`` the options of every section."""
    declared = dict(inspect.signature(train).parameters)
    del declared["options"]
    annotations = {
        section: Annotated[
            str | None, Parameter(help=f"One of {', '.join(SECTIONS[section])}{own}; {default} by default.")
        ]
        for section, default in NAMES.items()
        for own in (f", or your own as {HOW}" if section in GROUPS else "",)
    }
    annotations |= {option.flag: _annotation(option) for option in all_options()}
    for name, annotation in annotations.items():
        declared[name] = inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation
        )
    vars(train)["__signature__"] = inspect.Signature(list(declared.values()))
    train.__annotations__ |= {name: parameter.annotation for name, parameter in declared.items()}


_LISTS = {option.flag for option in all_options() if "Sequence" in str(option.annotation)}

_declare_options()
