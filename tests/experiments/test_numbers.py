"""The long table of numbers: every number of a table, once, exactly, where it belongs."""

import io
import math
from collections import Counter
from typing import Any

import polars
from hypothesis import given
from hypothesis import strategies as st

from clusterproof.experiments.comparison import Cell, Comparison, Curve, Printed, Row, Table
from clusterproof.experiments.report import COLUMNS, table_parquet

NUMBERS = st.one_of(st.floats(), st.integers(-5, 5).map(float))
WORDS = st.text(alphabet="ab, é'", max_size=4)


@st.composite
def cells(draw: st.DrawFn) -> Cell:
    values = tuple(draw(st.lists(NUMBERS, min_size=1, max_size=3)))
    printed = draw(st.none() | st.builds(Printed, NUMBERS, st.none() | NUMBERS))
    ceiling = draw(st.just(()) | st.just(tuple(value + 1 for value in values)))
    seeds = draw(st.just(()) | st.permutations(range(5)).map(lambda order: tuple(order[: len(values)])))
    return Cell(values, printed, ceiling, seeds=seeds)


BY_COLUMN = st.dictionaries(st.sampled_from(["A", "B"]), cells(), max_size=2)
ROWS = st.builds(Row, WORDS, WORDS, BY_COLUMN)
COMPARISONS = st.builds(Comparison, WORDS, st.lists(NUMBERS, min_size=1, max_size=3).map(tuple))


@st.composite
def curves(draw: st.DrawFn) -> Curve:
    points = tuple(draw(st.lists(st.floats(allow_nan=False), max_size=3)))
    return Curve(draw(WORDS), draw(WORDS), points, tuple(draw(BY_COLUMN) for _ in points))


@given(st.lists(ROWS, max_size=3), st.lists(COMPARISONS, max_size=2), st.lists(curves(), max_size=2))
def test_every_number_is_read_back_where_it_belongs(
    rows: list[Row], comparisons: list[Comparison], listed: list[Curve]
) -> None:
    table = Table("p/table-1", "T", "S", {"A": 1, "B": 2}, rows, comparisons, listed)
    frame = polars.read_parquet(io.BytesIO(table_parquet(table)))
    assert tuple(frame.columns) == tuple(COLUMNS)
    places: list[tuple[Any, ...]] = [("row", row.name, row.settings, None, None, row.cells) for row in rows]
    places += [
        ("curve", curve.name, None, curve.parameter, point, curve.cells[index])
        for curve in listed
        for index, point in enumerate(curve.points)
    ]
    expected: Counter[str] = Counter()
    for part, name, settings, parameter, at, by_column in places:
        for column, cell in by_column.items():
            for index, value in enumerate(cell.values):
                seed = cell.seeds[index] if cell.seeds else index
                paper = (cell.printed.value, cell.printed.spread) if cell.printed else (None, None)
                ceiling = cell.ceiling[index] if cell.ceiling else None
                record = (
                    "p/table-1",
                    part,
                    name,
                    settings,
                    column,
                    seed,
                    parameter,
                    at,
                    value,
                    *paper,
                    ceiling,
                )
                expected[repr(record)] += 1
    for comparison in comparisons:
        for seed, value in enumerate(comparison.values):
            own = ("p/table-1", "comparison", comparison.name, None, None, seed, None, None, value)
            expected[repr((*own, None, None, None))] += 1
    assert Counter(map(repr, frame.rows())) == expected


def test_what_is_not_a_number_is_kept_apart_from_what_is_missing() -> None:
    cell = Cell((math.nan, math.inf), Printed(1.0))
    table = Table("t", "T", "S", {"A": 1}, [Row("r", "s", {"A": cell})])
    frame = polars.read_parquet(io.BytesIO(table_parquet(table)))
    assert frame["value"].is_nan().to_list() == [True, False]
    assert frame["value"].null_count() == 0
    assert frame["printed_spread"].null_count() == 2
