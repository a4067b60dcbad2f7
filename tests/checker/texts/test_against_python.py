"""Functions that are drawn in the language give in the kernel what they give in Python, or nothing."""

from __future__ import annotations

import random
import sys
from fractions import Fraction
from typing import Any

import pytest

from clusterproof.checker.kernel import Refused, read
from clusterproof.checker.kernel.evaluation import limited

PROGRAMS = 200
END = "claim('a/b')\nstatement('', f, {'n': integers(0, 9)}, {}, lines=('',), role='statement')\n"
FUEL = 20_000


class Programs:
    """Draws functions of an int: numbers, lists and texts, loops, closures and generators."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0

    def pick(self, *options: Any) -> Any:
        """Choose one."""
        chosen = self.random.choice(options)
        return chosen() if callable(chosen) else chosen

    def fresh(self) -> str:
        """Return a new variable."""
        self.count += 1
        return f"v{self.count}"

    def number(self, names: list[str], depth: int) -> str:
        """Return an expression for a number."""
        if depth <= 0:
            return str(self.pick(*names, *range(-3, 8), "Fraction(1, 3)", "True"))
        a, b = (lambda: self.number(names, depth - 1)), (lambda: self.several(names, depth - 1))
        test = lambda: self.test(names, depth - 1)  # noqa: E731
        x = self.fresh()
        inner = lambda: self.number([*names, x], depth - 1)  # noqa: E731
        return self.pick(
            lambda: f"({a()} {self.pick('+', '-', '*', '//', '%')} {a()})",
            lambda: f"(-{a()})",
            lambda: f"({a()} / Fraction({self.pick(1, 2, -3)}))",
            lambda: f"abs({a()})",
            lambda: f"({a()} ** {self.pick(0, 1, 2, 3)})",
            lambda: f"({a()} if {test()} else {a()})",
            lambda: f"{self.pick('sum', 'len', 'max', 'min')}({b()})",
            lambda: f"{b()}[{self.pick(-1, 0, 1, 'n')}]",
            lambda: f"sum({inner()} for {x} in {b()} if {test()})",
            lambda: f"(lambda {x}, y={a()}: {inner()} - y)({a()})",
            lambda: f"math.floor({a()})",
            lambda: f"round({a()})",
            lambda: f"divmod({a()}, {self.pick(2, -3)})[{self.pick(0, 1)}]",
            lambda: f"{{{a()}: {a()}, 'k': {a()}}}.get({a()}, {a()})",
            lambda: f"functools.reduce(lambda p, q: p - q, {b()}, {a()})",
            lambda: f"len(f'{{{a()}}}-{{n}}')",
            lambda: f"({a()} or {a()})",
            lambda: f"(n & {self.pick(1, 3, 6)} | {self.pick(0, 8)})",
        )

    def several(self, names: list[str], depth: int) -> str:
        """Return an expression for a list or tuple of numbers."""
        if depth <= 0:
            return self.pick("[n, 2, 1]", "(3, n)", "range(n)", "[]", "list(range(1, 4))")
        a, b = (lambda: self.number(names, depth - 1)), (lambda: self.several(names, depth - 1))
        x, y = self.fresh(), self.fresh()
        inner = lambda: self.number([*names, x], depth - 1)  # noqa: E731
        return self.pick(
            lambda: f"[{a()}, {a()}]",
            lambda: f"[{inner()} for {x} in {b()}]",
            lambda: f"[{inner()} + {y} for {x}, {y} in zip({b()}, {b()})]",
            lambda: f"[{x} * {y} for {x}, {y} in enumerate({b()}, {self.pick(0, 2)})]",
            lambda: f"sorted({b()}, key=lambda {x}: {inner()}, reverse={self.pick('True', 'False')})",
            lambda: f"list({b()})[{self.pick('1:', ':-1', '::-1', '::2', '-2::-1')}]",
            lambda: f"[*{b()}, {a()}]",
            lambda: f"(list({b()}) + list({b()}))",
            lambda: f"list(reversed(list({b()})))",
            lambda: f"[p for q in itertools.combinations(list({b()})[:4], 2) for p in q]",
            lambda: f"list(map(lambda {x}: {inner()}, {b()}))",
            lambda: f"list(itertools.accumulate({b()}))",
            lambda: f"tuple({b()}) * {self.pick(0, 1, 2)}",
            lambda: f"list({{{x}: {a()} for {x} in {b()}}}.values())",
            lambda: f"[{a()} for {x} in (q for q in {b()} if q != {a()})]",
        )

    def test(self, names: list[str], depth: int) -> str:
        """Return an expression for a truth value."""
        a = lambda: self.number(names, depth)  # noqa: E731
        return self.pick(
            lambda: f"{a()} {self.pick('<', '<=', '>', '>=', '==', '!=')} {a()}",
            lambda: f"{a()} < {a()} <= {a()}",
            lambda: f"not {a()}",
            lambda: f"({a()} > 1 and {a()} < 5)",
            lambda: f"{a()} in {self.several(names, depth)}",
            lambda: f"any({a()} > q for q in {self.several(names, depth)})",
            "n is None",
        )

    def body(self, names: list[str], depth: int, indent: str) -> list[str]:
        """Return statements, after which the variable ``total`` is a number."""
        lines = [f"{indent}total = {self.number(names, depth)}", f"{indent}seen = []"]
        names = [*names, "total"]
        for _ in range(self.random.randint(1, 4)):
            x, y, g = self.fresh(), self.fresh(), self.fresh()
            kind = self.random.randrange(9)
            value, many = self.number(names, depth - 1), self.several(names, depth - 1)
            if kind == 0:
                lines += [f"{indent}for {x} in {many}:", f"{indent}    if {self.test([*names, x], 0)}:"]
                lines += [f"{indent}        {self.pick('break', 'continue')}", f"{indent}    total += {x}"]
                lines += [f"{indent}else:", f"{indent}    total -= 1"]
            elif kind == 1:
                lines += [f"{indent}{x} = 0", f"{indent}while {x} < {self.pick(3, 'n')}:"]
                lines += [f"{indent}    {x} += 1", f"{indent}    seen.append({self.number([*names, x], 0)})"]
                lines += [f"{indent}total += sum(seen)"]
            elif kind == 2:
                lines += [f"{indent}{x}, *{y} = [{value}, {self.number(names, 0)}, n]"]
                lines += [f"{indent}total = {x} - sum({y})"]
            elif kind == 3:
                lines += [f"{indent}def {g}({x}, {y}=2, *rest):", f"{indent}    {x} = {x} - {y}"]
                lines += [f"{indent}    return {x} + total + sum(rest)"]
                lines += [f"{indent}total = {g}({value}) + {g}(1, 2, 3, 4) - {g}({y}=n, {x}=total)"]
            elif kind == 4:
                lines += [f"{indent}def {g}({x}):", f"{indent}    for {y} in {many}:"]
                lines += [f"{indent}        {x} += {y}", f"{indent}        yield {x}"]
                lines += [f"{indent}total += sum({g}({value}))"]
            elif kind == 5:
                lines += [
                    f"{indent}seen += [{value}, 1]",
                    f"{indent}seen[0] -= n",
                    f"{indent}total += seen[-1] + len(seen)",
                ]
            elif kind == 6:
                lines += [f"{indent}{x} = {{'a': {value}}}", f"{indent}{x}['b'] = {x}['a'] + 1"]
                lines += [f"{indent}{x} |= {{'a': n}}", f"{indent}total += sum(v for _, v in {x}.items())"]
            elif kind == 7:
                lines += [f"{indent}({x}, {y}) = ({value}, total)", f"{indent}{x}, {y} = {y}, {x}"]
                lines += [f"{indent}total = {x} - 2 * {y} if {self.test([*names, x, y], 0)} else {y}"]
            else:
                lines += [
                    f"{indent}{x} = {y} = (q * 2 for q in {many})",
                    f"{indent}total += sum(p - q for p, q in zip({x}, range(1)))",
                    f"{indent}for q in {y}: total += q",
                ]
        return lines

    def function(self) -> str:
        """Return a function."""
        lines = ["def f(n):", *self.body(["n"], self.random.randint(1, 3), "    ")]
        return "\n".join([*lines, "    return equal((total, 0))", "", "", ""])


def in_python(source: str, n: int) -> Any:
    import functools
    import itertools
    import math

    names: dict[str, Any] = {"Fraction": Fraction, "equal": lambda pair: pair[0]}
    names |= {"functools": functools, "itertools": itertools, "math": math}
    exec(compile(source, "drawn", "exec", dont_inherit=True), names)
    return names["f"](n)


def in_kernel(source: str, n: int) -> Any:
    statement = read(source + END).statements[""]
    with limited(FUEL):
        lines, _ = statement.evaluated({"n": n})
    return lines[""].entries[0][0]


def test_drawn_functions_give_what_python_gives() -> None:
    same = raised = 0
    for seed in range(PROGRAMS):
        source = Programs(seed).function()
        for n in (0, 3):
            try:
                expected = in_python(source, n)
            except Exception:
                expected = None
            try:
                found = in_kernel(source, n)
            except Exception:
                found = None
            if expected is None:
                assert found is None, source  # the kernel has no value where Python has none
                raised += 1
            elif found is not None:
                assert found == expected, source
                same += 1
    assert same > 1.5 * PROGRAMS
    assert raised > PROGRAMS // 10


NO_VALUE = None
ANNOTATED = "    seen = []\n    def g{}:\n        return 0\n    return equal((len(seen), 0))\n"
MISLEADING: dict[str, tuple[str, Any]] = {
    "zip asks its first source again after its end": (
        "    left = (k for k in range(9))\n    pairs = zip(left, (n,))\n"
        "    ended = [list(pairs), list(pairs)]\n    return equal((sum(left), 0))\n",
        sum(range(3, 9)),  # of 0, 1, 2 the last is lost when the ended pairs are repeated over
    ),
    "map asks its first source again after its end": (
        "    left = (k for k in range(9))\n    sums = map(lambda p, q: p + q, left, (n,))\n"
        "    for again in range(3):\n        for entry in sums:\n            pass\n"
        "    return equal((sum(left), 0))\n",
        sum(range(4, 9)),
    ),
    "the largest of no arguments": ("    return at_most(n, max(default=n))\n", NO_VALUE),
    "the least of an empty list's entries": ("    return at_most(n, min(*[], default=n))\n", NO_VALUE),
    "nothing summed from a text": ("    return equal((len(sum((), 'ab')), 0))\n", NO_VALUE),
}
ANNOTATIONS = {
    "(x: seen.append(1))": 1,
    "(x: seen.append(1), /)": 1,
    "(*, x: [k for k in (seen.append(1),)] = 0)": 1,
    "(*x: seen.append(1))": 1,
    "(**x: seen.append(1))": 1,
    "() -> seen.append(1)": 1,
    "(x: 1 / 0)": NO_VALUE,
    "(x: n.count)": NO_VALUE,
}
if sys.version_info < (3, 14):  # later ones evaluate no annotation that is not asked for
    MISLEADING |= {name: (ANNOTATED.format(name), value) for name, value in ANNOTATIONS.items()}


@pytest.mark.parametrize(("body", "value"), MISLEADING.values(), ids=MISLEADING)
def test_what_freezing_never_writes_is_refused_in_a_text(body: str, value: Any) -> None:
    """The kernel does not do what Python does there: with the checks left out each has another value."""
    source = f"def f(n):\n{body}"
    try:
        expected = in_python(source, 1)
    except Exception:
        expected = NO_VALUE
    assert expected == value
    with pytest.raises(Refused):
        in_kernel(source, 1)


@pytest.mark.parametrize(
    "written", ["{}", "-{}", "Fraction({}, 7)", "Fraction(7, {})", "[({},)]", "{{n: {}}}"]
)
def test_a_text_of_too_many_digits_decides_nothing(written: str) -> None:
    """Python writes at most 4 300 digits; the environment may set no limit where the kernel runs."""
    fewer, more = (
        f"def f(n):\n    x = f'{{ {written.format(f'(10 ** 4300 - {k})')} }}'\n    return equal((n, 0))\n"
        for k in (1, 0)
    )
    assert in_python(fewer, 1) == in_kernel(fewer, 1) == 1
    with pytest.raises(ValueError, match="4300 digits"):
        in_python(more, 1)
    before = sys.get_int_max_str_digits()
    try:
        sys.set_int_max_str_digits(0)
        with pytest.raises(Refused):
            in_kernel(more, 1)
    finally:
        sys.set_int_max_str_digits(before)
