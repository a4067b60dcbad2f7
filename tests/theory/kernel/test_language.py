"""Catalogue statements give in the kernel what CPython gives, other Python is refused, constructs mean the same."""

# ruff: noqa: B023, B905, C416, F601, PT017
# ruff: noqa: RUF005, RUF017, RUF057, SIM222, SIM223, SIM905, UP028 - functions here are examples

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, reduce
from itertools import accumulate, chain, combinations, pairwise, permutations, product
from math import ceil, comb, factorial, floor, gcd, isqrt, lcm
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import numpy as np
import pytest
from kernel_statements import blocks_of, executed, in_language, read_instance, shown

from clusterproof.theorem import at_most as theorem_at_most
from clusterproof.theory import catalogue, kernel
from clusterproof.theory.claims import Sides, at_most, integers, rationals
from clusterproof.theory.claims import sides as claim_sides
from clusterproof.theory.claims.in_language import WORDS, language_of
from clusterproof.theory.claims.statement import Statement
from clusterproof.theory.kernel import evaluation, vocabulary
from clusterproof.theory.report.stored_evidence import read_evidence
from clusterproof.theory.search.evidence import _written

# ---- catalogue statements

ALL = {
    (claim.id, each.name): (each, language)
    for claim in catalogue()
    for each in claim.statements
    if isinstance(language := language_of(each), kernel.Statement)
}


@cache
def shipped() -> dict[tuple[str, str], list[Any]]:
    """Instances of the shipped evidence, by claim and statement."""
    found: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for paper in {claim.paper for claim in catalogue()}:
        for record in read_evidence(paper).evidence:
            code = record.get("instance", record.get("witness"))
            if code is not None:
                found[record["claim"], record["statement"]].append(code)
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


PARTLY = {(name, "") for name in ("cfl-mgd/appendix-a39", "cfl-mgd/lemma-1-cantelli", "proxskip/sharp")}
"""Statements of which a record has a property that is not of the language: a logarithm, a float, an array."""


@pytest.mark.parametrize("place", ALL, ids=": ".join)
def test_a_statement_gives_what_cpython_gives(place: tuple[str, str]) -> None:
    of, language = ALL[place]
    stream = np.random.default_rng(1)
    drawn = [each for _ in range(5) if (each := of.space.draw(stream)) is not None]
    searched = SimpleNamespace(space=of.space, statement=of)
    several = [(each, None) for each in drawn]
    several += [(read_instance(of, code), code) for code in shipped()[place][:5]]
    for instance, written in several:
        theirs: Any
        try:
            theirs = of.lines(instance)
        except claim_sides.Outside as outside:
            theirs = outside
        if written is None:
            if isinstance(theirs, claim_sides.Outside) and language.space.function:
                continue  # what was asked of the function before is not known
            written = _written(searched, instance)
        try:
            ours, _ = language.lines(language.space.read(written))
        except evaluation.Outside as outside:
            assert str(outside) == str(theirs)
            continue
        except kernel.Refused as refused:
            assert place in PARTLY
            assert ", line " in str(refused)
            return
        assert not isinstance(theirs, Exception), theirs
        assert ours.keys() == theirs.keys()
        for name, line in ours.items():
            if type(line) is vocabulary.Excluded:
                assert type(theirs[name]) is claim_sides.Excluded
                continue
            assert line.equation == theirs[name].identity
            for own, other in zip(of_kernel(line), gaps(theirs[name]), strict=True):
                assert own == other
                assert type(other) in (int, Fraction)


def test_many_statements_are_of_the_language() -> None:
    assert len(ALL) > 100


# ---- refusals

Digit = Annotated[int, integers(0, 9)]
Share = Annotated[Fraction, rationals(0, 1, 4)]


@dataclass(frozen=True)
class StaticallyEqual:
    value: int

    @staticmethod
    def __eq__(other: object) -> bool:
        return True


COUNT = 0


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
    assert "refused.txt" in str(caught.value)
    assert ", line " in str(caught.value)


def test_an_attribute_of_a_value_is_refused_where_it_is_used() -> None:
    said = shown(another_attribute, "exhausted")
    assert (said.word, said.why) == ("inconclusive", ".real of a value of kind int is not of the language")


def test_a_record_with_its_own_static_equality_is_refused() -> None:
    with pytest.raises(kernel.Refused):
        in_language(of_statically_equal)


def test_the_public_vocabulary_is_of_the_language() -> None:
    assert isinstance(language_of(Statement("", by_public_names)), kernel.Statement)


def by_public_names(x: Digit) -> Any:
    return theorem_at_most(x, bound=9)


# ---- what constructs mean


def in_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Load a function, whatever it returns."""
    loaded: Callable[..., Any] = kernel.Source(
        {id(word): own for word, own in WORDS.items()}, lambda value: value
    ).load(function, "function")
    return loaded


F = Fraction
ROW, LIST, TABLE = (1, 2), [1, 2], {"a": 1, "b": (1, 2)}


@dataclass(frozen=True)
class Pair:
    first: Any
    second: Any = 2

    @property
    def total(self) -> Any:
        return self.first + self.second

    def times(self, factor: Any) -> Any:
        return self.total * factor


def slices() -> Any:
    a = list(range(10))
    return (
        a[2:5],
        a[::-1],
        a[-3:],
        a[:-3],
        a[5:2:-1],
        a[::3],
        a[20:],
        a[-1],
        a[-10],
        range(10)[2:8:3][-1],
        (1, 2, 3)[1:],
    )


def whole_division() -> Any:
    several = [7, -7, F(7, 2), F(-7, 2), 0]
    return [(x // y, x % y, *divmod(x, y)) for x in several for y in (2, -2, F(2, 3), F(-2, 3))]


def powers() -> Any:
    return [F(2) ** -2, F(-2, 3) ** -3, 2**10, 0**0, F(0) ** 0, (-3) ** 3, F(1, 2) ** 5, -(2**2), 2**3**2]


def comparisons() -> Any:
    seen = []

    def say(x: Any) -> Any:
        seen.append(x)
        return x

    found = [say(1) < say(2) < say(3), say(3) < say(2) < say(1), say(1) == say(F(1)) != say(2) >= say(2)]
    return found, seen


def other_comparisons() -> Any:
    return (
        [(1, 2) < (1, 3), [1, 2] < [1, 2, 0], (2,) > (1, 9), [] < [0], (1, 2) == (1, 2), (1, 2) == [1, 2]],
        [1 == True, F(1) == 1, "a" == "a", "a" != 1, None is None, [1, [2]] == [1, [2]], [1] != [1, 1]],
        [0 if x is None else 1 for x in (None, 0, [])],
        [not 0, not [], not "", not F(0), not (0,), 1 and 0, 0 or [], 2 and 3, None or 4],
    )


def loops() -> Any:
    found = []
    n = 0
    while n < 5:
        n += 1
        if n == 2:
            continue
        if n == 4:
            break
        found.append(n)
    else:
        found.append("never")
    while n < 6:
        n += 1
    else:
        found.append("else of while")
    for i in range(3):
        if i == 5:
            break
    else:
        found.append("else of for")
    for i in range(3):
        if i == 1:
            break
    else:
        found.append("never")
    return found, n, i


def counted(n: int) -> Iterator[int]:
    for i in range(n):
        yield i
    yield from [10, 20]
    if n > 2:
        return
    yield 30


def generators() -> Any:
    it = counted(3)
    first = [x for x, _ in zip(it, range(2))]
    rest = list(it)
    several = (x * x for x in range(4))
    return first, rest, list(counted(1)), sum(several), list(several), any(x > 2 for x in counted(9))


def fibonacci(n: int) -> int:
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def even(n: int) -> bool:
    return n == 0 or odd(n - 1)


def odd(n: int) -> bool:
    return n != 0 and even(n - 1)


def recursion() -> Any:
    def depth(tree: Any) -> Any:
        return 1 + max([depth(each) for each in tree], default=0)

    return fibonacci(12), even(9), odd(9), depth([[], [[], [[]]]])


def closures() -> Any:
    made = [lambda: i for i in range(3)]
    fixed = [lambda i=i: i for i in range(3)]

    def adder(n: Any) -> Any:
        def add(x: Any, *others: Any, scale: Any = 2, **named: Any) -> Any:
            return (x + n) * scale + sum(others) + sum(named.values())

        return add

    add = adder(5)
    return (
        [f() for f in made],
        [f() for f in fixed],
        add(1),
        add(1, 2, 3, scale=3),
        add(1, *[1, 2], **{"y": 7}, z=1),
    )


def sorting() -> Any:
    several = [(2, "b"), (1, "z"), (2, "a"), (1, "y")]
    return (
        sorted([3, F(1, 2), -1, 2]),
        sorted([3, 1, 2], reverse=True),
        sorted(several, key=lambda pair: pair[0]),
        sorted(several, key=lambda pair: pair[0], reverse=True),
        sorted([[2, 1], [1, 5], [1]]),
    )


def extremes() -> Any:
    several = [(1, "a"), (3, "b"), (3, "c"), (1, "d")]
    return (
        max(several, key=lambda pair: pair[0]),
        min(several, key=lambda pair: pair[0]),
        [
            max(3, F(7, 2)),
            min([4, 2, 8]),
            max((), default=None),
            min(1, 2, key=lambda x: -x),
            max([1, 2], [1, 3]),
        ],
    )


def together() -> Any:
    return (
        list(zip([1, 2, 3], "ab")),
        list(zip([1, 2], [3, 4], strict=True)),
        list(enumerate("ab", 5)),
        list(pairwise([1, 2, 4])),
        list(accumulate([1, 2, 3])),
        list(accumulate([1, 2, 3], lambda a, b: a * b, initial=2)),
        list(product([0, 1], repeat=2)),
        list(product("ab", [1, 2])),
        list(combinations([1, 2, 3], 2)),
        list(permutations([1, 2, 3], 2)),
        list(chain([1], (2, 3), range(2))),
        list(map(lambda x, y: x * y, [1, 2], [3, 4])),
        list(filter(None, [0, 1, [], "a"])),
        list(reversed([1, 2, 3])),
        reduce(lambda a, b: a - b, [10, 2, 3]),
        [*itertools.repeat(4, 3)],
    )


def dictionaries() -> Any:
    d = {"a": 1, **{"b": 2}, 3: [4], (1, 2): "t"}
    e = d | {"a": 5}
    e["c"] = 6
    e[3] += [7]
    d |= {"z": 0}
    return (
        d,
        e,
        list(d),
        list(e.values()),
        [*e.items()],
        e.get("q"),
        e.get("q", 1),
        {k: v for k, v in TABLE.items()},
        dict([("x", 1), ("y", 2)], z=3),
        len(d),
        {1: "int", True: "bool", F(1): "fraction"},
    )


def membership() -> Any:
    return (
        [3 in range(5), 5 in range(5), 4 in range(0, 9, 2), -1 in range(5), "a" in TABLE, 1 in TABLE],
        [2 in [1, 2], F(2) in (1, 2), 3 not in [1], "b" in ["a"], (1, 2) in [(1, 2)], None in [0]],
        ["ab" in "abc", "ac" in "abc", "" in "abc", 1 in {1: 0}, F(2, 1) in {2: 0}, 2 in {"a": 2}.values()],
    )


def aliases() -> Any:
    a = [1]
    b = a
    a += [2]
    b.append(3)
    c = a + [4]
    t = u = (1,)
    t += (2,)
    grid = [[0] * 2] * 2
    grid[0][1] = 5
    other = [[0] * 2 for _ in range(2)]
    other[0][1] = 5
    n = m = 1
    n *= 3
    a.extend(x for x in [7, 8])
    return a, b, c, t, u, grid, other, n, m


def unpacking() -> Any:
    a, *b = [1, 2, 3]
    *c, d = range(4)
    e, *f, g = "xyz"
    (h, i), j = (1, 2), [3]
    k = m = [0]
    k[0] = 5
    return a, b, c, d, e, f, g, h, i, j, k, m, [*b, *c], (*b, 1), {**{"q": 1}}


def texts() -> Any:
    x, y = F(3, 4), -2
    return (
        f"{x} {y} {F(4, 2)}!",
        f"{'a'}b",
        "a,b,,c".split(","),
        "banana".count("an"),
        " a b ".split(),
        len("abc"),
    )


def rounding() -> Any:
    halves = [F(1, 2), F(3, 2), F(5, 2), F(-1, 2), F(-3, 2), F(7, 3)]
    return [(round(x), floor(x), ceil(x), int(x), abs(x)) for x in halves], round(3), int(True)


def whole_numbers() -> Any:
    return (
        [comb(5, 2), comb(3, 5), comb(0, 0), factorial(0), factorial(6), gcd(12, -18), gcd(), gcd(0, 0)],
        [lcm(4, 6), lcm(), lcm(0, 3), isqrt(99), math.prod([1, 2, F(1, 2)]), math.prod([], start=3)],
        [6 | 1, 6 & 3, True | False, True & False, -7 >> 1, 5 >> 2, F(3, 4).numerator, (7).denominator],
        [sum([[1], [2]], []), sum([F(1, 2), 1]), sum(x for x in range(4)), any([]), all([]), bool([0])],
    )


def fractions() -> Any:
    return [
        F(3),
        F(6, 4),
        F(F(1, 2), 3),
        F("-3/4"),
        F(1, 3) + 1,
        2 - F(1, 2),
        F(1, 2) * 4,
        F(3) / 2,
        1 / F(2),
    ]


def records() -> Any:
    p, q = Pair(1), Pair(first=1, second=2)
    return (
        p == q,
        p != Pair(2),
        p.total,
        p.times(3),
        p.first,
        [p] == [q],
        Pair((1, 2)).first,
        (p, 1) == (q, 2),
    )


def constants() -> Any:
    return len(ROW), ROW[0], sum(ROW), [x for x in ROW], TABLE["b"], [*TABLE]


def conditional() -> Any:
    found = []
    for x in range(-2, 3):
        if x < -1:
            found.append("low")
        elif x == 0:
            pass
        else:
            found.append(x if x > 0 else None)
    return found, [x for x in range(9) if x % 2 if x > 2], [(x, y) for x in range(2) for y in range(x)]


def scopes() -> Any:
    x = 1
    found = [x for x in range(3)]

    def inner(x: int = 5) -> int:
        y = x
        return y

    y = 2
    return x, found, inner(), y, (lambda x, /, *, z=3: x + z)(1)


SAME = [
    slices,
    whole_division,
    powers,
    comparisons,
    other_comparisons,
    loops,
    generators,
    recursion,
    closures,
    sorting,
    extremes,
    together,
    dictionaries,
    membership,
    aliases,
    unpacking,
    texts,
    rounding,
    whole_numbers,
    fractions,
    records,
    constants,
    conditional,
    scopes,
]


def plain(value: Any) -> Any:
    """Write a value such that lists, tuples and texts differ, and equal numbers do not."""
    if isinstance(value, list | tuple):
        return type(value).__name__, [plain(each) for each in value]
    if isinstance(value, dict):
        return "dict", [(plain(k), plain(v)) for k, v in value.items()]
    return value


@pytest.mark.parametrize("function", SAME, ids=[each.__name__ for each in SAME])
def test_a_construct_means_what_it_means_in_cpython(function: Callable[[], Any]) -> None:
    assert plain(in_kernel(function)()) == plain(function())


# ---- constructs of which the kernel has another value: they are refused, or mean the same


def other_kinds_in_a_range() -> Any:
    return [F(2) in range(5), (1 == 1) in range(5), F(1, 2) in range(5)]


def a_list_of_the_module() -> Any:
    return [1 if LIST == [1, 2] else 0, 1 if LIST == (1, 2) else 0]


def a_reversed_list_that_changes() -> Any:
    a = [0, 0]
    r = reversed(a)
    a[0] = 5
    return list(r)


def a_starred_target_among_others() -> Any:
    a, *b = c = (1, 2, 3)
    return a, b, c


def a_list_times() -> Any:
    a = [1]
    b = a
    a *= 2
    return b


def a_list_extended_by_itself() -> Any:
    a = [1]
    a.extend(a)
    return len(a)


@pytest.mark.parametrize(
    "function",
    [
        other_kinds_in_a_range,
        a_list_of_the_module,
        a_reversed_list_that_changes,
        a_starred_target_among_others,
        a_list_times,
        a_list_extended_by_itself,
    ],
)
def test_a_construct_that_is_not_refused_means_the_same(function: Callable[[], Any]) -> None:
    expected = plain(function())
    try:
        with evaluation.limited(100_000):
            found = plain(in_kernel(function)())
    except kernel.Refused:
        return
    assert found == expected
