"""The command ``show``: print a page about a claim, with the verdict, the counterexample and the repair."""

from __future__ import annotations

import hashlib
import inspect
import shlex
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from clusterproof import checker
from clusterproof.checker import Claim, Line, Verdict, code_of, kernel
from clusterproof.checker.claims.claim import arguments_of
from clusterproof.checker.claims.statement import member
from clusterproof.checker.export.latex import SHOWN, of_verdict
from clusterproof.checker.kernel.functions import noun_of
from clusterproof.checker.kernel.interpolation import FunctionClass
from clusterproof.checker.kernel.ranges import OfClass
from clusterproof.checker.report import tables as report
from clusterproof.checker.report.replay import in_fractions
from clusterproof.checker.report.stored_evidence import size_of
from clusterproof.checker.report.verdict import line_of
from clusterproof.commands import check_child, terminal
from clusterproof.commands.check_evidence import Recorded
from clusterproof.commands.claims import table_of
from clusterproof.common import InvalidArgument
from clusterproof.common.atomic import write_whole
from clusterproof.common.validation import failure_line
from clusterproof.library import is_of_library

SOURCES = {
    "printed": "The paper prints this.",
    "reading": "This is a reading: one meaning of the printed sentence.",
    "ours": "Ours: no source prints it.",
}
EVIDENCE = SHOWN | {
    "instance": "An instance, computed in fractions, meets the hypotheses and breaks the line.",
    "potential": "At an instance, computed in fractions, the invariant of a loop fails.",
    "dual": "For every function of the class, the right side minus the left side is a sum of multiples of the "
    "conditions of the class, and of a positive semidefinite form.",
}
"""For each rule of the kernel, a sentence that describes the evidence for a line."""
TEXT = """The text that the kernel, the checker of proofs, reads
    A statement has this form: statement(name, function, ranges of quantities,
    types of records, names of lines, role). The statement named '' is the claim
    itself. A line named '' is the only line of its statement."""
"""The explanation above the text of a claim."""
AT_A_POINT = {"function": "gradient", "operator": "image", "set": "normal vector"}
"""For each kind of class, the name of the vector at a point in the evidence."""
LONGEST = 200
"""Largest number of characters of a counterexample, or of the two sides in fractions, on one line."""


@dataclass(frozen=True)
class Page:
    """The author's statements about a claim, without its verdict.

    Attributes
    ----------
    id, label, title, text
        See ``Claim``.
    words
        Sentence about the source of the claim.
    named
        Name of the claim for commands.
    repairs
        Ids and titles of the repaired claims.
    lines
        Names and titles of further statements of the claim, such as steps of its proof.
    sides
        Both sides at the counterexample in fractions, or an empty string if there are none.
    """

    id: str = ""
    label: str = ""
    title: str = ""
    text: str = ""
    words: str = ""
    named: str = ""
    repairs: Sequence[tuple[str, str]] = ()
    lines: Sequence[tuple[str, str]] = ()
    sides: str = ""


def show(
    *names: Annotated[str, Parameter(completer=terminal.claim_ids)],
    check: bool = True,
    latex: Annotated[bool, Parameter(negative=())] = False,
    json_file: Annotated[Path | None, Parameter("--json")] = None,
) -> int:
    """Show a claim's statement, its verdict, its counterexample and its repair.

    Parameters
    ----------
    names
        Id of a claim, such as cfl-mgd/lemma-2, or name of a paper, to list its claims. You can also name Python files
        that state claims; they are executed.
    check
        Replay the claim's stored verdict, or evaluate the claim; --no-check shows only the statement.
    latex
        Print the claim, its verdict and the deciding evidence in LaTeX, for your draft.
    json_file
        Write the verdict, as `check --json` does.
    """
    if json_file is not None and not check:
        raise InvalidArgument(
            "json", str(json_file), "cannot be combined with --no-check", "leave one of the two out"
        )
    terminal.check_outputs(json=json_file)
    ids, files = terminal.split_names(names)
    if len(ids) > 1:
        raise InvalidArgument(
            "file", ids[1], "must be a Python file of claims", "give a name that ends in .py"
        )
    order = check_child.Order(ids, files, show=True, decide=check)
    page, verdict, failure, sources = Page(), None, None, None
    for kind, content in check_child.answers(order) if files else told(order):
        if kind == "listed":
            (head, rows), first = content
            terminal.show_table(head, rows, no_wrap=("id",))
            print(f"\nA claim: clusterproof show {shlex.join([first, *files])}")
            return 0
        if kind == "page":
            page = content
        elif kind == "verdict":
            _, verdict, *_ = content
        elif kind == "failure":
            _, failure = content
        elif kind == "sources":
            sources = content
    line = ids[0].partition("#")[2] if ids else ""
    if verdict is not None and line:
        verdict = line_of(verdict, line)
    if latex and verdict is not None:
        print(of_verdict(page, verdict))
        return 0
    width = terminal.columns() or 80
    if verdict is not None:
        terminal.show(report.sentence(_with_inconclusive_lines(verdict), width))
        if len(verdict.lines) == 1:
            _print_wrapped(f"  {_rests_on(verdict, verdict.text)}", width)
        print()
    _print_wrapped(f"{page.id}: {page.label}\n{page.title} {page.words}\n\n{page.text}", width)
    if failure is not None:
        sys.stdout.flush()
        named = f"{page.id}#{line}" if line else page.id
        terminal.print_error(f"{named}: the check failed: {failure}")
        return 1
    if verdict is not None and json_file is not None:
        write_whole(
            "json", json_file, report.to_json(report.report([verdict], verdict.seed, sources)).encode()
        )
    if verdict is not None:
        _show_text(verdict)
        _show_lines(verdict, page.lines, width)
        _show_counterexample(verdict, page, width)
    for name, title in page.repairs:
        _print_wrapped(f"\nRepaired by {name}: {title}", width)
    return 0


def told(order: check_child.Order) -> Iterator[tuple[str, Any]]:
    """Yield the results of the process that has the claim's function: a paper's claims, or a page and a verdict."""
    ids, files, of_files = terminal.ids_and_files([*order.ids, *order.files])
    stated = list(chain(*of_files))
    if not ids and len(stated) != 1:
        named = shlex.join([stated[0], *files]) if stated else "cfl-mgd/lemma-2"
        raise InvalidArgument("id", None, "must be given", f"write, for example, clusterproof show {named}")
    (claim_id,) = ids or stated
    if listed := [claim for claim in checker.catalogue() if claim.paper == claim_id]:
        yield "listed", (table_of(listed), listed[0].id)
        return
    claim = checker.find_claim(claim_id)
    page = _page_of(claim)
    if files:
        yield "sources", report.sources_of_claims(stated)
    if order.decide:
        try:
            found = Recorded(None).replay(claim)
            verdict = found.verdict if found is not None else None
            verdict = checker.check(claim.id) if verdict is None else verdict
            line = claim_id.partition("#")[2]
            example = (line_of(verdict, line) if line else verdict).counterexample
            if example is not None:
                page = replace(page, sides=in_fractions(claim.id, example))
            yield "verdict", (0, verdict)
        except Exception as error:  # print the statement anyway
            yield "failure", (0, failure_line(error))
    yield "page", page


def _page_of(claim: Claim[..., Any]) -> Page:
    sources = set(claim.of_lines["source"].values())
    words = (
        SOURCES[claim.source]
        if len(sources) == 1
        else "Its lines have several sources, which the verdicts name."
    )
    if words == SOURCES["printed"] and not is_of_library(claim.module):
        words = ""  # the reader's paper is unknown here
    return Page(
        id=claim.id,
        label=claim.label,
        title=claim.title,
        text=claim.text,
        words=words,
        named=arguments_of(claim.id),
        repairs=[(name, checker.find_claim(name).title) for name in claim.repaired_by],
        lines=[
            (each.name, (inspect.getdoc(each.function) or "").partition("\n")[0])
            for each in claim.statements[1:]
        ],
    )


def _with_inconclusive_lines(verdict: Verdict) -> Verdict:
    """Return a verdict whose reason counts the inconclusive lines."""
    lines = [line for line in verdict.lines if line.name]
    count = sum(line.verdict == "inconclusive" for line in lines)
    if not count or verdict.verdict == "inconclusive":
        return verdict
    some = f"{count} of its {len(lines)} lines {'is' if count == 1 else 'are'} inconclusive"
    return replace(verdict, reason=f"{some}; {verdict.reason}")


def _show_text(verdict: Verdict) -> None:
    """Print the text of a claim, which the kernel reads and which proofs are about."""
    if verdict.text:
        text = textwrap.indent(verdict.text.rstrip(), "    ")
        print(f"\n{TEXT}\n\n{text}")


def _show_lines(verdict: Verdict, titles: Sequence[tuple[str, str]], width: int) -> None:
    """Print the verdict on each line of a claim with several lines, after the title of the statement with this line."""
    if len(verdict.lines) > 1:
        print("\nVerdicts of the lines (conclusions, lemmas and steps of the proof)")
        unsaid = dict(titles)
        for line in verdict.lines:
            name = (line.name or verdict.claim) + report.kind_of_line(verdict, line)
            repairs = "" if line.repaired_by == verdict.repaired_by else ", ".join(line.repaired_by)
            reason = line.reason + (f"; repaired by {repairs}" if repairs else "")
            title = unsaid.pop(line.name.partition(": ")[0], "")
            _print_wrapped(f"    {name}{f': {title}' if title else ''}", width)
            _print_wrapped(f"        {line.word}: {reason}", width)
            _print_wrapped(f"        {_rests_on(line, verdict.text)}", width)


def _rests_on(line: Line, text: str) -> str:
    """Describe the evidence for a line, or state why the kernel can replay no evidence."""
    if line.evidence is not None:
        rule, digest = line.evidence["rule"], hashlib.sha256(text.encode()).hexdigest()[:12]
        what = f"the kernel's rule {rule}; size {size_of(line.evidence)} bytes; checksum of the text {digest}"
        return f"evidence: {EVIDENCE[rule]} ({what})"
    if line.outside:
        return f"not in the kernel's language: {line.outside}"
    why = "the claim has no text"
    for name, each in kernel.read(text).statements.items() if text else ():
        for key in each.lines:
            if kernel.printed(name, key) == line.name:
                if each.space.function is not None:  # the verdict has the reason
                    return "no evidence: only searched"
                record = {"statement": name, "line": key, "rule": "signs", "witness": {}}
                why = kernel.judge(text, [record]).why[0]
    return f"no evidence: only searched; there is no proof on symbols: {why}"


def _show_counterexample(verdict: Verdict, page: Page, width: int) -> None:
    """Print the counterexample, its exact sides in fractions, and the code that evaluates it."""
    if verdict.counterexample is None:
        return
    print("\nCounterexample")
    points = {name: value for name, value in verdict.counterexample.items() if _is_member(value)}
    written = ", ".join(
        f"{name} = {value}" for name, value in verdict.counterexample.items() if name not in points
    )
    for name, code in points.items():
        _show_member(name, code, verdict.text, width)
    if len(written) <= LONGEST:
        _print_wrapped(f"    {written}", width)
        if 0 < len(page.sides) <= LONGEST:
            _print_wrapped(f"    {page.sides}", width)
        print()
    if points:  # the claim's definition is too long to check by hand
        check, folder = f"    clusterproof check {page.named}", ""
        if verdict.evidence is None:
            print(f"{check} --json report.json")
            return
        if verdict.file:  # the evidence of a user's file is not shipped
            folder = " --evidence FOLDER"
            print(f"{check}{folder}")
        print(f"{check} --replay{folder}")
        return
    print(textwrap.indent(str(code_of(verdict)), "    ").rstrip())


def _is_member(value: object) -> bool:
    return isinstance(value, dict) and "triplets" in value


def _show_member(name: str, value: dict[str, Any], text: str, width: int) -> None:
    """Print a function, operator or set of a counterexample: initial point, solution, and the vectors at each point."""
    groups = _groups(name, text)
    noun = noun_of([kind for _, kind in groups])
    lines = [f"{name}: {member(value, noun)}, through these points"]
    if value["solution"] is not None:
        words = ("solution", "") if noun == "operator" else ("minimiser", f", minimum {value['minimum']}")
        lines.append(f"{words[0]} {_vector(value['solution'])}{words[1]}")
    several = value["triplets"]
    kinds = [kind for count, kind in groups for _ in range(count if len(groups) > 1 else len(several))]
    matrices = value.get("matrices", [None] * len(several))
    for number, (kind, triplets, matrix) in enumerate(zip(kinds, several, matrices, strict=False), 1):
        lines += [f"part {number}"] if len(several) > 1 else []
        lines += [f"affine; the rows of its matrix are {', '.join(map(_vector, matrix))}"] if matrix else []
        word = AT_A_POINT[noun_of([kind])]
        for x, g, f in triplets:
            height = f", value {f}" if kind is FunctionClass else ""
            lines.append(f"at {_vector(x)}: {word} {_vector(g)}{height}")
    for line in lines:
        _print_wrapped(f"    {line}", width)


def _groups(name: str, text: str) -> Sequence[tuple[Any, Any]]:
    """For each summand of a quantity, return its kind of class and the number of its members."""
    for statement in kernel.read(text).statements.values() if text else ():
        allowed = statement.space.ranges.get(name)
        if isinstance(allowed, OfClass):
            return [(count, kind) for count, kind, _ in allowed.groups]
    return [(1, FunctionClass)]


def _vector(entries: Sequence[Any]) -> str:
    return f"({', '.join(map(str, entries))})"


def _print_wrapped(text: str, width: int) -> None:
    """Print text wrapped to ``width``; a line that is too long is first joined with the next line."""
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
