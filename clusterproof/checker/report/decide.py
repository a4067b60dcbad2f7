"""Decide a claim: search all of its statements, then judge each line."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from clusterproof.checker import kernel
from clusterproof.checker.claims.claim import Claim, check_repairs, find_claim
from clusterproof.checker.claims.class_ranges import OfClass, class_of, noun_in, require_members
from clusterproof.checker.claims.judge import WHOLE
from clusterproof.checker.claims.kind import Kind
from clusterproof.checker.claims.rounding import as_float
from clusterproof.checker.claims.statement import Statement
from clusterproof.checker.claims.statistics import CLAIM_SIGNIFICANCE
from clusterproof.checker.freeze import Frozen, freeze
from clusterproof.checker.report import sentences
from clusterproof.checker.report.limits_of_evidence import doubts_of, exclude_each_other
from clusterproof.checker.report.potentials import line_of_potential
from clusterproof.checker.report.replay import find_line
from clusterproof.checker.report.verdict import (
    FALSE,
    Line,
    Tightness,
    Verdict,
    line_of,
    main_of,
    version,
    with_facts,
)
from clusterproof.checker.search.evaluator import Evaluation
from clusterproof.checker.search.evidence import evidence_of, refusal_of
from clusterproof.checker.search.findings import Findings
from clusterproof.checker.search.state import MEMORY, Tried
from clusterproof.checker.search.strategy import begin, search
from clusterproof.checker.search.worst_functions import WorstCase
from clusterproof.common import InvalidArgument
from clusterproof.common.limits import limited_memory
from clusterproof.common.validation import check_count, check_seed, visible
from clusterproof.opened_files import reading
from clusterproof.user_files import file_of


def check(claim_id: str, *, seed: int = 0, evaluations: int | None = None) -> Verdict:
    """Check one claim, and return its verdict.

    Parameters
    ----------
    claim_id
        Id of the claim, such as ``"my-paper/lemma-2"``; for one line, ``"my-paper/theorem-1#(23)"``.
    seed
        Seed of all random numbers. Two checks with the same seed have the same verdict and the same numbers.
    evaluations
        Number of instances to try, or number of replicates of each random instance. If None, the number that the claim
        states is used.

    Raises
    ------
    InvalidArgument
        If the id is unknown, if a claim in ``repaired_by`` is unknown, or if a number is out of range.
    """
    claim = find_claim(claim_id)
    check_repairs([claim])
    check_seed(seed)
    if evaluations is not None:
        check_count("evaluations", evaluations, at_least=1, remedy="leave it out for the claim's own number")
    verdict = decide(claim, seed, evaluations)
    if verdict.interrupted:
        raise KeyboardInterrupt
    return line_of(verdict, claim_id.partition("#")[2]) if "#" in claim_id else verdict


@limited_memory(MEMORY)
def decide(
    claim: Claim[..., Any],
    seed: int = 0,
    evaluations: int | None = None,
    significance: float = CLAIM_SIGNIFICANCE,
) -> Verdict:
    """Search every statement of a claim, and return the verdict on the claim.

    The parameters are as in ``check``. ``significance`` is the error probability of all statements together. Ctrl-C
    ends the search; the verdict is then based on the results so far, and marked as ``interrupted``.
    """
    with reading(claim.module):
        return _decided(claim, seed, evaluations, significance)


def _decided(claim: Claim[..., Any], seed: int, evaluations: int | None, significance: float) -> Verdict:
    started = time.perf_counter()
    share = significance / len(claim.statements)
    frozen = freeze(claim)
    searched: list[Tried] = []
    for each in claim.statements:
        if any(tried.interrupted for tried in searched):
            searched.append(Tried(begin(each, seed, share, evaluations)[0], frozen=frozen))
            searched[-1].interrupt()
        else:
            searched.append(search(each, seed, share, evaluations, frozen=frozen))
    seen = {tried.statement.name: tuple(tried.lines) for tried in searched if tried.lines}
    if any(frozen.lines[name] != lines for name, lines in seen.items()):
        frozen = freeze(claim, seen)
    stated = None if frozen.text is None else kernel.read(frozen.text)
    lines = [line for tried in searched for line in _lines_of(claim, tried, frozen, stated)]
    _require_distinct(claim, [(tried.statement.name, key) for tried in searched for key in tried.lines])
    if all(tried.lines for tried in searched):
        _require_lines(claim, [line.name for line in lines])
    lines = [with_facts(claim, line) for line in lines]
    main = main_of(lines)
    return Verdict(
        claim=claim.id,
        paper=claim.paper,
        label=claim.label,
        title=claim.title,
        seed=seed,
        lines=tuple(lines),
        seconds=time.perf_counter() - started,
        evaluations=evaluations,
        version=version(),
        interrupted=any(tried.interrupted for tried in searched),
        text=frozen.text or "",
        tight=claim.tight,
        file=file_of(claim.module) or "",
        **vars(main)
        | {"reason": main.reason if main.verdict in FALSE else _joined(lines, main)}
        | {"repaired_by": claim.repaired_by},
    )


def _lines_of(
    claim: Claim[..., Any], tried: Tried, frozen: Frozen, stated: kernel.Claim | None
) -> Iterator[Line]:
    """Yield the verdict on each line of a statement, with evidence if the kernel accepts it."""
    name = tried.statement.name
    for key in list(tried.lines) or [*frozen.lines[name]][:1]:
        if tried.interrupted:
            yield _line(claim, tried, key, None)
            continue
        if stated is None or name in frozen.outside:
            yield replace(_line(claim, tried, key, None), outside=frozen.outside[name])
            continue
        evidence = evidence_of(tried, key, stated)
        if evidence is None:
            yield _line(claim, tried, key, None, refusal_of(tried, key, stated))
            continue
        record, word = evidence
        yield replace(_line(claim, tried, key, (Kind(word), record)), evidence=record)
    if stated is not None and (line := line_of_potential(stated, tried)) is not None:
        yield line


def _require_distinct(claim: Claim[..., Any], lines: Sequence[tuple[str, str]]) -> None:
    """Reject a claim if two of its lines have the same printed name."""
    for name, line in lines:
        own = kernel.printed(name, line)
        statement, key = find_line(claim, own)
        if (statement.name, key) != (name, line):
            rule = f"has the same printed name as a line of the step {statement.name!r} of {claim.id}"
            raise InvalidArgument("line", own, rule, "rename the line or the step")


def _require_lines(claim: Claim[..., Any], names: Sequence[str]) -> None:
    """Reject a claim that sets options for a line that does not exist."""
    for argument, values in claim.of_lines.items():
        for name in values:
            if name and name not in names:
                rule = f"must name lines of {claim.id}: {', '.join(filter(None, names)) or 'it has a single line'}"
                raise InvalidArgument(argument, name, rule, "use one of these names")


def _joined(lines: Sequence[Line], main: Line) -> str:
    """Return the reason of the deciding line; if this line is inconclusive, append the reasons of all other lines."""
    others = [f"{line.name}: {line.reason}" for line in lines if line is not main and line.name]
    return "; ".join([main.reason, *others]) if main.verdict is Kind.INCONCLUSIVE else main.reason


def _line(
    claim: Claim[..., Any],
    tried: Tried,
    key: str,
    shown: tuple[Kind, Mapping[str, Any]] | None,
    refused: str = "",
) -> Line:
    """Judge one line of a statement by the results of the search and the kernel's verdict on the evidence.

    ``refused`` is the reason why the kernel rejects the multipliers that the search found.
    """
    findings = tried.lines.get(key, Findings())
    name = kernel.printed(tried.statement.name, key)
    if findings.found is not None:
        return _refuted(claim, tried, key, name, None if shown is None else shown[0])
    worst = tried.worst.get(key) or tried.worst.get("")
    if not findings.instances and not (worst and worst.multipliers):
        return _without_instance(tried, findings, key, name, shown)
    proof = None if shown is None else shown[1]["rule"]
    doubts = [] if proof else doubts_of(tried, findings, key)
    reason = sentences.holds(tried, findings, key, proof)
    noun = noun_in(tried.space)
    if worst is None and class_of(tried.space):
        doubts.append(f"drawn {noun}s only: its trace has no such line")
    if worst is not None:
        doubts = [] if proof else sentences.doubts_of_worst(worst, noun, findings.instances)
        if worst.at or worst.family:
            found = sentences.of_worst(worst, tried.space, proved=proof is not None, refused=refused)
            drawn = f"on drawn {noun}s it {reason}" if findings.instances else ""
            reason = "; ".join(filter(None, (found, drawn)))
    verdict = Kind.CONSISTENT if shown is None else shown[0]
    if doubts:
        verdict, reason = Kind.INCONCLUSIVE, "; ".join([*dict.fromkeys(doubts), reason])
    if claim.says_nothing and proof:
        reason = f"{claim.says_nothing}; {reason}"
    tightest = findings.tightest
    judged = None if tightest is None else tightest.judged[key]
    factor = None if judged is None else judged.factors.get(WHOLE)
    interval = judged.interval if judged is not None else None
    exact = findings.exact and factor is not None
    line = Line(
        name=name,
        verdict=verdict,
        reason=visible(reason),
        measured=None if judged is None else judged.measured,
        bound=None if judged is None else judged.allowed,
        instances=findings.instances,
        exhausted=proof is not None or tried.coverage.exhausted,
        largest=findings.largest,
        trials=findings.trials or None,
        failures=findings.failures if findings.trials else None,
        confidence=interval,
        proof=proof,
        tightness=_tightness(tried, findings),
        worst=None if factor is None else as_float(factor),
        worst_exact=_written(factor) if exact else None,
        role=tried.statement.role,
    )
    return _with_worst_case(line, worst) if worst is not None and worst.at else line


def _written(factor: Any) -> str | None:
    """Convert an exact factor to a string; return None if Python cannot convert a number with so many digits."""
    try:
        return str(factor)
    except ValueError:
        return None


def _with_worst_case(line: Line, worst: WorstCase) -> Line:
    """Replace the ratio at randomly drawn functions by the worst case over all functions."""
    ratio = 1 / worst.ratio if worst.ratio else None
    return replace(
        line,
        exhausted=line.proof is not None,
        worst=worst.ratio,
        worst_exact=None,
        tightness={WHOLE: {"ratio": ratio, "instance": None}},
    )


def _tightness(tried: Tried, findings: Findings) -> dict[str, Tightness] | None:
    """Return by which factor the bound, and each term, is too large, and the instance that prevents a larger factor.

    If the two sides are equal only at special values of some quantities, the ratio of the whole bound ignores instances
    with these values. This does not apply to functions of a class, because a bound is *attained* if a single function
    attains it.
    """
    factors = dict(findings.factors)
    only_at: dict[str, Any] = {}
    if findings.attained and findings.elsewhere is not None and not tried.statement.random:
        other: Mapping[str, Any] = findings.elsewhere[1]
        only_at = {
            n: v
            for n, v in (findings.common or {}).items()
            if not isinstance(tried.space.ranges[n], OfClass)
            and other[n] is not v
            and not np.array_equal(other[n], v)
        }
        if only_at:
            factors[WHOLE] = findings.elsewhere
    found = {
        term: Tightness(
            ratio=1 / as_float(factor) if as_float(factor) else None, instance=tried.space.encode(instance)
        )
        for term, (factor, instance) in factors.items()
        if factor is not None
    }
    if only_at and WHOLE in found:
        found[WHOLE]["only_at"] = {n: tried.space.ranges[n].encode(v) for n, v in only_at.items()}
    return found or None


def _without_instance(
    tried: Tried,
    findings: Findings,
    key: str,
    name: str,
    shown: tuple[Kind, Mapping[str, Any]] | None,
) -> Line:
    """Judge a line for which no instance was evaluated, or for which no instance compares two numbers."""
    on_symbols = shown is not None and not shown[1].get("listed")
    if findings.undefined is not None:
        reason = sentences.broken(tried.statement, findings.undefined, key)
    elif findings.infinite:
        reason = f"both sides are infinite at all {sentences.plural('instance', findings.infinite)} that were tried"
    else:
        reason = sentences.none_admissible(tried, findings, exclude_each_other(tried), proved=on_symbols)
    return Line(
        name=name,
        verdict=Kind.INCONCLUSIVE if shown is None else shown[0],
        reason=visible(reason),
        instances=0,
        exhausted=shown is not None,
        proof=None if shown is None else "empty",
        role=tried.statement.role,
    )


def _refuted(claim: Claim[..., Any], tried: Tried, key: str, name: str, word: Kind | None) -> Line:
    findings, statement = tried.lines[key], tried.statement
    found = findings.found
    assert found is not None
    judged = found.judged[key]
    require_members(statement.space, found.instance)
    reason = sentences.broken(statement, found, key)
    # if there is a single instance, it refutes all false lines at once
    echoed = [] if findings.alone or not tried.space.ranges else [*(findings.echoed or ())]
    used = judged.measured / judged.allowed if judged.allowed else math.inf
    return Line(
        name=name,
        verdict=Kind.ILL_POSED if claim.of_line(name)["ill_posed"] else Kind.VIOLATED,
        basis="exact" if word else findings.basis if judged.interval is None else "statistics",
        reason=visible(reason),
        measured=judged.measured,
        bound=judged.allowed,
        instances=findings.instances,
        exhausted=tried.coverage.exhausted,
        largest=findings.largest,
        trials=judged.trials,
        failures=judged.failures,
        confidence=judged.interval,
        counterexample=written(statement, found, tried.evaluator.seed, name if key or statement.name else ""),
        worst=used if math.isfinite(used) else None,
        only_where=kernel.printed(statement.name, echoed[0]) if echoed else None,
        role=statement.role,
    )


def written(statement: Statement, found: Evaluation, seed: int, line: str) -> dict[str, Any]:
    """Convert a counterexample to JSON values: the quantities, the line, and the seed of the random numbers."""
    example = statement.space.encode(found.instance)
    if line:
        example["line"] = line
    if statement.random:
        example["seed"] = seed
        if statement.space.replicates is not None:
            example["replicates"] = found.replicates or statement.replicates
    return example
