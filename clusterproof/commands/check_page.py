"""The page of ``clusterproof check``: counts by paper, findings in a sentence each, repairs, and what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from clusterproof import checker
from clusterproof.checker import Verdict
from clusterproof.checker.claims.kind import Kind
from clusterproof.checker.report import tables as report
from clusterproof.checker.report.verdict import HOLDS

LINES, WIDTH = 100, 200
"""Most lines of the page, and most characters of a line."""
MOST_FINDINGS = 5
"""Most findings of a paper."""
FIRST_PAPERS = ("cfl-mgd", "fpfc", "gradient-loss", "sofl", "ifca")
"""Papers whose findings come first; the others follow by name."""

WORDS = (
    "certified: proved for every instance. consistent: not refuted on the instances that were tried. violated: "
    "a counterexample was found. vacuous: nothing meets the hypotheses, or the conclusion adds nothing to them. "
    "ill-posed: the text has no single meaning. inconclusive: not refuted, and what was tried decides nothing.",
    "Violated are statements that a paper prints, by false statement, misprint or mere wording; readings, each one "
    "meaning of an ambiguous sentence; and ours, such as a constant or a lemma of our own that fails.",
)
"""What the columns of the table mean."""

NEXT = (
    "clusterproof run cfl-mgd      one run, compared with what the theorems claim of it",
    "clusterproof show ID          a claim's statement, counterexample and repair, such as show cfl-mgd/lemma-2",
    "clusterproof check --verbose  these claims with all numbers; check --all: every claim, lines of proofs too",
)
"""Commands to go on with."""


class Finding(NamedTuple):
    """A sentence on a claim, which is printed only if the claim gets this verdict."""

    verdict: str
    sentence: str


def stated_findings() -> dict[str, Finding]:
    """Return the sentences of the claims' headlines by id, those of a paper in the order of their ranks."""

    def order(claim: checker.Claim[..., object]) -> tuple[int, str, int]:
        first = FIRST_PAPERS.index(claim.paper) if claim.paper in FIRST_PAPERS else len(FIRST_PAPERS)
        return first, claim.paper, claim.rank

    return {
        claim.id: Finding(claim.expected.partition(",")[0], claim.headline)
        for claim in sorted(checker.catalogue(), key=order)
        if isinstance(claim.headline, str)
    }


def page(
    verdicts: Sequence[Verdict], width: int | None, findings: Mapping[str, Finding] | None = None
) -> list[str]:
    """Lay out the page of headlines; of each paper as many findings as fit on it.

    Parameters
    ----------
    verdicts
        Of the headlines.
    width
        Columns of the terminal. None: a pipe, whose lines have at most ``WIDTH`` characters.
    findings
        Sentences by claim; those of the claims' headlines if None.
    """
    findings = stated_findings() if findings is None else findings
    columns = min(width or WIDTH, WIDTH)
    for most in range(MOST_FINDINGS, -1, -1):
        chosen = _chosen(verdicts, findings, most)
        blocks = [
            report.count_table(verdicts, columns),
            _wrapped(WORDS, columns),
            _wrapped((_sentence(verdict, findings) for verdict in chosen), columns),
            _repairs(verdicts, chosen, columns),
            _wrapped(NEXT, columns),
        ]
        lines = [line for block in blocks if block for line in (*block, "")][:-1]
        if len(lines) <= LINES:
            break
    return lines


def _chosen(verdicts: Sequence[Verdict], findings: Mapping[str, Finding], most: int) -> list[Verdict]:
    """Return the verdicts on findings, of each paper the first ``most`` in the order of the findings."""
    known = {verdict.claim: verdict for verdict in verdicts}
    chosen = [known[name] for name in findings if name in known]
    papers = dict.fromkeys(verdict.paper for verdict in chosen)
    return [verdict for paper in papers for verdict in [one for one in chosen if one.paper == paper][:most]]


def _sentence(verdict: Verdict, findings: Mapping[str, Finding]) -> str:
    """Return the sentence of a finding, or the verdict's own reason if the verdict is another one."""
    stated = findings[verdict.claim]
    if verdict.verdict == stated.verdict:
        return f"{verdict.claim}: {stated.sentence}"
    return f"{verdict.claim}: {verdict.word}: {' '.join(verdict.reason.split())}"


def _repairs(verdicts: Sequence[Verdict], chosen: Sequence[Verdict], columns: int) -> list[str]:
    """Name what repairs the findings, if this run has evaluated it, with the tightness that it measured."""
    known = {verdict.claim: verdict for verdict in verdicts if verdict.verdict in HOLDS}
    failed = [verdict for verdict in chosen if verdict.verdict not in HOLDS]
    names = dict.fromkeys(name for verdict in failed for name in verdict.repaired_by if name in known)
    if not names:
        return []
    words = [_tight(known[name]) for name in names]
    explained = (
        "What repairs it: proved, or not refuted; the number says how many times a bound exceeds what was "
        "measured where it is tightest:"
    )
    return _wrapped((explained, "  " + ", ".join(words)), columns)


def _tight(verdict: Verdict) -> str:
    """Return the id, whether it is proved, and for a bound, not a probability or an equation, its tightness."""
    words = ["proved"] if verdict.verdict is Kind.CERTIFIED else []
    ratio = (verdict.tightness or {}).get("all", {}).get("ratio")
    # of a probability the ratio is one of interval ends
    if ratio and (verdict.trials is None or checker.find_claim(verdict.claim).bound is not None):
        words.append(f"{ratio:.3g}")
    return f"{verdict.claim} ({', '.join(words)})" if words else verdict.claim


def _wrapped(lines: Iterable[str], columns: int) -> list[str]:
    return [part for line in lines for part in report.wrap(line, columns, "  ").splitlines()]
