"""The command ``show``: a claim as a page, with its verdict, a counterexample to check by hand, and what repairs it."""

from __future__ import annotations

import hashlib
import shlex
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from clusterproof import checker
from clusterproof.checker import Claim, Line, Verdict, code_of, kernel
from clusterproof.checker.claims.claim import arguments_of
from clusterproof.checker.export.latex import of_verdict
from clusterproof.checker.report import tables as report
from clusterproof.checker.report.replay import find_line, in_fractions
from clusterproof.checker.report.stored_evidence import size_of
from clusterproof.checker.report.verdict import line_of
from clusterproof.commands import terminal
from clusterproof.commands.check_evidence import Recorded
from clusterproof.commands.claims import table_of
from clusterproof.common import InvalidArgument
from clusterproof.common.atomic import write_whole
from clusterproof.common.validation import failure_line
from clusterproof.user_files import file_of

JUDGES = {
    "printed": "The paper prints this.",
    "reading": "This is a reading; the source below quotes what is printed.",
    "ours": "Ours: no source prints it.",
}
LONGEST = 200
"""Characters of a counterexample up to which it is printed in a line, and its sides in fractions."""


def show(
    *names: Annotated[str, Parameter(completer=terminal.claim_ids)],
    check: bool = True,
    latex: Annotated[bool, Parameter(negative=())] = False,
    json_file: Annotated[Path | None, Parameter("--json")] = None,
) -> int:
    """Show a claim's statement, its verdict, its counterexample and the claim that repairs it.

    Parameters
    ----------
    names
        Id of a claim, such as cfl-mgd/lemma-2, or of a paper, whose claims are listed; and Python files that state
        claims; they are executed.
    check
        Replay the claim's recorded verdict, or evaluate the claim; --no-check shows the statement only.
    latex
        Print the claim, its verdict and what decides it in LaTeX, to be pasted into a draft.
    json_file
        Write the verdict, as `check --json` does.
    """
    if json_file is not None and not check:
        raise InvalidArgument(
            "json", str(json_file), "cannot be combined with --no-check", "leave one of the two out"
        )
    terminal.check_outputs(json=json_file)
    ids, files, of_files = terminal.ids_and_files(names, most=1)
    stated = list(chain(*of_files))
    if not ids and len(stated) != 1:
        remedy = (
            f"such as clusterproof show {shlex.join([stated[0], *files]) if stated else 'cfl-mgd/lemma-2'}"
        )
        raise InvalidArgument("id", None, "must be given", remedy)
    (claim_id,) = ids or stated
    if listed := [claim for claim in checker.catalogue() if claim.paper == claim_id]:
        terminal.show_table(*table_of(listed), no_wrap=("id",))
        print(f"\nA claim: clusterproof show {shlex.join([listed[0].id, *files])}")
        return 0
    claim = checker.find_claim(claim_id)
    if latex:
        print(of_verdict(_verdict(claim, claim_id)))
        return 0
    width = terminal.columns() or 80
    judges = set(claim.of_lines["judges"].values())
    words = (
        JUDGES[claim.judges] if len(judges) == 1 else "Its lines are of several kinds, as the verdicts say."
    )
    if words == JUDGES["printed"] and not claim.module.startswith("clusterproof."):
        words = ""  # nothing is known of the reader's paper
    verdict, failure = None, None
    if check:
        try:
            verdict = _verdict(claim, claim_id)
            terminal.show(report.sentence(_with_inconclusive_lines(verdict), width))
            if len(verdict.lines) == 1:
                _print_wrapped(f"  {_rests_on(verdict, claim, verdict.text)}", width)
            print()
        except Exception as error:  # the statement is printed all the same
            failure = error
    _print_wrapped(f"{claim.id}: {claim.label}\n{claim.title} {words}\n\n{claim.text}", width)
    if failure is not None:
        sys.stdout.flush()
        terminal.complain(f"{claim_id}: the check failed: {failure_line(failure)}")
        return 1
    if verdict is not None and json_file is not None:
        write_whole("json", json_file, report.to_json(report.report([verdict], verdict.seed)).encode())
    if verdict is not None:
        _show_text(verdict)
        _show_lines(verdict, claim, width)
        _show_counterexample(verdict, width)
    _show_repair(claim, width)
    return 0


def _verdict(claim: Claim[..., Any], claim_id: str) -> Verdict:
    """Return the recorded verdict, replayed, or that of a search."""
    found = Recorded(None).replay(claim)
    if found is None or found.verdict is None:
        return checker.check(claim_id)
    line = claim_id.partition("#")[2]
    return line_of(found.verdict, line) if line else found.verdict


def _with_inconclusive_lines(verdict: Verdict) -> Verdict:
    """Return a verdict whose reason counts the lines that nothing is concluded about."""
    lines = [line for line in verdict.lines if line.name]
    count = sum(line.verdict == "inconclusive" for line in lines)
    if not count or verdict.verdict == "inconclusive":
        return verdict
    some = f"{count} of its {len(lines)} lines {'is' if count == 1 else 'are'} inconclusive"
    return replace(verdict, reason=f"{some}; {verdict.reason}")


def _show_text(verdict: Verdict) -> None:
    """Print the text that the kernel reads: what is proved is proved of it."""
    if verdict.text:
        print(f"\nThe text that the kernel reads\n{textwrap.indent(verdict.text.rstrip(), '    ')}")


def _show_lines(verdict: Verdict, claim: Claim[..., Any], width: int) -> None:
    """Print the verdict of each line of several."""
    if len(verdict.lines) > 1:
        print("\nVerdicts of the lines")
        for line in verdict.lines:
            name = (line.name or verdict.claim) + report.kind_of_line(verdict, line)
            repairs = "" if line.repaired_by == verdict.repaired_by else ", ".join(line.repaired_by)
            reason = line.reason + (f"; repaired by {repairs}" if repairs else "")
            _print_wrapped(f"    {name}  {line.word}: {reason}", width)
            _print_wrapped(f"        {_rests_on(line, claim, verdict.text)}", width)


def _rests_on(line: Line, claim: Claim[..., Any], text: str) -> str:
    """Return the evidence of a line in words, or why the kernel replays none."""
    if line.evidence is not None:
        rule, digest = line.evidence["rule"], hashlib.sha256(text.encode()).hexdigest()[:12]
        return f"evidence: {rule}, {size_of(line.evidence)} bytes, of the text {digest}"
    if line.outside:
        return f"not in the kernel's language: {line.outside}"
    statement, key = find_line(claim, line.name)
    record = {"statement": statement.name, "line": key, "rule": "signs", "witness": {}}
    why = kernel.judge(text, [record]).why[0] if text else "the claim has no text"
    return f"no evidence: only searched; on symbols, {why}"


def _show_counterexample(verdict: Verdict, width: int) -> None:
    """Print the counterexample, its sides in fractions where they are exact, and the code that evaluates it."""
    if verdict.counterexample is None:
        return
    print("\nCounterexample")
    points = {name: value for name, value in verdict.counterexample.items() if _is_function(value)}
    written = ", ".join(
        f"{name} = {value}" for name, value in verdict.counterexample.items() if name not in points
    )
    for name, function in points.items():
        _show_function(name, function, width)
    if len(written) <= LONGEST:
        sides = in_fractions(verdict.claim, verdict.counterexample)
        _print_wrapped(f"    {written}", width)
        if 0 < len(sides) <= LONGEST:
            _print_wrapped(f"    {sides}", width)
        print()
    if points:  # whose definition is longer than what a reader checks
        check, folder = f"    clusterproof check {arguments_of(verdict.claim)}", ""
        if verdict.evidence is None:
            print(f"{check} --json report.json")
            return
        if file_of(checker.find_claim(verdict.claim).module) is not None:  # whose evidence is not shipped
            folder = " --evidence FOLDER"
            print(f"{check}{folder}")
        print(f"{check} --replay{folder}")
        return
    print(textwrap.indent(str(code_of(verdict)), "    ").rstrip())


def _is_function(value: object) -> bool:
    return isinstance(value, dict) and "triplets" in value


def _show_function(name: str, value: dict[str, Any], width: int) -> None:
    """Print what a reader checks of a function: start, minimiser, and gradient and value at each point."""
    several = len(value["triplets"]) > 1
    lines = [
        f"{name}: a function on R^{len(value['start'])} through these points, start {_vector(value['start'])}"
    ]
    if value["solution"] is not None:
        lines.append(f"minimiser {_vector(value['solution'])}, minimum {value['minimum']}")
    for number, triplets in enumerate(value["triplets"], 1):
        lines += [f"part {number}"] if several else []
        lines += [f"at {_vector(x)}: gradient {_vector(g)}, value {f}" for x, g, f in triplets]
    for line in lines:
        _print_wrapped(f"    {line}", width)


def _vector(entries: Sequence[Any]) -> str:
    return f"({', '.join(map(str, entries))})"


def _show_repair(claim: Claim, width: int) -> None:
    """Print a line for each claim that repairs a claim."""
    for name in claim.repaired_by:
        _print_wrapped(f"\nRepaired by {name}: {checker.find_claim(name).title}", width)


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
        indent = _indentation(line)
        wrapped = textwrap.wrap(line, width, subsequent_indent=indent, break_on_hyphens=False)
        print(*wrapped or [""], sep="\n")


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
