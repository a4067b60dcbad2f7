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
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

from cyclopts import App, CycloptsError, Parameter, Token, UnknownOptionError

from clusterproof.algorithms import ALGORITHMS, InvalidArgument
from clusterproof.algorithms.atomic import check_writable
from clusterproof.algorithms.base import own_name
from clusterproof.algorithms.options import parameter_descriptions
from clusterproof.algorithms.storage import write_tables
from clusterproof.commands import terminal
from clusterproof.commands.child_process import in_child
from clusterproof.commands.train_seeds import train_seeds
from clusterproof.neural.checkpoint import CHECKPOINT, CONFIGURATION, is_begun, stored_configuration
from clusterproof.neural.configuration import (
    ALGORITHM_DEFAULTS,
    CHANGEABLE,
    DEFAULTS,
    KNOWN,
    Configuration,
    Training,
    checked_name,
    configuration_from,
    parameters,
    places,
    read_configuration_file,
    with_code,
)
from clusterproof.neural.custom.algorithms import own_algorithm
from clusterproof.neural.custom.references import HOW, OWN, is_own
from clusterproof.neural.data.preprocessing import Preprocessing
from clusterproof.neural.metrics import COLUMNS, METRICS, metrics_text, read_rows
from clusterproof.neural.partitions.by_name import PARTITIONS
from clusterproof.settings import checked_settings

if TYPE_CHECKING:
    from clusterproof.neural.training import TrainingResult

HELP = {
    "data_dir": "Folder of the image data; $CLUSTERPROOF_DATA or a cache by default.",
    "models": "Number of models; as many as there are clusters by default.",
    "hidden": "Widths of the hidden layers, as 200 or 64,32.",
    "channels": "Channels of the two convolutions, as 32,64.",
    "padding": "Black pixels around the images before each convolution, as 2,0.",
    "clients": "Number of clients.",
    "clusters": "Number of true clusters.",
    "clients_per_cluster": "Clients of a cluster; as the paper has them by default.",
    "images": "Total number of images; as many as the paper takes by default.",
    "share": 'Whether a group gets its "split" of the images or the "full" set.',
    "shifts": "Shift of the labels in each cluster, as 0,4.",
    "least_share": "Draw starts until each model suits this share of the clients.",
    "restarts": "Number of starts that are tried.",
    "trial_rounds": "Rounds for which each start is tried.",
    "mean_threshold": "Norm of a cluster's mean update below which it may be split (eps_1).",
    "client_threshold": "Norm of a client's update above which its cluster may be split (eps_2).",
    "learning_rate": "Learning rate of the map's first update (eta_0).",
    "radius": "Radius of the map's first update (sigma_0).",
    "momentum_owner": '"server": one buffer per cluster; "client": one per client.',
    "empty_cluster": 'What a cluster without participants does: "coast" with its momentum, or "freeze".',
    "update_order": '"momentum-first", or "as-printed" in line 20 of the paper.',
    "normalisation": 'Divisor of the sum of gradients: "clients", "participants" or "cluster".',
    "pair_rule": 'Pairs that a round updates: "either", "both" or "all".',
    "crop": "Side of a random square crop; whole images by default.",
    "flip": "Flip each image from left to right with probability 1/2.",
    "brightness": "Half width of a uniform addition to all pixels.",
    "contrast": "Half width of a uniform factor of the distances from the mean.",
    "standardise": "Bring each image to mean 0 and standard deviation 1.",
    "augmentation_per": "What has a crop of its own: each image, or each batch.",
    "seed": "Seed of the partition, the starting models and the run.",
    "batch_size": "Samples of a local gradient; all of a client's by default.",
    "local_unit": "What a local step is: one gradient, or one pass.",
    "step_size_decay": "Factor of the step size after each round.",
    "evaluate_every": "Rounds between two evaluations.",
    "checkpoint_every": "Rounds between two checkpoints.",
    "test_assignment": "Data by which a test client chooses its model.",
    "after_local_training": "Measure accuracies after further local training, too.",
    "device": "Where to compute.",
    "dtype": "Precision of the models.",
    "engine": "How clients are trained; the result names what auto has chosen.",
    "threads": "Threads of the processor; torch's own number by default.",
    "client_metrics": "Also write clients.parquet, a row a client.",
}
"""Descriptions of options that are shorter than those in the docstrings, or that have none there."""

SERVED = {
    "train": "test clients are served by the loss on their training data",
    "test-loss": "test clients are served by the loss on their labelled test data",
    "own": "every client is served its own model",
    "pooled": "every client is served the one model",
    "personal": "every client is served what its personal step makes of the server's model",
}

app = App(name="train", help="Train networks on image data.", help_flags=[], version_flags=[])

DESCRIPTION = """Train networks on data divided among clients.

The options below are those of the named data, partition, network and algorithm: `train --algorithm fpfc --help`. Exit
status: 0 when all rounds are done, 2 for bad input, 130 when interrupted; finished rounds are kept.
"""


@app.default
def train(*tokens: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)]) -> int:
    """Train networks with the options of what the command line names."""
    named = dict(_options_in(tokens))
    source = Path(named["config"]) if "config" in named else None
    if is_begun(named.get("resume", "")):
        source = Path(named["resume"]) / CONFIGURATION
    stored = {} if source is None else read_configuration_file(source)
    code = {section: named[section] for section in OWN if is_own(section, named.get(section, ""))}
    for section, name in code.items():
        in_child(section, name)
    with _locating(named, source):
        stored = with_code(stored, code)
        names = {section: checked_name(section, _name(section, named, stored)) for section in DEFAULTS}
        entries = [*_own_options(), *_options(names, stored)]

    def command(**given: Any) -> int:
        return _carry_out(given, names, stored, source, code)

    vars(command)["__signature__"] = inspect.Signature(entries)
    command.__annotations__ = {entry.name: entry.annotation for entry in entries}
    inner = App(
        name="clusterproof train",
        help=DESCRIPTION,
        help_format="markdown",
        version_flags=[],
        suppress_keyboard_interrupt=False,
    )
    inner["--help"].show = False
    inner.default(command)
    try:
        status = inner(tokens, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        error.command_chain = ("train",)  # for the hint at its help
        if not isinstance(error, UnknownOptionError):
            raise
        written, _, value = (error.token.keyword or error.token.value).partition("=")
        value = value or dict(pairwise(tokens)).get(written, "")
        _refuse_option_of_others(written.lstrip("-").replace("-", "_"), value, names)
        raise
    return int(status or 0)


def _carry_out(
    given: dict[str, Any],
    names: Mapping[str, str],
    stored: Mapping[str, Any],
    source: Path | None,
    code: Mapping[str, str],
) -> int:
    """Carry out the command with the options that were given."""
    own = {
        name: given.pop(name, None) for name in ("config", "resume", "out", "seeds", "jobs", "plot", "csv")
    }
    out, resume, seeds = own["out"], own["resume"], own["seeds"]
    if resume is not None:
        changed = {name: value for name, value in (own | given).items() if value is not None}
        for name, value in changed.items():
            if name not in (*CHANGEABLE, *code, "resume", "csv"):
                names_ = ", ".join("--" + name.replace("_", "-") for name in CHANGEABLE)
                rule = "does not go with --resume, which continues a run as it was begun"
                shown = str(value) if isinstance(value, Path) else value
                raise InvalidArgument(name, shown, rule, f"leave it out; {names_} may be changed")
        stored = stored_configuration(resume, code).sections
    for name in ("jobs", "plot"):
        if own[name] is not None and seeds is None:
            raise InvalidArgument(name, str(own[name]), "asks for --seeds", "add --seeds, or leave it out")
    with _locating(given, source):
        configuration = configuration_from(_overridden(stored, given, names, source))
    if own["csv"] is not None:
        check_writable("csv", own["csv"])
    folder = resume or out or next(path for n in count(1) if not (path := Path(f"training-{n}")).exists())
    if resume is None and out is None:
        terminal.complain(f"no --out was given: the run will be stored in {folder}")
    if seeds is not None:
        more = () if out is not None else ("--out", str(folder))
        return train_seeds(configuration, seeds, folder, own["jobs"], own["plot"], own["csv"], more)
    with _locating(given, source):
        status = _train(configuration, folder, resume is not None)
    if own["csv"] is not None and (folder / METRICS).exists():
        write_tables(read_rows(folder / METRICS, COLUMNS), csv=own["csv"])
    return status


def _train(configuration: Configuration, folder: Path, resume: bool) -> int:
    """Carry out a run, show its progress, and print its report."""
    from clusterproof.neural import training

    rows: list[Mapping[str, Any]] = []
    result: TrainingResult | None = None
    words = "training"

    def advance(row: Mapping[str, Any]) -> None:
        nonlocal words
        rows.append(row)
        words = metrics_text(row) or words
        show(row["round"], words)

    code = [(f"--{key}", name) for key, name in configuration.user_code.items() if is_own(key, name)]
    command = shlex.join(["clusterproof", "train", "--resume", str(folder), *chain(*code)])
    try:
        total = configuration.training.rounds
        with terminal.progress(total, lines=True) as show, _deferred_interrupt() as stop:
            show(0, "getting ready")
            result = training.train(configuration, folder, resume=resume, progress=advance, stop=stop)
    except KeyboardInterrupt:
        if not (folder / CHECKPOINT).exists():
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


def describe_training(
    configuration: Configuration, rows: Sequence[Mapping[str, Any]], result: TrainingResult | None
) -> str:
    """Write the report of a run, several lines.

    Parameters
    ----------
    configuration
        Configuration of the run.
    rows
        Metrics of the rounds of this process.
    result
        Result of the run; None where it was broken off.
    """
    if result is not None:
        names = list(result.metrics)
        rows = [dict(zip(names, row, strict=True)) for row in zip(*result.metrics.values(), strict=True)]
    training = configuration.training
    algorithm = _documented("algorithm", configuration.algorithm.name)
    chosen = f"{configuration.data.name}, {configuration.partition.name}, {configuration.network.name}"
    seconds = sum(row["seconds"] for row in rows)
    lines = [
        f"{own_name(algorithm)} on {chosen}: {len(rows)} of {training.rounds} rounds, "
        f"seed {training.seed}, {seconds:.2f} s"
    ]
    images = {key: value for key, value in configuration.data.options.items() if key != "data_dir"}
    if images:
        words = (
            key if value is True else f"{key.replace('_', ' ')} {value}" for key, value in images.items()
        )
        lines.append(f"images: {', '.join(words)}")
    measured = [row for row in rows if row["accuracy"] is not None]
    if measured:
        lines += _measured(measured[-1])
    if rows:
        last = rows[-1]
        lines.append(
            f"purity {last['purity']:.4g}, adjusted Rand index {last['adjusted_rand_index']:.4g}, "
            f"clusters {last['clusters']}"
        )
    if result is not None:
        served = "pooled" if algorithm.target == "pooled" else result.choices["test_assignment"]
        if algorithm.target == "clients" and measured and measured[-1]["test_loss"] is None:
            served = "own"
        if "personal_step" in result.choices:
            served = "personal"
        lines.append(f"{result.choices['device']}, engine {result.choices['engine']}; {SERVED[served]}")
    return "\n".join(lines)


def _measured(row: Mapping[str, Any]) -> list[str]:
    words = {
        "accuracy": "test accuracy {:.4g} (mean over clients)",
        "accuracy_over_samples": "{:.4g} (over samples)",
        "correct_model": "share with their cluster's model {:.4g}",
        "training_loss": "training loss {:.4g}",
        "test_loss": "test loss {:.4g}",
        "accuracy_after_local_training": "accuracy after local training {:.4g}",
    }
    parts = [text.format(row[name]) for name, text in words.items() if row[name] is not None]
    return [f"round {row['round']}: {', '.join(parts)}"]


def _own_options() -> list[inspect.Parameter]:
    """Return the options that are not those of a configuration."""
    path, integer = Path | None, Annotated[int | None, Parameter(converter=terminal.read_integer)]
    described = {
        "config": (path, "TOML or JSON file that other options override."),
        "resume": (path, "Folder of a run to resume to the same bits."),
        "out": (path, "New folder for the run; training-1, ... by default."),
        "seeds": (
            integer,
            "Number of seeds to train, from --seed on; rerun to resume.",
        ),
        "jobs": (integer, "With --seeds: parallel processes."),
        "plot": (path, "With --seeds: png, svg or pdf of the metrics."),
        "csv": (path, "File for the metrics as CSV."),
    }
    return [_option(name, kind, None, text) for name, (kind, text) in described.items()]


def _options(names: Mapping[str, str], stored: Mapping[str, Any]) -> Iterator[inspect.Parameter]:
    """Yield the options of a configuration under its names, with the defaults that they have."""
    for section, name in names.items():
        custom = f", or {HOW}" if section in OWN else ""
        yield _option(section, str | None, name, f"One of {', '.join(KNOWN[section])}{custom}.")
    known = places(names)
    documented = {
        section: _documented(section, names.get(section, "")) for section in (*DEFAULTS, "training")
    }
    texts = {section: parameter_descriptions(kind) if kind else {} for section, kind in documented.items()}
    for flag, (section, key) in known.items():
        if key == "name":
            continue
        kind = documented[section]
        default = inspect.signature(kind).parameters[key].default if kind and key != "data_dir" else None
        if default is inspect.Parameter.empty:
            default = ALGORITHM_DEFAULTS.get(key) if section == "algorithm" else None
        table = stored.get(section)
        default = table.get(key, default) if isinstance(table, dict) else default
        text = HELP.get(flag) or texts[section].get(key, "").partition(". ")[0]
        title = f"{section} {names[section]}" if section in names else section
        annotation = parameters(section, names.get(section, ""))[key]
        yield _option(flag, annotation, default, text, title[0].upper() + title[1:])


def _documented(section: str, name: str) -> Any:
    """Return the class or function that has a section's parameters and describes them; None for a network."""
    if section == "algorithm":
        return ALGORITHMS[name] if name in ALGORITHMS else own_algorithm(name)
    return {"data": Preprocessing, "partition": PARTITIONS.get(name), "training": Training}.get(section)


def _option(
    name: str, annotation: Any, default: Any, text: str, group: str = "Parameters"
) -> inspect.Parameter:
    """Return an option; ranges are checked with the configuration."""
    more: dict[str, Any] = {}
    kinds = {*_kinds(annotation)}
    if any(issubclass(kind, Sequence) and kind is not str for kind in kinds):
        more = {"converter": _read_numbers, "n_tokens": 1}
    elif int in kinds and float not in kinds:
        more = {"converter": terminal.read_integer}
    negative = None if bool in kinds and default is True else ""
    words = Parameter(
        help=text,
        group=group,
        negative=negative,
        show_default=default is not None and default is not False,
        **more,
    )
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=Annotated[annotation, words])


def _kinds(annotation: Any) -> Iterator[type]:
    """Yield the classes of a type's values."""
    origin = get_origin(annotation)
    if origin in (Union, UnionType, Annotated):
        for part in get_args(annotation):
            yield from _kinds(part)
    elif isinstance(origin or annotation, type):
        yield origin or annotation


def _read_numbers(_kind: Any, tokens: Sequence[Token]) -> list[int]:
    """Read integers that are separated by commas; none in an empty text."""
    text = tokens[0].value
    try:
        return [int(part) for part in text.split(",")] if text.strip() else []
    except ValueError:
        raise ValueError(f"{text!r} must be whole numbers separated by commas, such as 64,32") from None


def _options_in(tokens: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the options that decide which other options there are."""
    for name in (*DEFAULTS, "config", "resume"):
        for token, following in zip(tokens, [*tokens[1:], None], strict=True):
            flag, equals, value = token.partition("=")
            if flag == f"--{name}" and (equals or following is not None):
                yield name, value if equals else str(following)


def _name(section: str, named: Mapping[str, str], stored: Mapping[str, Any]) -> Any:
    """Return the name of a section: of the command line, of the file, or the default."""
    table = stored.get(section)
    default = DEFAULTS[section]
    if section == "partition" and is_own("data", str(_name("data", named, stored))):
        default = "given"
    return named.get(section, table.get("name", default) if isinstance(table, dict) else default)


def _overridden(
    stored: Mapping[str, Any], given: Mapping[str, Any], names: Mapping[str, str], source: Path | None
) -> dict[str, Any]:
    """Return the sections of a file with the options that were given.

    Options of the algorithm, network or partition that the file names are left out if another one, which lacks them,
    was given in its place.

    Raises
    ------
    InvalidArgument
        If neither of the two has an option of the file.
    """
    sections = {
        section: dict(table) if isinstance(table, dict) else table for section, table in stored.items()
    }
    for section in ("partition", "network", "algorithm"):
        table = sections.get(section)
        if (
            section in given
            and isinstance(table, dict)
            and table.get("name", DEFAULTS[section]) != names[section]
        ):
            known = {"name", *parameters(section, names[section])}
            replaced = str(table.get("name", DEFAULTS[section]))
            either = [*known, *(parameters(section, replaced) if replaced in KNOWN[section] else ())]
            checked_settings(dict.fromkeys(either, Any), table, f"{section}.")
            dropped = [key for key in table if key not in known]
            sections[section] = {key: value for key, value in table.items() if key in known}
            if dropped:
                lacking = f"as {names[section]} has no such parameter: {', '.join(dropped)}"
                terminal.complain(f"left out of {source}, {lacking}")
    for option, value in given.items():
        section, key = places(names)[option]
        table = sections.setdefault(section, {})
        if isinstance(table, dict):
            table[key] = value
    return sections


@contextmanager
def _locating(given: Mapping[str, Any], source: Path | None) -> Iterator[None]:
    """Name the option or the file of what is wrong in a configuration."""
    try:
        yield
    except InvalidArgument as error:
        section, _, key = error.argument.partition(".")
        flag = "models" if (section, key) == ("algorithm", "clusters") else section if key == "name" else key
        if section not in (*DEFAULTS, "training"):
            raise
        argument = flag if flag in given or source is None else f"{source}: {error.argument}"
        raise InvalidArgument(argument or section, error.value, error.rule, error.remedy) from error


def _refuse_option_of_others(flag: str, value: str, names: Mapping[str, str]) -> None:
    """Say whose option it is that the named partition, network and algorithm lack."""
    for section in ("partition", "network", "algorithm"):
        owners = [name for name in KNOWN[section] if flag in places({**names, section: name})]
        if owners:
            rule = f"is an option of {', '.join(owners)}, not of the {section} {names[section]}"
            raise InvalidArgument(flag, value, rule, "leave it out")


@contextmanager
def _deferred_interrupt() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether Ctrl-C was pressed; a second one interrupts immediately."""
    interrupted = False
    # the parent of ``in_child`` sends SIGTERM in place of Ctrl-C
    in_its_place = signal.getsignal(signal.SIGTERM) is signal.default_int_handler
    number = signal.SIGTERM if in_its_place else signal.SIGINT

    def defer(*_: object) -> None:
        nonlocal interrupted
        interrupted = True
        signal.signal(number, before)
        terminal.complain("finishing the round; press Ctrl-C again to stop immediately")

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.signal(number, defer)
    try:
        yield lambda: interrupted
    finally:
        signal.signal(number, before)
