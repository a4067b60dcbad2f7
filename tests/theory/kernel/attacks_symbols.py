"""Attempts against spaces, symbols, positivity, hypotheses, divisors and fuel."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from attacks_kept import Attacks, ev

from clusterproof.theory.claims import (
    at_least,
    at_most,
    choice,
    equal,
    given,
    integers,
    rationals,
    reals,
    sequences,
    suppose,
)
from clusterproof.theory.claims.ranges import Integers

ATTACKS = attack = Attacks()
F = Fraction
Share = Annotated[Fraction, rationals(0, 1, 4)]
Signed = Annotated[Fraction, rationals(-1, 1, 4)]
Free = Annotated[Fraction, rationals(-1, 1, 4, upwards=True, downwards=True)]
Few = Annotated[int, choice(1, 2, 3)]
EMPTY = ev("empty")
FACT = lambda place: [[{"factors": [place], "basis": [[[[0], 1]]], "matrix": [[1]]}]]

# ---- hypotheses


def only_far(x):
    suppose("x >= 1/2", x >= Fraction(1, 2))
    return at_most(0 * x, bound=1)


@attack(
    ev("squares", "c", witness={"x": 1}, blocks=FACT(2)),
    ev("squares", "c", witness={"x": 1}, blocks=FACT(3)),
    breaks={"x": F(-1)},
)
def hypothesis_of_another_line(x: Signed):
    """F. x = -1 has the line c, which breaks: the hypothesis x >= 1/2 is supposed only where x >= 0."""
    return {"a": given("x >= 0", x >= 0, lambda: only_far(x)), "c": at_most(Fraction(1, 2) - x, bound=0)}


def impossible(x):
    suppose("x >= 2", x >= 2)
    return at_most(0 * x, bound=1)


@attack(ev("empty", "c"), breaks={"x": F(-1)})
def emptied_by_another_line(x: Signed):
    """F. x = -1 meets every hypothesis and has the line c (which breaks)."""
    return {"a": given("x >= 0", x >= 0, lambda: impossible(x)), "c": at_most(1, bound=0 * x)}


def positive_there(x):
    suppose("x > 0", x > 0)
    return at_most(0 * x, bound=1)


@attack(ev("signs", "c", witness={"x": 1}), breaks=None)
def divisor_by_another_lines_hypothesis(x: Share):
    """F-like: c has no value at x = 0, where a's hypothesis fails only because given is not entered (x >= 1/2)."""
    a = given("x >= 1/2", x >= Fraction(1, 2), lambda: positive_there(x))
    return {"a": a, "c": equal((x / x, 1 + 0 * x))}


@attack(
    ev("signs", witness={"x": 1}),
    ev("squares", witness={"x": 1}, blocks=FACT(0)),
    ev("squares", witness={"x": 1}, blocks=FACT(-1)),
    ev("squares", witness={"x": 1}, blocks=[]),
    breaks={"x": F(0)},
)
def hypothesis_needed(x: Share):
    """F. x = 0: 1/2 > 0."""
    return at_most(Fraction(1, 2) - x, bound=0)


@attack(ev("signs", witness={"x": "1/4"}), EMPTY)
def hypotheses_exclude_all(x: Share):
    """T vacuous: x > 1/2 and x < 1/2; must not be certified (a witness is needed)."""
    suppose("x > 1/2", x > Fraction(1, 2))
    suppose("x < 1/2", x < Fraction(1, 2))
    return at_most(1, bound=0 * x)


@attack(
    ev("squares", witness={"x": "1/4"}, blocks=FACT(2)),
    ev("squares", witness={"x": "1/2"}, blocks=FACT(3)),
    breaks={"x": F(1, 4)},
)
def strict_hypothesis_turned(x: Share):
    """F. x = 1/4 meets x < 1/2 and breaks x >= 1/2."""
    suppose("x < 1/2", x < Fraction(1, 2))
    return at_most(Fraction(1, 2) - x, bound=0)


@attack(
    ev("squares", witness={"x": "1/2"}, blocks=FACT(3)),
    ev("squares", witness={"x": 0}, blocks=[[{"factors": [2], "basis": [[[[0], 1]]], "matrix": [[-1]]}]]),
    breaks={"x": F(1, 4)},
)
def negative_block(x: Share):
    """F. x = 1/4: the block's matrix is negative, or the factor is a fact that is not there."""
    suppose("x <= 1/2", x <= Fraction(1, 2))
    return at_most(Fraction(1, 2) - x, bound=0)


@attack(
    ev(
        "squares",
        witness={"x": 0},
        blocks=[[{"factors": [], "basis": [[[[0], 1]], [[[1], 1]]], "matrix": [[0, -1], [0, 0]]}]],
    ),
    ev(
        "squares",
        witness={"x": 0},
        blocks=[
            [{"factors": [], "basis": [[[[0], 1]], [[[1], 1]]], "matrix": [[0, F(-1, 2)], [F(-1, 2), 0]]}]
        ],
    ),
    ev(
        "squares",
        witness={"x": 0},
        blocks=[[{"factors": [], "basis": [[[[0], 1]], [[[1], 1]]], "matrix": [[0, "-1/2"], ["-1/2", 0]]}]],
    ),
    breaks={"x": F(1)},
)
def zero_pivot(x: Share):
    """F. x = 1. The matrices are not symmetric, not of evidence, or have a zero pivot beside an entry."""
    return at_most(x, bound=0)


# ---- divisors


@attack(ev("signs", witness={"x": 1}))
def divisor_vanishes(x: Signed):
    """F-like: no value at x = 0, so that x / x = 1 does not hold of every x."""
    return equal((x / x, 1 + 0 * x))


@attack(ev("signs", witness={"x": 1}))
def divisor_cancels(x: Signed):
    """F-like: no value at x = 0."""
    return equal((1 / x - 1 / x, 0 * x))


@attack(ev("signs", witness={"x": 1}))
def divisor_to_the_zeroth(x: Signed):
    """F-like: (1 / x)**0 has no value at x = 0."""
    return equal(((1 / x) ** 0 + 0 * x, 1))


@attack(ev("signs", witness={"x": "1/2"}))
def divisor_in_a_fact(x: Signed):
    """F-like: the hypothesis 1 / x > 0 has no value at x = 0, which nobody excluded."""
    suppose("1/x > 0", 1 / x > 0)
    return at_most(-x, bound=0)


@attack(ev("signs", witness={"x": 1, "y": 1}))
def divisor_at_a_corner(x: Share, y: Annotated[Fraction, rationals(lambda x: x, 1, 4)]):
    """F-like: y - x is 0 at y = x."""
    return equal(((y - x) / (y - x), 1 + 0 * x))


@attack(ev("signs", witness={"x": 1}), breaks={"x": F(-1)})
def sign_of_a_denominator(x: Annotated[Fraction, rationals(-2, -1, 4)]):
    """F. x = -1: 1 / x = -1 >= 0 is false."""
    return at_least(1 / x, bound=0)


@attack(ev("signs", witness={"x": -1}), breaks=None)
def two_negative_denominators(x: Annotated[Fraction, rationals(-2, -1, 4)]):
    """F. 1 / x * 1 / (x - 1) is positive: that it is <= 0 is false at x = -1 (1/2)."""
    return at_most(1 / x / (x - 1), bound=0 * x)


@attack(ev("signs", witness={"x": "1/2"}))
def divided_before_supposed(x: Share):
    """An error at x = 0 in CPython: the division is before the hypothesis that excludes it."""
    quotient = x / x
    suppose("x > 0", x > 0)
    return equal((quotient, 1 + 0 * x))


# ---- integers, boxes and ends


@attack(ev("signs", witness={"n": 0}), ev("squares", witness={"n": 0}, blocks=[]), breaks={"n": 3})
def integer_symbol(n: Annotated[int, integers(0, 10, upwards=True)]):
    """F. n = 3: n (n - 1) <= 2 fails."""
    return at_most(n * (n - 1), bound=2)


@attack(
    ev("instance", instance={"n": "1/2"}),
    ev("instance", instance={"n": True}),
    ev("instance", instance={"n": "1e9"}),
    ev("instance", instance={"n": 0.5}),
    ev("instance", instance={"n": "1"}),
)
def integers_only(n: Annotated[int, integers(-5, 5)]):
    """T. n (n - 1) >= 0 of integers; 1/2 is none."""
    return at_least(n * (n - 1), bound=0)


@attack(ev("signs", witness={"x": 1, "y": 1}), EMPTY, ev("squares", witness={"x": "1", "y": 1}, blocks=[]))
def empty_box(x: Share, y: Annotated[Fraction, rationals(lambda x: x + 1, lambda x: x, 4)]):
    """T vacuous: y >= x + 1 and y <= x."""
    return at_most(1, bound=0 * x)


@attack(
    EMPTY,
    ev("instance", instance={"x": 1, "y": 0}),
    ev("instance", instance={"x": "1/2", "y": "1/4"}),
    ev("signs", witness={"x": 0, "y": 0}),
)
def partly_empty_box(x: Signed, y: Annotated[Fraction, rationals(lambda x: x, 0, 4)]):
    """T. There is a y only where x <= 0."""
    return at_most(x, bound=0)


@attack(EMPTY, ev("signs", witness={"x": -1, "y": 0}), breaks={"x": F(-1), "y": F(0)})
def partly_empty_and_false(x: Signed, y: Annotated[Fraction, rationals(lambda x: x, 0, 4)]):
    """F. x = -1, y = 0."""
    return at_least(x, bound=0)


@attack(
    ev("signs", witness={"x": 1, "y": 1}),
    ev(
        "squares",
        witness={"x": 1, "y": 1},
        blocks=[[{"factors": [2], "basis": [[[[0, 0], 1]]], "matrix": [[1]]}]],
    ),
    breaks={"x": F(1, 4), "y": F(3)},
)
def end_with_a_division(
    x: Annotated[Fraction, rationals(Fraction(1, 4), 1, 4)],
    y: Annotated[Fraction, rationals(0, lambda x: 1 / x, 4)],
):
    """F. x = 1/4, y = 3: y <= 1 fails."""
    return at_most(y, bound=1 + 0 * x)


def endless(x):
    return None


@attack(ev("signs", witness={"x": 1, "y": 1}), ev("instance", instance={"x": 1, "y": -5}), breaks=None)
def end_that_is_none(x: Share, y: Annotated[Fraction, rationals(lambda x: endless(x), 1, 4)]):
    """F. Its end is None: no end. y = -1 breaks y >= 0."""
    return at_least(y, bound=0 * x)


@attack(ev("signs", witness={"x": 0}), breaks={"x": F(7)})
def free_symbol(x: Free):
    """F. x = 7, beyond the ends that are tried."""
    return at_most(x, bound=1)


@attack(
    ev("squares", witness={"x": 0}, blocks=[[{"factors": [0], "basis": [[[[0], 1]]], "matrix": [[1]]}]]),
    breaks={"x": F(-3)},
)
def free_symbol_has_no_ends(x: Free):
    """F. x = -3: there is no end -1."""
    return at_least(x, bound=-1)


@attack(ev("exhausted"), ev("exhausted", line="b"), breaks={"n": 3})
def line_of_some(n: Few):
    """F for a, and without b at n = 3."""
    return {"": at_most(n, bound=2)} if n == 3 else {"": at_most(n, bound=2), "b": at_most(n, bound=2)}


@attack(ev("exhausted"), ev("empty", listed=True), breaks={"n": True})
def one_and_true(n: Annotated[int, choice(1, True)]):
    """F. Both break."""
    return at_most(n, bound=0)


class Wider(Integers):
    def values(self, so_far):
        return range(0, 100)

    def holds(self, value, so_far):
        return 0 <= value < 100


@attack(ev("exhausted"), breaks={"n": 50})
def range_of_ones_own(n: Annotated[int, Wider(0, 1)]):
    """F. The range holds 50, as CPython's checker reads it."""
    return at_most(n, bound=1)


@attack(ev("exhausted"), ev("empty", listed=True), breaks={"n": 2, "m": 5})
def end_that_supposes(n: Few, m: Annotated[int, integers(0, lambda n: supposing(n))]):
    """F. n = 2, m = 5."""
    return at_most(m, bound=0)


def supposing(n):
    suppose("n > 1", n > 1)
    return 5


@attack(ev("exhausted"))
def negative_length(n: Few, several: Annotated[tuple, sequences(choice(0, 1), lambda n: -n)]):
    """F-like: vacuous, as no tuple has -n entries, but certified by the empty tuple, which is none of the space."""
    return at_most(len(several), bound=0)


@attack(ev("instance", instance={"x": "1/3"}))
def floats(x: Annotated[float, reals(0.1, 0.9)]):
    """T. x - x is 0 of every float and fraction."""
    return equal((x - x, 0))


# ---- crashes


@attack(EMPTY, ev("signs", witness={"x": 0}))
def end_of_many_digits(x: Annotated[Fraction, rationals(0, 10**5000, 1)]):
    """C. The space's text cannot be written."""
    return at_least(x, bound=0)


LONG = "+".join(["1"] * 5)


@attack(ev("exhausted"))
def long_sum(n: Few):
    """C. A sum of 400 terms."""
    return at_most(
        n,
        bound=3
        + 0
        * (
            n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
            + n
        ),
    )


def with_constant(n, k=1):
    return n


with_constant.__defaults__ = (1, 2)


@attack(ev("exhausted"))
def tampered_defaults(n: Few):
    """C. The function has more defaults than its source."""
    return at_most(with_constant(n), bound=3)


# ---- time and memory


@attack(ev("signs", witness={"several": [0] * 20_000}))
def many_symbols(several: Annotated[tuple, sequences(rationals(0, 1, 4), 20_000)]):
    """R. 20 000 symbols of 20 000 exponents each."""
    return at_least(several[0], bound=0)


@attack(ev("exhausted"))
def long_range_in_a_tuple(several: Annotated[tuple, sequences(integers(0, 10**8), 1)]):
    """R. itertools.product makes a tuple of the range."""
    return at_least(several[0], bound=0)


@attack(ev("exhausted"))
def long_tuple_of_choices(n: Few, several: Annotated[tuple, sequences(choice(0, 1), lambda n: n * 10**8)]):
    """R. 10^8 times the options."""
    return at_least(several[0], bound=0)


@attack(ev("signs", witness={"x": 0, "y": 0}))
def long_polynomial_plus_one(x: Share, y: Share):
    """R. plus copies its first polynomial, and counts the second."""
    long = (1 + x + y) ** 60
    total = long
    for k in range(30_000):
        total = long + 1
    return at_least(x, bound=0)


@attack(
    ev(
        "squares",
        witness={"x": 0},
        blocks=[
            [
                {
                    "factors": [],
                    "basis": [[[[k], 3**4000 + k] for k in range(40)]],
                    "matrix": [[f"{7**1200}/{11**1000}"]],
                }
            ]
        ],
    ),
    ev(
        "squares",
        witness={"x": 0},
        blocks=[
            [
                {
                    "factors": [],
                    "basis": [[[[0], 1]]] * 200,
                    "matrix": [[10**3000 * (i == j) for i in range(200)] for j in range(200)],
                }
            ]
        ],
    ),
)
def evidence_of_long_numbers(x: Share):
    """R. Blocks with long numbers."""
    return at_most(x, bound=0)


@attack(
    ev(
        "squares",
        witness={"x": 0},
        blocks=[
            [
                {
                    "factors": [],
                    "basis": [[[[0], 1]], [[[1], 1]]],
                    "matrix": [[2**4_000_000 + 1, 1], [1, 3**2_000_000]],
                }
            ]
        ],
    )
)
def evidence_of_huge_ints(x: Share):
    """R. Two entries of 4 million bits."""
    return at_most(x, bound=0)


@attack(ev("exhausted"))
def equal_long_texts(n: Few):
    """R. text == text and text in text cost one step."""
    text, other = "a", "a"
    for _ in range(18):
        text, other = f"{text}{text}", f"{other}{other}"
    k = 0
    for _ in range(100_000):
        k += 1 if text == other else 0
    return at_most(n, bound=3)


@attack(ev("exhausted"))
def text_in_long_text(n: Few):
    """R. ``in`` of texts costs one step."""
    text, part = "a", "a"
    for _ in range(18):
        text = f"{text}{text}"
    for _ in range(15):
        part = f"{part}{part}"
    part = f"{part}b{part}"
    k = 0
    for _ in range(2000):
        k += 1 if part in text else 0
    return at_most(n, bound=3)


@attack(ev("exhausted"))
def sorts_long_numbers(n: Few):
    """R. Comparisons of long equal numbers cost one step."""
    x = 2**100_000 + n
    k = 0
    for _ in range(100_000):
        k += 1 if x == x + 0 else 0
    return at_most(n, bound=3)


@attack(ev("exhausted"))
def negates_long_numbers(n: Few):
    """R. -x keeps 12 KB each, for one step."""
    x = 2**100_000 + n
    several = [-x for k in range(60_000)]
    return at_most(n, bound=3)


@attack(ev("exhausted"))
def keys_of_long_numbers(n: Few):
    """R. A fraction's hash is a modular power of its denominator, for one step."""
    x = Fraction(1, 3**50_000)
    table = {x: 1}
    k = 0
    for _ in range(1000):
        k += table[x]
    return at_most(n, bound=3)


@attack(ev("exhausted"))
def records_and_calls(n: Few):
    """R. 1.5 million steps of calls with keywords."""
    total = 0
    for _ in range(300_000):
        total = with_keywords(a=total, b=1)
    return at_most(n, bound=3)


def with_keywords(*, a, b):
    return a + b


@attack(ev("exhausted"))
def fractions_divide(n: Few):
    """R. Fractions of a few words."""
    x, y = Fraction(2**62 + 1, 3**39), Fraction(3**39 + 4, 2**62 - 1)
    for _ in range(150_000):
        z = x / y
    return at_most(n, bound=3)


@attack(ev("exhausted"))
def floor_divides(n: Few):
    """R. Floors and rounds."""
    x = Fraction(2**62 + 1, 3**39)
    for _ in range(200_000):
        z = round(x)
    return at_most(n, bound=3)


# ---- second round


def only_two(x, k):
    suppose("k = 2", k == 2)
    return at_most(0 * x, bound=1)


@attack(
    ev("signs", "c", witness={"x": 0, "k": 2}),
    ev("squares", "c", witness={"x": 0, "k": 2}, blocks=[]),
    breaks={"x": F(-1), "k": 1},
)
def case_left_out_by_another_line(x: Signed, k: Annotated[int, choice(1, 2)]):
    """F. x = -1, k = 1 has the line c, which breaks: k = 2 is supposed only where x >= 0."""
    return {
        "a": given("x >= 0", x >= 0, lambda: only_two(x, k)),
        "c": at_most(0 * x + (0 if k == 2 else 1), bound=0),
    }


def only_three(x, k):
    suppose("k = 3", k == 3)
    return at_most(0 * x, bound=1)


@attack(ev("empty", "c"), breaks={"x": F(-1), "k": 1})
def emptied_cases_by_another_line(x: Signed, k: Annotated[int, choice(1, 2)]):
    """F. x = -1 has the line c (k = 3 is supposed only where x >= 0)."""
    return {"a": given("x >= 0", x >= 0, lambda: only_three(x, k)), "c": at_most(0 * x + 1, bound=0)}


# ---- hypotheses that are stated of one line alone


def impossible(x):
    """Suppose what no x meets, and then leave the language."""
    suppose("x >= 2", x >= 2)
    return at_most(x if x > 0 else 0, bound=1)


@attack(ev("empty", "c"), breaks={"x": Fraction(-1)})
def hypothesis_that_another_line_left(x: Annotated[Fraction, rationals(-1, 1, 4)]):
    """F. The hypothesis x >= 2 is that of the line a alone."""
    return {"c": at_most(1, bound=0 * x), "a": given("x >= 0", x >= 0, lambda: impossible(x))}


@attack(
    ev(
        "squares",
        witness={"x": 1},
        blocks=[[{"factors": [2], "basis": [[[[0], 1]]], "matrix": [[1]]}]],
    ),
    breaks={"x": Fraction(-1)},
)
def hypothesis_with_a_hypothesis(x: Annotated[Fraction, rationals(-1, 1, 4)]):
    """F. That x = 1 is supposed only of x > 0."""
    suppose("x > 0 => x = 1", given("x > 0", x > 0, lambda: equal((x, 1))))
    return at_most(1 - x, bound=0)


@dataclass(frozen=True)
class Box:
    xs: list

    def push(self):
        self.xs.append(1)
        return at_most(0, bound=1)


def put(done, line):
    return line


@attack(ev("signs", "c", witness={"x": 1}))
def given_a_bound_method(x: Signed):
    """F. At x = -1 nothing is pushed."""
    xs = []
    a = given("x > 0", x > 0, Box(xs).push)
    return {"a": a, "c": at_least(len(xs) + 0 * x, bound=1)}


@attack(ev("signs", "c", witness={"x": 1}))
def given_a_view(x: Signed):
    """F. The view holds the list."""
    xs = []
    view = {0: xs}.values()
    a = given("x > 0", x > 0, lambda: put([ys.append(1) for ys in view], at_most(0 * x, bound=1)))
    return {"a": a, "c": at_least(len(xs) + 0 * x, bound=1)}


@attack(ev("signs", "c", witness={"x": 1}))
def given_a_method_of_a_dictionary(x: Signed):
    """F. The method holds it."""
    xs = []
    values = {0: xs}.values
    a = given("x > 0", x > 0, lambda: put([ys.append(1) for ys in values()], at_most(0 * x, bound=1)))
    return {"a": a, "c": at_least(len(xs) + 0 * x, bound=1)}


@attack(ev("empty", "c"))
def given_a_view_empties(x: Signed):
    """F. At x = -1 the hypothesis is met, and 1 <= 0 breaks."""
    xs = []
    view = {0: xs}.items()
    a = given("x > 0", x > 0, lambda: put([ys.append(1) for _, ys in view], at_most(0 * x, bound=1)))
    suppose("nothing yet", len(xs) == 0)
    return {"a": a, "c": at_most(1 + 0 * x, bound=0)}


@attack(ev("signs", witness={"x": 1, "y": 1}))
def end_without_a_value(x: Signed, y: Annotated[Fraction, rationals(0, lambda x: (1 / x) ** 0, 4)]):
    """F. At x = 0 the end has no value."""
    return at_most(y, bound=1 + 0 * x)


@attack(ev("signs", witness={"x": 0}))
def long_polynomials_are_negated(x: Share):
    """R. Fifty thousand times."""
    p = (1 + x) ** 300
    for _ in range(50_000):
        -p
    return at_most(0 * x, bound=1)
