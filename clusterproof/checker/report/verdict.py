"""Verdicts on a claim and on each of its lines, and the choice of the line that decides the claim."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from typing import Any, NotRequired, TypedDict, TypeVar

from clusterproof.checker import kernel
from clusterproof.checker.claims.claim import Claim, arguments_of, heading_of
from clusterproof.checker.claims.kind import Kind
from clusterproof.checker.claims.statistics import Confidence
from clusterproof.checker.report.sentences import plural
from clusterproof.common import InvalidArgument
from clusterproof.common.notebook import html_table

L = TypeVar("L", bound="Line")


class Tightness(TypedDict):
    """Tightness of a bound or of one of its terms; ``Line`` describes the keys."""

    ratio: float | None
    instance: NotRequired[dict[str, Any] | None]
    only_at: NotRequired[dict[str, Any]]


HOLDS = (Kind.CERTIFIED, Kind.CONSISTENT)
FALSE = (Kind.VIOLATED, Kind.ILL_POSED)
FLOATS = "violated in floats"
"""Name of the verdict if only floats show a violation, which proves nothing."""


def word_of(verdict: str, basis: str | None) -> str:
    """Return the printed name of a verdict; a violation that only floats show has another name."""
    return FLOATS if verdict == Kind.VIOLATED and basis == "floats" else str(verdict)


@dataclass(frozen=True, kw_only=True)
class Line:
    """The verdict on one line of a claim.

    Attributes
    ----------
    name
        Name of the line, or an empty string if the claim has a single line.
    verdict
        One of the six verdicts.
    reason
        A sentence that explains the numbers, and states the inequality or instance that decides the line.
    measured, bound
        The measured side and its bound at the counterexample or, if there is none, at the tightest instance. Both are
        None if no instance was evaluated.
    instances, exhausted
        ``instances``: number of different admissible instances that were evaluated. ``exhausted``: whether these are
        all instances, or a proof covers all instances.
    largest
        Largest tried value of each integer quantity, such as a number of rounds.
    trials, failures, confidence
        For a statement about a probability: number of independent replicates, number of failures, and the confidence
        interval. For an expectation, only the confidence interval.
    counterexample
        The simplest instance that breaks the line, as JSON values.
    proof
        The kernel's rule that proves the line for every instance: ``"exhausted"``, ``"signs"``, ``"squares"``,
        ``"induction"``, ``"dual"``, ``"family"`` or ``"empty"``. It is None if the line is not proved.
    basis
        The method that refuted a violated or ill-posed line: ``"exact"`` (the kernel), ``"intervals"`` (interval
        arithmetic), ``"statistics"`` (a confidence interval) or ``"floats"`` (no proof, but a violation larger than
        rounding errors). It is None for all other lines.
    evidence
        Evidence for the kernel, or None if there is none.
    outside
        The reason why the statement is not in the kernel's language, or an empty string if it is.
    tightness
        For the whole bound (``"all"``) and for each term: ``"ratio"``, the ratio of the bound to the measured side at
        the tightest instance, and ``"instance"``, this instance. If the two sides are equal only at special values of
        some quantities, ``"only_at"`` of ``"all"`` contains these values, and the ratio ignores instances with these
        values. None if there is no bound.
    worst, worst_exact
        Largest ratio of the measured side to the bound over all functions of a class, as a float and as a fraction. The
        float is None if the ratio is unknown, and the fraction is None if it is not known exactly.
    only_where
        Name of an earlier line that is false at every instance at which this line is false, or None.
    role
        As in ``Statement``, or ``"potential"`` for a potential.
    source, error_kind, repaired_by
        As in ``Claim``, for this line.
    """

    name: str
    verdict: Kind
    reason: str
    measured: float | None = None
    bound: float | None = None
    instances: int | None = None
    exhausted: bool | None = None
    largest: dict[str, int] | None = None
    trials: int | None = None
    failures: int | None = None
    confidence: Confidence | None = None
    counterexample: dict[str, Any] | None = None
    proof: str | None = None
    basis: str | None = None
    evidence: dict[str, Any] | None = None
    outside: str = ""
    tightness: dict[str, Tightness] | None = None
    worst: float | None = None
    worst_exact: str | None = None
    only_where: str | None = None
    role: str = "statement"
    source: str = "printed"
    error_kind: str = "false statement"
    repaired_by: tuple[str, ...] = ()

    @property
    def word(self) -> str:
        """The printed verdict; a violation that only floats show is marked, because the line may still be true."""
        return word_of(self.verdict, self.basis)


@dataclass(frozen=True, kw_only=True, repr=False)
class Verdict(Line):
    """The verdict on a claim: the fields of the line that decides it, and all lines.

    Attributes
    ----------
    claim, paper, label, title
        As in ``Claim``. If the verdict is on one line only, ``claim`` is ``paper/name#line``.
    repaired_by
        Ids of the claims that replace this claim, or one of its lines.
    seed
        Seed of the check's random numbers.
    lines
        The verdict on each line; a claim without named lines has one line.
    seconds
        Wall-clock time of the check, in seconds.
    evaluations
        The number of evaluations that the user requested, or None for the claim's own number.
    version
        Version of Clusterproof.
    interrupted
        Whether the user stopped the search. The verdict is then based on the results up to this point.
    text
        The claim as a text that the kernel reads, or an empty string if no statement is in the kernel's language.
    tight
        As in ``Claim``.
    file
        The user's file that states the claim, or an empty string for a claim of the catalogue.
    """

    claim: str
    paper: str
    label: str
    seed: int = 0
    lines: tuple[Line, ...] = ()
    seconds: float = 0.0
    evaluations: int | None = None
    version: str = ""
    interrupted: bool = False
    text: str = ""
    tight: bool = False
    file: str = ""
    title: str = ""

    @property
    def heading(self) -> str:
        """Heading of the claim: its label, followed by the source and the kind of error if they are not the defaults.

        If the claim has no label, the title replaces it.
        """
        failed = (self.error_kind,) if self.word == Kind.VIOLATED else ()
        has_label = self.label != self.claim.partition("#")[0].partition("/")[2]
        titled = not has_label and self.title.isprintable() and self.title.rstrip(".")
        return heading_of(titled or self.label, self.source, *failed)

    def __repr__(self) -> str:
        return f"<Verdict on {self.claim}: {self.word}; {self.reason}>"

    def _repr_html_(self) -> str:
        facts: dict[str, object] = {
            "heading": self.heading or None,
            "reason": self.reason,
            "measured": self.measured,
            "bound": self.bound,
        }
        facts |= {"instances": self.instances, "counterexample": self.counterexample, "seed": self.seed}
        facts |= {"repaired by": ", ".join(self.repaired_by) or None}
        return html_table(f"{self.claim}: {self.word}", facts)


def line_of(verdict: Verdict, name: str) -> Verdict:
    """Return the verdict on one line of a claim with several lines."""
    line = next((each for each in verdict.lines if each.name == name), None)
    if line is None:
        known = ", ".join(each.name for each in verdict.lines if each.name)
        rule = f"must be one of its lines: {known or 'it has a single line'}"
        raise InvalidArgument(
            "id",
            f"{verdict.claim}#{name}",
            rule,
            f"type `clusterproof show {arguments_of(verdict.claim)}` for a list",
        )
    return replace(verdict, claim=f"{verdict.claim}#{name}", lines=(line,), **vars(line))


def with_facts(claim: Claim[..., Any], line: Line) -> Line:
    """Add the source, the kind of error, and the repaired claims to a line.

    The source of a potential is always ``ours``, even if the claim is printed in a paper.
    """
    own = claim.of_line(line.name)
    if line.role == kernel.POTENTIAL:
        own["source"] = "ours"
    return replace(line, source=own["source"], error_kind=own["error_kind"], repaired_by=own["repaired_by"])


def unite(verdicts: Sequence[Verdict]) -> Verdict:
    """Combine verdicts with several seeds on one claim: choose the simplest counterexample or least certain verdict."""
    if len(verdicts) == 1:
        return verdicts[0]
    false = [verdict for verdict in verdicts if verdict.verdict in FALSE]
    if false:
        return min(
            false,
            key=lambda one: (one.word == FLOATS, len(json.dumps(one.counterexample, default=str))),
        )
    main = main_of(verdicts)
    instances = sum(verdict.instances or 0 for verdict in verdicts)
    seconds = sum(verdict.seconds for verdict in verdicts)
    count = plural("seed", len(verdicts))
    return replace(
        main, instances=instances, seconds=seconds, reason=f"{main.reason}; at the tightest of {count}"
    )


def main_of(lines: Sequence[L]) -> L:
    """Return the line that decides the claim: the first false line or, if none is false, the least certain line.

    A line that is violated only in floats decides the claim if no other line is false. A potential never decides the
    claim, because a theorem can be true although its proof is wrong.
    """
    false = [line for line in lines if line.verdict in FALSE and line.role != kernel.POTENTIAL]
    if false:
        return next((line for line in false if line.word != FLOATS), false[0])
    stated = [line for line in lines if line.role == "statement"]
    lemmas = [line for line in lines if line.role == "lemma"]
    for kind in (Kind.INCONCLUSIVE, Kind.VACUOUS, Kind.CONSISTENT, Kind.CERTIFIED):
        if same := [line for line in stated if line.verdict is kind]:
            main = max(same, key=lambda line: -1.0 if line.worst is None else line.worst)
            if kind is Kind.CERTIFIED and (
                open_ := [each.name for each in lemmas if each.verdict is not kind]
            ):
                why = f"the proof is not complete: {', '.join(open_)}"
                return replace(main, verdict=Kind.CONSISTENT, proof=None, reason=f"{main.reason}; {why}")
            return main
    raise AssertionError("a claim has a line")


def version() -> str:
    """Return the version of Clusterproof, or an empty string if it is not installed."""
    try:
        return metadata.version("clusterproof")
    except metadata.PackageNotFoundError:
        return ""


def records(verdict: Verdict) -> list[Mapping[str, Any]]:
    """Return the fields of the claim for a report and, if the claim has several lines, the fields of each line."""
    verdicts = [verdict, *(line_of(verdict, line.name) for line in verdict.lines if len(verdict.lines) > 1)]
    names = (
        "claim paper label source error_kind verdict reason measured bound instances exhausted largest trials failures "
        "confidence proof basis tightness worst worst_exact seed evaluations counterexample repaired_by "
        "only_where"
    )
    return [{name: getattr(each, name) for name in names.split()} for each in verdicts]
