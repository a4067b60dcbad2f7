"""A reproduced table as text for a terminal, as JSON, and as one long table of numbers for parquet."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from clusterproof.algorithms.storage import parquet_bytes
from clusterproof.experiments.comparison import (
    CONFIDENCE,
    RULE,
    Cell,
    Comparison,
    Curve,
    Table,
)

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

STYLES = {"reproduced": "green", "compatible": "yellow", "not reproduced": "red"}
"""Of the verdicts on a cell."""

COLUMNS = {
    "table": "String",
    "part": "String",
    "row": "String",
    "settings": "String",
    "column": "String",
    "seed": "Int64",
    "parameter": "String",
    "at": "Float64",
    "value": "Float64",
    "printed": "Float64",
    "printed_spread": "Float64",
    "ceiling": "Float64",
}
"""Types of polars, by name. ``part`` is ``"row"``, ``"comparison"`` or ``"curve"``. ``row`` and ``settings`` are the
row's name and what distinguishes it, or the name of the comparison or curve. ``parameter`` and ``at`` are those of a
curve, such as ``"round"`` and 10, and null elsewhere, as is what a number does not have."""

LARGEST_WIDTH = 110
"""Columns after which notes are broken, however wide the terminal."""


def table_text(table: Table, width: int) -> RenderableType:
    """Lay a table out for a given number of columns: a line a cell."""
    from rich.console import Group
    from rich.text import Text

    width = max(40, min(width, LARGEST_WIDTH))
    label = max(map(len, table.columns)) + 4
    header = "".join(f"{name:>{size}}" for name, size in _SIZES.items())
    lines = [Text(f"{table.id}: {table.title}", style="bold"), Text(table.source), Text("")]
    lines.append(Text(f"{'':<{label}}{header}  verdict", style="bold"))
    for row in table.rows:
        lines.append(Text.assemble((row.name, "bold"), f"  {row.settings}"))
        lines += [
            _cell_line(f"    {column:<{label - 4}}", row.cells[column], digits)
            for column, digits in table.columns.items()
            if column in row.cells
        ]
    if table.comparisons:
        lines += [Text(""), Text("Differences on the same seeds, mean and its 95 % interval", style="bold")]
        longest = max(len(comparison.name) for comparison in table.comparisons)
        lines += [Text(_comparison_line(comparison, longest)) for comparison in table.comparisons]
    for curve in table.curves:
        lines += [Text(""), Text(curve.name, style="bold"), *_curve_lines(curve, table.columns)]
    lines.append(Text(""))
    for note in (RULE, *table.notes):
        lines += [Text(line) for line in textwrap.wrap(note, width)]
    return Group(*lines)


def table_json(table: Table, cost: Mapping[str, Any]) -> bytes:
    """Write a table as JSON, with everything that its text shows; what is not finite becomes null.

    Parameters
    ----------
    table
        What to write.
    cost
        What it took to compute, as plain JSON values.
    """
    record = {
        "table": table.id,
        "title": table.title,
        "source": table.source,
        "settings": table.settings,
        "rule": RULE,
        "confidence": CONFIDENCE,
        "rows": [{**vars(row), "cells": _cell_records(row.cells)} for row in table.rows],
        "comparisons": [
            {**vars(made), **_numbers(made, "mean", "standard_error", "interval")}
            for made in table.comparisons
        ],
        "curves": [
            {**vars(curve), "cells": [_cell_records(cells) for cells in curve.cells]}
            for curve in table.curves
        ],
        "notes": table.notes,
        "cost": cost,
    }
    return msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"


def numbers(table: Table) -> list[dict[str, Any]]:
    """List the numbers of a table, a record per seed, with the keys ``COLUMNS``."""
    records: list[dict[str, Any]] = []
    for row in table.rows:
        records += _numbers_of(row.cells, {"part": "row", "row": row.name, "settings": row.settings})
    for comparison in table.comparisons:
        records += [
            {"part": "comparison", "row": comparison.name, "seed": seed, "value": value}
            for seed, value in enumerate(comparison.values)
        ]
    for curve in table.curves:
        for point, cells in zip(curve.points, curve.cells, strict=True):
            at = {"part": "curve", "row": curve.name, "parameter": curve.parameter, "at": float(point)}
            records += _numbers_of(cells, at)
    return [{**dict.fromkeys(COLUMNS), "table": table.id, **record} for record in records]


def table_parquet(table: Table) -> bytes:
    """Write the numbers of a table as parquet; what is not a number stays so."""
    import polars

    schema = {name: getattr(polars, kind) for name, kind in COLUMNS.items()}
    return parquet_bytes(polars.DataFrame(numbers(table), schema=schema))


_SIZES = {"ours": 16, "paper": 16, "difference": 12, "in s.e.": 9, "allowed": 9, "ceiling": 9}


def _cell_line(label: str, cell: Cell, digits: int) -> Text:
    """One cell as a line."""
    from rich.text import Text

    def show(value: float | None, form: str = "") -> str:
        return "" if value is None else f"{value:{form}.{digits}f}"

    printed = cell.printed
    ceiling = cell.mean + cell.gap if cell.gap is not None else None
    allowed, errors = (cell.allowed, cell.in_standard_errors) if cell.judged else (None, None)
    parts = {
        "ours": _with_spread(show(cell.mean), show(cell.deviation)),
        "paper": "" if printed is None else _with_spread(show(printed.value), show(printed.spread)),
        "difference": show(cell.difference, "+"),
        "in s.e.": "" if errors is None else f"{errors:+.1f}",
        "allowed": show(allowed),
        "ceiling": show(ceiling),
    }
    word = cell.verdict
    reach = f" to {show(cell.detectable)}" if word == "compatible" else ""
    line = label + "".join(f"{parts[name]:>{size}}" for name, size in _SIZES.items())
    return Text(line.rstrip()) if word is None else Text.assemble(line, (f"  {word}{reach}", STYLES[word]))


def _with_spread(value: str, spread: str) -> str:
    return f"{value} ± {spread}" if spread else value


def _comparison_line(comparison: Comparison, longest: int) -> str:
    interval = comparison.interval
    text = "" if interval is None else f"  [{interval[0]:+.2f}, {interval[1]:+.2f}]"
    values = " ".join(f"{value:+.2f}" for value in comparison.values)
    return f"    {comparison.name:<{longest}}  {comparison.mean:+7.2f}{text}  seeds {values}"


def _curve_lines(curve: Curve, columns: Mapping[str, int]) -> list[Text]:
    """A line per point."""
    from rich.text import Text

    shown = [name for name in columns if any(name in cells for cells in curve.cells)]
    titles = [textwrap.wrap(name, 16) for name in shown]
    depth = max(map(len, titles), default=1)
    rows = zip(*([""] * (depth - len(title)) + title for title in titles), strict=True)
    heads = ["".join(f"{part:>18}" for part in row) for row in rows] or [""]
    lines = [f"    {curve.parameter if row == depth - 1 else '':>12}{head}" for row, head in enumerate(heads)]
    for point, cells in zip(curve.points, curve.cells, strict=True):
        parts = []
        for name in shown:
            if name not in cells:
                parts.append("")
                continue
            cell, digits = cells[name], columns[name]
            spread = "" if cell.deviation is None else f"{cell.deviation:.{digits}f}"
            parts.append(_with_spread(f"{cell.mean:.{digits}f}", spread))
        lines.append(f"    {point:>12g}" + "".join(f"{part:>18}" for part in parts))
    return [Text(line) for line in lines]


def _cell_records(cells: Mapping[str, Cell]) -> dict[str, Any]:
    """Describe cells in plain values."""
    tested = ("difference", "standard_error", "in_standard_errors", "allowed", "detectable", "verdict")
    return {
        name: {
            **_numbers(cell, "values", "mean", "deviation", "printed", *tested, "ceiling", "gap"),
            **({} if cell.judged else {"detectable": None}),
        }
        for name, cell in cells.items()
    }


def _numbers(record: Cell | Comparison, *names: str) -> dict[str, Any]:
    """Return attributes of a record by name, computed ones, too."""
    return {name: getattr(record, name) for name in names}


def _numbers_of(cells: Mapping[str, Cell], beside: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Return the numbers of cells, by column and seed."""
    for column, cell in cells.items():
        printed = cell.printed
        for index, value in enumerate(cell.values):
            yield {
                **beside,
                "column": column,
                "seed": cell.seeds[index] if cell.seeds else index,
                "value": float(value),
                "printed": None if printed is None else float(printed.value),
                "printed_spread": None
                if printed is None or printed.spread is None
                else float(printed.spread),
                "ceiling": float(cell.ceiling[index]) if cell.ceiling else None,
            }
