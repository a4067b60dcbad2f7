"""The page of ``clusterproof check``: the catalogue, its most important claims with repairs, and further commands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clusterproof import checker
from clusterproof.checker import Verdict
from clusterproof.checker.claims.kind import Kind
from clusterproof.checker.report import tables as report
from clusterproof.checker.report.verdict import FLOATS, HOLDS
from clusterproof.theory.papers import PAPERS

LINES, WIDTH = 120, 80
"""Largest number of lines of the page, and of characters of a line."""

MEANINGS = {
    Kind.VIOLATED: "a counterexample was found",
    FLOATS: "it fails in floats by more than rounding; not proved",
    Kind.VACUOUS: "it says nothing: no instance meets the hypotheses, or the conclusion adds nothing to them",
    Kind.ILL_POSED: "the text has no single meaning",
    Kind.CONSISTENT: "no counterexample was found; not proved",
    Kind.CERTIFIED: "proved for every instance",
    Kind.INCONCLUSIVE: "what was tried decides nothing",
}
"""Meaning of each verdict, in the order of the page."""
PRINTED = "False as printed"
FALSE = {
    "printed": PRINTED,
    "reading": "False in the reading that was checked",
    "ours": "False variants, which we tried",
}
"""Headings of the violated claims, by the source of the claim."""
OTHERS = {
    FLOATS: "Violated in floats, not proved",
    Kind.VACUOUS: "Says nothing",
    Kind.ILL_POSED: "Has no single meaning",
    Kind.INCONCLUSIVE: "Not decided",
    Kind.CONSISTENT: "Not refuted",
    Kind.CERTIFIED: "Proved",
}
"""Headings of the other claims, by verdict."""
NEXT = (
    "clusterproof show cfl-mgd/lemma-2   one claim: statement, counterexample, repair",
    "clusterproof run cfl-mgd            one algorithm, compared with its theorems",
    "clusterproof new my_paper.py        begin with a theorem of your own",
    "clusterproof check cfl-mgd          all findings on one source",
)
"""Commands that the page suggests."""


@dataclass(frozen=True)
class Repair:
    """A claim that replaces a false one.

    Attributes
    ----------
    claim, word
        Id of the claim, and its verdict.
    tightness
        The least quotient of the bound and the bounded value, or None if the claim has no bound.
    """

    claim: str
    word: str
    tightness: float | None


@dataclass(frozen=True)
class Finding:
    """The facts about a claim that the page prints.

    Attributes
    ----------
    claim, paper, word, source, error_kind
        See ``Verdict``.
    sentence
        The claim's headline if the claim has the expected verdict, and otherwise the reason of the verdict.
    tightness
        See ``Repair``; None for a claim that is not true.
    repairs
        Claims that replace this claim, if they were judged in the same call.
    """

    claim: str
    paper: str
    word: str
    source: str
    error_kind: str
    sentence: str
    tightness: float | None
    repairs: tuple[Repair, ...]

    @property
    def section(self) -> str:
        """Heading of the section that contains the claim."""
        return FALSE[self.source] if self.word == Kind.VIOLATED else OTHERS[self.word]


def findings(verdicts: Sequence[Verdict]) -> list[Finding]:
    """Return the facts about claims whose headline is a sentence, for each paper in the order of importance."""

    def order(claim: checker.Claim[..., object]) -> tuple[int, int]:
        return list(PAPERS).index(claim.paper), claim.rank

    known = {verdict.claim: verdict for verdict in verdicts}
    claims = [checker.find_claim(name) for name in known]
    return [
        _finding(claim, claim.headline, known)
        for claim in sorted((each for each in claims if each.paper in PAPERS), key=order)
        if isinstance(claim.headline, str)
    ]


def _finding(claim: checker.Claim[..., object], headline: str, known: Mapping[str, Verdict]) -> Finding:
    found = known[claim.id]
    as_expected = found.verdict == claim.expected.partition(",")[0] and found.word != FLOATS
    repairs = [known[name] for name in found.repaired_by if name in known]
    return Finding(
        claim.id,
        claim.paper,
        found.word,
        found.source,
        found.error_kind,
        headline if as_expected else " ".join(found.reason.split()),
        _tightness(found) if found.verdict in HOLDS else None,
        tuple(Repair(each.claim, each.word, _tightness(each)) for each in repairs),
    )


def _tightness(verdict: Verdict) -> float | None:
    """Return the bound divided by the bounded value, or None for a probability, because both are then intervals."""
    if verdict.trials is not None and checker.find_claim(verdict.claim).bound is None:
        return None
    return report.ratio_of(verdict)


def page(
    verdicts: Sequence[Verdict],
    others: Sequence[Verdict],
    width: int | None,
    sentences: Sequence[str] = (),
) -> list[str]:
    """Return the page of the most important claims, with as many of them as fit on the page.

    Parameters
    ----------
    verdicts
        Verdicts on the headlines.
    others
        Stored verdicts on all other claims, which the page only counts.
    width
        Columns of the terminal. None means a pipe, whose lines have at most ``WIDTH`` characters.
    sentences
        Sentences about the origin of the verdicts.
    """
    columns = min(width or WIDTH, WIDTH)
    found = _by_importance(findings(verdicts))
    for most in range(len(found), -1, -1):
        blocks = [
            _judged(verdicts, others, columns),
            _meanings([*verdicts, *others], columns),
            _sources([*verdicts, *others], columns),
            *_sections(found[:most], columns),
            [line for each in sentences for line in _wrapped(each, columns, "")],
            [line for each in NEXT for line in _wrapped(each, columns)],
        ]
        lines = [line for block in blocks if block for line in (*block, "")][:-1]
        if len(lines) <= LINES:
            break
    return lines


def _by_importance(found: Sequence[Finding]) -> list[Finding]:
    """Sort claims: first all that are false as printed, then one per other heading, then one per paper in turn."""
    of_heading: Counter[str] = Counter()
    of_paper: Counter[str] = Counter()
    places = []
    for each in found:
        is_first = each.section == PRINTED or not of_heading[each.section]
        places.append((each.section != PRINTED, not is_first, of_paper[each.paper]))
        of_heading[each.section] += 1
        of_paper[each.paper] += not is_first
    return [found[index] for index in sorted(range(len(found)), key=places.__getitem__)]


def _judged(verdicts: Sequence[Verdict], others: Sequence[Verdict], columns: int) -> list[str]:
    """Return lines with the number of claims, their sources, and the number that was judged in this call."""
    every = [*verdicts, *others]
    whose = Counter(verdict.source for verdict in every)
    sources = len({verdict.paper for verdict in every})
    text = (
        f"Clusterproof judges {len(every)} claims about federated learning, from {sources} sources. A claim is a "
        f"theorem, lemma or line of an algorithm, written as a function: {whose['printed']} are printed in papers, "
        f"{whose['reading']} are readings (one meaning of an ambiguous sentence), and {whose['ours']} are our own. An "
        "instance is one value for each quantity in a claim."
    )
    if others:
        text += (
            f" The first table counts all verdicts. Of the {len(verdicts)} claims that have a sentence for this page, "
            "the list below the tables names the most important. To list all: clusterproof check --all. To check all "
            "evidence: clusterproof check --replay"
        )
    return _wrapped(text, columns, "")


def _meanings(verdicts: Sequence[Verdict], columns: int) -> list[str]:
    """Return lines with the number of claims for each verdict, and its meaning."""
    counts = Counter(verdict.word for verdict in verdicts)
    longest = max(map(len, counts), default=0)
    lines = []
    for word, meaning in MEANINGS.items():
        if not counts[word]:
            continue
        whose = ", ".join(report.refuted_parts(verdicts)) if word == Kind.VIOLATED else ""
        if whose and any(each.source == "ours" for each in verdicts if each.word == word):  # listed last
            whose += " (false variants, which we tried)"
        text = f"{meaning}: {whose}" if whose else meaning
        lines += _wrapped(f"{counts[word]:>4} {word:<{longest}}  {text}", columns, " " * (longest + 7))
    return lines


def _sources(verdicts: Sequence[Verdict], columns: int) -> list[str]:
    """Return lines with the sources and the numbers of their claims."""
    counts = Counter(verdict.paper for verdict in verdicts)
    papers = [*PAPERS, *sorted({*counts} - {*PAPERS})]
    rows = [(paper, str(counts[paper]), PAPERS.get(paper, "")) for paper in papers if counts[paper]]
    rows = [("source", "claims", ""), *rows]
    longest = max(len(row[0]) for row in rows)
    return [
        line
        for paper, count, name in rows
        for line in _wrapped(
            f"  {paper:<{longest}}  {count:>6}  {name}".rstrip(), columns, " " * (longest + 12)
        )
    ]


def _sections(found: Sequence[Finding], columns: int) -> list[list[str]]:
    """Return the sections of the page: an explanation, and then the claims below each heading."""
    if not found:
        return []
    explained = (
        f'The most important findings of each source. "Tight {report.TIMES}1.02" means that the bound is 1.02 '
        f"times what it bounds at its tightest instance. At {report.TIMES}1 it is attained. A repair replaces a wrong "
        "claim. A misprint is an error of a text, or of published code, that the context corrects."
    )
    blocks = [_wrapped(explained, columns, "")]
    for heading in dict.fromkeys([*FALSE.values(), *OTHERS.values()]):
        if own := [each for each in found if each.section == heading]:
            lines = [line for each in own for line in _paragraph(each, columns)]
            blocks.append([heading, "-" * len(heading), *lines])
    return blocks


def _paragraph(finding: Finding, columns: int) -> list[str]:
    """Return the lines about a claim: its id, its sentence and its repairs."""
    remarks = []
    if finding.word == Kind.VIOLATED and finding.error_kind != "false statement":
        remarks.append(finding.error_kind)
    if finding.word in HOLDS:
        remarks += [finding.word, *_tight(finding.tightness)]
    head = f"{finding.claim}  ({', '.join(remarks)})" if remarks else finding.claim
    text = " ".join([finding.sentence, *_repaired(finding.repairs)])
    return [*_wrapped(head, columns), *_wrapped(f"  {text}", columns)]


def _repaired(repairs: Sequence[Repair]) -> list[str]:
    """Return sentences about the repairs: true repairs with their tightness, and repairs that are only proposed."""
    good = [each for each in repairs if each.word in HOLDS]
    words = [f"{each.claim} ({', '.join([each.word, *_tight(each.tightness)])})" for each in good]
    said = [f"Repaired by {' and '.join(words)}."] if words else []
    return said + [
        f"Proposed repair, {each.word} so far: {each.claim}." for each in repairs if each not in good
    ]


def _tight(ratio: float | None) -> list[str]:
    return [] if ratio is None else [f"tight {report.TIMES}{ratio:.3g}"]


def _wrapped(line: str, columns: int, indent: str = "  ") -> list[str]:
    return report.wrap(line, columns, indent).splitlines()
