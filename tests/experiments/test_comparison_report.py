"""The printed table."""

import io

from rich.console import Console

from clusterproof.experiments.comparison import Cell, Curve, Printed, Row, Table
from clusterproof.experiments.report import table_text


def printed(table: Table) -> list[str]:
    """Lines of a table."""
    console = Console(width=110, file=io.StringIO())
    with console.capture() as caught:
        console.print(table_text(table, 110))
    return caught.get().splitlines()


def words(cell: Cell) -> list[str]:
    """Words of a cell's line."""
    row = Row("method", "as published", {"score": cell}, "")
    found = printed(Table(id="t", title="T", source="S", columns={"score": 2}, rows=[row]))
    return next(line.split() for line in found if line.startswith("    score"))


def test_a_difference_is_printed_in_its_standard_errors_too() -> None:
    # 90 and 92: variance 2, of the mean 1; the paper's one run has variance 2: 4 / sqrt(3) = 2.309
    line = words(Cell((90.0, 92.0), Printed(95.0)))
    assert "-4.00" in line
    assert line[line.index("-4.00") + 1] == "-2.3"


def test_a_miniature_is_not_measured_in_the_papers_standard_errors() -> None:
    line = words(Cell((90.0, 92.0), Printed(95.0), judged=False))
    assert line[line.index("-4.00") + 1 :] == []


def test_without_a_spread_there_are_no_standard_errors() -> None:
    line = words(Cell((91.0,), Printed(95.0)))
    assert line[line.index("-4.00") + 1 :] == []


def test_long_names_of_a_curve_s_columns_keep_apart() -> None:
    names = ("label, server's model", "label, after local training", "rand")
    cells = {name: Cell((50.0 + place, 52.0 + place)) for place, name in enumerate(names)}
    curve = Curve("SoFL", "round", (10, 20), (cells, cells))
    table = Table(id="t", title="T", source="S", columns=dict.fromkeys(names, 1), rows=[], curves=[curve])
    found = printed(table)
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
        rows=[Row("method", "", cells, "So.")],
    )
    found = " ".join(" ".join(printed(table)).split())
    assert cells["score"].verdict == "compatible"
    assert cells["other"].verdict == "not reproduced"
    assert f" compatible to {cells['score'].detectable:.1f} " in found
    assert "not reproduced So. not reproduced: Welch's test" in found  # the rule explains the number
