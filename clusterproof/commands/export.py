"""The command ``export``: write a folder with which a referee can verify the kernel's verdicts without this program."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from clusterproof.checker.claims.claim import Claim, matching
from clusterproof.checker.export import coqc
from clusterproof.checker.export.exported import Decided, Exported
from clusterproof.checker.export.folder import decided, write_folder
from clusterproof.checker.kernel import Refused
from clusterproof.checker.report.recorded import is_text_of
from clusterproof.checker.report.sentences import plural
from clusterproof.checker.report.stored_evidence import read_evidence
from clusterproof.commands import terminal
from clusterproof.commands.check_evidence import usual_folder
from clusterproof.common import InvalidArgument
from clusterproof.user_files import file_of

REFUSED = "refused by Rocq: `make` says why"
NAMED = 5
"""Largest number of claims that a sentence names."""


def export(
    *names: Annotated[str, Parameter(completer=terminal.claim_ids)], out: Path, evidence: Path | None = None
) -> int:
    """Write proofs and exact counterexamples for a referee: source, evidence, a LaTeX page and a file for Rocq.

    If coqc (8.16 or newer) and make are installed, Rocq checks every proof, and the page states for each line whether
    Rocq accepts the proof. README.md in the folder explains what each theorem states, and in which order to read the
    files.

    Parameters
    ----------
    names
        Claims, such as cfl-mgd/lemma-2, or a line of one; patterns in quotes, such as 'cfl-mgd/*'; papers; and Python
        files that state claims, which are executed.
    out
        Folder to write to.
    evidence
        Folder of the evidence that `clusterproof check --evidence` wrote; by default, the evidence that `check` stores
        in the user's cache.
    """
    if not names:
        raise InvalidArgument(
            "names",
            None,
            "must be the ids of claims",
            "write, for example, clusterproof export cfl-mgd/lemma-2 --out FOLDER",
        )
    ids, files, stated = terminal.ids_and_files(names)
    again = shlex.join([*names, *(["--evidence", str(evidence)] if evidence else [])])
    found, open_claims = list[Decided](), list[str]()
    for name in ids or list(chain(*stated)):
        pattern, _, line = name.partition("#")
        for claim in matching(pattern):
            folder = evidence or usual_folder(claim)
            if file_of(claim.module) is not None:
                _require_checked(claim, folder, again)
            lines = list(decided(claim, folder))
            own = [each for each in lines if not line or each.name == f"{claim.id}#{line}"]
            found += [each for each in own if each.name not in {other.name for other in found}]
            open_claims += [] if own else [claim.id]
    if not found:
        rule = "must have a line that the kernel decides: certified, vacuous or exactly violated"
        shown = shlex.join([open_claims[0], *files])
        remedy = f"`clusterproof show {shown}` prints the evidence for each line"
        raise InvalidArgument("names", ", ".join(names), rule, remedy)
    exported = write_folder(found, out)
    answers = _answers(exported, out)
    for each, answer in zip(exported, answers, strict=True):
        print(f"{each.of.name}: {answer}")
    proofs = sum(bool(each.proof) for each in exported)
    print(f"{plural('line', len(found))} in {out}, {proofs} with a proof for Rocq")
    if open_claims:
        more = f" and {len(open_claims) - NAMED} more" * (len(open_claims) > NAMED)
        print(f"not in it, as the kernel decides no line: {', '.join(open_claims[:NAMED])}{more}")
    print(f"cd {out}; python3 -I -S replay.py; make -j2")
    return int(REFUSED in answers)


def _answers(exported: Sequence[Exported], out: Path) -> list[str]:
    """Return whether Rocq accepts each line, or why Rocq did not check the line."""
    missing = coqc.missing()
    if not missing:
        print(
            f"Rocq checks {plural('proof', sum(bool(each.proof) for each in exported))} ...", file=sys.stderr
        )
        coqc.check(out)
    answers = []
    for each in exported:
        if not each.proof:
            answers.append(f"not exported: {each.why}")
        elif missing:
            answers.append(f"not checked: {missing} is not installed")
        else:
            answers.append("accepted by Rocq" if coqc.accepted(out, each.folder) else REFUSED)
    return answers


def _require_checked(claim: Claim[..., Any], folder: Path | None, again: str) -> None:
    """Reject a user's claim without a stored verdict, or with a verdict on an earlier text of the claim."""
    kept = read_evidence(claim.paper, folder)
    checked = claim.id in kept.verdicts
    try:
        changed = claim.id in kept.texts and not is_text_of(claim, kept.texts[claim.id])
    except Refused:
        changed = True
    if changed or not checked:
        rule = "must be checked again, because its text has changed" if checked else "must be checked first"
        raise InvalidArgument("names", claim.id, rule, f"type: clusterproof check {again}")
