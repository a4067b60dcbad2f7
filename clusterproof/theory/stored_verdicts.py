"""Verdicts of all claims with seed 0, stored with each version: `clusterproof check --all --json` writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from clusterproof.algorithms import InvalidArgument

STORED_VERDICTS = Path(__file__).with_name("verdicts.json")


def read_verdicts(path: Path = STORED_VERDICTS) -> dict[str, dict[str, Any]]:
    """Read a report of ``clusterproof check --json``: its verdicts by the claim's id.

    Raises
    ------
    InvalidArgument
        If the file cannot be read or is not such a report.
    """
    remedy = "write it with `clusterproof check --all --json FILE`"
    try:
        records = json.loads(path.read_text(encoding="utf-8"))["claims"]
        return {record["claim"]: {"verdict": record["verdict"], **record} for record in records}
    except (OSError, ValueError) as error:
        rule = f"must be a report that can be read ({getattr(error, 'strerror', None) or error})"
        raise InvalidArgument("verdicts", str(path), rule, remedy) from error
    except (TypeError, KeyError) as error:
        raise InvalidArgument("verdicts", str(path), "must be a report of verdicts", remedy) from error
