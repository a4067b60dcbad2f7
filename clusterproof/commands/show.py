"""The command ``show``: a claim's statement, its verdict and the claim that repairs it."""

from __future__ import annotations

import sys
import textwrap

from clusterproof import theory
from clusterproof.algorithms.validation import check_seed, error_line
from clusterproof.commands import terminal
from clusterproof.theory import Claim, code_of
from clusterproof.theory.claims import report


def show(
    claim_id: str,
    /,
    *files: str,
    seed: terminal.Integer = 0,
    check: bool = True,
) -> int:
    """Show a claim's statement, its verdict, its counterexample and the claim that repairs it.

    Parameters
    ----------
    claim_id
        Id of a claim, such as cfl-mgd/lemma-2.
    files
        Python files that state claims; they are executed.
    seed
        Seed of the check.
    check
        Evaluate the claim; --no-check shows the statement only.
    """
    check_seed(seed)
    terminal.require_files(files)
    terminal.load(files)
    claim = theory.find_claim(claim_id)
    width = terminal.columns() or 80
    _print_wrapped(f"{claim.id}: {claim.source}\n{claim.title}\n\n{claim.text}", width)
    print()
    if not check:
        _show_repair(claim, width)
        return 0
    sys.stdout.flush()
    try:
        verdict = theory.check(claim_id, seed=seed)
    except Exception as error:  # the statement is printed already; report the failure in a separate line
        terminal.complain(f"{claim_id}: the check failed with {error_line(error)}")
        return 1
    terminal.show(report.row(verdict, len(verdict.claim), width))
    if verdict.counterexample is not None:
        print(f"\ncounterexample\n{report.to_json(verdict.counterexample)}".rstrip())
        loaded = "".join(f" {name}" for name in files)
        print(
            f"\nto replay it:\n\n"
            f"    clusterproof check {claim_id}{loaded} --seed {seed} --json report.json\n"
            f"    clusterproof check{loaded} --replay report.json\n\nor in Python:\n\n{code_of(verdict)}".rstrip()
        )
    for line in verdict.lines if len(verdict.lines) > 1 else ():
        _print_wrapped(f"  {line.name or claim.id}: {line.verdict}: {line.reason}", width)
    print()
    _show_repair(claim, width)
    return 0


def _print_wrapped(text: str, width: int) -> None:
    """Print text wrapped to ``width``; a line that is too long is first joined with its continuation line."""
    lines: list[str] = []
    too_long = False
    for line in text.splitlines():
        if too_long and line.strip() and _indentation(line) == _indentation(lines[-1]):
            lines[-1] += " " + line.strip()
        else:
            lines.append(line)
        too_long = len(line) > width
    for line in lines:
        wrapped = textwrap.wrap(line, width, subsequent_indent=_indentation(line), break_on_hyphens=False)
        print(*wrapped, sep="\n")


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _show_repair(claim: Claim, width: int) -> None:
    """Print the title and statement of each claim that repairs a claim."""
    for name in claim.repaired_by:
        repair = theory.find_claim(name)
        statement = repair.text.partition("Statement\n")[2].partition("\n\n")[0]
        _print_wrapped(f"repaired by {repair.id}: {repair.title}\n{statement}", width)
