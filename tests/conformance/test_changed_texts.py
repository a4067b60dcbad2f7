"""Mistakes made in the texts of implementations by hand: seen, and named if they are known; other forms are found."""

import tomllib
import types
from pathlib import Path
from typing import Any

import clustered_by_hand
import pytest
from tiers import slow_after

from clusterproof.conformance import DEFINITIONS, check_names, conform
from clusterproof.conformance.further_checks import CHECKS

FOLDER = Path(clustered_by_hand.__file__).parent
ROWS = tomllib.loads(Path(__file__).with_name("changed_texts.toml").read_text(encoding="utf-8"))["changes"]
NAMES = {"PerFedAvg": "per-fedavg", "GradientLoss": "gradient-loss"}
"""Algorithms that are not called like their classes."""

LONGER = ("seven-clients", "many-rounds")
"""Probes that take most of the time, and that few rows need."""


def texts(row: dict[str, Any], key: str) -> list[str]:
    return [row[key]] if isinstance(row[key], str) else row[key]


def implementation(row: dict[str, Any]) -> Any:
    """Return the class of a row, whose text has the row's changes."""
    if row["source"].startswith("torch"):
        pytest.importorskip("torch")
    text = (FOLDER / f"{row['source']}.py").read_text(encoding="utf-8")
    for old, new in zip(texts(row, "text"), texts(row, "new"), strict=True):
        assert old in text, old
        text = text.replace(old, new)
    module = types.ModuleType("mutant")
    exec(compile(text, "mutant.py", "exec"), module.__dict__)
    return getattr(module, row["name"])


@pytest.mark.parametrize(
    "row", slow_after(9, "some take seconds", sorted(ROWS, key=lambda row: row["source"]))
)
def test_a_change_is_seen_and_named_if_it_is_known(row: dict[str, Any]) -> None:
    start, algorithm = implementation(row), NAMES.get(row["name"], row["name"].lower())
    settings, forms = row.get("settings", {}), row.get("forms", {})
    names = check_names(DEFINITIONS[algorithm])[: -len(CHECKS)]
    checks = [name for name in names if name not in LONGER or row.get("longer")]
    report = conform(start, algorithm, settings=settings, checks=checks, explained="mistakes" in row)
    assert report.verdict == row.get("verdict", "differs"), str(report)
    assert row.get("words", "") in " ".join(str(report).split())
    if report.verdict == "variant" and forms:
        assert report.changed == forms
        declared = {**settings, **forms}
        again = conform(start, algorithm, settings=declared, checks=checks, explained=False)
        assert again.verdict == "conforms"
    elif "mistakes" in row:
        named = [(one.mistakes, one.forms) for one in report.likely]
        assert (tuple(row["mistakes"]), forms) in named if row["mistakes"] else named == [], str(report)
    # one probe has more of everything: it does not tell which of them matters
    assert "that differ are the runs with more than" not in report.sentence
