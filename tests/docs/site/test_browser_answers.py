"""What a page asks of Python in a browser, answered by this Python: texts of files, searches, and both sides."""

import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from clusterproof.checker import REGISTRY, kernel
from clusterproof.checker.freeze import freeze
from clusterproof.checker.freeze.load import load_claims
from clusterproof.checker.kernel.evaluation import Outside
from clusterproof.checker.kernel.ranges import Interval, Tuples, value_of
from clusterproof.checker.report.stored_evidence import read_evidence
from docs.site.browser import search
from docs.site.browser.answers import answer
from docs.site.browser.python_file import text_of
from docs.site.browser.ranges import drawn, simplest_together
from docs.site.catalogue import readme_theorem

HEAD = "from fractions import Fraction\nfrom clusterproof.theorem import *\n\n\n"
CLAIM = '@claim("toy/one")\n'


def ask(*question: Any) -> Any:
    return json.loads(answer(json.dumps(question)))


# ---- a file and its text

FILES = {
    "readme": readme_theorem(),
    "annotated": f'''"""A heavy ball."""
from __future__ import annotations
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any
import math
from clusterproof.theorem import Sides, at_least, at_most, claim, given, integers, rationals, suppose

Step = Annotated[Fraction, rationals(0, 2, 8)]  # as a guide states it
OFFSET: int = 2  # µ


@dataclass(frozen=True)
class Pair:
    """Two numbers."""

    first: object
    second: object = OFFSET

    def total(self) -> Any:
        """Return the sum."""
        return self.first + self.second


def power(x: Fraction, n: int = 1) -> Fraction:
    """Return x^n."""
    # a comment
    result: Fraction = Fraction(1)
    for _ in range(n):
        result *= x
    return result


{CLAIM}def stated(
    step: Step,  # the step
    rounds: Annotated[int, integers(1, 20, upwards=True)],
    *,
    scale: int = 3,
) -> dict[str, Sides]:
    """A title.

    Statement
        A text over lines.
    """
    suppose("0 < η <= 1", 0 < step <= 1)
    inner = Pair(power(step, rounds)).total() * scale
    return {{
        "upper": at_most(inner, start=math.comb(4, 2), step=step * scale),
        "lower": given("rounds > 1", rounds > 1, lambda: at_least(inner, 1)),
    }}
''',
    "one line": f"{HEAD}{CLAIM}def stated(n=Z[-3:3], m=Z[0:lambda n: abs(n)], x=among(0, Fraction(1, 2))): "
    "return equal((n + m + x, x + m + n))\n",
    "a sequence": f"from typing import Annotated\n{HEAD}Entry = Q[-1:0.5]\n"
    f"Xs = Annotated[tuple[Fraction, ...], sequences(Entry, 2)]\n\n\n"
    f"def local(n):\n    Q = n\n    return Q\n\n\n{CLAIM}def stated(xs: Xs):\n"
    "    return at_most(sum(xs) ** 2, squares=2 * sum(x * x for x in xs))\n",
}


def lines_at(text: str, instance: dict[str, Any]) -> Any:
    """Return the lines of a text's statement as numbers; None where it says nothing."""
    try:
        lines, _ = kernel.read(text).statements[""].evaluated(instance)
    except Outside:
        return None
    except ZeroDivisionError:
        return "no value"
    return {
        name: (getattr(line, "sign", "given"), getattr(line, "entries", ())) for name, line in lines.items()
    }


@pytest.mark.parametrize("name", FILES)
def test_a_file_states_in_a_browser_what_it_states_as_a_program(
    name: str, tmp_path: Path, registry: dict[str, object]
) -> None:
    path = tmp_path / "file_of_a_reader.py"
    path.write_text(FILES[name], encoding="utf-8")
    (own,) = load_claims(path)
    frozen, text = freeze(REGISTRY[own]).text, text_of(FILES[name])
    assert frozen is not None
    spaces = [kernel.read(each).statements[""].space.ranges for each in (frozen, text)]
    assert [*spaces[0]] == [*spaces[1]]
    stream, seen = random.Random(1), set()
    for _ in range(40):
        instance: dict[str, Any] = {}
        for quantity, allowed in spaces[0].items():
            assert shape(spaces[1][quantity], instance) == shape(allowed, instance)
            instance[quantity] = drawn(allowed, instance, stream)
        lines = lines_at(text, instance)
        assert lines == lines_at(frozen, instance)
        seen.add(str(lines))
    assert len(seen) > 5


def shape(allowed: Any, so_far: dict[str, Any]) -> Any:
    if isinstance(allowed, Interval):
        return allowed.integers, allowed.ends(so_far)
    if isinstance(allowed, Tuples):
        return shape(allowed.entries, so_far), value_of(allowed.length, so_far)
    return allowed.options


@pytest.mark.parametrize(
    ("file", "why"),
    [
        (
            "from math import sqrt as Fraction\n"
            + HEAD
            + CLAIM
            + "def f(x=Q[0:1]):\n    return at_most(x, 1)",
            "own name",
        ),
        (
            HEAD + "Q = 3\n" + CLAIM + "def f(x=Z[0:1]):\n    return at_most(x, 1)",
            "line 5: Q is the name of a range",
        ),
        (
            HEAD
            + "def among(*each):\n    return each\n"
            + CLAIM
            + "def f(x=among(1, 2)):\n    return at_most(x, 1)",
            "among",
        ),
        (HEAD + "@other\n" + CLAIM + "def f(x=Q[0:1]):\n    return at_most(x, 1)", "decorator"),
        (
            HEAD
            + CLAIM
            + "def f(x=Q[0:1]):\n    @other\n    def g():\n        return 1\n    return at_most(x, g())",
            "decorator",
        ),
        (
            HEAD + '@claim("toy/one", ill_posed=True)\ndef f(x=Q[0:1]):\n    return at_most(x, 1)',
            "ill_posed=",
        ),
        (
            HEAD + '@claim("toy/one", says_nothing="so")\ndef f(x=Q[0:1]):\n    return at_most(x, 1)',
            "says_nothing=",
        ),
        (HEAD + CLAIM + "def f(x=Q[0:1]):\n    return at_most(x, 1)\n\n\nf = f\n", "known already"),
        (
            HEAD
            + CLAIM
            + "def f(x=Q[0:1]):\n    return at_most(x, 1)\n"
            + CLAIM
            + "def g(x=Q[0:1]):\n    return at_most(x, 1)",
            "second",
        ),
        (HEAD + CLAIM + "def f(x=Q[0:1], y=3):\n    return at_most(x, 1)", "line 6: y has no range"),
        (HEAD + CLAIM + "def f(x=Q[3]):\n    return at_most(x, 1)", "line 6: Q[3] is no range"),
        (HEAD + CLAIM + "def f(x=rationals(0)):\n    return at_most(x, 1)", "line 6"),
        (
            HEAD + CLAIM + "def f(x=Q[0:1]):\n    return at_most(x * 0.5, 1)",
            "line 7: 0.5 is a float: write Fraction(1, 2)",
        ),
        (HEAD + CLAIM + "def f(µ=Q[0:1]):\n    return at_most(µ, 1)", "write it in ASCII"),
        (HEAD + CLAIM + "def f(x=drawn(list)):\n    return at_most(x, 1)", "line 6: drawn(...) is not"),
        (
            "import numpy\n" + HEAD + CLAIM + "def f(x=Q[0:1]):\n    return at_most(x, 1)",
            "line 1: numpy is not at hand",
        ),
        (HEAD + CLAIM + "def f(x=Q[0:1])\n    return at_most(x, 1)", "line 6: expected"),
        ("x = 1", "claim(...)"),
        ("(" * 300, "line 1"),
        ("\0", "line 1: source code"),
        ("", "claim(...)"),
    ],
)
def test_what_a_browser_cannot_read_is_refused_with_its_line(file: str, why: str) -> None:
    said = ask("own", file)
    assert [*said] == ["refused"]
    assert why in said["refused"], said


# ---- a search


@pytest.mark.parametrize(
    ("function", "verdict", "rules"),
    [
        ("f(n=Z[1:40]):\n    return equal((sum(range(n + 1)), n * (n + 1) / 2))", "certified", {"exhausted"}),
        ("f(x=Q[0:1]):\n    return at_most(x * x, x)", "certified", {"signs"}),
        (
            "f(s=Q[0:1], n=Z[0:]):\n    x = iterate(lambda x: (1 - s) ** 2 * x + s**2, Fraction(1), n,"
            " invariant=lambda x, t: (x >= 0, x <= 1))\n    return at_most(x, 1)",
            "certified",
            {"induction"},
        ),
        ("f(n=Z[1:]):\n    suppose('n < 0', n < 0)\n    return at_most(n, 0)", "vacuous", {"empty"}),
        ("f(n=Z[1:]):\n    return at_most(n, 2 ** n)", "open", set()),
        ("f(x=Q[0:1]):\n    return at_most(unknown(x), 1)", "open", set()),
        ("f(n=Z[1:]):\n    while True:\n        n += 1\n    return at_most(n, 1)", "open", set()),
        (
            "f(n=Z[0:]):\n    return {'a': at_most(n, 3), 'b': at_least(n, 0)}",
            "violated",
            {"instance", "signs"},
        ),
    ],
)
def test_a_theorem_of_a_reader_gets_the_verdict_that_its_evidence_shows(
    function: str, verdict: str, rules: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "ALL", 200_000)
    said = ask("own", f"{HEAD}{CLAIM}def {function}")
    assert (said["verdict"], {each["rule"] for each in said["records"]}) == (verdict, rules)
    assert kernel.judge(said["text"], said["records"]).word == verdict


@pytest.mark.parametrize(
    ("function", "instance"),
    [
        ("f(x=Q[0:1]):\n    return at_most(x * x, half=x / 2)", {"x": 1}),
        ("f(x=Q[0:1]):\n    return at_most(x * (1 - x), Fraction(6, 25))", {"x": "1/2"}),
        ("f(n=Z[-9:], m=Z[0:]):\n    return at_most(n + m, 3)", {"n": 0, "m": 4}),
        ("f(n=Z[1000:]):\n    return at_most(n, 1010)", {"n": 1011}),
        # found at a corner, and made simpler
        ("f(a=Z[0:90], b=Z[0:90], c=Z[0:90]):\n    return at_most(a + b, 170)", {"a": 81, "b": 90, "c": 0}),
        (
            "f(n=Z[1:4], xs=sequences(Q[0:1], lambda n: n)):\n    return at_most(sum(xs), 1)",
            {"n": 2, "xs": [1, 1]},
        ),
    ],
)
def test_the_simplest_counterexample_is_shown(function: str, instance: dict[str, Any]) -> None:
    (record,) = ask("own", f"{HEAD}{CLAIM}def {function}")["records"]
    assert record["instance"] == instance


def test_simple_instances_come_first_and_of_a_finite_space_each_comes_once() -> None:
    text = text_of(
        f"{HEAD}{CLAIM}def f(n=Z[2:5], m=Z[-1:lambda n: n - 2], s=among(1, None)):\n    return at_most(m, n)"
    )
    space = kernel.read(text).statements[""].space
    found = [tuple(each.values()) for each in simplest_together(space.ranges, {})]
    assert found[0] == (2, 0, 1)
    assert sorted(map(str, found)) == sorted(str(tuple(each.values())) for each in space.every())


# ---- both sides


def stored(claim: str) -> str:
    return read_evidence(claim.partition("/")[0]).texts[claim]


def test_both_sides_of_lemma_2_are_those_of_the_readme_and_a_hypothesis_fails_with_few_clients() -> None:
    chosen = {"clients": 34, "own": 17, "momentum": "2/3", "start": "1/2", "round_": 2}
    name = ask("describe", stored("cfl-mgd/lemma-2"))[0]["name"]
    said = ask("look", stored("cfl-mgd/lemma-2"), name, chosen)
    (row,) = said["lines"][0]["rows"]
    assert (row["left"]["exact"], [each["exact"] for each in row["terms"]]) == ("31/144", ["5/128", "1/8"])
    assert said["met"]
    assert said["lines"][0]["broken"]
    few = ask("look", stored("cfl-mgd/lemma-2"), name, {**chosen, "clients": 8})
    assert not few["met"]
    assert few["fields"]["own"] == {
        "value": 7,
        "low": 1,
        "high": 7,
        "closed": [True, True],
    }  # the end follows


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("0.5", "1/2"),
        ("-3", 0),
        ("7/2", 2),
        (" 1/4 ", "1/4"),
        (1, 1),
        ("1/0", None),
        ("1e9", None),
        ("x", None),
    ],
)
def test_what_is_typed_is_read_moved_into_the_range_or_refused(typed: Any, value: Any) -> None:
    text = text_of(f"{HEAD}{CLAIM}def f(x=Q[0:2]):\n    return at_most(x, 1)")
    said = ask("look", text, "", {"x": typed})
    if value is None:
        assert said["error"].endswith("is no number: type 1/2, 0.5 or 3")
    else:
        assert said["fields"]["x"]["value"] == value


def test_a_line_whose_own_hypothesis_fails_is_excluded_and_a_claim_without_a_value_says_so() -> None:
    inner = "def inner(x):\n    suppose('x < 2', x < 2)\n    return at_most(x, 1)\n"
    body = (
        "return {'a': at_most(1 / x, 9), 'b': given('x > 1', x > 1, lambda: at_most(x, 0)),"
        " 'c': given('x > 0', x > 0, lambda: inner(x))}"
    )
    text = text_of(f"{HEAD}{inner}{CLAIM}def f(x=Q[0:2]):\n    {body}")
    one, two, none = (ask("look", text, "", {"x": each}) for each in (1, 2, 0))
    assert one["lines"][1] == {"name": "b", "excluded": "x > 1"}
    assert [line["broken"] for line in two["lines"][:2]] == [False, True]
    assert two["lines"][2] == {"name": "c", "excluded": "x < 2"}
    assert two["met"]
    assert not none["lines"]
    assert "no value" in none["error"] or "zero" in none["error"].lower()


@pytest.mark.parametrize("power", [0, 9, 400, 2000])
def test_long_numbers_are_written_short(power: int) -> None:
    text = text_of(f"{HEAD}{CLAIM}def f(n=Z[0:9999]):\n    return at_most(Fraction(1, 3) ** n, 3 ** n)")
    (row,) = ask("look", text, "", {"n": power})["lines"][0]["rows"]
    for side, sign in ((row["left"], -1), (row["right"], 1)):
        if side["exact"]:
            assert Fraction(side["exact"]) == Fraction(3) ** (sign * power)
        if power < 600:
            assert float(side["decimal"]) == pytest.approx(3.0 ** (sign * power), rel=1e-5)
        else:
            assert side["decimal"] == f"10^{sign * 954}"  # 2000 log10 3 = 954.2


def test_a_search_begins_where_the_hypotheses_are_met() -> None:
    text = text_of(f"{HEAD}{CLAIM}def f(n=Z[0:9]):\n    suppose('n > 3', n > 3)\n    return at_most(n, 9)")
    assert ask("start", text, "") == {"n": 4}
