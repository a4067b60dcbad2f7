"""Base class for tables that repeat experiments of papers, with our numbers next to the printed numbers."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from clusterproof.experiments.comparison import TOO_FEW, Comparison, Printed
from clusterproof.experiments.training import check_sections, train_network
from clusterproof.experiments.units import Unit
from clusterproof.settings import from_settings

if TYPE_CHECKING:
    from polars import DataFrame

RESULTS = Path(__file__).with_name("results")
"""Folder with the stored results: for each table, a parquet file and the settings."""

COLUMNS = {
    "table": "String",
    "settings": "String",
    "version": "String",
    "method": "String",
    "column": "String",
    "seed": "Int64",
    "round": "Int64",
    "value": "Float64",
}
"""Polars types of the columns in the stored numbers of a table.

``settings`` contains the settings that differ from the defaults, as JSON, and ``version`` is the version of the
program. ``round`` is null for the numbers in the table, which are measured after the last round.
"""


class Number(NamedTuple):
    """A measured number, with its ``column`` of the table, and with its round unless it is the last round."""

    column: str
    value: float
    round: int | None = None


@dataclass(frozen=True)
class Row:
    """One row of a table.

    Attributes
    ----------
    method, column
        Name of the method, and name of the measured quantity.
    values
        One value per seed.
    printed
        The number that the paper prints, or None.
    judged
        Whether the runs have the paper's settings, so that the numbers can be compared.
    """

    method: str
    column: str
    values: tuple[float, ...]
    printed: Printed | None = None
    judged: bool = True

    @property
    def cells(self) -> list[str]:
        """Cells of the row, in the order of ``HEADERS``. The last two are the detectable difference and the result."""
        from statistics import mean, stdev

        digits = 3 if self.column.endswith(("index", "purity")) else 2
        ours = f"{mean(self.values):.{digits}f}"
        if len(self.values) > 1:
            ours += f" ± {stdev(self.values):.{digits}f}"
        paper = shown = word = "-"
        if self.printed is not None:
            paper = f"{self.printed.value:.{digits}f}"
            paper += "" if self.printed.spread is None else f" ± {self.printed.spread:.{digits}f}"
            comparison = Comparison(self.values, self.printed)
            if self.judged and comparison.word:
                word = comparison.word
                if word != TOO_FEW:
                    shown = f"{comparison.detectable:.{digits}f}"
                word += f" to {shown}" if word == "compatible" else ""
        return [self.method, self.column, paper, ours, str(len(self.values)), shown, word]


HEADERS = ("method", "measured", "paper", "ours", "seeds", "shown from", "word")
"""Headings of ``Row.cells``."""


@dataclass(frozen=True, kw_only=True)
class PaperTable(ABC):
    """An experiment of a paper. The fields of a subclass are the settings.

    Attributes
    ----------
    id, title, source
        Identifier, for example ``"cfl-mgd/table-2"``, one-line title, and place in the paper.
    by_data
        Defaults that depend on the data set.
    published
        Names of settings that the paper prints. If one of them has another value, no row is compared with the paper.
    """

    id: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    by_data: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    published: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> PaperTable:
        """Make the table with the given settings. All other settings get the defaults for the data set.

        Raises
        ------
        InvalidArgument
            If a setting is unknown, has another type or is out of range.
        """
        return from_settings(cls, {**cls.by_data.get(str(values.get("data", "")), {}), **values})

    @property
    def changes(self) -> dict[str, Any]:
        """The settings that differ from the defaults, as plain JSON values."""
        usual = self.from_values({"data": self.data} if hasattr(self, "data") else {})
        changed = {name: value for name, value in asdict(self).items() if value != getattr(usual, name)}
        named = {"data": self.data} if hasattr(self, "data") else {}
        plain: dict[str, Any] = json.loads(json.dumps({**named, **changed}))
        return plain

    @property
    def judged(self) -> bool:
        """Whether all settings in ``published`` have the paper's values."""
        return not set(self.changes) & set(self.published)

    def judges(self, method: str) -> bool:
        """Return whether a method's runs have the paper's settings."""
        return self.judged

    def chosen(self, *names: str) -> dict[str, Any]:
        """Return the named settings as a mapping, with tuples as lists and without null settings."""
        values = {name: getattr(self, name) for name in names}
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
        return {name: value for name, value in plain.items() if value is not None}

    @abstractmethod
    def units(self, seed: int) -> dict[str, Unit]:
        """Return the units to compute for one seed, indexed by name."""

    def check(self, *, is_here: bool) -> None:
        """Check, before any computation, that the settings are valid and that the data on this machine are complete.

        Raises
        ------
        InvalidArgument
            If two settings contradict each other, or a data set is missing.
        """
        for unit in self.units(0).values():
            if "sections" in unit.settings:
                check_sections(unit.settings["sections"], is_here=is_here)

    @abstractmethod
    def numbers(self, results: Mapping[str, Any]) -> Iterator[tuple[str, Number]]:
        """Return the numbers of each method for one seed, from the results of the seed's units."""

    def printed(self, method: str, column: str) -> Printed | None:
        """Return the number that the paper prints, or None."""
        return None

    def frame(self, results: Mapping[int, Mapping[str, Any]]) -> DataFrame:
        """Convert the units' results for all seeds to a data frame with the columns ``COLUMNS``."""
        import polars

        import clusterproof

        common = (self.id, json.dumps(self.changes), clusterproof.__version__)
        rows = [
            (*common, method, number.column, seed, number.round, number.value)
            for seed, found in results.items()
            for method, number in self.numbers(found)
        ]
        schema = {name: getattr(polars, kind) for name, kind in COLUMNS.items()}
        return polars.DataFrame(rows, schema=schema, orient="row")

    def rows(self, frame: DataFrame) -> list[Row]:
        """Return the rows of the table. A row is compared with the paper only if it has a number for every seed."""
        groups: dict[tuple[str, str], list[float]] = {}
        last = frame.filter(frame["round"].is_null() & frame["value"].is_finite())
        for method, column, value in last.select("method", "column", "value").rows():
            groups.setdefault((method, column), []).append(value)
        seeds = frame["seed"].n_unique()
        return [
            Row(
                method,
                column,
                tuple(values),
                self.printed(method, column),
                self.judges(method) and len(values) == seeds,
            )
            for (method, column), values in groups.items()
        ]


@dataclass(frozen=True, kw_only=True)
class NetworkTable(PaperTable):
    """Base class of tables whose runs train networks on ``device``."""

    device: Literal["cpu", "cuda"] = "cpu"
    precision: Literal["full", "tf32", "bf16"] = "full"

    @abstractmethod
    def sections(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Return the configuration of each run without the seed, indexed by name."""

    def units(self, seed: int) -> dict[str, Unit]:
        """Return the units to compute for one seed, indexed by name."""
        units = {}
        for name, sections in self.sections().items():
            where = {"threads": 1, "device": self.device, "precision": self.precision}
            training = {**where, **sections["training"], "seed": seed}
            settings = {"sections": {**sections, "training": training}}
            units[name] = Unit(f"{name}, seed {seed}", train_network, settings, resumes=True)
        return units


def curve(metrics: Mapping[str, Sequence[Any]], columns: Mapping[str, tuple[str, float]]) -> Iterator[Number]:
    """Return the numbers of a training run, for each round and after the last round.

    Parameters
    ----------
    metrics
        The result of ``train_network``.
    columns
        For each column of the table, the name of a metric and a factor. Metrics that were not measured are omitted.
    """
    for column, (name, factor) in columns.items():
        values = metrics[name]
        if values[-1] is not None:
            yield from (
                Number(column, factor * value, done)
                for done, value in zip(metrics["round"], values, strict=True)
                if value is not None
            )
            yield Number(column, factor * values[-1])


def stored_results() -> DataFrame:
    """Read the numbers of all stored results."""
    import polars

    schema = {name: getattr(polars, kind) for name, kind in COLUMNS.items()}
    stored = [polars.read_parquet(path) for path in sorted(RESULTS.glob("*.parquet"))]
    return polars.concat([polars.DataFrame(schema=schema), *stored])
