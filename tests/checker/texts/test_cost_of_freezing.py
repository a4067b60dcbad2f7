"""The steps of freezing: large files, long lines, long numbers and nested functions take little time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kernel_statements import at_most_seconds

from clusterproof import load_claims
from clusterproof.checker.claims.claim import find_claim
from clusterproof.checker.freeze import freeze
from clusterproof.common import InvalidArgument

LARGE = """
from clusterproof.theorem import Z, at_most, claim


def helper(n):
{lines}
    return n


@claim("large/one")
def one(n: int = Z[1:6]):
    return at_most(helper(n), 6)
"""


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("    k: int = 1\n" * 2500, "more steps than it may"),
        ("    # long\n" * 20_000, "more than 200000 characters"),
    ],
)
def test_a_source_that_would_take_long_is_refused(tmp_path: Path, lines: str, why: str) -> None:
    (tmp_path / "large.py").write_text(LARGE.format(lines=lines))
    (stated,) = load_claims(tmp_path / "large.py")
    assert why in freeze(find_claim(stated)).outside[""]


NESTED = "".join(f"{' ' * k}def n{k}():\n" for k in range(90)) + " " * 90 + "x = (" + "0, " * 60_000 + ")\n"


RENAMED = """
x = 2


def other(x):
    return x


@claim("large/two")
def two(n: int = Z[1:6]):
    return at_most(n, max(({})))  # {}
"""


LONG = RENAMED.format("3 * x, " * 20_000, "\u00e9" * 800_000)


@pytest.mark.parametrize("more", [NESTED, LONG], ids=["nested", "renamed"])
def test_a_long_line_takes_little_time(tmp_path: Path, more: str) -> None:
    """The line is in many functions, or many of its names differ in the text."""
    (tmp_path / "large.py").write_text(LARGE.format(lines="    k: int = 1\n") + more)
    with at_most_seconds(20):
        for each in load_claims(tmp_path / "large.py"):
            freeze(find_claim(each))


CONSTANTS = """
def refused(x):
    try:
        return x
    finally:
{lines}


{constants}


@claim("large/three")
def three(n: int = Z[1:6]):
    return at_most(n, 5 + {total})
"""


def test_a_function_outside_the_language_is_read_once(tmp_path: Path) -> None:
    names = [f"k{i}" for i in range(300)]
    constants = "\n".join(f"{name} = refused(1)" for name in names)
    text = CONSTANTS.format(lines="        x += 1\n" * 10_000, constants=constants, total=" + ".join(names))
    (tmp_path / "large.py").write_text("from clusterproof.theorem import Z, at_most, claim\n" + text)
    (stated,) = load_claims(tmp_path / "large.py")
    with at_most_seconds(20):
        assert freeze(find_claim(stated)).text is not None


def test_long_ends_of_ranges_cost_steps(tmp_path: Path) -> None:
    ends = ", ".join(f"q{i}: Annotated[int, integers(0, END)]" for i in range(60))
    text = f"""from typing import Annotated
from clusterproof.theorem import at_most, claim, integers

END = lambda: sum(({"1, " * 50_000}))


@claim("long/ends")
def one({ends}):
    return at_most(q0, 50_000)
"""
    (tmp_path / "ends.py").write_text(text)
    (stated,) = load_claims(tmp_path / "ends.py")
    with at_most_seconds(20):
        assert "more steps than it may" in freeze(find_claim(stated), {"": ("",)}, compared=False).outside[""]


@pytest.mark.parametrize("nest", ["(lambda: {})()", "[{} for _ in (0,)][0]"])
def test_deeply_nested_functions_are_refused(tmp_path: Path, nest: str) -> None:
    """Python compares the codes of two functions in twice the time for each level."""
    head = "from clusterproof.theorem import Z, at_most, claim\n"
    for levels in (5, 60):
        inner = "n"
        for _ in range(levels):
            inner = nest.format(inner)
        name = f"nested{levels}"
        claimed = f"@claim('{name}/one')\ndef one(n: int = Z[1:6]):\n    return at_most({inner}, 6)\n"
        (tmp_path / f"{name}.py").write_text(head + claimed)
        (stated,) = load_claims(tmp_path / f"{name}.py")
        with at_most_seconds(20):
            frozen = freeze(find_claim(stated))
        assert (frozen.text is None) == (levels == 60)
    assert "levels deep" in frozen.outside[""]


def test_long_numbers_are_refused_at_once(tmp_path: Path) -> None:
    methods = "".join(f"    def m{k}(self):\n        return K\n" for k in range(100))
    used = " + ".join(f"R(n).m{k}()" for k in range(100))
    text = f"""from dataclasses import dataclass
from clusterproof.theorem import Z, at_least, claim

K = 1 << (1 << 28)


@dataclass(frozen=True)
class R:
    one: int
{methods}

@claim("long/numbers")
def one(n: int = Z[0:5]):
    return at_least({used} + K, 0)
"""
    (tmp_path / "long.py").write_text(text)
    with at_most_seconds(10):
        (stated,) = load_claims(tmp_path / "long.py")
        assert "65536 bits" in freeze(find_claim(stated), compared=False).outside[""]


def test_many_functions_and_large_files_cost_steps(tmp_path: Path) -> None:
    head = "from clusterproof.theorem import Z, at_most, claim\n"
    claimed = "@claim('large/{0}')\ndef one(n: int = Z[1:6]):\n    return at_most({1}, 6)\n"
    (tmp_path / "lambdas.py").write_text("def f(n):\n    return n\n" + "lambda:0\n" * 2001)
    (tmp_path / "many.py").write_text(f"{head}import lambdas\n{claimed.format('many', 'lambdas.f(n)')}")
    (stated,) = load_claims(tmp_path / "many.py")
    assert "more than 2000 functions" in freeze(find_claim(stated)).outside[""]
    for each in range(25):
        (tmp_path / f"large{each}.py").write_text(f"def f(n):\n    return n\n# {'x' * 190_000}\n")
    imports = "".join(f"import large{each}\n" for each in range(25))
    for several in (5, 25):
        called = " + ".join(f"0 * large{each}.f(n)" for each in range(several))
        (tmp_path / f"all{several}.py").write_text(f"{head}{imports}{claimed.format(several, called)}")
        (stated,) = load_claims(tmp_path / f"all{several}.py")
        frozen = freeze(find_claim(stated))
        assert (frozen.text is None) == (several == 25)
    assert "steps" in frozen.outside[""]


def test_methods_that_call_each_other_cost_steps(tmp_path: Path) -> None:
    calls = "".join(f"\n    def m{k}(self):\n        return self.m{k + 1}()\n" for k in range(400))
    text = f"""from dataclasses import dataclass
from clusterproof.theorem import Z, at_most, claim


@dataclass(frozen=True)
class R:
    size: int
{calls}
    def m400(self):
        return self.size


@claim("chains/one")
def one(n: int = Z[0:3]):
    return at_most(R(n).m0(), 3)
"""
    (tmp_path / "chains.py").write_text(text)
    (stated,) = load_claims(tmp_path / "chains.py")
    with at_most_seconds(30):
        assert "more steps than it may" in freeze(find_claim(stated)).outside[""]


@pytest.mark.parametrize(
    "used",
    [
        f"SEVERAL = ({'lambda: 0, ' * 1900}lambda x: ({'x(), ' * 30_000}))\nTHING = SEVERAL[-1]",
        "from dataclasses import dataclass\n\n\n@dataclass(frozen=True)\nclass THING:\n    n: int\n"
        + "".join(f"    a{k}: int = 0\n" for k in range(4000)),
    ],
    ids=["many lambdas beside a long one", "many fields"],
)
def test_one_definition_of_many_parts_takes_little_time(tmp_path: Path, used: str) -> None:
    claims = "".join(
        f'\n\n@claim("large/parts-{k}")\ndef parts_{k}(n: int = Z[1:6]):\n    return at_most(n, len((THING,)) + 5)\n'
        for k in range(12)
    )
    (tmp_path / "parts.py").write_text(
        f"from clusterproof.theorem import Z, at_most, claim\n\n{used}\n{claims}"
    )
    with at_most_seconds(20):
        stated = load_claims(tmp_path / "parts.py")
        assert all(freeze(find_claim(each)).text is None for each in stated)


def test_a_message_about_shared_tuples_takes_little_time() -> None:
    shared: Any = ()
    for _ in range(60):
        shared = (shared, shared)
    with at_most_seconds(5):
        error = InvalidArgument("values", shared, "must be short", "write less")
        assert len(str(error)) < 300
