"""The command ``show``: a claim's theorem card, its verdict and what repairs it."""

from __future__ import annotations

import json
import sys
from typing import Annotated

from cyclopts import Parameter

from clusterproof import theory
from clusterproof.algorithms.validation import check_seed
from clusterproof.commands import terminal
from clusterproof.theory import Claim, code_of, report


def show(
    claim_id: str,
    /,
    *,
    seed: terminal.Integer = 0,
    check: bool = True,
    module: Annotated[tuple[str, ...], Parameter(negative=(), consume_multiple=False)] = (),
) -> int:
    """Show a claim's theorem card, its verdict, its counterexample and what repairs it.

    Parameters
    ----------
    claim_id
        Such as cfl-mgd/lemma-2.
    seed
        Seed of the check.
    check
        Evaluate the claim; --no-check shows the card alone.
    module
        Python file or module that states claims, which is executed.
    """
    check_seed(seed)
    terminal.load(module)
    claim = theory.find_claim(claim_id)
    print(f"{claim.id}: {claim.label} ({claim.kind})\n{claim.title}\n\n{claim.card}\n")
    if not check:
        _show_repair(claim)
        return 0
    sys.stdout.flush()
    try:
        verdict = theory.check(claim_id, seed=seed)
    except Exception as error:  # the card is shown; the check's failure is a line of its own
        terminal.complain(f"{claim_id}: the check failed with {type(error).__name__}: {error}")
        return 1
    console = terminal.console()
    console.print(report.verdict_table([verdict], console.width))
    if verdict.counterexample is not None:
        print(
            "\ncounterexample\n"
            + json.dumps(json.loads(report.to_json([verdict.counterexample]))[0], indent=2)
        )
        loaded = "".join(f" --module {name}" for name in module)
        print(
            f"\nto replay it: clusterproof check {claim_id}{loaded} --seed {seed} --json report.json"
            f" && clusterproof check{loaded} --replay report.json; or in Python:\n\n{code_of(verdict)}"
        )
    _show_repair(claim)
    return 0


def _show_repair(claim: Claim) -> None:
    """Print what replaces a claim: its title and its statement."""
    if claim.repaired_by is None:
        return
    repair = theory.find_claim(claim.repaired_by)
    statement = repair.card.partition("Statement\n")[2].partition("\n\n")[0]
    print(f"\nrepaired by {repair.id}: {repair.title}\n{statement}")
