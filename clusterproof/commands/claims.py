"""The command ``claims``: list every claim."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from clusterproof import theory
from clusterproof.algorithms.atomic import write_whole
from clusterproof.commands import terminal
from clusterproof.theory import report


def claims(
    *,
    paper: str | None = None,
    json_file: Annotated[Path | None, Parameter("--json")] = None,
    module: Annotated[tuple[str, ...], Parameter(negative=(), consume_multiple=False)] = (),
) -> int:
    """List every claim.

    Parameters
    ----------
    paper
        Only the claims of this paper.
    json_file
        Write the list as JSON.
    module
        Python file or module that states claims, which is executed: only its claims.
    """
    stated = terminal.load(module)
    claims = [claim for claim in theory.claims(paper) if not module or claim.id in stated]
    if json_file is not None:
        write_whole(
            "json", json_file, report.to_json([report.claim_record(claim) for claim in claims]).encode()
        )
    console = terminal.console()
    console.print(report.claim_table(claims, console.width))
    return 0
