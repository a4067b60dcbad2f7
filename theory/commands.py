"""The commands about claims: ``check``, ``claims`` and ``show``."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
from cyclopts import Parameter

import theory
from algorithms import InvalidArgument
from algorithms.atomic import check_writable, write_whole
from algorithms.storage import load_trace
from algorithms.validation import check_count
from synthetic import from_settings
from theory import Claim, Kind, Verdict, report, terminal


def check(
    *ids: str,
    all_claims: Annotated[bool, Parameter("--all", negative=())] = False,
    json_file: Annotated[Path | None, Parameter("--json")] = None,
    markdown: Path | None = None,
    seed: terminal.Integer = 0,
    trials: terminal.OptionalInteger = None,
    paper: str | None = None,
    replay: Path | None = None,
    trace: Path | None = None,
) -> int:
    """Evaluate claims: all of the quick ones, or those that are named.

    Exit status: 0 if every claim got a verdict, 1 if a check failed, 2 for bad input.

    Parameters
    ----------
    ids
        Claims to evaluate, such as cfl-mgd/lemma-2.
    all_claims
        Include the claims that take long.
    json_file
        Write the verdicts as JSON.
    markdown
        Write the verdicts as a Markdown table.
    seed
        Seed of the checks.
    trials
        Random instances or repetitions of each check; its own number by default.
    paper
        Only the claims of this paper.
    replay
        Evaluate the counterexamples of a report that --json wrote anew; exit status 1 if one fails.
    trace
        Compare a run that `clusterproof run --out` stored with what the named claims allow.
    """
    others: dict[str, object] = {"--all": all_claims, "--json": json_file, "--markdown": markdown}
    others |= {"--seed": seed, "--trials": trials, "--paper": paper}
    for option, given in (("replay", replay), ("trace", trace)):
        if given is not None:
            others |= {"--replay": replay, "--trace": trace, f"--{option}": None}
            if clash := [name for name, value in others.items() if value]:
                raise InvalidArgument(
                    option, str(given), f"cannot be combined with {clash[0]}", "leave one of the two out"
                )
    if replay is not None:
        return _replay(ids, replay)
    if trace is not None:
        return _compare(ids, trace)
    return _evaluate(ids, all_claims, json_file, markdown, seed, trials, paper)


def _evaluate(
    ids: Sequence[str],
    all_claims: bool,
    json_file: Path | None,
    markdown: Path | None,
    seed: int,
    trials: int | None,
    paper: str | None,
) -> int:
    """Evaluate claims and report."""
    check_count("seed", seed, at_least=0, remedy="give a non-negative integer")
    if trials is not None:
        check_count("trials", trials, at_least=1, remedy="leave it out for each check's own number")
    candidates = theory.claims(paper)
    if ids:
        chosen = [theory.find_claim(name) for name in dict.fromkeys(ids)]
        if foreign := [claim.id for claim in chosen if claim not in candidates]:
            raise InvalidArgument("id", foreign[0], f"must be a claim of {paper}", "leave out --paper")
    else:
        chosen = [claim for claim in candidates if claim.quick or all_claims]
    for option, path in (("json", json_file), ("markdown", markdown)):
        if path is not None:
            check_writable(option, path)
    started = time.perf_counter()
    verdicts: list[Verdict] = []
    failures: list[str] = []
    too_large = False
    with terminal.progress(len(chosen), delay=0) as advance:
        for number, claim in enumerate(chosen):
            advance(number, claim.id)
            try:
                verdicts.append(theory.check(claim.id, seed=seed, trials=trials))
            except Exception as error:  # one broken check must not hide the other verdicts
                failures.append(f"{claim.id}: the check failed with {type(error).__name__}: {error}")
                too_large |= trials is not None and isinstance(error, MemoryError)
    try:
        if json_file is not None:
            write_whole("json", json_file, report.to_json(verdicts).encode())
        if markdown is not None:
            write_whole("markdown", markdown, report.to_markdown(verdicts).encode())
    finally:  # a full disk or a closed pipe must not cost the other half of the result
        for failure in failures:
            terminal.complain(failure)
        console = terminal.console()
        if verdicts:
            console.print(report.verdict_table(verdicts, console.width))
        console.print(report.summary(verdicts, len(failures), seed, time.perf_counter() - started))
    if too_large:
        raise InvalidArgument("trials", trials, "must fit into memory", "give fewer")
    return 1 if failures else 0


def _replay(ids: Sequence[str], path: Path) -> int:
    """Evaluate the counterexamples of a report anew."""
    wanted = [theory.find_claim(name).id for name in ids]
    recorded = [entry for entry in report.read_report(path) if entry.counterexample is not None]
    recorded = [entry for entry in recorded if not wanted or entry.claim in wanted]
    findings = [(entry.claim, report.replay_recorded(entry)) for entry in recorded]
    for claim, finding in findings:
        print(f"{claim}  {finding.verdict}  {finding.reason}")
    confirmed = sum(finding.verdict == Kind.VIOLATED for _, finding in findings)
    print(f"{confirmed} of {len(findings)} counterexamples confirmed")
    return 0 if confirmed == len(findings) else 1


def _compare(ids: Sequence[str], folder: Path) -> int:
    """Compare a stored run with what claims allow."""
    if not ids:
        raise InvalidArgument("trace", str(folder), "needs the id of a claim", "add one that bounds runs")
    claims = [theory.find_claim(name).id for name in dict.fromkeys(ids)]
    trace = load_trace(folder)
    task = from_settings(trace.settings["task"])
    results = []
    for claim in claims:
        try:
            with np.errstate(all="ignore"):
                theory.assert_holds(claim, task, trace)
            results.append(f"{claim}  holds")
        except AssertionError as error:
            results.append(f"{claim}  violated  {str(error).removeprefix(claim + ': ')}")
    print("\n".join(results))
    return 0


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


def show(claim_id: str, /, *, seed: terminal.Integer = 0, check: bool = True) -> int:
    """Show a claim's theorem card, its verdict, its counterexample and what repairs it.

    Parameters
    ----------
    claim_id
        Such as cfl-mgd/lemma-2.
    seed
        Seed of the check.
    check
        Evaluate the claim; --no-check shows the card alone.
    """
    check_count("seed", seed, at_least=0, remedy="give a non-negative integer")
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
        print(
            f"\nto replay it: clusterproof check {claim_id} --seed {seed} --json report.json"
            " && clusterproof check --replay report.json"
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
