"""The printed table."""

import io

from rich.console import Console

from theory.reproduction import Cell, Printed, Row, Table
from theory.reproduction_report import table_text


def words(cell: Cell) -> list[str]:
    """Words of a cell's line."""
    row = Row("method", "as published", {"score": cell}, "")
    table = Table(id="t", title="T", source="S", columns={"score": 2}, rows=[row])
    console = Console(width=110, file=io.StringIO())
    with console.capture() as caught:
        console.print(table_text(table, 110))
    return next(line.split() for line in caught.get().splitlines() if line.startswith("    score"))


def test_a_difference_is_printed_in_its_standard_errors_too() -> None:
    # 90 and 92: variance 2, of the mean 1; the paper's one run has variance 2: 4 / sqrt(3) = 2.309
    line = words(Cell((90.0, 92.0), Printed(95.0)))
    assert "-4.00" in line
    assert line[line.index("-4.00") + 1] == "-2.3"


def test_without_a_spread_there_are_no_standard_errors() -> None:
    line = words(Cell((91.0,), Printed(95.0)))
    assert line[line.index("-4.00") + 1 :] == []
