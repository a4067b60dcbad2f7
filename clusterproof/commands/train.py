"""The command ``train``: train networks from options or a file, or resume a stored run."""

from __future__ import annotations

import inspect
import shlex
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, count, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, CycloptsError, Parameter, UnknownOptionError

from clusterproof.algorithms.base import own_name
from clusterproof.commands import terminal
from clusterproof.commands.child_process import in_child
from clusterproof.commands.options import option, options_of
from clusterproof.common import InvalidArgument
from clusterproof.common.atomic import check_writable
from clusterproof.common.validation import require
from clusterproof.neural import configuration as configurations
from clusterproof.neural.checkpoint import CHECKPOINT, CONFIGURATION, is_begun, stored_configuration
from clusterproof.neural.configuration import DEFAULTS, KNOWN, Configuration, places
from clusterproof.neural.custom.references import HOW, OWN, is_own
from clusterproof.neural.metrics import COLUMNS, METRICS, metrics_text, read_rows
from clusterproof.running.storage import write_tables
from clusterproof.settings import checked_settings

if TYPE_CHECKING:
    from clusterproof.neural.training import TrainingResult

SERVED = {
    "train": "test clients are served by the loss on their training data",
    "test-loss": "test clients are served by the loss on their labelled test data",
    "own": "every client is served its own model",
    "pooled": "every client is served the one model",
    "personal": "every client is served what its personal step makes of the server's model",
}

app = App(name="train", help="Train networks on image data.", help_flags=[], version_flags=[])


@app.default
def train(*tokens: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)]) -> int:
    """Train networks; the data, partition, network and algorithm on the command line determine the options."""
    named = dict(_options_in(tokens))
    source = Path(named["config"]) if "config" in named else None
    if is_begun(named.get("resume", "")):
        source = Path(named["resume"]) / CONFIGURATION
    stored = {} if source is None else configurations.read_configuration_file(source)
    code = {section: named[section] for section in OWN if is_own(section, named.get(section, ""))}
    for section, name in code.items():
        in_child(section, name)
    with _locating(named, source):
        stored = configurations.with_code(stored, code)
        names = configurations.names_from({**configurations.named_in(stored), **named})
        common = list(options_of(_carry_out))
        entries = [*common, *_options(names, stored)]

    def command(**given: Any) -> int:
        own = {entry.name: given.pop(entry.name, None) for entry in common}
        return _carry_out(names, stored, source, code, given, **own)

    vars(command)["__signature__"] = inspect.Signature(entries)
    command.__annotations__ = {entry.name: entry.annotation for entry in entries}
    inner = App(
        name="clusterproof train",
        help=str(inspect.getdoc(_carry_out)).partition("\n\nParameters")[0],
        help_format="markdown",
        version_flags=[],
        suppress_keyboard_interrupt=False,
    )
    inner["--help"].show = False
    inner.default(command)
    try:
        status = inner(tokens, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        error.command_chain = ("train",)  # the hint about help then names `train`
        if isinstance(error, UnknownOptionError):
            written, _, value = (error.token.keyword or error.token.value).partition("=")
            value = value or dict(pairwise(tokens)).get(written, "")
            _refuse_option_of_others(written.lstrip("-").replace("-", "_"), value, names)
        raise
    return int(status or 0)


def _carry_out(
    names: Mapping[str, str],
    stored: Mapping[str, Any],
    source: Path | None,
    code: Mapping[str, str],
    given: Mapping[str, Any],
    *,
    config: Path | None = None,
    resume: Path | None = None,
    out: Path | None = None,
    csv: Path | None = None,
) -> int:
    """Train networks on data divided among clients.

    Data, partitions, networks and algorithms have further options: see `train --algorithm fpfc --help`. Exit status: 0
    if all rounds are done, 2 for bad input, 130 if interrupted; finished rounds are stored.

    Parameters
    ----------
    names
        Names of data, partition, network and algorithm.
    stored
        Sections of the configuration file.
    source
        The file.
    code
        Names of user-supplied code on the command line, by section.
    given
        Options on the command line.
    config
        TOML or JSON file; other options override its values.
    resume
        Folder of a run to resume; the result is bitwise identical to an uninterrupted run.
    out
        New folder for the run; training-1, ... by default.
    csv
        File for the metrics as CSV.
    """
    if resume is not None:
        own = {"config": config, "out": out}
        free = (*configurations.CHANGEABLE, *code)
        for name, value in {**own, **given}.items():
            if value is not None and name not in free:
                flags = ", ".join("--" + name.replace("_", "-") for name in configurations.CHANGEABLE)
                rule = "cannot be combined with --resume, which continues a run unchanged"
                shown = str(value) if isinstance(value, Path) else value
                raise InvalidArgument(name, shown, rule, f"leave it out; {flags} may be changed")
        stored = stored_configuration(resume, code).sections
    with _locating(given, source):
        configuration = configurations.configuration_from(_overridden(stored, given, names, source))
    if csv is not None:
        check_writable("csv", csv)
    folder = resume or out or next(path for n in count(1) if not (path := Path(f"training-{n}")).exists())
    if resume is None and out is None:
        terminal.print_remark(f"no --out was given: the run will be stored in {folder}")
    for library in ("torch", "polars", "safetensors"):  # raises an error before hours of work
        require("out", str(folder), library)
    with _locating(given, source):
        status = _train(configuration, folder, resume is not None)
    if csv is not None and (folder / METRICS).exists():
        write_tables(read_rows(folder / METRICS, COLUMNS), csv=csv)
    return status


def _train(configuration: Configuration, folder: Path, resume: bool) -> int:
    """Train, show the progress, and print the report."""
    from clusterproof.neural import training

    rows: list[Mapping[str, Any]] = []
    result: TrainingResult | None = None
    words, announced = "training", list[str]()

    def advance(row: Mapping[str, Any]) -> None:
        nonlocal words
        rows.append(row)
        words = metrics_text(row) or words
        show(row["round"], words)

    def announce(sentence: str) -> None:
        announced.append(sentence)
        terminal.print_remark(sentence)

    code = [(f"--{key}", name) for key, name in configuration.user_code.items() if is_own(key, name)]
    command = shlex.join(["clusterproof", "train", "--resume", str(folder), *chain(*code)])
    try:
        with (
            terminal.progress(configuration.training.rounds, lines=True) as show,
            _deferred_interrupt() as stop,
        ):
            show(0, "getting ready")
            result = training.train(
                configuration, folder, resume=resume, progress=advance, stop=stop, announce=announce
            )
    except KeyboardInterrupt:
        if not (folder / CHECKPOINT).exists():
            raise
        terminal.print_remark(f"interrupted; run `{command}` to resume from the last checkpoint")
        return 130
    finally:  # print the metrics even if the disk is full
        if result is not None or rows:
            print(describe_training(configuration, rows, result))
    for remark in result.remarks:
        if remark not in announced:
            terminal.print_remark(remark)
    print(f"stored in {folder}")
    if not result.complete:
        done = result.metrics["round"][-1]
        terminal.print_remark(f"interrupted after round {done}; run `{command}` to resume")
        return 130
    return 0


MEASURED = {
    "accuracy": "test accuracy {:.4g} (mean over clients)",
    "accuracy_over_samples": "{:.4g} (over samples)",
    "correct_model": "share with their cluster's model {:.4g}",
    "training_loss": "training loss {:.4g}",
    "test_loss": "test loss {:.4g}",
    "accuracy_after_local_training": "accuracy after local training {:.4g}",
}


def describe_training(
    configuration: Configuration, rows: Sequence[Mapping[str, Any]], result: TrainingResult | None
) -> str:
    """Write the report of a run, in several lines.

    Parameters
    ----------
    configuration
        Configuration of the run.
    rows
        Metrics of the rounds of this process.
    result
        Result of the run, or None if it was interrupted.
    """
    if result is not None:
        names = list(result.metrics)
        rows = [dict(zip(names, row, strict=True)) for row in zip(*result.metrics.values(), strict=True)]
    training, algorithm = configuration.training, configurations.algorithm_class(configuration.algorithm.name)
    chosen = f"{configuration.data.name}, {configuration.partition.name}, {configuration.network.name}"
    lines = [
        f"{own_name(algorithm)} on {chosen}: {len(rows)} of {training.rounds} rounds, "
        f"seed {training.seed}, {sum(row['seconds'] for row in rows):.2f} s"
    ]
    images = {key: value for key, value in configuration.data.options.items() if key != "data_dir"}
    if images:
        words = [
            key if value is True else f"{key.replace('_', ' ')} {value}" for key, value in images.items()
        ]
        lines.append(f"images: {', '.join(words)}")
    measured = [row for row in rows if row["accuracy"] is not None][-1:]
    for row in measured:
        parts = [text.format(row[name]) for name, text in MEASURED.items() if row[name] is not None]
        lines.append(f"round {row['round']}: {', '.join(parts)}")
    for row in rows[-1:]:
        if row["purity"] is not None:
            index = f"adjusted Rand index {row['adjusted_rand_index']:.4g}"
            lines.append(f"purity {row['purity']:.4g}, {index}, clusters {row['clusters']}")
    if result is not None:
        served = "pooled" if algorithm.target == "pooled" else result.choices["test_assignment"]
        if algorithm.target == "clients" and measured and measured[0]["test_loss"] is None:
            served = "own"
        if "personal_step" in result.choices:
            served = "personal"
        lines.append(f"{result.choices['device']}, engine {result.choices['engine']}; {SERVED[served]}")
        if training.precision != "full":
            from clusterproof.neural.precision import precision_in_words

            lines.append(precision_in_words(training.precision))
    return "\n".join(lines)


def _options(names: Mapping[str, str], stored: Mapping[str, Any]) -> Iterator[inspect.Parameter]:
    """Yield the options of a configuration, with the defaults for the given names."""
    for section, name in names.items():
        custom = f", or {HOW}" if section in OWN else ""
        yield option(section, str | None, name, f"One of {', '.join(KNOWN[section])}{custom}.")
    for flag, (section, key) in places(names).items():
        if key == "name":
            continue
        name = names.get(section, "")
        default = configurations.default_of(section, name, key)
        table = stored.get(section)
        default = table.get(key, default) if isinstance(table, dict) else default
        text = configurations.descriptions(section, name).get(key, "").partition(". ")[0].rstrip(".") + "."
        title = f"{section[0].upper()}{section[1:]} {name}".strip()
        yield option(flag, configurations.parameters(section, name)[key], default, text, title)


def _options_in(tokens: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the options on the command line that determine which other options exist."""
    for name in (*DEFAULTS, "config", "resume"):
        for token, following in zip(tokens, [*tokens[1:], None], strict=True):
            flag, equals, value = token.partition("=")
            if flag == f"--{name}" and (equals or following is not None):
                yield name, value if equals else str(following)


def _overridden(
    stored: Mapping[str, Any], given: Mapping[str, Any], names: Mapping[str, str], source: Path | None
) -> dict[str, Any]:
    """Return the sections of a file, overridden by the given options.

    If an option replaces the file's algorithm, network or partition, options that the new one does not have are
    removed.

    Raises
    ------
    InvalidArgument
        If the file contains an option that neither its own algorithm, network or partition nor the new one has.
    """
    sections = {name: dict(table) if isinstance(table, dict) else table for name, table in stored.items()}
    for section in ("partition", "network", "algorithm"):
        table: Any = sections.get(section)
        replaced = str(table.get("name", DEFAULTS[section])) if isinstance(table, dict) else names[section]
        if section in given and replaced != names[section]:
            known = {"name": str, **configurations.parameters(section, names[section])}
            others = configurations.parameters(section, replaced) if replaced in KNOWN[section] else {}
            checked_settings(dict.fromkeys({**known, **others}, Any), table, f"{section}.")
            sections[section] = {key: value for key, value in table.items() if key in known}
            if dropped := [key for key in table if key not in known]:
                lacking = f"as {names[section]} has no such parameter: {', '.join(dropped)}"
                terminal.print_remark(f"left out of {source}, {lacking}")
    known = places(names)
    for flag, value in given.items():
        section, key = known[flag]
        table = sections.setdefault(section, {})
        if isinstance(table, dict):
            table[key] = value
    return sections


@contextmanager
def _locating(given: Mapping[str, Any], source: Path | None) -> Iterator[None]:
    """Add the option, or the configuration file, to the messages of errors in the block."""
    try:
        yield
    except InvalidArgument as error:
        section, _, key = error.argument.partition(".")
        flag = "models" if (section, key) == ("algorithm", "clusters") else section if key == "name" else key
        if section not in configurations.SECTIONS:
            raise
        argument = flag if flag in given or source is None else f"{source}: {error.argument}"
        raise InvalidArgument(argument or section, error.value, error.rule, error.remedy) from error


def _refuse_option_of_others(flag: str, value: str, names: Mapping[str, str]) -> None:
    """Raise an error for an option that the chosen components do not have.

    The message names components with this option.
    """
    for section in ("partition", "network", "algorithm"):
        owners = [name for name in KNOWN[section] if flag in places({**names, section: name})]
        if owners:
            rule = f"is an option of {', '.join(owners)}, not of the {section} {names[section]}"
            raise InvalidArgument(flag, value, rule, "leave it out")


@contextmanager
def _deferred_interrupt() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether Ctrl-C was pressed; a second Ctrl-C interrupts immediately."""
    interrupted = False
    # the parent of ``in_child`` sends SIGTERM instead of Ctrl-C
    in_its_place = signal.getsignal(signal.SIGTERM) is signal.default_int_handler
    number = signal.SIGTERM if in_its_place else signal.SIGINT

    def defer(*_: object) -> None:
        nonlocal interrupted
        interrupted = True
        signal.signal(number, before)
        terminal.print_remark("finishing the round; press Ctrl-C again to stop immediately")

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.signal(number, defer)
    try:
        yield lambda: interrupted
    finally:
        signal.signal(number, before)
