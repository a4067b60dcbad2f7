"""The command ``schema``: the JSON schemas of what the commands write."""

from __future__ import annotations

import json
from typing import Literal

from clusterproof.commands.run_record import run_schema
from clusterproof.theory.workbench.schema import report_schema

SCHEMAS = {"check": report_schema, "run": run_schema}


def schema(command: Literal["check", "run"] = "check", /) -> int:
    """Print the JSON schema of what a command's --json writes.

    Parameters
    ----------
    command
        Whose: check by default.
    """
    print(json.dumps(SCHEMAS[command](), indent=2))
    return 0
