"""The command ``schema``: JSON schemas of what the commands' ``--json`` writes."""

from __future__ import annotations

import json
from typing import Any, Literal

import msgspec

from clusterproof.commands.run_record import run_schema
from clusterproof.conformance import report_schema as conform_schema
from clusterproof.theory.checker.report_schema import first_lines, report_schema


def leaderboard_schema() -> dict[str, Any]:
    """Give the schema of what ``leaderboard --json`` writes: a list of rows."""
    from clusterproof.theory.leaderboard import Row

    rows = msgspec.json.schema(list[Row])
    first_lines(rows["$defs"])
    return rows


SCHEMAS = {
    "check": report_schema,
    "run": run_schema,
    "conform": conform_schema,
    "leaderboard": leaderboard_schema,
}


def schema(command: Literal["check", "run", "conform", "leaderboard"] = "check", /) -> int:
    """Print the JSON schema of the file that a command's --json writes.

    Parameters
    ----------
    command
        Name of the command, check by default.
    """
    print(json.dumps(SCHEMAS[command](), indent=2))
    return 0
