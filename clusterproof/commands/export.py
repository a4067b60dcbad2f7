"""The command ``export``: what the kernel decides as a folder that a referee checks without this program."""

from __future__ import annotations

import shlex
from itertools import chain
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from clusterproof.checker.claims.claim import matching
from clusterproof.checker.export.folder import Decided, decided, write_folder
from clusterproof.commands import terminal
from clusterproof.commands.check_evidence import usual_folder
from clusterproof.common import InvalidArgument


def export(
    *names: Annotated[str, Parameter(completer=terminal.claim_ids)], out: Path, evidence: Path | None = None
) -> int:
    """Write proofs and exact counterexamples for a referee: source, evidence, a page in LaTeX, a file for Rocq.

    In the folder, `python3 -I -S replay.py` says the words again on a bare Python, and `make` lets Rocq (coqc 8.16 or
    newer) check every proof.

    Parameters
    ----------
    names
        Claims, such as cfl-mgd/lemma-2, or a line of one; patterns in quotes, such as 'cfl-mgd/*'; papers; and Python
        files that state claims, which are executed.
    out
        Folder to write to.
    evidence
        Folder of the records that `clusterproof check --evidence` wrote; without it those that every check keeps.
    """
    if not names:
        raise InvalidArgument(
            "names", "", "must name a claim", "such as clusterproof export cfl-mgd/lemma-2 --out FOLDER"
        )
    ids, _, stated = terminal.ids_and_files(names)
    wanted = ids or list(chain(*stated))
    found: list[Decided] = []
    for name in wanted:
        pattern, _, line = name.partition("#")
        for claim in matching(pattern):
            lines = decided(claim, evidence or usual_folder(claim))
            own = [each for each in lines if not line or each.name == f"{claim.id}#{line}"]
            found += [each for each in own if each.name not in {other.name for other in found}]
    if not found:
        rule = "must have a recorded line that the kernel decides: certified, vacuous or exactly violated"
        check = (
            f"clusterproof check {shlex.join([*names, *(['--evidence', str(evidence)] if evidence else [])])}"
        )
        raise InvalidArgument("names", ", ".join(names), rule, f"`{check}` decides and records them")
    missing = write_folder(found, out)
    for name, why in missing.items():
        terminal.complain(f"{name}: no file for Rocq: {why}")
    print(f"{len(found)} lines in {out}, {len(found) - len(missing)} of them with a proof for Rocq")
    print(f"cd {out}; python3 -I -S replay.py; make -j2")
    return 0
