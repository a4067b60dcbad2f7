"""The command ``check``: evaluate claims, replay counterexamples, compare a stored run."""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter

from clusterproof import theory
from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.atomic import check_writable, write_whole
from clusterproof.algorithms.storage import load_trace
from clusterproof.algorithms.validation import check_count, check_seed, error_line
from clusterproof.commands import engine, terminal
from clusterproof.commands.check_page import page
from clusterproof.commands.check_unit import evaluate_in_processes
from clusterproof.commands.child_process import in_child
from clusterproof.synthetic import from_settings
from clusterproof.theory import Claim, Verdict
from clusterproof.theory.checker import catalogue as checking
from clusterproof.theory.checker import ci_gates as gates
from clusterproof.theory.checker import report
from clusterproof.theory.checker.report_replay import disagreement
from clusterproof.theory.headlines import HEADLINES
from clusterproof.theory.runs.bound_and_law import compare_with_law
from clusterproof.theory.runs.sharpest_bound import sharpest_bounds

NEXT = """
clusterproof show ID          a claim's statement, counterexample and repair
clusterproof check --verbose  the claims' numbers and evidence
"""
"""Commands suggested after a check."""


def _require_file(_type: Any, path: Path | None) -> None:
    """Refuse an option in the place of a file, of which only - may begin with a hyphen."""
    if str(path).startswith("-") and path != Path("-"):
        raise ValueError(f"--json requires a file, not {path}")


def check(
    *ids: str,
    all_claims: Annotated[bool, Parameter("--all", negative=())] = False,
    json_file: Annotated[
        Path | None, Parameter("--json", allow_leading_hyphen=True, validator=_require_file)
    ] = None,
    markdown: Path | None = None,
    seed: terminal.Integer = 0,
    trials: terminal.OptionalInteger = None,
    paper: str | None = None,
    fail_on: str | None = None,
    against: Path | None = None,
    quiet: Annotated[bool, Parameter(negative=())] = False,
    verbose: Annotated[bool, Parameter(negative=())] = False,
    jobs: terminal.OptionalInteger = None,
    replay: Path | None = None,
    trace: Path | None = None,
) -> int:
    """Evaluate the named claims, or the headlines: theorems, assumptions, steps of algorithms, repairs.

    Without ids, prints a page: counts of verdicts by paper, the findings in a sentence each, and what repairs them.
    Otherwise prints the claims that fail, the named claims, and the counts.

    Exit status: 0 if every claim got a verdict, 1 if a check failed or a condition of --fail-on or --against is
    met, 2 for bad input.

    Parameters
    ----------
    ids
        Claims to evaluate, such as cfl-mgd/lemma-2; patterns in quotes, such as 'cfl-mgd/lemma-*'; and Python files
        that state claims, such as my_paper.py, which are executed. If claims of a file are named too, only those are
        evaluated of it.
    all_claims
        Every claim, also lines of proofs; with ids or --paper, also the claims whose checks take long.
    json_file
        Write the verdicts as JSON; - writes them to standard output, and all else to standard error.
    markdown
        Write the verdicts as a Markdown table.
    seed
        Seed of the checks.
    trials
        Replicates of claims that have replicates, random instances of the others; by default, the number that the claim
        states. Fewer replicates decide less.
    paper
        The claims of this paper.
    fail_on
        Exit with status 1 if a claim gets one of these verdicts, such as violated,vacuous.
    against
        Earlier report of --json; exit with status 1 if a verdict changed, or if a sharpness got worse and all
        instances were evaluated.
    quiet
        Print the counts alone, and errors to standard error.
    verbose
        Print the whole table of claims, with their numbers and evidence.
    jobs
        Parallel processes; by default all cores for the headlines, and only this process for other claims. The
        verdicts do not depend on the number.
    replay
        Evaluate a report that --json wrote again, counterexamples on their instances, other claims by a check;
        exit status 1 if a verdict or a number differs.
    trace
        Compare a run stored by `clusterproof run --out` with the bounds of the named claims, or with the sharpest of
        its algorithm whose hypotheses hold, and with the law of its algorithm; exit status 0 if all hold, 1 if one is
        broken or the law is another, 3 if one is inconclusive.
    """
    others: dict[str, object] = {"--all": all_claims, "--json": json_file, "--markdown": markdown}
    others |= {"--seed": seed, "--trials": trials, "--paper": paper}
    others |= {"--fail-on": fail_on, "--against": against, "--quiet": quiet, "--verbose": verbose}
    for option, path in (("replay", replay), ("trace", trace)):
        if path is not None:
            others |= {"--replay": replay, "--trace": trace, f"--{option}": None}
            if clash := [name for name, value in others.items() if value]:
                raise InvalidArgument(
                    option, str(path), f"cannot be combined with {clash[0]}", "leave one of the two out"
                )
    files = tuple(dict.fromkeys(name for name in ids if name.endswith(".py")))
    names = [name for name in ids if not name.endswith(".py")]
    if files and (status := in_child("file", ", ".join(files))) is not None:
        return status
    output = sys.stdout  # which a user's file may replace
    stated = terminal.load(files)
    if replay is not None:
        return _replay(names, replay)
    if trace is not None:
        return _compare(names, trace)
    check_seed(seed)
    if trials is not None:
        check_count("trials", trials, at_least=1, remedy="leave it out for the number that each claim states")
    kinds = frozenset() if fail_on is None else gates.read_kinds(fail_on)
    earlier = None if against is None else report.read_report(against, "against")
    headlines = not (ids or paper or all_claims)
    chosen = _headlines() if headlines else _chosen(names, paper, stated, all_claims)
    if jobs is not None:
        check_count("jobs", jobs, at_least=1, at_most=engine.MOST, remedy="give a number of processes")
    json_printed = json_file == Path("-")
    for option, path in (("json", None if json_printed else json_file), ("markdown", markdown)):
        if path is not None:
            check_writable(option, path)
    started = time.perf_counter()
    paged = headlines and not verbose
    if headlines and jobs is None:
        jobs = os.cpu_count()
    if jobs is None:
        evaluated = _one_by_one(chosen, seed, trials)
    else:
        evaluated = evaluate_in_processes(chosen, files, seed, trials, jobs)
    verdicts, failures = _collect(chosen, evaluated, quiet)
    try:
        if json_printed:
            print(report.to_json(verdicts), end="", file=output)
        elif json_file is not None:
            write_whole("json", json_file, report.to_json(verdicts).encode())
        if markdown is not None:
            write_whole("markdown", markdown, report.to_markdown(verdicts).encode())
    finally:  # print the result even if the disk is full, and the reverse
        faults = gates.unwanted(verdicts, kinds)
        if earlier is not None:
            faults += gates.changes(verdicts, earlier, not all_claims or bool(ids or paper))
        for fault in [*failures, *faults]:
            terminal.complain(fault)
        seconds = time.perf_counter() - started
        counts = report.summary(verdicts, len(failures), seed, seconds, terminal.columns())
        with contextlib.redirect_stdout(sys.stderr if json_printed else output):
            if paged and not quiet:
                print(*page(verdicts, terminal.columns()), sep="\n")
            elif not quiet:
                _print_report(verdicts, None if verbose else {*names, *itertools.chain(*stated)})
            if not paged or quiet:
                print(counts)
            if not paged and not quiet:
                print(NEXT, end="")
    if trials is not None and any(": the check failed with MemoryError" in failure for failure in failures):
        raise InvalidArgument("trials", trials, "must fit into memory", "give fewer")
    return 1 if failures or faults else 0


def _headlines() -> list[Claim]:
    """Return the claims that a check without arguments evaluates."""
    return [theory.find_claim(name) for name in HEADLINES]


def _chosen(
    names: Sequence[str], paper: str | None, stated: Sequence[Sequence[str]], all_claims: bool
) -> list[Claim]:
    """Return the requested claims; without --all, long checks only if their full id is given.

    Parameters
    ----------
    names
        Ids and patterns.
    paper, all_claims
        As for ``check``.
    stated
        Ids of the claims of each file; all of them are requested unless ``names`` has some.
    """
    candidates = theory.catalogue(paper)
    chosen: dict[str, Claim] = {}
    for name in names:
        matching = [claim for claim in checking.matching(name) if claim in candidates]
        if not matching:
            raise InvalidArgument("id", name, f"must be a claim of {paper}", "leave out --paper")
        evaluated = [claim for claim in matching if claim.quick or all_claims or claim.id == name]
        if not evaluated:
            raise InvalidArgument("id", name, "matches claims that take long only", "add --all")
        chosen |= {claim.id: claim for claim in evaluated}
    whole = [own for own in stated if not chosen.keys() & set(own)]
    requested = [theory.find_claim(name) for own in whole for name in own]
    if not (names or stated):
        requested = candidates
    chosen |= {claim.id: claim for claim in requested if claim in candidates and (claim.quick or all_claims)}
    return list(chosen.values())


def _one_by_one(
    chosen: Sequence[Claim], seed: int, trials: int | None
) -> Iterator[tuple[int, Verdict | str]]:
    """Evaluate claims in this process; yield each index with its verdict or error message."""
    for index, claim in enumerate(chosen):
        try:
            yield index, theory.check(claim.id, seed=seed, trials=trials)
        except Exception as error:  # one broken check must not hide the other verdicts
            yield index, error_line(error)


def _collect(
    chosen: Sequence[Claim], evaluated: Iterable[tuple[int, Verdict | str]], quiet: bool
) -> tuple[list[Verdict], list[str]]:
    """Show progress; return the verdicts in the order of the claims, and a message on each check that failed."""
    verdict_of: dict[int, Verdict] = {}
    failures = []
    with terminal.progress(0 if quiet else len(chosen), lines="steps") as advance:
        advance(0, chosen[0].id if chosen else "")
        for number, (index, answer) in enumerate(evaluated, start=1):
            advance(number, chosen[number].id if number < len(chosen) else "")
            if isinstance(answer, Verdict):
                verdict_of[index] = answer
            else:
                failures.append(f"{chosen[index].id}: the check failed with {answer}")
    return [verdict_of[index] for index in sorted(verdict_of)], failures


def _print_report(verdicts: Sequence[Verdict], named: set[str] | None) -> None:
    """Print the table of all verdicts, or a page with failing and named claims if ``named`` is not None."""
    if not verdicts:
        return
    width = terminal.columns()
    if named is None:
        terminal.show(report.verdict_table(verdicts, width))
        print()
    listed = [
        verdict
        for verdict in verdicts
        if verdict.verdict not in report.HOLDS or verdict.claim in (named or ())
    ]
    terminal.show(report.page(verdicts, [] if named is None else listed, width))


def _replay(ids: Sequence[str], path: Path) -> int:
    """Evaluate the entries of a report again: counterexamples on their instances, others by a check."""
    wanted = [theory.find_claim(name).id for name in ids]
    entries = [entry for entry in report.read_report(path) if not wanted or entry.claim in wanted]
    confirmed = 0
    for entry in entries:
        finding, difference = disagreement(entry)
        confirmed += not difference
        print(f"{entry.claim}  {finding.verdict}  {difference or 'as recorded'}; {finding.reason}")
    print(f"{confirmed} of {len(entries)} entries confirmed")
    return 0 if confirmed == len(entries) else 1


def _compare(ids: Sequence[str], folder: Path) -> int:
    """Compare a stored run with the bounds of claims."""
    claims = [theory.find_claim(name).id for name in dict.fromkeys(ids)]
    trace = load_trace(folder)
    task = from_settings(trace.settings["task"])
    if not claims:
        claims = [claim for claim, *_ in sharpest_bounds(task, trace)]
        for claim in claims:
            print(f"the sharpest bound whose hypotheses hold is that of {claim}")
    with np.errstate(all="ignore"):
        answers = compare_with_law(claims, task, trace)
        for claim, answer in answers.items():
            slack = [f"slack {answer.slack:.3g}"] if answer.slack < np.inf else []
            print(f"{claim}  {answer.kind}  {'; '.join([answer.sentence, *slack])}")
    kinds = {answer.kind for answer in answers.values()}
    return 1 if kinds & {"broken", "other law"} else 3 if "inconclusive" in kinds else 0
