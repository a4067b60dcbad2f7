"""A theorem about every function of a class, in any inner product space, at all values of the other quantities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

from clusterproof.checker.export.function_classes import members
from clusterproof.checker.export.function_proof import Place, Sum
from clusterproof.checker.export.function_proposition import Proposition, Proved, composed, proved
from clusterproof.checker.export.function_source import Source, conclusions
from clusterproof.checker.export.function_words import (
    Frame,
    Symbols,
    Words,
    number_code,
    number_text,
    with_lets,
)
from clusterproof.checker.export.rocq_text import listed, whole
from clusterproof.checker.export.traced import Traced, View
from clusterproof.checker.kernel.evaluation import Refused, limited
from clusterproof.checker.kernel.numbers import read, write
from clusterproof.checker.kernel.vocabulary import Least, Sides
from clusterproof.checker.kernel.worlds import Form


def dual(text_of_claim: str, record: Mapping[str, Any], name: str = "certified") -> list[str]:
    """Write the theorem ``name``: each component of the line holds at each instance."""
    source = Source(text_of_claim, record["statement"])
    with limited(10**9):
        cases = [_proved(case, source, k) for k, case in enumerate(_cases(source, record), start=1)]
    return composed(name, cases)


@dataclass(frozen=True)
class _Case:
    """One component of a line at one instance, with the multipliers that prove the component."""

    setting: Mapping[str, Any]
    view: View
    sign: str
    measured: Any
    bounds: Mapping[str, Any]
    slack: Any
    conditions: Mapping[str, Form]
    proof: Mapping[str, Any]

    @property
    def weights(self) -> list[Fraction]:
        """Weights of the numbers on the left side, whose minimum is compared with the bound; 1 for a single number."""
        return [Fraction(read(code)) for code in self.proof.get("weights", [1])]


def _cases(source: Source, record: Mapping[str, Any]) -> Iterator[_Case]:
    proofs = {_key(each["setting"]): each["paths"] for each in record["settings"]}
    for setting in source.space.every(left_out=source.function):
        paths = iter(proofs.get(_key({key: write(value) for key, value in setting.items()}), ()))
        lines, evaluation = source.at(setting)
        view = source.asked.view()
        if evaluation.now.path:
            raise Refused("a Rocq file about functions cannot yet contain a branch on values of functions")
        sides = lines.get(record["line"])
        if type(sides) is not Sides:
            continue
        known = [*evaluation.now.facts, *sides.facts]
        if known:
            raise Refused(
                "a Rocq file about functions cannot yet contain further hypotheses about the functions"
            )
        line = source.lines[id(sides.slacks)]
        conditions, _ = view.trace.facts(known)
        entries = conclusions(line, len(sides.slacks))
        for (measured, bounds), slack, proof in zip(entries, sides.slacks, next(paths), strict=True):
            yield _Case(setting, view, line.sign, measured, bounds, slack, conditions, proof)


def _key(setting: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(sorted((str(key), str(value)) for key, value in setting.items()))


def _proved(case: _Case, source: Source, number: int) -> Proved:
    """Return the proposition of a case with its proof; the number is a part of the proof's own names."""
    numbers = [key for key, value in case.setting.items() if type(value) in (int, Fraction)]
    frame = Frame(case.view, numbers, steps=case.view.steps)
    several = case.measured.numbers if type(case.measured) is Least else (case.measured,)
    roots = [each for each in (*several, *case.bounds.values()) if isinstance(each, Traced)]
    words = Words(frame, case.view, roots, source.names, Symbols())
    lets = [(own, number_text(case.setting[key])) for key, own in frame.quantities.items()]
    stated = statement(words, case.sign, case.measured, case.bounds)
    definitions = case.view.trace.definitions
    classes = [each for member in members(frame, definitions, words.symbols) for each in member.hypotheses()]
    equation = equation_of(words, case.view)
    place = Place(words, str(number))
    large, evidence = total_of(case.bounds.values()), _sum(case, words)
    if type(case.measured) is Least:
        weights = [number_code(each) for each in case.weights]
        steps, proof = place.least_below(several, weights, large, evidence)
    else:
        pair = (large, case.measured) if case.sign == ">=" else (case.measured, large)
        steps, proof = place.below(*pair, evidence)
    proposition = Proposition(given(case.setting), frame, ((), ()), (), classes, equation, (), lets, stated)
    return proved(proposition, number, place.definitions, [*place.begin(), *steps, f"exact {proof}."])


def given(setting: Mapping[str, Any]) -> str:
    """Write the values of quantities."""
    return ", ".join(f"{key} = {value}" for key, value in setting.items())


def equation_of(words: Words, view: View) -> str:
    """Write the equation that holds at the solution; return an empty string if there is no solution."""
    if view.equation is None:
        return ""
    left, right = view.equation
    return f"{words.text(left)} = {'origin S' if right is None else words.text(right)}"


def statement(words: Words, sign: str, measured: Any, bounds: Mapping[str, Any]) -> str:
    """Write the conclusion of a component, with local definitions."""
    lets = [(own, words.text(node, define=True)) for own, node in words.lets]
    names = []
    for name, term in bounds.items():
        names.append(words.frame.names.new(name))
        lets.append((names[-1], words.text(term)))
    allowed = " + ".join(names)
    if type(measured) is Least:
        return with_lets(lets, " \\/ ".join(f"{words.text(each)} <= {allowed}" for each in measured.numbers))
    pair = words.text(measured), allowed
    return with_lets(lets, " <= ".join(pair[::-1] if sign == ">=" else pair))


def total_of(values: Any) -> Any:
    """Return the sum of some values."""
    total, *others = values
    for each in others:
        total = total + each
    return total


def _sum(case: _Case, words: Words) -> Sum:
    """Return the evidence: the multipliers, and the remaining form as a matrix of integers."""
    rest, least, given = case.view.trace.constant(0), Fraction(0), list[tuple[str, Fraction]]()
    several = case.slack if type(case.slack) is tuple else (case.slack,)
    for weight, slack in zip(case.weights, several, strict=True):
        rest = rest + weight * slack
    for name, code in case.proof["multipliers"].items():
        factor = Fraction(read(code))
        if name not in case.conditions:
            raise Refused(
                "a Rocq file about functions cannot yet contain a proof that uses an equation between their values"
            )
        rest = rest - factor * case.conditions[name]
        if name == "1":
            least = factor
        elif factor:
            given.append((name, factor))
    matrix = words.matrix(rest)
    scale = lcm(*(entry.denominator for row in matrix for entry in row))
    rows: Sequence[str] = [listed(f"({whole(int(entry * scale))})" for entry in row) for row in matrix]
    multiples = [(name, number_code(factor * scale)) for name, factor in given]
    return Sum(
        [f"([{number_code(scale)}], {number_code(scale)})"],
        multiples,
        number_code(least * scale),
        matrix=rows,
    )
