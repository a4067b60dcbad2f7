"""Catalogue statements give in the kernel what CPython gives, other Python is refused, constructs mean the same."""

# ruff: noqa: PT017 - that both raise is compared, not that one does

from collections import defaultdict
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import numpy as np
import pytest
from kernel_statements import blocks_of, executed, in_language, read_instance, shown, text_with

from clusterproof.checker import catalogue, kernel
from clusterproof.checker.claims import Sides, at_most, integers
from clusterproof.checker.claims.statement import Statement
from clusterproof.checker.kernel import evaluation, numbers
from clusterproof.checker.kernel.claim_words import Excluded
from clusterproof.checker.report.stored_evidence import read_evidence
from clusterproof.common.limits import TooMuchWork, limited_lines
from clusterproof.theorem import at_most as theorem_at_most

# ---- catalogue statements


@cache
def shipped() -> dict[tuple[str, str], list[Any]]:
    """Instances of the shipped evidence, by claim and statement."""
    found: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for paper in {claim.paper for claim in catalogue()}:
        for claim, records in read_evidence(paper).evidence.items():
            for record in records:
                code = record.get("instance", record.get("witness"))
                if code is not None:
                    found[claim, record["statement"]].append(code)
    return found


def gaps(line: Any) -> list[Any]:
    """Allowed minus measured, entry by entry, of a claim's line; left minus right of an equation."""
    if line.identity:
        return _flat([left - right for left, right in map(_arrays, line.pairs)])
    measured, *terms = _arrays([line.measured, *line.terms.values()])
    gap = sum(terms[1:], start=terms[0]) - measured
    return _flat(-gap if line.lower else gap)


def _arrays(values: Any) -> list[Any]:
    return [np.array(v, dtype=object) if isinstance(v, list | tuple) else v for v in values]


def _flat(value: Any) -> list[Any]:
    if isinstance(value, list | np.ndarray):
        return [entry for part in value for entry in _flat(part)]
    return [value]


def of_kernel(line: Any) -> list[Any]:
    return [max(each) if type(each) is tuple else each for each in line.slacks]


PARTLY = {
    (name, "")
    for name in ("cfl-mgd/appendix-a39", "cfl-mgd/lemma-1", "cfl-mgd/lemma-1-cantelli", "proxskip/sharp")
}
"""Statements of which a record has a property that is not of the language: a logarithm, a float, an array."""


@pytest.mark.parametrize("paper", sorted({claim.paper for claim in catalogue()}))
def test_a_statement_gives_what_cpython_gives(paper: str) -> None:
    """By the stored texts; that a text is its function's is held where records are replayed."""
    texts = read_evidence(paper).texts
    for claim in catalogue(paper):
        if claim.id not in texts:
            continue
        statements = kernel.read(texts[claim.id]).statements
        for each in claim.statements:
            if statements[each.name].function is not None:
                gives_what_cpython_gives((claim.id, each.name), each, statements[each.name])


LINES = 30_000
"""Lines of Python that an instance may take."""


def gives_what_cpython_gives(place: tuple[str, str], of: Statement, language: kernel.Statement) -> None:
    stream = np.random.default_rng(1)
    drawn = [each for _ in range(5) if (each := of.space.draw(stream)) is not None]
    searched = SimpleNamespace(space=of.space, statement=of)
    several = [(each, None) for each in drawn]
    several += [(read_instance(of, code), code) for code in shipped()[place][:5]]
    for instance, written in several:
        theirs: Any
        try:
            with limited_lines(LINES) if language.space.function else nullcontext():
                theirs = of.lines(instance)
        except evaluation.Outside as outside:
            theirs = outside
        except TooMuchWork:  # many rounds of a drawn function, whose fractions grow
            continue
        if written is None:
            if isinstance(theirs, evaluation.Outside) and language.space.function:
                continue  # what was asked of the function before is not known
            written = searched.space.for_kernel(instance)
        try:
            ours, _ = language.evaluated(language.space.read(written))
        except evaluation.Outside as outside:
            assert str(outside) == str(theirs), place
            continue
        except kernel.Refused as refused:
            assert place in PARTLY, refused
            return
        assert not isinstance(theirs, Exception), theirs
        assert ours.keys() == theirs.keys(), place
        for name, line in ours.items():
            if type(line) is Excluded:
                assert type(theirs[name]) is Excluded
                continue
            assert line.equation == theirs[name].identity, place
            for own, other in zip(of_kernel(line), gaps(theirs[name]), strict=True):
                assert own == other, place
                assert type(other) in (int, Fraction)


# ---- refusals

Digit = Annotated[int, integers(0, 9)]


@dataclass(frozen=True)
class StaticallyEqual:
    value: int

    @staticmethod
    def __eq__(other: object) -> bool:
        return True


def another_attribute(x: Digit) -> Sides:
    return at_most(x.real, bound=9)


def of_statically_equal(x: Digit) -> Sides:
    return at_most(1 if StaticallyEqual(x) == StaticallyEqual(10) else 0, bound=0)


@pytest.mark.parametrize(
    ("message", "source"),
    [
        pytest.param(message, source, id=name)
        for first, _, source in blocks_of(Path(__file__).with_name("refused.txt"))
        for name, _, message in [first.partition(": ")]
    ],
)
def test_other_python_is_refused_with_its_place(message: str, source: str) -> None:
    with pytest.raises(kernel.Refused) as caught:
        in_language(executed(source, "refused.txt")["statement"])
    assert message in str(caught.value)
    assert "refused.py" in str(caught.value)
    assert ", line " in str(caught.value)


def test_an_attribute_of_a_value_is_refused_where_it_is_used() -> None:
    said = shown(another_attribute, "exhausted")
    assert (said.word, said.why) == ("open", ".real of a value of kind int is not of the language")


def test_a_record_with_its_own_static_equality_is_refused() -> None:
    with pytest.raises(kernel.Refused):
        in_language(of_statically_equal)


def test_the_public_vocabulary_is_of_the_language() -> None:
    assert in_language(by_public_names).statements


def by_public_names(x: Digit) -> Any:
    return theorem_at_most(x, bound=9)


# ---- what constructs mean


def in_kernel(function: Callable[..., Any]) -> Any:
    """Return what a function without parameters returns in the language."""
    written, name = text_with(function)
    with evaluation.evaluating():
        return written.read.names[name]()


ROW, LIST, TABLE = (1, 2), [1, 2], {"a": 1, "b": (1, 2)}


def even(n: int) -> bool:
    return n == 0 or odd(n - 1)


def odd(n: int) -> bool:
    return n != 0 and even(n - 1)


def plain(value: Any) -> Any:
    """Write a value such that lists, tuples and texts differ, and equal numbers do not."""
    if isinstance(value, list | tuple):
        return type(value).__name__, [plain(each) for each in value]
    if isinstance(value, dict):
        return "dict", [(plain(k), plain(v)) for k, v in value.items()]
    return value


CONSTRUCTS = [
    pytest.param(*first.split(), source, id=first.split()[1])
    for first, _, source in blocks_of(Path(__file__).with_name("constructs.txt"))
]


@pytest.mark.parametrize(("how", "name", "source"), CONSTRUCTS)
def test_a_construct_means_what_it_means_in_cpython(how: str, name: str, source: str) -> None:
    """Of some the kernel had another value: these may be refused."""
    function = executed(source, "constructs.txt")["statement"]
    expected = plain(function())
    try:
        with evaluation.limited(100_000):
            found = plain(in_kernel(function))
    except kernel.Refused:
        assert how == "refused_or_same"
        return
    assert found == expected


@pytest.mark.parametrize("base", [0, 1, -1, Fraction(0), Fraction(-1), 2, Fraction(-2, 3)])
@pytest.mark.parametrize("exponent", range(-9, 10))
def test_powers_are_those_of_python(base: int | Fraction, exponent: int) -> None:
    with evaluation.evaluating():
        if base == 0 and exponent < 0:
            with pytest.raises(ZeroDivisionError):
                numbers.power(base, exponent)
        else:
            assert numbers.power(base, exponent) == Fraction(base) ** exponent
