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

NO_COUNTERPART = {"contraction-map", "drift", "error-per-round", "fpfc-residual", "fusion-strength",
                  "model-averaging-map", "power-table", "success-map", "tightness"}  # fmt: skip
"""Figures of our own, which no paper has."""


@pytest.mark.parametrize("paper", LAST)
def test_no_figure_is_missing(paper: str) -> None:
    numbers = {int(re.match(r"\d+", row["figure"])[0]) for row in ROWS if row["paper"] == paper}
    assert numbers == set(range(1, LAST[paper] + 1))


def test_every_counterpart_exists_and_every_reason_is_stated() -> None:
    named = set()
    for row in ROWS:
        for answer in row["answer"].split("; figure: "):
            kind, _, rest = answer.rpartition("figure: ") if "figure: " in answer else ("", "", answer)
            if rest.startswith("reason: "):
                assert len(rest) > 40, row
            else:
                assert kind == ""
                assert rest in FIGURES, row
                named.add(rest)
    assert named | NO_COUNTERPART == set(FIGURES)
    assert not named & NO_COUNTERPART


def test_no_figure_stands_twice() -> None:
    assert len({(row["paper"], row["figure"]) for row in ROWS}) == len(ROWS)
