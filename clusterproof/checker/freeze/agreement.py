"""Comparison of a function with its text at a few random instances."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.checker.claims.class_ranges import OfClass
from clusterproof.checker.claims.sides import Sides
from clusterproof.checker.claims.statement import Statement
from clusterproof.checker.kernel import Refused, vocabulary
from clusterproof.checker.kernel import evaluation as of_kernel
from clusterproof.checker.kernel import statement as of_text
from clusterproof.checker.kernel.claim_words import Excluded
from clusterproof.checker.kernel.evaluation import OutOfFuel, Outside
from clusterproof.checker.kernel.functions import problem
from clusterproof.checker.kernel.interpolation import FunctionClass
from clusterproof.checker.kernel.listed import NotListed
from clusterproof.checker.kernel.spaces import Space
from clusterproof.checker.kernel.symbolic import symbolic
from clusterproof.common.limits import QUICK, TimeLimitExceeded, TooMuchWork, limited_lines, time_limit
from clusterproof.common.randomness import generator

INSTANCES, DRAWS = 12, 30
"""Largest number of instances to evaluate, and number of random draws."""
LINES = 100_000
"""Largest number of Python lines that these evaluations may execute."""
ROUNDING = 1e-6
"""Largest difference that rounding errors can explain, relative to the largest number of a line."""
UNKNOWN = object()
"""Placeholder for the result of a function that raises an error."""


def instances(statement: Statement) -> Iterator[Mapping[str, Any]]:
    """Yield the examples, corners of the space, and random instances; every call yields the same instances."""
    space, stream = statement.space, generator(0, "text")
    if statement.random or any(
        each.drawn and not isinstance(each, OfClass) for each in space.ranges.values()
    ):
        return
    yield from statement.first
    drawn = (space.draw(stream, 1.0) for _ in range(DRAWS))
    tried = itertools.chain(itertools.islice(space.corners(), INSTANCES // 3), drawn)
    left = LINES
    while True:
        try:
            with limited_lines(left, QUICK) as lines:
                found = next(tried)
        except (Exception, TooMuchWork):  # a range may raise an error, or all draws may be used up
            return
        left = lines[0]
        if found is not None:
            yield found


def names_of_function(statement: Statement, tried: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the names of the function's lines, or an empty tuple if no instance meets its hypotheses."""
    with suppress(TooMuchWork), limited_lines(LINES, QUICK):
        for instance in tried:
            with suppress(Exception):
                return tuple(statement.lines(instance))
    return ()


def names_of_text(
    own: of_text.Statement, statement: Statement, tried: Iterable[Mapping[str, Any]]
) -> tuple[str, ...]:
    """Return the names of a text's lines, evaluated on numbers or else on symbols; empty if both evaluations fail."""
    with of_kernel.limited():
        for instance in tried:
            with suppress(Exception), of_kernel.evaluating():
                return _names(own.value(own.space.read(statement.space.for_kernel(instance))))
    return names_on_symbols(own)


def _names(value: Any) -> tuple[str, ...]:
    return tuple(value) if type(value) is dict else ("",)


def names_on_symbols(own: of_text.Statement) -> tuple[str, ...]:
    """Return the names of the lines that a text returns on symbols, or an empty tuple if the evaluation fails."""
    with of_kernel.limited(), suppress(Exception):
        if (name := own.space.function) is None:
            instance, _, begun = next(iter(symbolic(own.space)))
            record = begun([])
        else:
            setting = next(iter(own.space.every(left_out=name)))
            of_class: Any = own.space.ranges[name]
            instance, record = (
                {**setting, name: problem(of_class.trace(setting))},
                of_kernel.Evaluation(decisions=[]),
            )
        with of_kernel.evaluating(record):
            return _names(own.value(instance))
    return ()


def require_agreement(
    statement: Statement, own: of_text.Statement, tried: Iterable[Mapping[str, Any]]
) -> None:
    """Require that a text accepts each instance, and returns the same result as the function.

    The function is called only at instances at which the kernel has already evaluated the text, because nothing limits
    the duration of a call of compiled code. Instances with a function of a class are an exception: the function is
    called first, because the points of the class's function are unknown before the call. Executed lines are not
    counted, because this would take several times as long.

    Raises
    ------
    Refused
        If the results differ; the message names the instance.
    """
    name, held = own.space.function, 0
    numbers = Space({each: allowed for each, allowed in own.space.ranges.items() if each != name})
    with of_kernel.limited():
        for instance in tried:
            if held == INSTANCES:
                break
            shown = ", ".join(f"{n} = {v}" for n, v in statement.space.encode(instance).items() if n != name)
            try:
                given = statement.space.for_kernel({each: instance[each] for each in numbers.ranges})
                numbers.read(given)
            except OutOfFuel:
                continue
            except Refused as refused:
                raise Refused(
                    f"at {shown:.120} the range in the text excludes a value of the range in the program: {refused}"
                ) from None
            if name is not None and not _has_one_gradient(own.space.ranges[name]):
                continue
            live: Any = UNKNOWN if name is None else _live(statement, instance)
            try:
                read: Any = own.evaluated(own.space.read(statement.space.for_kernel(instance)))[0]
            except Outside:
                read = None
            except (
                NotListed
            ):  # the text evaluates a function at a point at which the claim's function does not
                read = UNKNOWN
            except Exception:  # the kernel rejects this instance, so a proof cannot use it
                continue
            live = _live(statement, instance) if name is None else live
            if live is UNKNOWN:
                continue
            if not _agree(live, read):
                raise Refused(f"at {shown:.120} the function gives another value than its source")
            held += live is not None


def _has_one_gradient(allowed: Any) -> bool:
    """Return whether every function of a range has one gradient at each point; subgradients depend on the call."""
    return all(
        kind is FunctionClass and dict(constants).get("smoothness") is not None
        for _, kind, constants in allowed.groups
    )


def _live(statement: Statement, instance: Mapping[str, Any]) -> Any:
    """Return the lines of the function, None if a hypothesis is false, or ``UNKNOWN`` if it raises an error."""
    try:
        with time_limit(QUICK):
            return statement.lines(instance)
    except Outside:
        return None
    except (Exception, TimeLimitExceeded):  # the search reports errors of the function
        return UNKNOWN


def _agree(live: Any, read: Any) -> bool:
    """Return whether two results are both None, or agree in the names, hypotheses and numbers of all lines."""
    if not (isinstance(live, Mapping) and isinstance(read, Mapping)):
        return live is read
    if live.keys() != read.keys():
        return False
    for name, line in read.items():
        other = live[name]
        if isinstance(line, Excluded) or isinstance(other, Excluded):
            if not (isinstance(line, Excluded) and isinstance(other, Excluded)):
                return False
        elif isinstance(other, Sides) and not _same_numbers(_pairs(other), _read_pairs(line)):
            return False
    return True


def _pairs(line: Sides) -> list[tuple[Any, Any]]:
    """Return a pair (measured number, bound) for each entry of a line."""
    several = line.pairs if line.identity else ((line.measured, line.allowed),)
    found: list[tuple[Any, Any]] = []
    for pair in several:
        columns = np.broadcast_arrays(*(np.asarray(side, dtype=object) for side in pair))
        found += zip(*(column.ravel().tolist() for column in columns), strict=True)
    return found


def _read_pairs(line: vocabulary.Sides) -> list[tuple[Any, Any]]:
    return [(first, sum(others[1:], start=others[0])) for first, *others in line.entries]


def _same_numbers(live: list[tuple[Any, Any]], read: list[tuple[Any, Any]]) -> bool:
    if len(live) != len(read):
        return False
    for pair, other in zip(live, read, strict=True):
        exact = all(type(each) in (int, Fraction) for each in pair)
        if exact and pair != other:
            return False
        try:
            numbers, others = [float(each) for each in pair], [float(each) for each in other]
        except (TypeError, ValueError, OverflowError):  # points of functions, or too large numbers
            continue
        size = max(1.0, *map(abs, numbers), *map(abs, others))
        if not exact and any(not abs(a - b) <= ROUNDING * size for a, b in zip(numbers, others, strict=True)):
            return False
    return True
