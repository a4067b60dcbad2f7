"""Every number of a table's text and JSON, by hand: 90 and 92 compared with 95, with ceilings 96 and 97."""

import io
import json
import math
from typing import Any

import pytest
from rich.console import Console
from scipy.stats import t

from clusterproof.experiments.comparison import Cell, Comparison, Curve, Printed, Row, Table
from clusterproof.experiments.report import table_json, table_text

CELL = Cell((90.0, 92.0), Printed(95.0), (96.0, 97.0))
"""Deviation sqrt(2) and standard error 1, of the paper's one run sqrt(2): of the difference sqrt(3)."""

ALLOWED = t.ppf(0.975, 1) * math.sqrt(3)
COMPARISON = Comparison("a - b", (1.0, 4.0, 4.0))
"""Mean 3, deviation sqrt(3), so that the mean's standard error is 1."""

REACH = t.ppf(0.975, 2)
CURVE = Curve("by round", "round", (10.0, 20.0), ({"score": CELL}, {"other": Cell((1.0,))}))


def made(*, judged: bool = True) -> Table:
    cell = Cell(CELL.values, CELL.printed, CELL.ceiling, judged)
    row = Row("method", "as published", {"score": cell})
    columns = {"score": 2, "other": 1, "third": 1}
    return Table("p/t", "T", "S", columns, [row], [COMPARISON], [CURVE], ["A note."], {"seeds": 2})


def lines(table: Table) -> list[str]:
    console = Console(width=110, file=io.StringIO())
    with console.capture() as caught:
        console.print(table_text(table, 110))
    return caught.get().splitlines()


def test_each_number_is_in_its_column() -> None:
    found = lines(made())
    heads = next(line for line in found if line.endswith("verdict"))
    line = next(line for line in found if line.startswith("    score"))
    expected = {
        "ours": "91.00 ± 1.41",
        "paper": "95.00",
        "difference": "-4.00",
        "in s.e.": f"{-4 / math.sqrt(3):+.1f}",
        "allowed": f"{ALLOWED:.2f}",
        "ceiling": "96.50",
    }
    for name, text in expected.items():
        end = heads.index(name) + len(name)
        assert line[end - len(text) : end] == text, name
    assert line.endswith(f"  compatible to {CELL.detectable:.2f}")
    # what is not judged has neither
    line = next(line for line in lines(made(judged=False)) if line.startswith("    score"))
    assert line.split() == ["score", "91.00", "±", "1.41", "95.00", "-4.00", "96.50"]
    # nor what has no spread
    table = Table("t", "T", "S", {"score": 2}, [Row("method", "", {"score": Cell((91.0,), Printed(95.0))})])
    line = next(line for line in lines(table) if line.startswith("    score"))
    assert line.split() == ["score", "91.00", "95.00", "-4.00"]


def test_a_difference_has_its_interval_and_seeds() -> None:
    line = next(line for line in lines(made()) if "a - b" in line)
    low, high = 3 - REACH, 3 + REACH
    assert line.split() == [
        "a",
        "-",
        "b",
        "+3.00",
        f"[{low:+.2f},",
        f"{high:+.2f}]",
        "seeds",
        "+1.00",
        "+4.00",
        "+4.00",
    ]


def test_a_curve_has_every_column_that_some_point_has() -> None:
    found = lines(made())
    start = next(place for place, line in enumerate(found) if line == "by round")
    assert [line.split() for line in found[start + 1 : start + 4]] == [
        ["round", "score", "other"],
        ["10", "91.00", "±", "1.41"],
        ["20", "1.0"],
    ]
    assert found[start + 1].index("other") < found[start + 3].index("1.0")


def test_long_names_of_a_curve_s_columns_keep_apart() -> None:
    names = ("label, server's model", "label, after local training", "rand")
    cells = {name: Cell((50.0 + place, 52.0 + place)) for place, name in enumerate(names)}
    curve = Curve("SoFL", "round", (10, 20), (cells, cells))
    table = Table(id="t", title="T", source="S", columns=dict.fromkeys(names, 1), rows=[], curves=[curve])
    found = lines(table)
    last = next(place for place, line in enumerate(found) if line.split()[:1] == ["10"])
    assert found[last].split() == ["10", "51.0", "±", "1.4", "52.0", "±", "1.4", "53.0", "±", "1.4"]
    ends = [found[last].index(text) + len(text) for text in ("51.0 ± 1.4", "52.0 ± 1.4", "53.0 ± 1.4")]
    heads = [line for line in found[last - 2 : last] if line.strip()]
    assert heads[-1].split()[0] == "round"
    for name, start, end in zip(names, [16, *ends], ends, strict=False):
        assert " ".join(" ".join(line[start:end].split()) for line in heads).strip() == name


def test_a_word_that_shows_no_difference_has_its_power_beside_it() -> None:
    cells = {
        "score": Cell((90.0, 92.0, 94.0), Printed(96.0, 3.0, 3)),
        "other": Cell((1.0, 1.1), Printed(9.0, 0.1, 3)),
    }
    table = Table(
        id="t",
        title="T",
        source="S",
        columns={"score": 1, "other": 1},
        rows=[Row("method", "", cells)],
    )
    found = " ".join(" ".join(lines(table)).split())
    assert cells["score"].verdict == "compatible"
    assert cells["other"].verdict == "not reproduced"
    assert f" compatible to {cells['score'].detectable:.1f} " in found
    assert "not reproduced not reproduced: Welch's test" in found  # the rule explains the number


def test_json_has_every_number_under_its_name() -> None:
    record = json.loads(table_json(made(), {"cpu_seconds": 3.0}))
    (row,) = record["rows"]
    cell = row["cells"]["score"]
    expected: dict[str, Any] = {
        "mean": 91,
        "deviation": math.sqrt(2),
        "difference": -4,
        "standard_error": math.sqrt(3),
        "in_standard_errors": -4 / math.sqrt(3),
        "allowed": ALLOWED,
        "detectable": CELL.detectable,
        "gap": 5.5,
    }
    assert {name: cell[name] for name in expected} == pytest.approx(expected)
    assert (cell["values"], cell["ceiling"], cell["verdict"]) == ([90, 92], [96, 97], "compatible")
    assert cell["printed"]["value"] == 95
    (comparison,) = record["comparisons"]
    assert comparison["values"] == [1, 4, 4]
    assert (comparison["mean"], comparison["standard_error"]) == pytest.approx((3, 1))
    assert comparison["interval"] == pytest.approx((3 - REACH, 3 + REACH))
    (curve,) = record["curves"]
    assert (curve["name"], curve["parameter"], curve["points"]) == ("by round", "round", [10, 20])
    assert [cells.keys() for cells in curve["cells"]] == [{"score"}, {"other"}]
    assert (record["settings"], record["cost"], record["notes"]) == (
        {"seeds": 2},
        {"cpu_seconds": 3.0},
        ["A note."],
    )
    (row,) = json.loads(table_json(made(judged=False), {}))["rows"]
    assert (row["cells"]["score"]["detectable"], row["cells"]["score"]["verdict"]) == (None, None)
