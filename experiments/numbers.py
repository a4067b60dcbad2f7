"""A reproduced table as one long table of numbers, a row a number, for parquet."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import Any

from clusterproof.experiments.comparison import Cell, Table

COLUMNS = (
    "table",
    "part",
    "row",
    "settings",
    "column",
    "seed",
    "parameter",
    "at",
    "value",
    "printed",
    "printed_spread",
    "ceiling",
)
"""``part`` is ``"row"``, ``"comparison"`` or ``"curve"``. ``row`` and ``settings`` are the row's name and what
distinguishes it, or the name of the comparison or curve. ``parameter`` and ``at`` are those of a curve, such as
``"round"`` and 10, and null elsewhere, as is what a number does not have."""


def numbers(table: Table) -> list[dict[str, Any]]:
    """List the numbers of a table, a record per seed, with the keys ``COLUMNS``."""
    records: list[dict[str, Any]] = []
    for row in table.rows:
        of_row = {"part": "row", "row": row.name, "settings": row.settings}
        records += _numbers_of(row.cells, of_row)
    for comparison in table.comparisons:
        of_comparison = {"part": "comparison", "row": comparison.name}
        records += [
            {**of_comparison, "seed": seed, "value": value} for seed, value in enumerate(comparison.values)
        ]
    for curve in table.curves:
        for point, cells in zip(curve.points, curve.cells, strict=True):
            at = {"part": "curve", "row": curve.name, "parameter": curve.parameter, "at": float(point)}
            records += _numbers_of(cells, at)
    return [{**dict.fromkeys(COLUMNS), "table": table.id, **record} for record in records]


def table_parquet(table: Table) -> bytes:
    """Write the numbers of a table as parquet; what is not a number stays so."""
    import polars

    integers, texts = ("seed",), ("table", "part", "row", "settings", "column", "parameter")
    kinds = {
        name: polars.Int64 if name in integers else polars.String if name in texts else polars.Float64
        for name in COLUMNS
    }
    content = io.BytesIO()
    polars.DataFrame(numbers(table), schema=kinds).write_parquet(content)
    return content.getvalue()


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
