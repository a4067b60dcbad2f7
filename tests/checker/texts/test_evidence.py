"""Records of evidence, of which each field is put to what it must not be: nothing is shown that is not, or raised."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from families_by_hand import member

from clusterproof.checker.kernel import Refused, Word, judge

END = "\n\nclaim('a/b')\nstatement('', f, {}, {{}}, lines=('',), role='statement')\n"


def text(body: str, space: str) -> str:
    return body + END.replace("{}", space, 1).replace("{{}}", "{}")


FALSE = {
    "instance": text("def f(n):\n    return at_most(n, 6)\n", "{'n': integers(1, 6)}"),
    "exhausted": text("def f(n):\n    return at_most(n, 5)\n", "{'n': integers(1, 6)}"),
    "signs": text("def f(x):\n    return at_most(x, 4)\n", "{'x': rationals(0, 5)}"),
    "squares": text("def f(x):\n    return at_least(x * x - 2 * x, 0)\n", "{'x': rationals(0, 5)}"),
    "induction": text(
        "def f(n):\n    return at_most(iterate(lambda x: x + 1, 0, n, invariant=lambda x, k: x == k), n - 1)\n",
        "{'n': integers(0, None)}",
    ),
    "dual": text(
        "def f(g):\n    d = g.start - g.minimiser\n    return at_most(g(g.start) - g.minimum, (d @ d) / 4)\n",
        "{'g': member((1, 'function', {'smoothness': 1}))}",
    ),
    "family": text(
        "def f(t, g):\n    d = g.start - g.minimiser\n"
        "    return at_most(g(g.start) - g.minimum, (1 - t) * (d @ d) / 2)\n",
        "{'t': rationals(0, 1), 'g': member((1, 'function', {'smoothness': 1}))}",
    ),
    "empty": text(
        "def f(x):\n    suppose('x > 4', x > 4)\n    return at_most(x, 5)\n", "{'x': rationals(0, 5)}"
    ),
}
"""By rule, a text of which the rule's verdict would be wrong: *violated* of a true one, *certified* of a false one."""
TRUE = {
    "instance": FALSE["exhausted"],
    "exhausted": FALSE["instance"],
    "signs": FALSE["signs"].replace("4)", "5)"),
    "squares": FALSE["squares"].replace("- 2 * x, 0", "- 2 * x, -1"),
    "induction": FALSE["induction"].replace("n - 1", "n"),
    "dual": FALSE["dual"].replace("/ 4", "/ 2"),
    "family": FALSE["family"].replace("1 - t", "1 + t"),
    "empty": FALSE["empty"].replace("x > 4)", "x > 6)"),
}
RECORDS: dict[str, dict[str, Any]] = {
    "instance": {"instance": {"n": 6}},
    "exhausted": {},
    "signs": {"witness": {"x": 0}, "listed": [], "between": []},
    "squares": {
        "witness": {"x": 0},
        "blocks": [[{"factors": [], "basis": [[[[0], 1]], [[[1], 1]]], "matrix": [[1, -1], [-1, 1]]}]],
        "listed": [],
    },
    "induction": {"witness": {"n": 0}, "blocks": [], "states": 2, "between": []},
    "dual": {"settings": [{"setting": {}, "paths": [[{"multipliers": {"0:0,1:0": 1}, "weights": [1]}]]}]},
    "family": {
        "witness": {"t": 0, "g": member("1/2")},
        "proofs": [
            {
                "multipliers": {"0:0,1:0": [[[[0], 1]], [[[0], 1]]]},
                "weights": [1],
                "squares": [],
                "order": [0, 1, 2],
            }
        ],
        "states": 0,
        "listed": [],
    },
    "empty": {},
}
VALUES = (-1, 0, 1, 10**30, 1.0, "1", "-1", "", True, False, None, [], [1], {}, {"x": 1}, "\n", [[[0], 1]])


def record(rule: str) -> dict[str, Any]:
    return {"statement": "", "line": "", "rule": rule, **copy.deepcopy(RECORDS[rule])}


def places(code: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each field and entry."""
    entries = code.items() if isinstance(code, dict) else enumerate(code) if isinstance(code, list) else ()
    for key, value in entries:
        yield (*path, key)
        yield from places(value, (*path, key))


def changed(code: Any, path: tuple[Any, ...], value: Any) -> Any:
    made = copy.deepcopy(code)
    inner = made
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return made


def shorter(code: Any, path: tuple[Any, ...]) -> Any:
    made = copy.deepcopy(code)
    inner = made
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return made


@pytest.mark.parametrize("rule", RECORDS)
def test_the_record_shows_the_true_text(rule: str) -> None:
    found = judge(TRUE[rule], [record(rule)])
    assert found.word is {"instance": Word.VIOLATED, "empty": Word.VACUOUS}.get(rule, Word.CERTIFIED), (
        found.why
    )


@pytest.mark.parametrize("rule", RECORDS)
def test_no_change_of_a_record_shows_what_is_false(rule: str) -> None:
    whole = record(rule)
    variants = [changed(whole, path, value) for path in places(whole) for value in VALUES]
    variants += [shorter(whole, path) for path in places(whole)]
    variants += [
        whole | {name: value} for name in ("states", "digest", "role", "between") for value in VALUES
    ]
    variants += [whole | {"rule": other} for other in RECORDS]
    for each in variants:
        said = judge(FALSE[rule], [each])
        assert said.word is Word.OPEN, each
        assert said.why[0]
        assert said.why[0].isprintable()


@pytest.mark.parametrize("rule", RECORDS)
def test_a_field_of_another_type_is_refused(rule: str) -> None:
    """Also where the text is true: such a record is none, whatever a rule would make of it."""
    whole = record(rule)
    for path in places(whole):
        if path[0] == "rule":
            continue
        for value in (1.0, b"", (), {1: 2}, object()):
            assert judge(TRUE[rule], [changed(whole, path, value)]).why[0], (path, value)


@pytest.mark.parametrize("code", [None, 5, [], "x", {}, {"rule": []}, {"rule": "hax"}, {1: 2}])
def test_what_is_no_record_is_refused(code: Any) -> None:
    assert judge(TRUE["exhausted"], [code]).why[0]


def test_a_record_is_of_a_line_of_the_text() -> None:
    for field in ("statement", "line"):
        assert "no line" in judge(TRUE["exhausted"], [record("exhausted") | {field: "other"}]).why[0]
    with pytest.raises(Refused):
        judge("", [])


CALLS = {
    "function": ("f({})", "f.gradient({})", "f.prox({}, 1)", "f.prox(d, {})", "f.parts[{}]"),
    "set": ("f.project({})", "f.minimise_linear({})"),
    "operator": ("f({})", "f.resolvent({}, 1)", "f.resolvent(d, {})"),
}
CONSTANTS = {"function": "'smoothness': 1", "set": "'diameter': 1", "operator": "'lipschitz': Fraction(1, 2)"}


@pytest.mark.parametrize(("kind", "call"), [(kind, each) for kind in CALLS for each in CALLS[kind]])
def test_a_member_of_a_class_takes_points_and_numbers_only(kind: str, call: str) -> None:
    """None, for example, is no size of a step: within the kernel it stands for a linear minimum."""
    unproved = [{"statement": "", "line": "", "rule": "dual", "settings": []}]

    def why(argument: str) -> str:
        body = f"def s(f):\n    d = f.start - f.point()\n    {call.format(argument)}\n    return at_most(d @ d, 1)\n"
        ending = f"{{'f': member((1, '{kind}', {{{CONSTANTS[kind]}}}))}}"
        return judge(text(body, ending).replace("'', f,", "'', s,"), unproved).why[0]

    good = {"f.prox(d, {})": "1", "f.resolvent(d, {})": "1", "f.parts[{}]": "0"}.get(call, "f.start")
    assert "needs its multipliers" in why(good)
    for bad in ("None", "'x'", "(d,)", "f", "()", "{1: 2}", "lambda: 1"):
        assert "needs its multipliers" not in why(bad), bad
