"""The command ``check``: evaluate claims, replay counterexamples, compare a stored run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
from cyclopts import Parameter

from clusterproof import theory
from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.atomic import check_writable, write_whole
from clusterproof.algorithms.storage import load_trace
from clusterproof.algorithms.validation import check_count, check_seed
from clusterproof.commands import terminal
from clusterproof.synthetic import from_settings
from clusterproof.theory import Kind, Verdict, report
from clusterproof.theory.oracle import compare, sensitivity


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
        Compare a run that `clusterproof run --out` stored with what the named claims allow; exit status 0
        if all hold, 1 if one is broken, 3 if one is undecidable.
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
    check_seed(seed)
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
    with terminal.progress(len(chosen)) as advance:
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
    entries = [entry for entry in report.read_report(path) if not wanted or entry.claim in wanted]
    lost = [entry for entry in entries if report.lacks_counterexample(entry)]
    findings = [
        (entry.claim, report.replay_recorded(entry)) for entry in entries if entry.counterexample is not None
    ]
    for claim, finding in findings:
        print(f"{claim}  {finding.verdict}  {finding.reason}")
    for entry in lost:
        print(f"{entry.claim}  recorded as {entry.verdict} without its counterexample: nothing to evaluate")
    confirmed = sum(finding.verdict in (Kind.VIOLATED, Kind.ILL_POSED) for _, finding in findings)
    print(f"{confirmed} of {len(findings) + len(lost)} counterexamples confirmed")
    return 0 if confirmed == len(findings) + len(lost) else 1


def _compare(ids: Sequence[str], folder: Path) -> int:
    """Compare a stored run with what claims allow."""
    if not ids:
        raise InvalidArgument("trace", str(folder), "needs the id of a claim", "add one that bounds runs")
    claims = [theory.find_claim(name).id for name in dict.fromkeys(ids)]
    trace = load_trace(folder)
    task = from_settings(trace.settings["task"])
    with np.errstate(all="ignore"):
        answers = {claim: compare(claim, task, trace) for claim in claims}
        for claim, answer in answers.items():
            faults = sensitivity(claim, task, trace) if answer.kind == "holds" else ()
            slack = [f"slack {answer.slack:.3g}"] if answer.slack < np.inf else []
            shown = [f"faults that would show: {', '.join(faults)}"] if faults else []
            print(f"{claim}  {answer.kind}  {'; '.join([answer.sentence, *slack, *shown])}")
    kinds = {answer.kind for answer in answers.values()}
    return 1 if "broken" in kinds else 3 if "undecidable" in kinds else 0
