"""The list of the papers' figures: none is missing, and each has a counterpart that exists or a reason."""

import csv
import re
from pathlib import Path

import pytest

from clusterproof.figures import FIGURES

PATH = Path(__file__).parents[2] / "figures" / "every_figure.tsv"
with PATH.open(encoding="utf-8") as file:
    ROWS = list(csv.DictReader(file, delimiter="\t"))

LAST = {"cfl-mgd": 4, "fpfc": 1, "gradient-loss": 5, "sofl": 9}
"""The highest number of a figure of each paper."""


@pytest.mark.parametrize("paper", LAST)
def test_no_figure_is_missing(paper: str) -> None:
    numbers = {int(re.match(r"\d+", row["figure"])[0]) for row in ROWS if row["paper"] == paper}
    assert numbers == set(range(1, LAST[paper] + 1))


def test_every_counterpart_exists_and_every_reason_is_stated() -> None:
    for row in ROWS:
        for answer in row["answer"].split("; figure: "):
            name = answer.removeprefix("figure: ")
            if name.startswith("reason: "):
                assert len(name) > 40, row
            else:
                assert name in FIGURES, row


def test_no_figure_stands_twice() -> None:
    assert len({(row["paper"], row["figure"]) for row in ROWS}) == len(ROWS)
