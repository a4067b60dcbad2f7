"""The command ``schema``: the JSON schema of a report."""

from __future__ import annotations

import json

from clusterproof.theory.workbench.schema import report_schema


def schema() -> int:
    """Print the JSON schema of what `check --json` writes."""
    print(json.dumps(report_schema(), indent=2))
    return 0
