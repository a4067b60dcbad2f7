"""From what was tried to records of evidence, which the kernel replays: nothing here is trusted with a word."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from typing import Any

from clusterproof.theory import kernel
from clusterproof.theory.claims.ranges import Choice, Instance, Integers
from clusterproof.theory.claims.traced import (
    class_of,
    evaluated_world,
    has_class,
    other_quantities,
    program_of,
    trace_paths,
)
from clusterproof.theory.classes.traced_numbers import NotTraced
from clusterproof.theory.classes.worst_case import WorstCase
from clusterproof.theory.kernel.evaluation import limited
from clusterproof.theory.kernel.functions import problem
from clusterproof.theory.kernel.induction import needs, targets
from clusterproof.theory.kernel.numbers import write
from clusterproof.theory.kernel.rules import cases, nonnegative_on
from clusterproof.theory.search.tried import Tried
from clusterproof.theory.squares.search import find_proof

SETTINGS = 64
"""Most settings of the quantities beside a function of a class."""
MOST_STATES = 24
"""Most symbols for rounds, and the states to which they lead."""
NO_FORMULA = (kernel.Refused, ArithmeticError, TypeError, ValueError, LookupError, AttributeError)
"""What the language raises where a function has no formula."""


def evidence_of(tried: Tried, line: str, statement: kernel.Statement) -> dict[str, Any] | None:
    """Return evidence that the kernel accepts for a line; None if none is found.

    Parameters
    ----------
    tried
        Of the same statement.
    line
        Its name; empty of a single one.
    statement
        In the language.
    """
    with suppress(ValueError):  # more digits than Python writes
        for data in _candidates(tried, line, statement):
            evidence = {"line": line, "digest": statement.digest, **data}
            if kernel.replay(statement, evidence).word is not kernel.Word.INCONCLUSIVE:
                return evidence
    return None


def _candidates(tried: Tried, line: str, statement: kernel.Statement) -> Iterator[dict[str, Any]]:
    findings = tried.lines.get(line)
    if findings is None or not findings.instances:
        if tried.coverage.exhausted:
            yield {"rule": "empty", "listed": True}
        yield {"rule": "empty"}
        if findings is None:
            return
    if findings.found is not None:
        yield {"rule": "instance", "instance": _written(tried, findings.found.instance)}
        return
    if tried.coverage.exhausted and tried.space.complete:
        yield {"rule": "exhausted"}
    if findings.tightest is None:
        return
    witness = _written(tried, findings.tightest.instance)
    if has_class(tried.space):
        settings = _multipliers(tried, line, statement)
        if settings is not None:
            yield {"rule": "dual", "settings": settings}
            yield {"rule": "dual", "witness": witness, "settings": settings}
        return
    ranges = tried.space.ranges.items()
    listed = [name for name, allowed in ranges if isinstance(allowed, Integers) and allowed.complete]
    between = [name for name, allowed in ranges if isinstance(allowed, Choice) and _are_fractions(allowed)]
    for fewer in ({"between": between}, {}, {"listed": listed}):
        if fewer and not any(fewer.values()):
            continue
        data: dict[str, Any] = {"witness": witness, **fewer}
        states = _states(statement, line, data)
        if states is None:
            continue
        if states:
            data |= {"rule": "induction", "states": states}
        else:
            yield {"rule": "signs", **data}
        blocks = _blocks(statement, line, data)
        if blocks is not None:
            yield {"rule": "squares", "blocks": blocks, **data}


def _written(tried: Tried, instance: Instance) -> dict[str, Any]:
    """Write an instance such that the kernel reads it, a function of a class by the points that were evaluated."""
    code = {name: _number(value) for name, value in instance.items()}
    if has_class(tried.space):
        name, _ = class_of(tried.space)
        world = evaluated_world(tried.statement, instance)
        code[name] = {
            "start": _point(world.start),
            "solution": None if world.solution is None else _point(world.solution),
            "minimum": write(Fraction(world.minimum)),
            "further": [_point(point) for point in world.further],
            "triplets": [
                [[_point(x), _point(g), write(Fraction(f))] for x, g, f in oracle.triplets]
                for oracle in world.oracles
            ],
        }
    return code


def _number(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(map(_number, value))
    return write(Fraction(value) if isinstance(value, float) else value)


def _point(vector: Any) -> list[Any]:
    return [write(Fraction(str(entry))) for entry in vector.entries]


# ---- sums of squares


def _are_fractions(allowed: Choice) -> bool:
    """Return whether the options are fractions, and no integers, which may be places in a list."""
    return all(type(option) is Fraction for option in allowed.options)


def _states(statement: kernel.Statement, line: str, data: Mapping[str, Any]) -> int | None:
    """Return the number of symbols that a line takes for rounds, states and values; None if it has no formula."""
    used = 0
    try:
        with limited():
            for case in cases(statement, line, data, MOST_STATES):
                used = max(used, case.evaluation.taken)
    except NO_FORMULA:
        return None
    return used


def _blocks(
    statement: kernel.Statement, line: str, data: Mapping[str, Any]
) -> list[list[dict[str, Any]]] | None:
    """Search sums of squares for what the coefficients do not decide; None if one is not found."""
    found = []
    try:
        with limited():
            for case in cases(statement, line, data, data.get("states", 0)):
                for need in needs(case):
                    _, known, box = need
                    factors = nonnegative_on(box, known)
                    for target in targets(need):
                        blocks = _squares(target, factors)
                        if blocks is None:
                            return None
                        found.append(blocks)
    except NO_FORMULA:
        return None
    return found


def _squares(target: Any, factors: Sequence[Any]) -> list[dict[str, Any]] | None:
    """Search a proof of one polynomial, by what has only its symbols first; None if none is found."""
    return _found(_frozen(target), tuple(map(_frozen, factors)))


@lru_cache(maxsize=1024)
def _found(target: Any, factors: Sequence[Any]) -> list[dict[str, Any]] | None:
    own = _symbols(dict(target))
    every = [place for place, factor in enumerate(factors) if factor]
    near = [place for place in every if _symbols(dict(factors[place])) <= own]
    for places in [near] * (len(near) < len(every)) + [every]:
        blocks = find_proof(dict(target), [dict(factors[place]) for place in places])
        if blocks is not None:
            return [_block(each, places) for each in blocks]
    return None


def _frozen(polynomial: Any) -> tuple[Any, ...]:
    return tuple(polynomial.items())


def _symbols(polynomial: Any) -> set[int]:
    return {place for powers in polynomial for place, power in enumerate(powers) if power}


def _block(block: Any, places: list[int]) -> dict[str, Any]:
    return {
        "factors": [places[each] for each in block.factors],
        "basis": [[[list(powers), write(value)] for powers, value in b.items()] for b in block.basis],
        "matrix": [[write(entry) for entry in row] for row in block.matrix],
    }


# ---- multipliers of a class's conditions


def _multipliers(tried: Tried, line: str, statement: kernel.Statement) -> list[dict[str, Any]] | None:
    """Search multipliers at every setting and on every path; None if some are not found."""
    name, _ = class_of(tried.space)
    listed = other_quantities(tried.space).instances(SETTINGS)
    if listed is None:
        return None
    of_class: Any = statement.space.ranges[name]
    settings = []
    for setting in listed:
        paths = []
        try:
            for path in trace_paths(tried.statement, setting):
                if line not in path.lines:
                    continue
                program = program_of(path, line)
                certificate = WorstCase(program).certificate
                if certificate is None:
                    return None
                trace = of_class.trace(setting, path.trace.decisions)
                with limited():
                    lines, evaluation = statement.lines({**setting, name: problem(trace)})
                    sides: Any = lines[line]
                    paths.append([_translated(program, certificate, trace, sides, evaluation.facts)])
        except (NotTraced, kernel.Refused, LookupError):
            return None
        settings.append({"setting": {key: write(value) for key, value in setting.items()}, "paths": paths})
    return settings


def _translated(
    program: Any, certificate: Any, trace: Any, sides: Any, supposed: Sequence[Any]
) -> dict[str, Any]:
    """Name the conditions as the kernel does, and divide by what they were multiplied by."""
    facts = [*supposed, *sides.facts]
    nonnegative, zero = trace.facts(facts)
    (slack,) = sides.slacks
    several = slack if isinstance(slack, tuple) else (slack,)
    rest = sum(
        (each * weight for each, weight in zip(several, certificate.weights, strict=True)), trace.constant(0)
    )
    multipliers: dict[str, Fraction] = {}
    of_forms = [
        (certificate.multipliers, program.inequalities, nonnegative),
        (certificate.free, program.equations, zero),
    ]
    for factors, forms, known in of_forms:
        for place, factor in factors.items():
            if factor:
                name, ratio = _same(program, forms[place], known)
                multipliers[name] = multipliers.get(name, Fraction(0)) + factor * ratio / program.unit
    for name, factor in multipliers.items():
        rest = rest - (nonnegative | zero)[name] * factor
    multipliers |= _of_points(
        rest, {n: fact.slack.terms for n, fact in enumerate(facts) if _is_of_points(fact)}
    )
    proof: dict[str, Any] = {"multipliers": {name: write(value) for name, value in multipliers.items()}}
    if len(certificate.weights) > 1:
        proof["weights"] = [write(weight) for weight in certificate.weights]
    return proof


def _is_of_points(fact: Any) -> bool:
    return bool(fact.equation and hasattr(fact.slack, "key"))


def _of_points(rest: Any, equations: Mapping[int, Mapping[int, Fraction]]) -> dict[str, Fraction]:
    """Return the multipliers of <a, v>, for each equation a = 0 of points, that leave no vector which it determines.

    With p such that a_p is not 0 and M the form's matrix, M x - x' M x on a = 0 is <a, (2 M_p / a_p - M_pp a / a_p^2)>.
    Of several equations the later ones are reduced by the earlier ones first.
    """
    found: dict[str, Fraction] = {}
    done: list[tuple[Mapping[int, Fraction], int, Mapping[int, Fraction]]] = []
    for n, equation in equations.items():
        a, of = _combined([(Fraction(1), equation)]), _combined([(Fraction(1), {n: Fraction(1)})])
        for b, place, other in done:
            factor = -a.get(place, Fraction(0)) / b[place]
            a, of = (
                _combined([(Fraction(1), a), (factor, b)]),
                _combined([(Fraction(1), of), (factor, other)]),
            )
        if not a:
            continue
        pivot = next(iter(a))
        done.append((a, pivot, of))
        row: dict[int, Fraction] = {}
        for key, value in rest.terms.items():
            if pivot in key and len(key) == 2:
                other_vector = key[1] if key[0] == pivot else key[0]
                row[other_vector] = value if other_vector == pivot else value / 2
        factors = _combined(
            [(Fraction(2) / a[pivot], row), (-row.get(pivot, Fraction(0)) / a[pivot] ** 2, a)]
        )
        for (m, weight), (v, factor) in itertools.product(of.items(), factors.items()):
            name = f"hypothesis {m}, {v}"
            found[name] = found.get(name, Fraction(0)) + weight * factor
        for (v, factor), (w, value) in itertools.product(factors.items(), a.items()):
            rest = rest - type(rest)(rest.world, {(min(v, w), max(v, w)): factor * value})
    return {name: factor for name, factor in found.items() if factor}


def _combined(several: Iterable[tuple[Fraction, Mapping[int, Fraction]]]) -> dict[int, Fraction]:
    """Return a linear combination, without zeros."""
    total: dict[int, Fraction] = {}
    for factor, terms in several:
        for key, value in terms.items():
            total[key] = total.get(key, Fraction(0)) + factor * value
    return {key: value for key, value in total.items() if value}


def _same(program: Any, form: Any, known: Mapping[str, Any]) -> tuple[str, Fraction]:
    """Return the name of the kernel's number that a form is a multiple of, and the factor.

    Raises
    ------
    LookupError
        If there is none.
    """
    terms = _terms(program, form)
    for name, number in known.items():
        own = _reduced(number.terms, program.frame.reduction)
        if own.keys() == terms.keys():
            ratios = {terms[key] / own[key] for key in terms}
            if len(ratios) == 1:
                return name, ratios.pop()
    raise LookupError("the kernel has no such condition")


def _reduced(terms: Mapping[Any, Fraction], reduction: Any) -> dict[Any, Fraction]:
    """Put in the place of vectors that equations of points determine what they are."""
    total: dict[Any, Fraction] = {}
    for key, value in terms.items():
        if reduction is None or len(key) != 2:
            total[key] = total.get(key, Fraction(0)) + value
            continue
        for (i, a), (j, b) in itertools.product(enumerate(reduction[key[0]]), enumerate(reduction[key[1]])):
            if a and b:
                pair = (min(i, j), max(i, j))
                total[pair] = total.get(pair, Fraction(0)) + value * Fraction(a) * Fraction(b)
    return {key: value for key, value in total.items() if value}


def _terms(program: Any, form: Any) -> dict[tuple[int, ...], Fraction]:
    """Return the coefficients of the products of vectors, of the values and of 1."""
    terms: dict[tuple[int, ...], Fraction] = {}
    for (a, i), (b, j) in itertools.product(enumerate(program.vectors), repeat=2):
        if form.matrix[a][b]:
            pair = (min(i, j), max(i, j))
            terms[pair] = terms.get(pair, Fraction(0)) + Fraction(int(form.matrix[a][b]))
    last = len(program.values) - 1
    for place, value in enumerate(program.values):
        if form.linear[place]:
            terms[() if place == last else (value,)] = Fraction(int(form.linear[place]))
    return {key: value for key, value in terms.items() if value}
