"""A sweep's file: what is the same in every run, the grid, the random draws, the seeds, what is measured."""

from __future__ import annotations

import difflib
import itertools
import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, TypeAlias

import msgspec
import numpy as np

from clusterproof.algorithms import InvalidArgument, generator
from clusterproof.algorithms.validation import check_count, check_name, check_seed, install
from clusterproof.experiments.runner import Function
from clusterproof.experiments.store import Unit
from clusterproof.experiments.sweeps import synthetic
from clusterproof.files import TOML, parse_toml, read_file

Value: TypeAlias = "bool | int | float | str | list[int | float]"
"""Of a setting."""

MOST_UNITS = 1_000_000


class Range(msgspec.Struct, forbid_unknown_fields=True):
    """Where a random setting is drawn: a range, integers where both ends are, or a list of values."""

    low: int | float | None = None
    high: int | float | None = None
    scale: str = "linear"
    choice: list[Value] | None = None

    def __post_init__(self) -> None:
        """Raise ValueError unless it is a range with low < high, or a list of values."""
        if self.choice is None and self.low is not None and self.high is not None:
            bounded = -math.inf < self.low < self.high < math.inf
            valid = bounded and (self.scale == "linear" or (self.scale == "log" and self.low > 0))
        else:
            valid = bool(self.choice) and self.low is None and self.high is None
        if not valid:
            raise ValueError("a range or a list of values")


class _File(msgspec.Struct, forbid_unknown_fields=True):
    """A sweep's file as it is written."""

    measure: list[str]
    command: Literal["run", "train"] = "run"
    rounds: int = 50
    seeds: int | list[int] = 1
    replicates: int | None = None
    every: int | None = None
    settings: dict[str, Value] = {}
    grid: dict[str, list[Value]] = {}
    random: dict[str, Any] = {}


@dataclass(frozen=True)
class Plan:
    """What a sweep computes.

    Attributes
    ----------
    units
        One per run, none twice.
    swept
        Names of the settings that are not the same in all units, in the file's order.
    measures
        Names of what is measured.
    compute
        Carries out a unit and measures it: columns of equal length, ``round``, ``replicate`` and the measures, with
        None where one is not a number.
    by_round
        Whether more rounds than the last are measured.
    """

    units: tuple[Unit, ...]
    swept: tuple[str, ...]
    measures: tuple[str, ...]
    compute: Function
    by_round: bool


def read_plan(path: Path, *, code: Collection[str] = ()) -> Plan:
    """Read a sweep's file.

    ``measure``, ``rounds``, ``seeds`` (a number of them, or a list), ``replicates`` and ``every`` (measure each so
    many rounds, the first and the last included; else the last alone) stand at the top. The tables ``settings``
    (one value each), ``grid`` (a list each; all combinations) and ``random`` (``draws`` sets of values from ``seed``,
    the same for every combination) name the options of ``clusterproof run``, or of ``clusterproof train`` where
    ``command`` is ``"train"``. A setting that an algorithm, a task or a network of the grid does not have is left out
    there, and runs that become equal by that are one. ``code`` has the names of user-supplied code
    that the file may ask for, such as ``"mine.py:Mine"``.

    Raises
    ------
    InvalidArgument
        If the file cannot be read, or something in it is not as it must be; the message names the place.
    """
    content = _read(path)
    check_count("rounds", content.rounds, at_least=0, remedy="give the number of communication rounds")
    for argument in ("replicates", "every"):
        if (value := getattr(content, argument)) is not None:
            check_count(argument, value, at_least=1, remedy="leave it out")
    runs: Any = _runs_of(content.command)
    for name in content.measure:
        check_name("measure", name, list(runs.MEASURES))
    if not content.measure or len(set(content.measure)) < len(content.measure):
        raise InvalidArgument("measure", content.measure, "must be names, none twice", "such as ['error']")
    seeds = _seeds(content.seeds)
    fixed, grid = _normalised("settings", content.settings), _normalised("grid", content.grid)
    random, draws, random_seed = _random(content.random)
    owners: dict[str, tuple[str, ...]] = runs.owners()
    _check_names(list(owners), fixed, grid, random)
    size = math.prod(map(len, grid.values())) * draws * len(seeds)
    check_count("grid", size, at_least=1, at_most=MOST_UNITS, remedy="give every list a value")
    common = {name: getattr(content, name) for name in ("rounds", "replicates", "every", "measure")}
    units: dict[str, Unit] = {}
    used: set[str] = {name for name, having in owners.items() if not having}
    for combination in itertools.product(*grid.values()):
        chosen = {**fixed, **dict(zip(grid, combination, strict=True))}
        for draw in range(draws):
            # the same ones for every combination, which can then be compared draw by draw
            drawn = {name: _draw(kind, generator(random_seed, name, draw)) for name, kind in random.items()}
            unit = runs.make_unit({**chosen, **drawn}, code=code, **common)
            used.update(unit.settings["options"])
            for seed in seeds:
                key = json.dumps([unit.method, seed, unit.settings], sort_keys=True)
                units.setdefault(key, replace(unit, seed=seed))
    if unused := [name for name in (*fixed, *grid, *random) if name not in used]:
        rule = "is not an option of any run of the sweep"
        remedy = f"leave it out or choose {' or '.join(owners[unused[0]])}"
        raise InvalidArgument(unused[0], "...", rule, remedy)
    swept = ("seed", *grid, *random)
    return Plan(tuple(units.values()), swept, tuple(content.measure), runs.compute, content.every is not None)


def _runs_of(command: str) -> ModuleType:
    """Module of the runs that a command makes."""
    if command == "run":
        return synthetic
    try:
        from clusterproof.experiments.sweeps import training
    except ImportError as error:
        rule = f"needs what is not installed ({error})"
        raise InvalidArgument("command", command, rule, install("neural")) from error
    return training


def _read(path: Path) -> _File:
    try:
        content = read_file(path, TOML)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidArgument(
            "file", str(path), f"must be readable ({reason})", "give a sweep's file"
        ) from error
    try:
        return msgspec.convert(parse_toml(content), _File)
    except ValueError as error:
        raise InvalidArgument(
            "file", str(path), f"must be a sweep's file ({error})", "see `clusterproof sweep --help`"
        ) from error


def _seeds(given: int | list[int]) -> list[int]:
    """Seeds 0, 1, ..., or those that are listed."""
    if isinstance(given, int):
        check_count("seeds", given, at_least=1, at_most=MOST_UNITS, remedy="give a number of seeds")
        return list(range(given))
    for seed in given:
        check_seed(seed)
    if not given or len(set(given)) < len(given):
        raise InvalidArgument("seeds", given, "must be seeds, none twice", "such as [0, 1, 2]")
    return given


def _normalised(table: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names with underscores; dashes, as on the command line, are the same."""
    names = [name.replace("-", "_") for name in given]
    if len(set(names)) < len(names):
        raise InvalidArgument(table, list(given), "must name each setting once", "remove one")
    return dict(zip(names, given.values(), strict=True))


def _random(given: Mapping[str, Any]) -> tuple[dict[str, Range], int, int]:
    """What is drawn, how often, and from which seed."""
    kinds = _normalised("random", given)
    draws, seed = kinds.pop("draws", 1), kinds.pop("seed", 0)
    check_count("draws", draws, at_least=1, at_most=MOST_UNITS, remedy="give the draws of each combination")
    check_seed(seed)
    found = {}
    for name, kind in kinds.items():
        try:
            found[name] = msgspec.convert(kind, Range)
        except msgspec.ValidationError as error:
            rule = "must be { low = ..., high = ..., scale = 'linear' or 'log' } with low < high, or { choice = [...] }"
            remedy = "such as { low = 0.01, high = 1.0, scale = 'log' }"
            raise InvalidArgument(f"random.{name}", kind, rule, remedy) from error
    return found, draws, seed


def _draw(kind: Range, stream: np.random.Generator) -> Value:
    """Draw a setting."""
    if kind.choice is not None:
        return kind.choice[int(stream.integers(len(kind.choice)))]
    assert kind.low is not None
    assert kind.high is not None
    whole = isinstance(kind.low, int) and isinstance(kind.high, int)
    if kind.scale == "log":
        value = math.exp(stream.uniform(math.log(kind.low), math.log(kind.high)))
        return round(value) if whole else value
    return (
        int(stream.integers(int(kind.low), int(kind.high) + 1))
        if whole
        else float(stream.uniform(kind.low, kind.high))
    )


def _check_names(known: list[str], *tables: Mapping[str, Any]) -> None:
    """Require that each name is known and stands in one table alone."""
    seen: set[str] = set()
    for table in tables:
        for name in table:
            if name not in known:
                nearest = difflib.get_close_matches(name, known, n=3)
                remedy = f"the nearest are {', '.join(nearest)}" if nearest else "see the command's --help"
                raise InvalidArgument("setting", name, "must be an option of the sweep's command", remedy)
            if name in seen:
                rule = "must stand in one table alone"
                raise InvalidArgument("setting", name, rule, "remove one of the two")
            seen.add(name)
