"""Values that change between the loading of a file and the evaluation of its claims."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterproof import check, load_claims
from clusterproof.checker.claims.claim import find_claim
from clusterproof.checker.freeze import freeze
from clusterproof.checker.kernel import Word, judge

CACHED = """
from dataclasses import dataclass
from functools import cached_property, lru_cache
from clusterproof.theorem import Z, at_most, claim


@lru_cache
def bound():
    return 2


@dataclass(frozen=True)
class Step:
    size: int

    @cached_property
    def scaled(self):
        return 2 * self.size

    @lru_cache
    def larger(self):
        return 2 * self.size

    @property
    def next(self):
        return self.size + 1


@claim("caches/function")
def by_function(n: int = Z[0:1]):
    return at_most(n, bound())


@claim("caches/property")
def by_property(n: int = Z[0:1]):
    return at_most(n, Step(1).scaled)
"""


def test_functions_and_properties_with_a_cache_prove_nothing(tmp_path: Path) -> None:
    (tmp_path / "caches.py").write_text(CACHED)
    by_function, by_property = map(find_claim, load_claims(tmp_path / "caches.py"))
    assert "bound has a cache" in freeze(by_function).outside[""]
    assert "Step.larger" in freeze(by_property).outside[""]
    (tmp_path / "properties.py").write_text(
        CACHED.replace("    @lru_cache\n", "").replace("caches/", "others/")
    )
    _, by_property = map(find_claim, load_claims(tmp_path / "properties.py"))
    frozen = freeze(by_property)
    record = {"statement": "", "line": "", "rule": "exhausted"}
    assert "it has a cache" in frozen.text
    assert judge(frozen.text, [record]).word is Word.OPEN


CHANGED_NUMBERS = """
from fractions import Fraction
from clusterproof.theorem import Q, at_most, claim


class Own(int):
    def __mul__(self, other):
        return 2 * int(other)


K = Fraction(1)
K._numerator = Own(1)
KEY = Fraction(1)
TABLE = {KEY: 0}
KEY._numerator = 3


@claim("changed/number")
def number(x: Fraction = Q[0:1]):
    return at_most(x * K, 1)


@claim("changed/key")
def key(x: Fraction = Q[0:1]):
    return at_most(x, TABLE.get(Fraction(3), 1))
"""


def test_a_changed_fraction_is_refused(tmp_path: Path) -> None:
    (tmp_path / "changed.py").write_text(CHANGED_NUMBERS)
    for stated in load_claims(tmp_path / "changed.py"):
        assert freeze(find_claim(stated)).text is None


def test_a_constant_of_a_module_that_the_file_assigns_is_refused(tmp_path: Path) -> None:
    (tmp_path / "assigned_helper.py").write_text("K = 0\n")
    claimed = """import assigned_helper
from clusterproof.theorem import Z, at_most, claim


def say():
    assigned_helper.K = -9
    return "small"


@claim("assigned/one")
def one(n: int = Z[1:6]):
    return at_most(n, 6 + assigned_helper.K, words=lambda: say())
"""
    (tmp_path / "assigned.py").write_text(claimed)
    (stated,) = load_claims(tmp_path / "assigned.py")
    assert "assigned_helper.K is changed in assigned.py, line 6" in freeze(find_claim(stated)).outside[""]


def test_an_attribute_that_a_module_computes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "computed_helper.py").write_text("def __getattr__(name):\n    return min\n")
    claimed = """import computed_helper
from clusterproof import theorem
from clusterproof.theorem import claim


@claim("computed/pick")
def pick(n: int = theorem.Z[1:6]):
    return theorem.at_most(computed_helper.pick(n, 1), 6)


@claim("computed/none")
def none(n: int = theorem.Z[1:6]):
    return theorem.at_most(n, 6)
"""
    (tmp_path / "computed.py").write_text(claimed)
    picked, plain = map(find_claim, load_claims(tmp_path / "computed.py"))
    assert "computed_helper.pick is not of the language" in freeze(picked).outside[""]
    assert freeze(plain).text is not None


def test_a_constant_that_another_claim_has_changed_is_refused(tmp_path: Path) -> None:
    text = """from clusterproof.theorem import Z, at_most, claim

K = int("1")
L = int("1")


@claim("changed/first")
def first(n: int = Z[0:5]):
    globals()["K"] = 5
    return at_most(float(n), 5)


@claim("changed/second")
def second(n: int = Z[0:5]):
    return at_most(K, 1)


@claim("changed/third")
def third(n: int = Z[0:5]):
    return at_most(L, 1)
"""
    (tmp_path / "changed.py").write_text(text)
    names = load_claims(tmp_path / "changed.py")
    (before,) = freeze(find_claim(names[1])).text.splitlines()[:1]
    assert before.startswith("K = 1 ")
    assert check(names[0]).verdict == "consistent"
    frozen = freeze(find_claim(names[1]))  # K is 5 now, and 1 in the text
    assert "another value than its source" in frozen.outside[""]
    assert before in freeze(find_claim(names[1]), compared=False).text
    assert check(names[2]).verdict == "certified"


CHANGED_LATER = {
    "a variable around a function": (
        "def make():\n    def limit():\n        return bound\n    bound = 1\n    yield limit\n    bound = 2\n"
        "    yield limit\nmade = make()\nlimit = next(made)\n",
        "next(made, None)",
    ),
    "a default": ("def limit(*, bound=1):\n    return bound\n", "limit.__kwdefaults__.update(bound=2)"),
    "a module": ("import beside_it\n\ndef limit():\n    return beside_it.K\n", "setattr(beside_it, 'K', 2)"),
    "a function": ("def limit():\n    return 1\n", "setattr(limit, '__code__', (lambda: 2).__code__)"),
    "a class": (
        "@dataclass(frozen=True)\nclass R:\n    one: int\n    def two(self):\n        return self.one\n"
        "def limit():\n    return R(1).two()\n",
        "setattr(R, 'two', lambda self: 2)",
    ),
}


@pytest.mark.parametrize("name", CHANGED_LATER)
def test_a_text_says_what_held_after_loading(name: str, tmp_path: Path) -> None:
    """The search of the first claim makes the second one true."""
    before, change = CHANGED_LATER[name]
    text = f"""from dataclasses import dataclass
from clusterproof.theorem import Z, at_least, at_most, claim

{before}

@claim("later/first")
def first(n: int = Z[0:5]):
    if n == 0:
        {change}
    return at_most(float(n), 5)


@claim("later/second")
def second(n: int = Z[0:5]):
    return at_least(limit(), 2)
"""
    (tmp_path / "beside_it.py").write_text("K = 1\n")
    (tmp_path / "later.py").write_text(text)
    first, second = load_claims(tmp_path / "later.py")
    loaded = freeze(find_claim(second), compared=False).text
    assert check(first).verdict == "consistent"
    assert check(second).verdict != "certified"
    assert freeze(find_claim(second), compared=False).text == loaded is not None


def test_the_text_of_an_imported_claim_says_what_held_after_loading(tmp_path: Path) -> None:
    (tmp_path / "stated_beside.py").write_text(
        """from clusterproof.theorem import Z, at_least, claim

K = int("1")


@claim("later/second")
def second(n: int = Z[0:5]):
    return at_least(K, 2)
"""
    )
    (tmp_path / "later.py").write_text(
        """import stated_beside
from clusterproof.theorem import Z, at_most, claim


@claim("later/first")
def first(n: int = Z[0:5]):
    setattr(stated_beside, "K", 2)
    return at_most(float(n), 5)
"""
    )
    (first,) = load_claims(tmp_path / "later.py")
    assert check(first).verdict == "consistent"
    assert check("later/second").verdict != "certified"
    assert "K = 1 " in (freeze(find_claim("later/second"), compared=False).text or "")
