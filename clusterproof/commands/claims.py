"""The command ``claims``: list every claim."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from clusterproof import theory
from clusterproof.algorithms.atomic import write_whole
from clusterproof.commands import terminal
from clusterproof.theory import report


def claims(*, paper: str | None = None, json_file: Annotated[Path | None, Parameter("--json")] = None) -> int:
    """List every claim.

    Parameters
    ----------
    paper
        Only the claims of this paper.
    json_file
        Write the list as JSON.
    """
    claims = theory.claims(paper)
    if json_file is not None:
        write_whole(
            "json", json_file, report.to_json([report.claim_record(claim) for claim in claims]).encode()
        )
    console = terminal.console()
    console.print(report.claim_table(claims, console.width))
    return 0
