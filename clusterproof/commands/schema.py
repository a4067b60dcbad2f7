"""The command ``schema``: JSON schemas of the output of ``check`` and ``run``."""

from __future__ import annotations

import json
from typing import Literal

from clusterproof.commands.run_record import run_schema
from clusterproof.conformance import report_schema as conform_schema
from clusterproof.theory.checker.report_schema import report_schema

SCHEMAS = {"check": report_schema, "run": run_schema, "conform": conform_schema}


def schema(command: Literal["check", "run", "conform"] = "check", /) -> int:
    """Print the JSON schema of the file that a command's --json writes.

    Parameters
    ----------
    command
        Name of the command, check by default.
    """
    print(json.dumps(SCHEMAS[command](), indent=2))
    return 0
