"""A Markdown table of the stored numbers of all tables next to the printed numbers.

``python -m clusterproof.experiments.summary`` writes the table to the page of the stored results.
"""

from __future__ import annotations

import json

from clusterproof.experiments.comparison import RULE
from clusterproof.experiments.paper_table import HEADERS, RESULTS, stored_results
from clusterproof.experiments.tables import TABLES

PAGE = RESULTS / "README.md"
HEADING = "## The papers' numbers and ours\n"


def stored_summary() -> str:
    """Return one line per printed number that was measured, and an explanation of the results."""
    lines = [f"| experiment | {' | '.join(HEADERS)} |", "| --- " * (len(HEADERS) + 1) + "|"]
    for (name, settings), group in stored_results().group_by("table", "settings", maintain_order=True):
        changes = json.loads(str(settings))
        table = TABLES[str(name)].from_values(changes)
        words = [f"`{name}`", *(_written(*change) for change in changes.items())]
        cells = [row.cells for row in table.rows(group) if row.printed is not None]
        lines += [f"| {', '.join(words)} | {' | '.join(row)} |" for row in cells]
    return "\n".join([*lines, "", RULE, ""])


def _written(setting: str, value: object) -> str:
    """Describe a setting by its name and its value, or only by its name for a list or a table."""
    if setting == "data":
        return str(value)
    return f"{setting} changed" if isinstance(value, list | dict) else f"{setting} {value}"


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8").partition(HEADING)[0]
    PAGE.write_text(f"{text}{HEADING}\n{stored_summary()}", encoding="utf-8")
