"""Loops of any number of rounds: what an invariant shows, and forged potentials."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import pytest
from kernel_statements import in_language, replayed

from clusterproof.checker import kernel
from clusterproof.checker.claims import (
    Sides,
    at_most,
    choice,
    equal,
    integers,
    iterate,
    known,
    rationals,
    sequences,
    suppose,
)

F = Fraction
Count = Annotated[int, integers(0, 5, upwards=True)]
Share = Annotated[Fraction, rationals(0, 1, 4)]
Any_ = Annotated[Fraction, rationals(-2, 2, 4, upwards=True, downwards=True)]


def shown(function: Callable[..., Any], witness: dict[str, Any], rule: str = "induction", **data: Any) -> Any:
    """What coefficients alone show of a function."""
    record = {
        "statement": "",
        "line": "",
        "rule": rule,
        **({} if rule == "instance" else {"witness": witness}),
        **data,
    }
    for name, usual in (("blocks", []), ("states", 12)):
        if rule == "induction" or (rule, name) == ("squares", "blocks"):
            record.setdefault(name, usual)
    return replayed(in_language(function), record)


@dataclass(frozen=True)
class Moments:
    """Sums of k and k^2 over k < n, and n."""

    count: Any
    first: Any
    second: Any

    def next(self) -> Moments:
        """Add n."""
        return Moments(self.count + 1, self.first + self.count, self.second + self.count**2)


def sums(n: Count) -> Sides:
    """Equations of a record."""

    def invariant(one: Moments, k: Any) -> tuple[bool, ...]:
        return one.count == k, 2 * one.first == k * (k - 1), 6 * one.second == k * (k - 1) * (2 * k - 1)

    last = iterate(lambda one: one.next(), Moments(0, 0, 0), n, invariant=invariant)
    return equal((last.first, F(n * (n - 1), 2)), (last.second, F(n * (n - 1) * (2 * n - 1), 6)))


def contraction(decay: Share, start: Share, floor: Share, n: Count) -> Sides:
    """An error within what is left of the start, and a floor."""

    def step(state: tuple[Any, Any]) -> tuple[Any, Any]:
        kept, error = state
        return (1 - decay) * kept, (1 - decay) * error + decay * floor

    # an end names what stands before: the error is at most kept + floor
    kept, error = iterate(step, (start, start), n, invariant=lambda s, _: (s[0] >= 0, s[1] <= s[0] + floor))
    return at_most(error, start=kept, floor=floor)


def means(n: Count, xs: Annotated[tuple[Fraction, ...], sequences(rationals(0, 1, 3), lambda n: n)]) -> Sides:
    """Another entry in each round."""
    return at_most(
        iterate(lambda s, x: s + x * (1 - s), F(0), xs, invariant=lambda s, _: (s >= 0, s <= 1)), 1
    )


def nested(n: Count) -> Sides:
    """A loop in a loop: n^2."""

    def add(x: Any) -> Any:
        return iterate(lambda y: y + 1, x, n, invariant=lambda y, k: y == x + k)

    return equal((iterate(add, 0, n, invariant=lambda x, k: x == k * n), n**2))


def on_both_branches(x: Any_) -> Sides:
    """|x| >= x on both branches."""
    return at_most(x, abs(x))


def halves(n: Count) -> Sides:
    """The half of an integer, rounded down."""
    return at_most(2 * known(lambda: n // 2, lambda half: (2 * half <= n, 2 * half >= n - 1)), n)


@pytest.mark.parametrize(
    ("function", "witness"),
    [
        (sums, {"n": 3}),
        (contraction, {"decay": "1/2", "start": 1, "floor": 0, "n": 2}),
        (means, {"n": 2, "xs": ["1/2", 1]}),
        (nested, {"n": 4}),
        (halves, {"n": 5}),
    ],
)
def test_an_invariant_shows_a_line_for_every_number_of_rounds(
    function: Callable[..., Sides], witness: dict[str, Any]
) -> None:
    found = shown(function, witness)
    assert (found.word, found.why) == (kernel.Word.CERTIFIED, "")
    # what is shown is what Python computes
    arguments = {n: tuple(map(F, v)) if isinstance(v, list) else v for n, v in witness.items()}
    arguments = {n: F(v) if isinstance(v, str) else v for n, v in arguments.items()}
    sides = function(**arguments)
    assert not sides.identity or not any(sides.measured)
    # without symbols for the state, or a witness that is none, nothing is shown
    assert shown(function, witness, states=0).word is kernel.Word.OPEN
    assert shown(function, {**witness, "n": -1}).word is kernel.Word.OPEN


def outside_of_its_values(n: Count, x: Any_) -> Sides:
    """Where x = 0 the loop divides by 0, so that f(n, x) is neither outside nor a line."""
    if x <= 0:
        iterate(lambda s: s + 0 / x, 0, n, invariant=lambda s, _: s == 0)
        suppose("x > 0", 1 > 2)
    return at_most(0, x)


def test_what_a_round_divides_by_is_shown_on_paths_without_the_line() -> None:
    found = shown(outside_of_its_values, {"n": 2, "x": 1})
    assert (found.word, "a divisor may be zero" in found.why) == (kernel.Word.OPEN, True)


def test_an_instance_of_many_rounds_ends_by_its_fuel() -> None:
    found = shown(sums, {}, "instance", instance={"n": 10**30})
    assert found.word is kernel.Word.OPEN
    assert "steps" in found.why


def test_branches_on_symbols_are_followed_both_ways() -> None:
    block = [{"factors": [0], "basis": [[[[0], 1]]], "matrix": [[-2]]}]
    assert shown(on_both_branches, {"x": 1}, "squares", blocks=[block]).word is kernel.Word.OPEN
    # where x < 0, |x| - x = -2 x is twice the strict hypothesis that the branch is
    block = [{"factors": [0], "basis": [[[[0], 1]]], "matrix": [[2]]}]
    assert shown(on_both_branches, {"x": 1}, "squares", blocks=[block]).word is kernel.Word.CERTIFIED


def test_integers_between_two_ends_are_taken_one_by_one() -> None:
    def powers(x: Share, n: Annotated[int, integers(1, 4)]) -> Sides:
        return at_most(x**n, 1)

    assert shown(powers, {"x": 1, "n": 1}, "signs").word is kernel.Word.OPEN
    assert shown(powers, {"x": 1, "n": 1}, "signs", listed=["n"]).word is kernel.Word.CERTIFIED


def test_a_choice_of_numbers_is_proved_between_them() -> None:
    def shares(x: Share, c: Annotated[int, choice(1, 2, 5)]) -> Sides:
        return at_most(x, c)

    assert shown(shares, {"x": 1, "c": 5}, "signs", between=["c"]).word is kernel.Word.CERTIFIED
    assert shown(shares, {"x": 1, "c": 3}, "signs", between=["c"]).word is kernel.Word.OPEN


def test_a_hypothesis_joined_by_and_is_one() -> None:
    def strip(x: Any_) -> Sides:
        suppose("0 < x <= 1", 0 < x <= 1)
        return at_most(x, 1)

    block = [{"factors": [1], "basis": [[[[0], 1]]], "matrix": [[1]]}]
    proofs = [shown(strip, {"x": 1}, "squares", blocks=[[{**block[0], "factors": [n]}]]) for n in range(4)]
    assert kernel.Word.CERTIFIED in [each.word for each in proofs]
    assert shown(strip, {"x": 2}, "squares", blocks=[block]).word is kernel.Word.OPEN


def test_a_whole_fraction_is_a_number_of_rounds_as_a_symbol_is() -> None:
    """A proof takes one symbol for an int and for a Fraction, so that both are numbers of rounds."""

    def counted(rounds: Count) -> Sides:
        return at_most(
            iterate(lambda n: n + 1, 0, Fraction(rounds), invariant=lambda n, k: n == k), bound=rounds
        )

    assert iterate(lambda n: n + 1, 0, F(3)) == 3
    assert shown(counted, {"rounds": 0}, states=1)
    assert counted(4).measured == 4
    with pytest.raises(kernel.Refused, match="must be an integer"):
        iterate(lambda n: n + 1, 0, F(1, 2))


def test_a_loop_is_what_python_makes_of_it() -> None:
    assert iterate(lambda x: 2 * x, 1, 10, invariant=lambda *_: False) == 1024
    assert iterate(lambda x, y: x - y, 10, (1, 2, 3)) == 4
    assert iterate(lambda x: 2 * x, 1, -3) == 1
    assert known(lambda: 3, lambda _: False) == 3
    with pytest.raises(kernel.Refused):
        iterate(lambda x: x, 1, F(1, 2))


TEXTS = {
    "the invariant writes into a list that the step reads": """
def f(n):
    box = [0]
    def step(x):
        return x + box[0]
    def invariant(x, k):
        box[0] = 1
        return x <= 0
    return at_most(iterate(step, 0, n, invariant=invariant), 0)
""",
    "the invariant appends to its state": """
def f(n):
    def step(x):
        return [0]
    def invariant(x, k):
        x.append(0)
        return len(x) <= 1
    return at_most(len(iterate(step, [0], n, invariant=invariant)), 1)
""",
    "the path has no line": """
def f(n):
    x = iterate(lambda x: x + 1, 0, n, invariant=lambda x, k: x <= 1)
    return {} if n > 1 else at_most(x, 1)
""",
    "the path has another line": """
def f(n):
    x = iterate(lambda x: x + 1, 0, n, invariant=lambda x, k: x <= 1)
    return {"other": at_most(x, 99)} if n > 1 else at_most(x, 1)
""",
    "the loop is one of an invariant": """
def f(n):
    def invariant(x, k):
        return iterate(lambda y: y + 1, 0, n, invariant=lambda y, k: y <= 0) >= 0
    return at_most(iterate(lambda x: x, 0, n, invariant=invariant), 0)
""",
}
TRUE = """
def f(n):
    return at_most(iterate(lambda x: x + 1, 0, n, invariant=lambda x, k: x <= 1), 9)
"""


def judged(function: str, n: int = 2) -> kernel.Judgement:
    """Judge by an instance of the potential, and by all instances of the line."""
    end = "claim('p/one')\nstatement('', f, {'n': integers(0, 3)}, {}, lines=('',), role='statement')\n"
    record = {"statement": "", "line": "potential", "rule": "potential", "instance": {"n": n}}
    records = [record, {"statement": "", "line": "", "rule": "exhausted"}]
    return kernel.judge(f"{function.strip()}\n\n\n{end}", records)


@pytest.mark.parametrize("name", TEXTS)
def test_a_forged_potential_is_refused(name: str) -> None:
    assert ("", "potential") not in judged(TEXTS[name]).lines


def test_a_false_potential_is_violated_at_its_round_only_and_accuses_no_theorem() -> None:
    """n <= 9 is true for n up to 3. A wrong proof does not change this."""
    both = {("", ""): kernel.Word.CERTIFIED, ("", "potential"): kernel.Word.VIOLATED}
    assert (judged(TRUE).word, judged(TRUE).lines) == (kernel.Word.CERTIFIED, both)
    assert ("", "potential") not in judged(TRUE, 1).lines
