"""The command ``check``: evaluate claims, replay counterexamples, compare a stored run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
from cyclopts import Parameter

from clusterproof import theory
from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.atomic import check_writable, write_whole
from clusterproof.algorithms.storage import load_trace
from clusterproof.algorithms.validation import check_count, check_seed
from clusterproof.commands import engine, terminal
from clusterproof.commands.check_unit import evaluate_in_processes
from clusterproof.synthetic import from_settings
from clusterproof.theory import Claim, Kind, Verdict, checking, report
from clusterproof.theory.oracle import compare, sensitivity
from clusterproof.theory.workbench import gates


def check(
    *ids: str,
    all_claims: Annotated[bool, Parameter("--all", negative=())] = False,
    json_file: Annotated[Path | None, Parameter("--json")] = None,
    markdown: Path | None = None,
    seed: terminal.Integer = 0,
    trials: terminal.OptionalInteger = None,
    paper: str | None = None,
    module: Annotated[tuple[str, ...], Parameter(negative=(), consume_multiple=False)] = (),
    fail_on: str | None = None,
    against: Path | None = None,
    quiet: Annotated[bool, Parameter(negative=())] = False,
    jobs: terminal.OptionalInteger = None,
    replay: Path | None = None,
    trace: Path | None = None,
) -> int:
    """Evaluate claims: all of the quick ones, or those that are named.

    Exit status: 0 if every claim got a verdict, 1 if a check failed or --fail-on or --against says so, 2 for
    bad input.

    Parameters
    ----------
    ids
        Claims to evaluate, such as cfl-mgd/lemma-2, or patterns in quotes, such as 'cfl-mgd/lemma-*'.
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
    module
        Python file or module that states claims, which is executed; without ids its claims are evaluated.
        May be given several times.
    fail_on
        Exit with status 1 if a claim gets one of these verdicts, such as violated,vacuous.
    against
        Report that --json wrote earlier; exit with status 1 if a verdict changed, or a sharpness got worse
        where all instances were evaluated.
    quiet
        Print nothing but what is wrong, on standard error.
    jobs
        Parallel processes; this one alone by default. The verdicts are the same.
    replay
        Evaluate the counterexamples of a report that --json wrote anew; exit status 1 if one fails.
    trace
        Compare a run that `clusterproof run --out` stored with what the named claims allow; exit status 0
        if all hold, 1 if one is broken, 3 if one is undecidable.
    """
    others: dict[str, object] = {"--all": all_claims, "--json": json_file, "--markdown": markdown}
    others |= {"--seed": seed, "--trials": trials, "--paper": paper}
    others |= {"--fail-on": fail_on, "--against": against, "--quiet": quiet}
    for option, given in (("replay", replay), ("trace", trace)):
        if given is not None:
            others |= {"--replay": replay, "--trace": trace, f"--{option}": None}
            if clash := [name for name, value in others.items() if value]:
                raise InvalidArgument(
                    option, str(given), f"cannot be combined with {clash[0]}", "leave one of the two out"
                )
    stated = terminal.load(module)
    if replay is not None:
        return _replay(ids, replay)
    if trace is not None:
        return _compare(ids, trace)
    check_seed(seed)
    if trials is not None:
        check_count("trials", trials, at_least=1, remedy="leave it out for each check's own number")
    kinds = frozenset() if fail_on is None else gates.read_kinds(fail_on)
    earlier = None if against is None else report.read_report(against, "against")
    chosen = _chosen(ids, paper, stated, all_claims)

    def changed(verdicts: Sequence[Verdict]) -> list[str]:
        wrong = gates.unwanted(verdicts, kinds)
        named = bool(ids or module or paper or not all_claims)
        return wrong if earlier is None else [*wrong, *gates.changes(verdicts, earlier, named)]

    if jobs is None:
        evaluated = _one_by_one(chosen, seed, trials)
    else:
        check_count("jobs", jobs, at_least=1, at_most=engine.MOST, remedy="give a number of processes")
        evaluated = evaluate_in_processes(chosen, module, seed, trials, jobs)
    return _evaluate(chosen, evaluated, json_file, markdown, seed, trials, quiet, changed)


def _chosen(ids: Sequence[str], paper: str | None, stated: Sequence[str], all_claims: bool) -> list[Claim]:
    """Claims that are asked for: of long ones only those that are named by their whole id, but for --all."""
    candidates = theory.claims(paper)
    if not ids:
        asked = [theory.find_claim(name) for name in stated] if stated else candidates
        return [claim for claim in asked if claim in candidates and (claim.quick or all_claims)]
    chosen: dict[str, Claim] = {}
    for name in ids:
        found = checking.matching(name)
        if not (fitting := [claim for claim in found if claim in candidates]):
            raise InvalidArgument("id", name, f"must be a claim of {paper}", "leave out --paper")
        short = [claim for claim in fitting if claim.quick or all_claims or claim.id == name]
        if not short:
            raise InvalidArgument("id", name, "matches claims that take long only", "add --all")
        chosen |= {claim.id: claim for claim in short}
    return list(chosen.values())


def _one_by_one(
    chosen: Sequence[Claim], seed: int, trials: int | None
) -> Iterator[tuple[int, Verdict | str]]:
    """Evaluate claims in this process: place, and verdict or a line on what went wrong."""
    for number, claim in enumerate(chosen):
        try:
            yield number, theory.check(claim.id, seed=seed, trials=trials)
        except Exception as error:  # one broken check must not hide the other verdicts
            yield number, f"{type(error).__name__}: {error}"


def _evaluate(
    chosen: Sequence[Claim],
    evaluated: Iterable[tuple[int, Verdict | str]],
    json_file: Path | None,
    markdown: Path | None,
    seed: int,
    trials: int | None,
    quiet: bool,
    wrong: Callable[[Sequence[Verdict]], list[str]],
) -> int:
    """Evaluate claims and report; ``wrong`` says what fails a build."""
    for option, path in (("json", json_file), ("markdown", markdown)):
        if path is not None:
            check_writable(option, path)
    started = time.perf_counter()
    found: dict[int, Verdict] = {}
    failures: list[str] = []
    too_large = False
    with terminal.progress(0 if quiet else len(chosen)) as advance:
        advance(0, chosen[0].id if chosen else "")
        for number, (place, answer) in enumerate(evaluated, start=1):
            following = chosen[number].id if number < len(chosen) else ""
            advance(number, following)
            if isinstance(answer, Verdict):
                found[place] = answer
            else:
                failures.append(f"{chosen[place].id}: the check failed with {answer}")
                too_large |= trials is not None and answer.startswith("MemoryError")
    verdicts = [found[place] for place in sorted(found)]
    try:
        if json_file is not None:
            write_whole("json", json_file, report.to_json(verdicts).encode())
        if markdown is not None:
            write_whole("markdown", markdown, report.to_markdown(verdicts).encode())
    finally:  # a full disk or a closed pipe must not cost the other half of the result
        for failure in failures:
            terminal.complain(failure)
        faults = wrong(verdicts)
        for fault in faults:
            terminal.complain(fault)
        if not quiet:
            console = terminal.console()
            if verdicts:
                console.print(report.verdict_table(verdicts, console.width))
            console.print(report.summary(verdicts, len(failures), seed, time.perf_counter() - started))
    if too_large:
        raise InvalidArgument("trials", trials, "must fit into memory", "give fewer")
    return 1 if failures or faults else 0


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
