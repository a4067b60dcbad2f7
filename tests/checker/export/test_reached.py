"""A file for Rocq prints the definitions that its line reaches, and no others; these give the same sides."""

import ast
from typing import Any

import pytest

from clusterproof.checker.claims.claim import find_claim
from clusterproof.checker.export.claim_tree import ClaimTree, name_of
from clusterproof.checker.export.exported import Decided
from clusterproof.checker.export.folder import decided
from clusterproof.checker.export.reached import reached
from clusterproof.checker.export.source_in_words import definitions_of, plain
from clusterproof.checker.kernel import read
from clusterproof.checker.kernel.evaluation import limited

TEXT = """
class Client:
    gradient: Any
    path: Any = None
    def twice(self, y):
        return 2 * self.gradient(y)
    def uncalled(self):
        return 0

def descend(y):
    return y - 1

def square(y):
    return y * y

def hint(y, _):
    return y >= 0

def stated(x, n):
    def inner(y):
        return y
    left, half = square(x), x / 2
    quarter = half / 2
    client = Client(square, descend)
    last = iterate(client.twice, left, n, invariant=hint)
    return {"(1)": at_most(last, bound=left, words=lambda: quarter), "(2)": at_most(half, bound=0)}

claim('paper/one')
statement('', stated, {'x': rationals(0, 1), 'n': integers(1, 2)}, {}, lines=('(1)', '(2)'), role='statement')
"""


def names_of(line: str) -> dict[str, str]:
    """The definitions of the text that a line reaches, by name."""
    return {ast.unparse(each).split("(")[0].split(":")[0]: ast.unparse(each) for each in reached_by(line)}


def reached_by(line: str) -> list[Any]:
    """The definitions of the text that a line reaches."""
    return reached(ClaimTree(TEXT), "", line)


def test_what_no_one_reads_is_left_out() -> None:
    found = names_of("(1)")
    assert [*found] == ["class Client", "def square", "def stated"], (
        "no hint, and no path that is never followed"
    )
    assert "uncalled" not in found["class Client"]
    assert "def twice" in found["class Client"]
    stated = found["def stated"]
    assert "Client(square)" in stated
    for word in ("inner", "half", "quarter", "invariant", "words", "(2)"):
        assert word not in stated


def test_another_line_reaches_other_definitions() -> None:
    found = names_of("(2)")
    assert [*found] == ["def stated"]
    assert "half = x / 2" in found["def stated"]


def test_the_words_define_what_the_line_uses() -> None:
    found = definitions_of(ClaimTree(TEXT), "", "(1)", None)
    assert "left = square(x)" in found
    assert "last = iterate(client.twice, left, n)" in found
    assert "square(y) = y * y" in found
    assert "  twice(self, y) = 2 * self.gradient(y)" in found
    of_record = TEXT.replace("def stated(x, n)", "def stated(n, pair)").replace(
        "integers(1, 2)}, {}", "integers(1, 2)}, {'pair': (Client, ('x', 'y'))}"
    )
    assert "pair = Client(x, y)" in definitions_of(ClaimTree(of_record), "", "(1)", None)
    assert any(each.startswith("iterate(step, state, n) applies") for each in found)


OPTIONAL = """
class Client:
    step: Any
    def run(self, y, plus=None, to=None, rest=None):
        for _ in range(2):
            if to is not None:
                y = y - to
        if rest is None:
            return inside(y, plus, rest=rest)
        return unused(y)

def inside(y, plus=None, *, rest=None):
    several = rest or (y, y)
    return several[0] if plus is None else y + plus

def unused(y):
    return y

def called(step, y, more=None):
    return step(y) if more is None else step(y, more)

def stated(x, n):
    client = Client(unused_too)
    return {"given": at_most(client.run(x, n), bound=called(named, x)), "absent": at_most(client.run(x), bound=0)}

def named(y, more=None):
    return y if more is None else y + more

def unused_too(y):
    return y

claim('paper/one')
statement('', stated, {'x': rationals(0, 1), 'n': integers(1, 2)}, {}, lines=('given', 'absent'), role='statement')
"""


def test_an_argument_that_no_call_gives_is_left_out() -> None:
    tree = ClaimTree(OPTIONAL)
    absent, given = (
        {name_of(each): ast.unparse(each) for each in reached(tree, "", line)} for line in ("absent", "given")
    )
    assert [*absent] == ["Client", "inside", "stated"], "nothing calls unused"
    assert "def run(self, y):\n        return inside(y)" in absent["Client"], (
        "no loop, and no path after the return"
    )
    assert absent["inside"] == "def inside(y):\n    several = (y, y)\n    return several[0]"
    assert "def run(self, y, plus=None):\n        return inside(y, plus)" in given["Client"]
    assert "if plus is None" in given["inside"]
    assert given["called"] == "def called(step, y):\n    return step(y)"
    assert "more=None" in given["named"], "called through a variable, which may give it a value"


@pytest.mark.parametrize(
    "name",
    [
        "cfl-mgd/lemma-2-every-loss",
        "scaffold/option-1-diverges",
        "cfl-mgd/lemma-2",
        "cfl-mgd/asymptotic-rate-every-loss",
        "cfl-mgd/theorem-1-probability",
        "cfl-mgd/equation-32",
        "cfl-mgd/appendix-a18",
        "fedavg/fixed-steps-fail",
    ],
)
def test_the_kernel_refutes_the_shorter_text_at_the_same_instance(name: str) -> None:
    """The shorter text is a text of the kernel's language; its line has the same sides as in the whole text."""
    of = next(each for each in decided(find_claim(name)) if each.record["rule"] == "instance")
    assert sides_of(shorter(of), of.record) == sides_of(of.text, of.record)
    assert len(shorter(of)) < len(of.text)


def shorter(of: Decided) -> str:
    """The text of the definitions that a line reaches, with its statement."""
    own, line = of.record["statement"], of.record["line"]
    tree = ClaimTree(of.text)
    arguments = ", ".join(map(ast.unparse, tree.statements[own]))
    parts = [ast.unparse(each) for each in reached(tree, own, line)]
    ending = f"claim('a/b')\nstatement({arguments}, lines=({line!r},), role='statement')"
    return "\n\n\n".join([*parts, ending])


def sides_of(text: str, record: dict[str, Any]) -> tuple[Any, ...]:
    """The sides of a line at the instance of its evidence."""
    statement = read(text).statements[record["statement"]]
    with limited(10**9):
        line: Any = statement.evaluated(statement.space.read(record["instance"]))[0][record["line"]]
    assert line.is_broken()
    return tuple(map(str, line.slacks))


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("Fraction(1, 2) * x ** 2 / 2", "1/2 * x ^ 2 / 2"),
        ("Fraction(1, 6 * n)", "1 / (6 * n)"),
        ("Fraction(x)", "x"),
        ("2 / 3 ** n", "2 / 3 ^ n"),
        ("zip(a, b, strict=True)", "zip(a, b)"),
        ("known(lambda: x + 1)", "x + 1"),
    ],
)
def test_fractions_are_quotients_and_a_power_keeps_its_exponent(source: str, words: str) -> None:
    assert plain(ast.parse(source, mode="eval").body) == words
