"""The list of the papers' figures: each has a counterpart that exists or a reason."""

import csv

from checkout import ROOT

from clusterproof.figures import FIGURES


def test_every_counterpart_exists_and_every_reason_is_stated() -> None:
    with (ROOT / "figures" / "every_figure.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert rows
    for row in rows:
        for answer in row["answer"].split("; figure: "):
            name = answer.removeprefix("figure: ")
            assert name in FIGURES or (name.startswith("reason: ") and len(name) > 40), row
