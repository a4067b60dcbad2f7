"""Rocq computes what Python does, of the language's programs; and it finds no function where there is none."""

import math
import re
import shutil
import subprocess
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from itertools import accumulate, chain, combinations, pairwise, permutations, product, repeat
from pathlib import Path
from typing import Any

import pytest

from clusterproof.checker.export import rocq_program
from clusterproof.checker.export.rocq import IMPORTS_OF_PROGRAMS
from clusterproof.checker.export.rocq_program import Program, quoted
from clusterproof.checker.kernel import Refused
from clusterproof.checker.kernel.definitions import WORDS
from clusterproof.checker.kernel.library import LIBRARY as LANGUAGE

pytestmark = pytest.mark.skipif(shutil.which("coqc") is None, reason="no coqc (Debian: apt-get install coq)")
NAMED = (accumulate, chain, combinations, pairwise, permutations, product, reduce, repeat)
LIBRARY = {each.__name__: each for each in NAMED}
FUNCTIONS = """
def counted(values, start=2, *, step=1):
    found = []
    for k, value in enumerate(values, start):
        if k == 5:
            break
        if value < 0:
            continue
        found.append((k, value * step))
    return found

def first_power(base, limit):
    power, k = base, 0
    while power < limit:
        power *= base
        k += 1
    return k

def table():
    rows = [[0] * 3 for _ in range(2)]
    rows[1][-1] += 4
    rows[0][0] = 7
    names = {"a": 1, **{"b": 2}}
    names["c"] = sum(names.values())
    return rows, names.get("d", 5), list(names.items())

def doubled(values):
    for value in values:
        yield 2 * value

def made(scale):
    def apply(x, *others, shift=0, **named):
        return scale * x + sum(others) + shift + len(named)
    return apply
"""
EXPRESSIONS = [
    "counted([3, -1, 4, 1, 5, 9])",
    "counted((3, -1, 4), 0, step=Fraction(1, 2))",
    "first_power(3, 1000)",
    "table()",
    "list(doubled(range(5, 0, -2)))",
    "[made(3)(2, 5, shift=1), made(1)(1, 2, 3, a=1, b=2), made(2)(*[4, 5], **{'shift': 6})]",
    "[7 // 2, -7 // 2, 7 % 3, -7 % 3, 2**10, Fraction(2, 3)**-2, 13 >> 2, 13 & 6, 13 | 6]",
    "[round(Fraction(5, 2)), round(Fraction(7, 2)), round(Fraction(-5, 2)), int(Fraction(-7, 2)), int(Fraction(7, 2))]",
    "[math.floor(Fraction(-7, 2)), math.ceil(Fraction(-7, 2)), math.isqrt(99), math.comb(9, 4), math.comb(3, 5)]",
    "[Fraction('12.50'), Fraction('-3/4'), ' a  b'.split(), 'a--b'.split('-'), 'aba'.count('a')]",
    "[Fraction(6, 4).numerator, Fraction(6, 4).denominator, abs(Fraction(-3, 7))]",
    "[min([3, 1, 2]), max(3, 1, 2), max([1, -4, 3, 4], key=abs), min([], default=7), min((2, 1), (2, 0), (3, -1))]",
    "[sorted([3, 1, 2]), sorted([(1, 'b'), (0, 'c'), (1, 'a')], key=lambda pair: pair[0], reverse=True)]",
    "[sorted(['b', 'ab', 'B', 'a']), 'a' < 'b' <= 'b', 'c' in 'abc', 4 in [1, 2], 4 not in (4, 5)]",
    "[[1, 2, 3, 4, 5][1:3], [1, 2, 3][-2:], [1, 2, 3][::-1], [1, 2, 3, 4, 5][::2], (1, 2, 3)[:-1], [1, 2][5:]]",
    "[list(zip([1, 2], 'ab')), list(enumerate('ab', 1)), list(reversed([1, 2]))]",
    "[list(range(7, 0, -3)), list(range(2, 9, 3))]",
    "[list(product([0, 1], repeat=2)), list(combinations([1, 2, 3], 2)), list(pairwise([1, 2, 3]))]",
    "list(permutations([1, 2, 3]))",
    "[reduce(lambda a, b: a * b, [1, 2, 3, 4]), list(filter(lambda a: a > 1, [0, 1, 2]))]",
    "list(map(lambda a, b: a - b, [5, 6], [1, 2]))",
    "[[x, y] for x in range(3) if x != 1 for y in range(x)]",
    "{k: v for k, v in zip('ab', [1, 2])}['b']",
    "[True + True, 1 == True, None == None, [1, 2] == [1, 2], (1, 2) < (1, 3), not [], 0 or 'a', 1 and 'b']",
    "[f'{Fraction(-3, 2)} of {10**20}', 'ab' + 'c', 'x' if 1 > 2 else 'y', any([0, 1]), all([]), math.prod([2, 3])]",
    "[[1, 2, 1].count(1), [3, 4].index(4), sum([[1], [2]], []), [1] + [2] * 2, *(5, 6)]",
    "[divmod(-7, 2), math.factorial(5), math.gcd(12, 18, 8), math.lcm(4, 6), list(filter(None, [0, 1, 2]))]",
    "[list(chain([1], (2, 3))), list(repeat(4, 2)), list(accumulate([1, 2, 3]))]",
    "[dict([('a', 1)], b=2) == {'b': 2, 'a': 1}, {'a': 1} == {'a': 2}, 'bc' in 'abcd', 'ac' in 'abcd']",
    "[list(accumulate([1, 2, 3], lambda a, b: a * b, initial=2)), 'x' in ['xy']]",
    "(lambda a, b=2, *c: (a, b, c))(1)",
]


def _value(value: Any) -> str:
    """Write what Python computes as a value of the language."""
    match value:
        case None:
            return "Nothing"
        case bool():
            return f"(Truth {str(value).lower()})"
        case int() | Fraction():
            exact = Fraction(value)
            return f"(Number ({exact.numerator} # {exact.denominator}))"
        case str():
            return f'(Text "{value}")'
    return f"(Values [{'; '.join(map(_value, value))}])"


def program_of(text: str) -> Program:
    """A program with all definitions of a text."""
    names = re.findall(r"^(?:def |class )?(\w+)(?=\(|:| = )", text, re.MULTILINE)
    return Program(f"{text}\nstatement('', ({', '.join(names)},), {{}}, {{}})", "", "")


def test_rocq_computes_what_python_does(language: Path) -> None:
    names: dict[str, Any] = {"Fraction": Fraction, "math": math, **LIBRARY}
    exec(FUNCTIONS, names)
    lines = [
        IMPORTS_OF_PROGRAMS,
        f"Definition the_program := [{'; '.join(program_of(FUNCTIONS).definitions)}].",
    ]
    for each in EXPRESSIONS:
        text = each
        for word in LIBRARY:
            text = re.sub(rf"\b{word}\(", f"{'functools' if word == 'reduce' else 'itertools'}.{word}(", text)
        (written,) = program_of(f"value = {text}").definitions
        found = f"evaluate d depth [] ({written.removeprefix('Constant ' + quoted('value'))})"
        value = _value(eval(each, names))  # noqa: S307 - the texts above
        computed = f"match {found} with Found a => same a {value} | _ => false end"
        lines += [
            f"Goal match defined_by the_program with Found d => {computed} | _ => false end = true.",
            "vm_compute. reflexivity. Qed.",
        ]
    require_proved(language, lines)


def test_rocq_knows_every_word_of_the_language() -> None:
    text = (Path(rocq_program.__file__).parent / "language.v").read_text()
    known = re.search(r"Definition words :=\n(.*?)\.\n", text, re.DOTALL)
    assert known is not None
    assert set(re.findall(r'"([\w.]+)"', known[1])) == {*LANGUAGE, *WORDS}


def test_points_of_no_function_are_refused(language: Path) -> None:
    """At 1 a function with curvatures from 1 to 2, and its minimum 0 at 0, has a gradient from 1 to 2."""
    lines = [IMPORTS_OF_PROGRAMS, "Open Scope Q_scope."]
    for gradient, value, is_one in (
        ("1", "1 # 2", True),
        ("2", "2 # 2", True),
        ("3", "3 # 2", False),
        ("1", "2 # 3", False),
        ("1", "1 # 3", False),
    ):
        triplets = f"[([0], [0], 0); ([1], [{gradient}], {value})]"
        goal = f"Goal interpolable 1 2 [0] 0 {triplets} = {str(is_one).lower()}."
        lines.append(f"{goal} vm_compute. reflexivity. Qed.")
    require_proved(language, lines)


def require_proved(language: Path, lines: Sequence[str]) -> None:
    """Require that Rocq accepts a file; the error names the line that it refuses."""
    (language / "computed.v").write_text("\n".join(lines))
    command = ["coqc", "-q", "-Q", ".", "Clusterproof", "computed.v"]
    run = subprocess.run(command, cwd=language, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize(
    "body",
    [
        "values.append(1)",
        "other = values\n    other.append(1)",
        "other = [1]\n    def more():\n        other.append(2)\n    more()",
        "for row in values:\n        row[0] = 1",
    ],
)
def test_a_list_that_something_else_holds_does_not_change(body: str) -> None:
    """In Rocq a list is a value: a program in which that makes a difference has no counterpart."""
    with pytest.raises(Refused, match="change of"):
        program_of(f"def stated(values):\n    {body}\n    return values\n")
