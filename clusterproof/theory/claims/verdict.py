"""The verdict on a claim and on each of its lines: its statements are tried, and what that gives is weighed."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from typing import Any, ClassVar, TypeVar

import numpy as np

from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.drawable import Drawable
from clusterproof.algorithms.notebook import html_table
from clusterproof.algorithms.validation import check_count, check_seed
from clusterproof.theory import kernel
from clusterproof.theory.claims import sentences
from clusterproof.theory.claims.claim import (
    Claim,
    Statement,
    arguments_of,
    check_repairs,
    find_claim,
    source_of,
)
from clusterproof.theory.claims.confirm import confirm_equal
from clusterproof.theory.claims.evidence import evidence_of
from clusterproof.theory.claims.expectation import Expectation
from clusterproof.theory.claims.in_language import language_of
from clusterproof.theory.claims.judge import WHOLE
from clusterproof.theory.claims.progress import Evaluation, Progress
from clusterproof.theory.claims.rounding import as_float
from clusterproof.theory.claims.sides import Outside, leaving_out
from clusterproof.theory.claims.statistics import CLAIM_SIGNIFICANCE, Confidence, critical
from clusterproof.theory.claims.traced import (
    TracedLine,
    check_conditions,
    class_of,
    evaluated_world,
    has_class,
)
from clusterproof.theory.claims.trial import Trial
from clusterproof.theory.kernel import Word as Kind

FEWEST = 30
"""Instances, or repetitions, below which a line that was not refuted is inconclusive."""


L = TypeVar("L", bound="Line")


HOLDS = (Kind.CERTIFIED, Kind.CONSISTENT)
FALSE = (Kind.VIOLATED, Kind.ILL_POSED)


@dataclass(frozen=True, kw_only=True)
class Line:
    """The verdict on one line of a claim.

    Attributes
    ----------
    name
        Of the line; empty for a claim of one line.
    verdict
        One of the six.
    reason
        One sentence: what the numbers mean, and the inequality or instance that decides.
    measured, bound
        The observed quantity and what the claim allows, at the counterexample or the tightest instance; None if they
        have no meaning.
    instances, exhausted
        Distinct admissible instances that were evaluated, and whether these, or a proof, are all that there are.
    largest
        Largest value that was tried of each quantity that is an integer, such as a number of rounds.
    trials, failures, confidence
        Independent repetitions of a statement about a probability, how many broke it, and the interval; for an
        expectation the interval alone.
    counterexample
        Numbers of the simplest instance that breaks the line.
    proof
        The kernel's rule by which it was proved for every instance: ``"exhausted"``, ``"signs"``, ``"squares"``,
        ``"dual"`` or ``"empty"``; None if it was not.
    basis
        Of a violated or ill-posed line what shows it: ``"exact"`` (the kernel), ``"numerical"`` (floats, or a function
        outside of the language) or ``"statistical"`` (with the error probability); None of others.
    evidence
        The record that the kernel replays; None if there is none.
    outside
        Why the statement is not in the kernel's language; empty if it is.
    steps
        Names of what was proved of its argument only.
    tightness
        For everything that is allowed (``"all"``) and for each term: ``"ratio"``, allowed over measured at the worst
        instance, and that ``"instance"``; for everything ``"only_at"``, if the two sides are the same number only
        where some quantities have these values, which are left out of the ratio. None without a bound.
    worst, worst_exact
        Largest measured over allowed, as a float and as a fraction; None if unknown or not exact.
    only_where
        An earlier line that each instance breaks, too, that breaks this one; None for any other line.
    role
        As in ``Statement``.
    judges, failure, repaired_by
        As in ``Claim``, of this line.
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
    steps: tuple[str, ...] = ()
    tightness: dict[str, dict[str, Any]] | None = None
    worst: float | None = None
    worst_exact: str | None = None
    only_where: str | None = None
    role: str = "statement"
    judges: str = "printed"
    failure: str = "false statement"
    repaired_by: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False)
class Verdict(Line, Drawable):
    """The verdict on a claim: the fields of the line that decides it, and all lines.

    Attributes
    ----------
    claim, paper, label
        As in ``Claim``; of a line, ``claim`` is ``paper/name#line``.
    repaired_by
        Ids of the claims that replace this one, or one of its lines.
    seed
        The check's random numbers are those of this seed and the claim's id.
    lines
        The verdicts on its lines, one of a claim of one line.
    seconds
        Wall-clock time of the check.
    evaluations
        What the user asked for; None for the claim's own number.
    version
        Of Clusterproof.
    """

    drawn_by: ClassVar[str] = "verdict_figure"

    claim: str
    paper: str
    label: str
    seed: int = 0
    lines: tuple[Line, ...] = ()
    seconds: float = 0.0
    evaluations: int | None = None
    version: str = ""

    @property
    def source(self) -> str:
        """The label, whether it is a reading or ours, and what was refuted if no statement was."""
        failed = (self.failure,) if self.verdict is Kind.VIOLATED else ()
        return source_of(self.label, self.judges, *failed)

    def __repr__(self) -> str:
        return f"<Verdict on {self.claim}: {self.verdict}; {self.reason}>"

    def _repr_html_(self) -> str:
        facts: dict[str, object] = {
            "source": self.source or None,
            "reason": self.reason,
            "measured": self.measured,
            "bound": self.bound,
        }
        facts |= {"instances": self.instances, "counterexample": self.counterexample, "seed": self.seed}
        facts |= {"repaired by": ", ".join(self.repaired_by) or None}
        return html_table(f"{self.claim}: {self.verdict}", facts)

    def _repr_latex_(self) -> str:
        from clusterproof.theory.export.latex import of_verdict

        return of_verdict(self)


def check(claim_id: str, *, seed: int = 0, evaluations: int | None = None) -> Verdict:
    """Evaluate one claim.

    Parameters
    ----------
    claim_id
        Such as ``"cfl-mgd/lemma-2"``; of a line of a chain ``"cfl-mgd/appendix-a18#(A23)"``, for that line's fields.
    seed
        The same seed gives the same verdict and numbers.
    evaluations
        Instances to try, or repetitions of each random instance; the claim's own number if None.

    Raises
    ------
    InvalidArgument
        If the id, or one of those that repair the claim, is unknown, or a number is out of range.
    """
    claim = find_claim(claim_id)
    check_repairs([claim])
    check_seed(seed)
    if evaluations is not None:
        check_count("evaluations", evaluations, at_least=1, remedy="leave it out for the claim's own number")
    verdict = decide(claim, seed, evaluations)
    return line_of(verdict, claim_id.partition("#")[2]) if "#" in claim_id else verdict


def line_of(verdict: Verdict, name: str) -> Verdict:
    """Return the verdict on one line of a chain.

    Raises
    ------
    InvalidArgument
        If there is no such line.
    """
    line = next((each for each in verdict.lines if each.name == name), None)
    if line is None:
        known = ", ".join(each.name for each in verdict.lines if each.name)
        rule = f"must be one of its lines: {known or 'it has one only'}"
        raise InvalidArgument(
            "id", f"{verdict.claim}#{name}", rule, f"see `clusterproof show {arguments_of(verdict.claim)}`"
        )
    return replace(verdict, claim=f"{verdict.claim}#{name}", lines=(line,), **vars(line))


def decide(
    claim: Claim[..., Any],
    seed: int = 0,
    evaluations: int | None = None,
    significance: float = CLAIM_SIGNIFICANCE,
) -> Verdict:
    """Try every statement of a claim; the parameters are those of ``check``, and the error level of all of them."""
    started = time.perf_counter()
    share = significance / len(claim.statements)
    trials = [Trial(each, seed, claim.id, share, evaluations) for each in claim.statements]
    lines = [
        line
        for trial in trials
        for language in [language_of(trial.statement)]
        for line in _lines_of(claim, trial, trials, language)
    ]
    if all(trial.progress for trial in trials):
        _require_lines(claim, [line.name for line in lines])
    lines = [with_facts(claim, line) for line in lines]
    main = main_of(lines)
    return Verdict(
        claim=claim.id,
        paper=claim.paper,
        label=claim.label,
        seed=seed,
        lines=tuple(lines),
        seconds=time.perf_counter() - started,
        evaluations=evaluations,
        version=version(),
        **vars(main)
        | {"reason": main.reason if main.verdict in FALSE else _joined(lines, main)}
        | {"repaired_by": claim.repaired_by},
    )


def _lines_of(
    claim: Claim[..., Any], trial: Trial, trials: Sequence[Trial], language: kernel.Statement | str
) -> Iterator[Line]:
    """Weigh the lines of a statement, each with the evidence that the kernel accepts."""
    for key in list(trial.progress) or [""]:
        if isinstance(language, str):
            yield replace(_line(claim, trial, key, trials, None), outside=language)
            continue
        evidence = evidence_of(trial, key, language)
        if evidence is None:
            yield _line(claim, trial, key, trials, None)
            continue
        shown = kernel.replay(language, evidence, says_nothing=bool(claim.says_nothing))
        record = {"claim": claim.id, "statement": trial.statement.name, **evidence}
        yield replace(_line(claim, trial, key, trials, (shown.word, evidence)), evidence=record)


def with_facts(claim: Claim[..., Any], line: Line) -> Line:
    """Return a line with what it judges, what a counterexample to it shows, and what repairs it."""
    own = claim.of_line(line.name)
    return replace(line, judges=own["judges"], failure=own["failure"], repaired_by=own["repaired_by"])


def _require_lines(claim: Claim[..., Any], names: Sequence[str]) -> None:
    """Refuse a claim that says something of a line which it does not have."""
    for argument, values in claim.of_lines.items():
        for name in values:
            if name and name not in names:
                rule = f"must name lines of {claim.id}: {', '.join(filter(None, names)) or 'it has one only'}"
                raise InvalidArgument(argument, name, rule, "write the line's name as the claim does")


def unite(verdicts: Sequence[Verdict]) -> Verdict:
    """Unite the verdicts on one claim at several seeds: the simplest counterexample, else the least certain verdict."""
    if len(verdicts) == 1:
        return verdicts[0]
    false = [verdict for verdict in verdicts if verdict.verdict in FALSE]
    if false:
        return min(false, key=lambda verdict: len(json.dumps(verdict.counterexample, default=str)))
    main = main_of(verdicts)
    instances = sum(verdict.instances or 0 for verdict in verdicts)
    seconds = sum(verdict.seconds for verdict in verdicts)
    count = sentences.plural("seed", len(verdicts))
    return replace(
        main, instances=instances, seconds=seconds, reason=f"{main.reason}; at the tightest of {count}"
    )


def main_of(lines: Sequence[L]) -> L:
    """Return the line that decides: the first that is false, else the least certain, of these the tightest."""
    for line in lines:
        if line.verdict in FALSE:
            return line
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


def _joined(lines: Sequence[Line], main: Line) -> str:
    """Return the reasons of all lines, the deciding one's first."""
    others = [f"{line.name}: {line.reason}" for line in lines if line is not main and line.name]
    return "; ".join([main.reason, *others]) if main.verdict is Kind.INCONCLUSIVE else main.reason


def _line(
    claim: Claim[..., Any],
    trial: Trial,
    key: str,
    trials: Sequence[Trial],
    shown: tuple[kernel.Word, Mapping[str, Any]] | None,
) -> Line:
    """Weigh what the trial of a statement gives for one of its lines, and what the kernel says of its evidence."""
    progress = trial.progress.get(key, Progress())
    name = ": ".join(filter(None, (trial.statement.name, key)))
    if progress.found is not None:
        return _refuted(claim, trial, key, name, None if shown is None else shown[0])
    traced = trial.traced.get(key) or trial.traced.get("")
    if not progress.instances and not (traced and traced.proved):
        return _without_instance(trial, progress, key, name, shown)
    proof = None if shown is None else shown[1]["rule"]
    others = [each for each in trials if each is not trial and each.statement.role == "statement"]
    elsewhere = sum(each.instances for each in others) if not progress.excluded else 0
    doubts = [] if proof else _doubts(trial, progress, key, elsewhere)
    reason = sentences.holds(trial, progress, key, proof)
    if traced is None and has_class(trial.space):
        doubts.append("drawn functions only: its trace has no such line")
    if traced is not None:
        doubts = [] if proof else sentences.doubts_of_trace(traced)
        if traced.settings:
            drawn = f"; of drawn ones it {reason}" if progress.instances else ""
            reason = sentences.of_trace(traced, trial.space, proved=proof is not None) + drawn
    verdict = Kind.CONSISTENT if shown is None else shown[0]
    if doubts:
        verdict, reason = Kind.INCONCLUSIVE, "; ".join([*dict.fromkeys(doubts), reason])
    if claim.says_nothing and proof:
        reason = f"{claim.says_nothing}; {reason}"
    tightest = progress.tightest
    judged = None if tightest is None else tightest.judged[key]
    factor = None if judged is None else judged.factors.get(WHOLE)
    interval = judged.interval if judged is not None else None
    exact = progress.exact and factor is not None
    line = Line(
        name=name,
        verdict=verdict,
        reason=reason,
        measured=None if judged is None else judged.measured,
        bound=None if judged is None else judged.allowed,
        instances=progress.instances,
        exhausted=proof is not None or trial.exhausted,
        largest=progress.largest,
        trials=progress.trials or None,
        failures=progress.failures if progress.trials else None,
        confidence=interval,
        proof=proof,
        steps=tuple(
            tie.proof.name for tie in trial.ties if tie.proof.name and tie.speaks_of(key) and _is_step(tie)
        ),
        tightness=_tightness(trial, progress),
        worst=None if factor is None else as_float(factor),
        worst_exact=str(factor) if exact else None,
        role=trial.statement.role,
    )
    return _with_worst_case(line, traced) if traced is not None and traced.settings else line


def _with_worst_case(line: Line, traced: TracedLine) -> Line:
    """Replace what drawn functions give by the worst case over all."""
    ratio = 1 / traced.worst if traced.worst else None
    return replace(
        line,
        exhausted=line.proof is not None,
        worst=traced.worst,
        worst_exact=None if traced.worst_exact is None else str(traced.worst_exact),
        tightness={WHOLE: {"ratio": ratio, "instance": None}},
    )


def _is_step(tie: Any) -> bool:
    return all(not why for why in tie.unproved.values())


def _doubts(trial: Trial, progress: Progress, key: str, elsewhere: int) -> list[str]:
    """Say why evidence that did not refute a line would not have refuted it; empty if it would have.

    ``elsewhere`` counts the instances of the claim's other statements, if all of this one's instances have the line.
    """
    doubts = []
    repetitions = max(
        (len(e.samples) for e in _lines_at(progress, key) if isinstance(e, Expectation)), default=1
    )
    tried = max(progress.trials, progress.instances * repetitions)
    every = trial.exhausted or trial.looked_at_all
    if tried < FEWEST and elsewhere + tried < FEWEST and progress.rounding is None and not every:
        are = "instance is" if tried == 1 else "instances are"
        remedy = "give more evaluations, or ranges that the hypotheses leave more of"
        doubts.append(f"{tried} {are} too few to refute it: {remedy}")
    if progress.rounding is not None:
        words = sentences.broken(trial.statement, progress.rounding, key)
        doubts.append(f"rounding: {words}, which more digits do not confirm")
    if progress.undefined is not None:
        doubts.append(sentences.broken(trial.statement, progress.undefined, key))
    if progress.grows:
        doubts.append(
            f"what it uses of the bound grows with {progress.grows} and would pass 1: state a larger range"
        )
    if progress.inconclusive.total() == progress.instances:
        doubts.append("no interval decides anything")
    if progress.unlikely is not None:
        doubts.append("all repetitions together speak against it, those of no single instance do")
    blind = {
        level: count
        for level, count in progress.levels.items()
        if 0 < level <= 0.5 and critical(count, level, trial.significance) > 2 * level * count
    }
    if 2 * sum(blind.values()) > progress.levels.total():
        level, count = max(blind.items())
        doubts.append(
            f"{count} repetitions would not show twice the probability {level:.3g}: give more replicates"
        )
    return doubts


def _lines_at(progress: Progress, key: str) -> list[Any]:
    return [progress.tightest.lines[key]] if progress.tightest is not None else []


def _tightness(trial: Trial, progress: Progress) -> dict[str, dict[str, Any]] | None:
    """Return the ratio of each term, and its instance; of everything without the instances that claim nothing."""
    factors = dict(progress.factors)
    only_at: dict[str, Any] = {}
    if progress.attained and progress.elsewhere is not None and not trial.statement.random:
        other: Mapping[str, Any] = progress.elsewhere[1]
        only_at = {
            n: v
            for n, v in (progress.common or {}).items()
            if other[n] is not v and not np.array_equal(other[n], v)
        }
        if only_at:
            factors[WHOLE] = progress.elsewhere
    encode = trial.space.encode
    return {
        term: {
            "ratio": 1 / as_float(factor) if factor else None,
            "instance": encode(instance),
            **(
                {"only_at": {n: trial.space.ranges[n].encode(v) for n, v in only_at.items()}}
                if term == WHOLE and only_at
                else {}
            ),
        }
        for term, (factor, instance) in factors.items()
        if factor is not None
    } or None


def _without_instance(
    trial: Trial,
    progress: Progress,
    key: str,
    name: str,
    shown: tuple[kernel.Word, Mapping[str, Any]] | None,
) -> Line:
    """Weigh a line of which no instance was evaluated, or none that compares numbers."""
    on_symbols = shown is not None and not shown[1].get("listed")
    if progress.undefined is not None:
        reason = sentences.broken(trial.statement, progress.undefined, key)
    elif progress.infinite:
        reason = f"both sides are infinite at all {sentences.plural('instance', progress.infinite)} that were tried"
    else:
        reason = sentences.none_admissible(trial, progress, exclude_each_other(trial), proved=on_symbols)
    return Line(
        name=name,
        verdict=Kind.INCONCLUSIVE if shown is None else shown[0],
        reason=reason,
        instances=0,
        exhausted=shown is not None,
        proof=None if shown is None else "empty",
        role=trial.statement.role,
    )


def _refuted(claim: Claim[..., Any], trial: Trial, key: str, name: str, word: kernel.Word | None) -> Line:
    progress, statement = trial.progress[key], trial.statement
    found = progress.found
    assert found is not None
    judged = found.judged[key]
    confirm(claim.id, statement, found, key)
    reason = sentences.broken(statement, found, key)
    # of a single instance every false line is refuted where the first is
    echoed = [] if progress.alone or not trial.space.ranges else [*(progress.echoed or ())]
    used = judged.measured / judged.allowed if judged.allowed else math.inf
    return Line(
        name=name,
        verdict=Kind.ILL_POSED if claim.of_line(name)["ill_posed"] else word or Kind.VIOLATED,
        basis="exact" if word else "numerical" if judged.interval is None else "statistical",
        reason=reason,
        measured=judged.measured,
        bound=judged.allowed,
        instances=progress.instances,
        exhausted=trial.exhausted,
        largest=progress.largest,
        trials=judged.trials,
        failures=judged.failures,
        confidence=judged.interval,
        counterexample=written(statement, found, trial.seed, name if key or statement.name else ""),
        worst=used if math.isfinite(used) else None,
        only_where=": ".join(filter(None, (statement.name, echoed[0]))) if echoed else None,
        role=statement.role,
    )


def confirm(claim_id: str, statement: Statement, found: Evaluation, key: str) -> None:
    """Run the algorithm on an instance that refutes a line, if the statement says how.

    Raises
    ------
    RunDisagrees
        If the run gives something else than the statement.
    InvalidArgument
        If a function is not of its class, by the points that were evaluated.
    """
    if has_class(statement.space):
        check_conditions(statement, found.instance)
    if statement.confirm is None:
        return
    observed, measured = (
        statement.confirm(**statement.space.arguments(found.instance)),
        found.judged[key].measured,
    )
    if observed is not None:
        confirm_equal(claim_id, observed, measured)


def written(statement: Statement, found: Evaluation, seed: int, line: str) -> dict[str, Any]:
    """Write a counterexample: its quantities, the line, and what gives its random numbers."""
    example = statement.space.encode(found.instance)
    if has_class(statement.space):
        name, _ = class_of(statement.space)
        example[name] |= evaluated_world(statement, found.instance).evaluated()
    if line:
        example["line"] = line
    if statement.random:
        example["seed"] = seed
        if statement.space.replicates is not None:
            example["replicates"] = found.replicates or statement.replicates
    return example


def exclude_each_other(trial: Trial) -> list[str]:
    """Find hypotheses that no instance of a trial meets together, none of which could be left out.

    Counting which hypothesis rejects first would name all of them. So each is left out in turn, for good if the others
    still reject everything.
    """
    known = list(trial.rejected)
    left_out: frozenset[str] = frozenset()
    for name in known:  # grows while hypotheses come to light after the ones that are left out
        met = _rejections(trial, left_out | {name})
        if met is not None:
            left_out |= {name}
            known.extend(other for other in met if other not in known)
    return [name for name in known if name not in left_out]


def _rejections(trial: Trial, left_out: frozenset[str]) -> list[str] | None:
    """Return the hypotheses that reject all instances when some are left out; None if one passes."""
    names: dict[str, None] = {}
    with leaving_out(left_out):
        for _, instance in trial.outside:
            try:
                trial.statement.lines(instance, seed=trial.seed, claim=trial.claim, replicates=1)
                return None
            except Outside as outside:
                names[str(outside)] = None
            except Exception:  # beyond its hypotheses a statement need not be defined
                return None
    return list(names)


def version() -> str:
    """Version of Clusterproof; empty if it is not installed."""
    try:
        return metadata.version("clusterproof")
    except metadata.PackageNotFoundError:
        return ""


def records(verdict: Verdict) -> list[Mapping[str, Any]]:
    """Return the fields that a report writes: of the claim and, of several lines, of each."""
    verdicts = [verdict, *(line_of(verdict, line.name) for line in verdict.lines if len(verdict.lines) > 1)]
    names = (
        "claim paper label judges failure verdict reason measured bound instances exhausted largest trials failures "
        "confidence proof basis steps tightness worst worst_exact seed evaluations counterexample repaired_by "
        "only_where"
    )
    return [{name: getattr(each, name) for name in names.split()} for each in verdicts]
