"""Sources that are hard to read or to write, and objects that raise errors when they are inspected."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from text_cases import claims_of

from clusterproof import check, load_claims
from clusterproof.checker.claims.claim import REGISTRY, claim, find_claim
from clusterproof.checker.freeze import freeze
from clusterproof.checker.kernel import Word, judge
from clusterproof.commands.check_child import _encoded
from clusterproof.common import InvalidArgument
from clusterproof.theorem import Sides, Z, at_most, choice, suppose


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: choice("\ud800"), "values"),
        (lambda: suppose("\ud800", True), "name"),
        (lambda: at_most(1, **{"\ud800": 2}), "name"),
        (lambda: claim("p/half", label="\ud800")(_second), "label"),
        (lambda: claim("p/half")(_half_a_sign).statements[0].lines({"n": 1}), "line"),
    ],
)
def test_half_a_sign_is_no_name(make: Callable[[], object], argument: str) -> None:
    with pytest.raises(InvalidArgument) as error:
        make()
    assert error.value.argument == argument
    str(error.value).encode()


def _second(n: int = Z[1:2]) -> Sides:
    return at_most(n, 2)


def _half_a_sign(n: int = Z[1:2]) -> dict[str, Sides]:
    return {"\ud800": at_most(n, 2)}


def test_half_a_sign_in_a_message_is_sent_as_its_escape() -> None:
    assert json.loads(_encoded(["failure", {"a": "x\ud800\n"}])) == ["failure", {"a": "x\\ud800\n"}]


MOVED = '''
from fractions import Fraction

from clusterproof import Q, at_most, claim


def half(x):
    return 0.5 * x


@claim("moved/one")
def one(x: Fraction = Q[0:1]):
    """It is no larger than 1."""
    return at_most(half(x), 1)


@one.line("more")
def more(x: Fraction = Q[0:1]):
    """It is no larger than 2."""
    return at_most(x, 2)
'''


SHARED = '''
from fractions import Fraction

from clusterproof import Q, at_most, claim


@claim("shared/one")
def one(x: Fraction = Q[0:1]):
    """The same name is a variable of one comprehension, and free in the other."""
    return at_most(sum(sum([y * z for z in (1, 2)]) for y in [z for z in [y for y in (0, x)]]), 3)
'''


def test_one_name_has_two_scopes_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "shared.txt").write_text(SHARED, encoding="utf-8")
    (stated,) = claims_of(tmp_path / "shared.txt", tmp_path)
    frozen = freeze(stated)
    assert frozen.text is not None
    evaluated, _ = frozen.statement("").evaluated({"x": Fraction(1)})
    assert evaluated[""].entries == ((3 * sum((0, 1)), 3),)


def test_a_text_is_the_same_where_lines_move(tmp_path: Path) -> None:
    found = []
    for name, head in (("a", ""), ("b", "# a comment\n\n")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "moved.txt").write_text(head + MOVED, encoding="utf-8")
        (stated,) = claims_of(folder / "moved.txt", folder)
        found.append(freeze(stated))
        dict.pop(REGISTRY, stated.id)
    assert found[0].text == found[1].text
    assert found[0].outside[""].startswith("moved.py, line 8, in half: 0.5 is a float")
    assert found[1].outside[""].startswith("moved.py, line 10, in half: 0.5 is a float")
    assert "moved.py, in half: 0.5 is a float" in str(found[0].text)


INNER = """
from __future__ import annotations
from typing import Annotated
from clusterproof.theorem import at_most, claim, integers

width = 5


@claim("inner/one")
def one(
    width: Annotated[int, integers(1, 2)],
    n: Annotated[int, integers(1, lambda width: {end})],
):
    return at_most(n, width)
"""


@pytest.mark.parametrize(
    ("end", "word"),
    [
        ("(lambda one: one * width)(1)", Word.CERTIFIED),
        ("(lambda width: width)(1)", Word.CERTIFIED),
        ("(lambda one=(lambda width: width): one(width))()", Word.CERTIFIED),
        ("sum(1 for one in range(width))", Word.CERTIFIED),
        ("sum(width for width in range(3) for one in range(width)) - 5 + width", Word.CERTIFIED),
        ("(lambda one: one * width)(2)", Word.OPEN),
        ("sum(width for one in (0, 0))", Word.OPEN),
    ],
)
def test_an_inner_lambda_of_an_annotation_uses_the_outer_parameter(
    tmp_path: Path, end: str, word: Word
) -> None:
    (tmp_path / "inner.py").write_text(INNER.format(end=end))
    (stated,) = load_claims(tmp_path / "inner.py")
    frozen = freeze(find_claim(stated))
    assert frozen.text is not None
    (line,) = frozen.lines[""]
    assert judge(frozen.text, [{"statement": "", "line": line, "rule": "exhausted"}]).word is word


UNWRITABLE = {
    "a long number": f"def one(n: int = Z[1:6]):\n    return at_most(n, 0x{'f' * 5000})\n",
    "a string within a string": "def one(n: int = Z[1:6]):\n    return at_most(n, {'\xa0': 6}[f\"{'\xa0'}\"])\n",
}


@pytest.mark.parametrize("name", UNWRITABLE)
def test_a_source_that_python_cannot_write_is_refused_in_words(tmp_path: Path, name: str) -> None:
    head = "from clusterproof.theorem import Z, at_most, claim\n\n\n@claim('unwritable/one')\n"
    (tmp_path / "unwritable.py").write_text(head + UNWRITABLE[name], encoding="utf-8")
    (stated,) = load_claims(tmp_path / "unwritable.py")
    frozen = freeze(find_claim(stated))
    assert frozen.text or "cannot write its source" in frozen.outside[""]


HOSTILE = {
    "type": "class A:\n    @property\n    def __class__(self):\n        raise OSError('no')\nIT = A()\n",
    "posing": "class A:\n    __class__ = type\nIT = A()\n",
    "hash": "class M(type):\n    def __hash__(cls):\n        raise KeyError\nclass IT(metaclass=M):\n    pass\n",
    "module": "class A:\n    pass\nA.__module__ = type('B', (), {'__eq__': lambda *_: 1 / 0})()\nIT = A()\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_an_object_that_raises_when_it_is_inspected_is_only_outside_the_language(
    tmp_path: Path, name: str
) -> None:
    head = "from clusterproof.theorem import Z, at_most, claim\n"
    claimed = "@claim('hostile/one')\ndef one(n: int = Z[1:]):\n    return at_most((IT, -n)[1], 0)\n"
    (tmp_path / "hostile.py").write_text(head + HOSTILE[name] + claimed)
    (stated,) = load_claims(tmp_path / "hostile.py")
    verdict = check(stated)
    assert (verdict.verdict, verdict.text) == ("consistent", "")
    assert verdict.lines[0].outside


TOP = """
from clusterproof.theorem import Z, at_most, claim

n = 0


def {name}(n):
    k = n
    return k


@claim("named/one")
def one(n: int = Z[1:6]):
    return at_most({name}(n), 3)
"""


@pytest.mark.parametrize("name", ["top", "other"])
def test_a_function_of_any_name_has_its_own_variables(tmp_path: Path, name: str) -> None:
    """With the constant n = 0 in place of the parameter, the false statement would hold."""
    (tmp_path / "named.py").write_text(TOP.format(name=name))
    (stated,) = load_claims(tmp_path / "named.py")
    frozen = freeze(find_claim(stated))
    (line,) = frozen.lines[""]
    record = {"statement": "", "line": line, "rule": "instance", "instance": {"n": 4}}
    assert judge(frozen.text, [record]).word is Word.VIOLATED


def test_a_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    head = "# coding: latin-1\nfrom clusterproof.theorem import Z, at_most, claim\n\n\n@claim('coded/one')\n"
    (tmp_path / "coded.py").write_text(f"{head}def one(n: int = Z[1:6]):\n    return at_most(n, 6)\n")
    (stated,) = load_claims(tmp_path / "coded.py")
    assert "UTF-8" in freeze(find_claim(stated)).outside[""]


def test_an_object_that_raises_no_exception_when_it_is_inspected_is_refused(tmp_path: Path) -> None:
    text = """from clusterproof.theorem import Z, at_most, claim
class A:
    one = 1
    @property
    def __class__(self):
        raise GeneratorExit
A = A()
@claim('raising/one')
def one(n: int = Z[1:6]):
    return at_most(n * A.one, 6)
"""
    (tmp_path / "raising.py").write_text(text)
    (stated,) = load_claims(tmp_path / "raising.py")
    assert "raises an error" in freeze(find_claim(stated)).outside[""]


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    head = "from clusterproof.theorem import Z, at_most, claim\n\n\n@claim('marked/one')\n"
    text = f"{head}def one(n: int = Z[1:6]):\n    return at_most(n, 6)\n"
    (tmp_path / "marked.py").write_text(text, encoding="utf-8-sig")
    (stated,) = load_claims(tmp_path / "marked.py")
    assert freeze(find_claim(stated)).text is not None
