"""Attempts against loops of any number of rounds, their invariants, what is known of a value, and branches."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Any

from attacks_kept import Attacks, ev

from clusterproof.theory.claims import (
    at_least,
    at_most,
    choice,
    equal,
    given,
    integers,
    iterate,
    known,
    rationals,
    sequences,
    suppose,
)

ATTACKS = attack = Attacks()
F = Fraction
Rounds = Annotated[int, integers(0, 5, upwards=True)]
Some = Annotated[int, integers(1, 5, upwards=True)]
Signed = Annotated[int, integers(-5, 5, upwards=True, downwards=True)]
Share = Annotated[Fraction, rationals(0, 1, 4)]
Free = Annotated[Fraction, rationals(-2, 2, 4, upwards=True, downwards=True)]
Many = Annotated[tuple[Fraction, ...], sequences(rationals(0, 1, 4), lambda n: n)]


def proofs(*witnesses, **more):
    """Evidence of the rule by coefficients alone, with one block for each hypothesis, and by the rules without states."""
    found = []
    for witness in witnesses:
        every = {"witness": witness, "blocks": [], "states": 8, **more}
        found += [ev(rule, **every) for rule in ("induction", "signs", "squares")]
        found += [ev("induction", **every | {"blocks": [_square(place)] * 9}) for place in range(8)]
    return [*found, ev("empty"), ev("empty", listed=True), ev("exhausted")]


def _square(place):
    """Return a hypothesis times 1, in each of a few widths."""
    return [{"factors": [place], "basis": [[[[0] * 9, 1]]], "matrix": [[1]]}]


# ---- invariants that do not hold, are not kept, or imply nothing


@attack(*proofs({"n": 0}), breaks={"n": 11})
def holds_at_the_start_only(n: Rounds):
    """F. n = 11: the invariant x = 0 holds of the start."""
    return at_most(iterate(lambda x: x + 1, 0, n, invariant=lambda x, k: x == 0), 10)


@attack(*proofs({"n": 0}), breaks={"n": 11})
def not_kept(n: Rounds):
    """F. n = 11: x <= 10 is not kept at x = 10."""
    return at_most(iterate(lambda x: x + 1, 0, n, invariant=lambda x, k: x <= 10), 10)


@attack(*proofs({"n": 0}), breaks={"n": 11})
def kept_for_small_rounds(n: Rounds):
    """F. n = 11: (x - k)(10 - k) = 0 and x <= 10 are kept up to round 10."""
    return at_most(iterate(lambda x: x + 1, 0, n, invariant=lambda x, k: (x <= 10, x == k)), 10)


@attack(*proofs({"n": 0}), breaks={"n": 2})
def does_not_imply_the_line(n: Rounds):
    """F. n = 2: the invariant is true, and weaker than the line."""
    return at_most(iterate(lambda x: x + 1, 0, n, invariant=lambda x, k: x >= 0), 1)


@attack(*proofs({"n": 0}, {"n": 1}), breaks={"n": 1})
def not_at_the_start(n: Rounds):
    """F. n = 1: x >= 5 is kept, and false of the start."""
    return at_least(iterate(lambda x: x + 1, 0, n, invariant=lambda x, k: x >= 5), 5)


@attack(*proofs({"n": 0}, {"n": 1}), breaks={"n": 1})
def of_no_state(n: Rounds):
    """F. n = 1: no state meets x >= 1 and x <= 0."""
    return at_most(iterate(lambda x: x + 1, 0, n, invariant=lambda x, k: (x >= 1, x <= 0)), 0)


@attack(*proofs({"n": 0, "x": 1}), breaks={"n": 1, "x": F(-1)})
def of_no_state_on_symbols(n: Rounds, x: Free):
    """F. n = 1, x = -1: the invariant contradicts itself where it is supposed."""
    return at_least(iterate(lambda s: s, x, n, invariant=lambda s, k: (s >= 1, s <= 0 * s)), 0)


@attack(*proofs({"n": 0}), breaks={"n": 1})
def is_false(n: Rounds):
    """F. n = 1: the invariant is the truth value False."""
    return at_most(iterate(lambda x: x + 1, 0, n, invariant=lambda x, k: False), 0)


@attack(*proofs({"n": 0}), breaks={"n": 1})
def is_nothing(n: Rounds):
    """F. n = 1: the invariant says nothing."""
    return at_most(iterate(lambda x: x + 1, 0, n, invariant=lambda x, k: ()), 0)


@attack(*proofs({"n": 0}), breaks={"n": 1})
def is_missing(n: Rounds):
    """F. n = 1: there is no invariant."""
    return at_most(iterate(lambda x: x + 1, 0, n), 0)


@attack(*proofs({"n": 0}), breaks={"n": 1})
def equation_of_the_next_state(n: Rounds):
    """F. n = 1: x = k - 1 is kept, and false of the start."""
    return at_most(iterate(lambda x: x + 1, 0, n, invariant=lambda x, k: x == k - 1), n - 1)


@attack(*proofs({"n": 0}), breaks={"n": 1})
def two_equations_of_one_number(n: Rounds):
    """F. n = 1: x = 0 and x = k determine x twice."""
    return at_most(iterate(lambda x: x + 1, 0, n, invariant=lambda x, k: (x == k, x == 0)), 0)


@attack(*proofs({"n": 0}), breaks={"n": 1})
def equations_in_a_circle(n: Rounds):
    """F. n = 1: each of two equations determines one number by the other."""
    step = lambda s: (s[0] + 1, s[1] + 1)
    x, _ = iterate(step, (0, 0), n, invariant=lambda s, k: (s[0] == s[1], s[1] == s[0]))
    return at_most(x, 0)


# ---- rounds: none of them, negative ones, ones that are no integers, and their ends


@attack(*proofs({"n": 1}), breaks={"n": 0})
def no_round(n: Rounds):
    """F. n = 0: without a round the start is left, which is 5."""
    return at_most(iterate(lambda x: 0 * x, 5, n, invariant=lambda x, k: k * (k - 1) * x <= 0), 0)


@attack(*proofs({"n": 1}), breaks={"n": 0})
def from_the_bounds_of_a_round(n: Rounds):
    """F. n = 0: within a round 0 <= k <= n - 1, so that n >= 1 is known there, and not outside."""
    x = iterate(lambda x: x, 1, n, invariant=lambda x, k: x * (n - k) >= 0)
    return at_least(n * x, 1)


@attack(*proofs({"n": 0}), breaks={"n": -1})
def negative_rounds(n: Signed):
    """F. n = -1: there is no round, and x = 0 is not n."""
    return equal((iterate(lambda x: x + 1, 0, n, invariant=lambda x, k: x == k), n))


@attack(*proofs({"n": 3}), breaks={"n": 1})
def negative_rounds_by_a_difference(n: Rounds):
    """F. n = 1: n - 3 rounds are none, and x = 0."""
    return equal((iterate(lambda x: x + 1, 0, n - 3, invariant=lambda x, k: x == k), n - 3))


@attack(*proofs({"n": 2}))
def half_a_round(n: Rounds):
    """F-like: n / 2 rounds are no number for n = 1."""
    return equal((iterate(lambda x: x + 1, 0, n / 2, invariant=lambda x, k: x == k), n / 2))


@attack(*proofs({"n": 1, "s": 1}))
def a_share_of_a_round(n: Rounds, s: Share):
    """F-like: s n rounds are no number for s = 1/2, n = 1."""
    return at_most(iterate(lambda x: x + 1, 0, s * n, invariant=lambda x, k: x == k), n)


@attack(*proofs({"n": 1, "m": 1}, {"n": 1, "m": 0}), breaks={"n": 1, "m": 0})
def rounds_with_an_end_of_another(n: Some, m: Annotated[int, integers(0, lambda n: n)]):
    """F. n = 1, m = 0: m is at most n, and x = m is not at least n."""
    return at_least(iterate(lambda x: x + 1, 0, m, invariant=lambda x, k: x == k), n)


@attack(*proofs({"n": 1, "m": 1}), breaks={"n": 1, "m": 2})
def empty_end(n: Some, m: Annotated[int, integers(1, lambda n: n * (4 - n))]):
    """F. n = 1, m = 2; for n = 4 there is no m, and the ends are in the wrong order."""
    return at_most(iterate(lambda x: x + 1, 0, m, invariant=lambda x, k: x == k), 1)


@attack(*proofs({"n": 0}, listed=["n"]), breaks={"n": 2})
def rounds_without_an_end_listed(n: Rounds):
    """F. n = 2: a quantity without an end is none that can be listed."""
    return at_most(iterate(lambda x: x + 1, 0, n), 1)


# ---- steps that depend on more than the state


@attack(*proofs({"n": 1}, {"n": 0}), breaks={"n": 2})
def step_that_counts(n: Rounds):
    """F. n = 2: the step appends to a list around it, and returns its length."""
    seen = []

    def step(x):
        seen.append(1)
        return 0 * x + len(seen)

    return at_most(iterate(step, 0, n, invariant=lambda x, k: (x >= 0, x <= 1)), 1)


@attack(*proofs({"n": 1}, {"n": 0}), breaks={"n": 2})
def step_that_changes_a_dictionary(n: Rounds):
    """F. n = 2: the step changes a dictionary that the line reads."""
    seen = {0: 0}

    def step(x):
        seen[0] = seen[0] + 1
        return x

    x = iterate(step, 0, n, invariant=lambda x, k: x == 0)
    return at_most(x + seen[0], 1)


@attack(*proofs({"n": 1}, {"n": 0}), breaks={"n": 2})
def step_that_uses_up(n: Rounds):
    """F. n = 2: the step takes the next entry of a generator."""
    entries = (x for x in [0, 5, 5])

    def step(x):
        for entry in entries:
            return x + entry
        return x

    return at_most(iterate(step, 0, n, invariant=lambda x, k: x <= 0), 0)


@attack(*proofs({"n": 1}, {"n": 0}), breaks={"n": 2})
def step_with_a_default_that_changes(n: Rounds):
    """F. n = 2: the step counts in its default."""

    def step(x, seen=[0]):
        seen[0] = seen[0] + 1
        return 0 * x + seen[0]

    return at_most(iterate(step, 0, n, invariant=lambda x, k: x <= 1), 1)


@attack(*proofs({"n": 1}, {"n": 0}), breaks={"n": 2})
def state_that_is_a_list(n: Rounds):
    """F. n = 2: the state is a list, which the step changes and returns."""

    def step(x):
        x[0] = x[0] + 1
        return x

    return at_most(iterate(step, [0], n, invariant=lambda x, k: x[0] <= 1)[0], 1)


@attack(*proofs({"n": 1}, {"n": 0}), breaks={"n": 2})
def list_in_the_state(n: Rounds):
    """F. n = 2: the state holds a list, to which the step appends."""

    def step(x):
        x[1].append(1)
        return x[0] + len(x[1]), x[1]

    return at_most(iterate(step, (0, []), n, invariant=lambda x, k: x[0] <= 1)[0], 1)


@attack(*proofs({"n": 1}, {"n": 0}), breaks={"n": 2})
def state_that_changes_its_form(n: Rounds):
    """F. n = 2: a number becomes a tuple, of which the first entry counts."""

    def step(x):
        return (x, 0)

    return at_most(iterate(step, 0, n, invariant=lambda x, k: 0 <= 0) != 0, 0)


@attack(*proofs({"n": 1}, {"n": 0}), breaks={"n": 2})
def truth_as_a_state(n: Rounds):
    """F. n = 2: the state is a truth value."""
    return at_most(iterate(lambda x: x + 1, False, n, invariant=lambda x, k: x <= 1), 1)


@attack(*proofs({"n": 1}, {"n": 0}), breaks={"n": 2})
def step_that_asks_for_a_number(n: Rounds):
    """F. n = 2: the step is another one where its state is no symbol: only a number is counted up to."""
    return at_most(
        iterate(lambda x: sum(1 for _ in range(x + 1)) + x, 0, n, invariant=lambda x, k: x <= 1), 1
    )


@lru_cache
def shared(x):
    return [x]


@attack(*proofs({"n": 1}, {"n": 0}), breaks={"n": 2})
def cached_list(n: Rounds):
    """F. n = 2: the step changes a list that a cache returned."""

    def step(x):
        shared(0).append(1)
        return 0 * x + len(shared(0)) - 1

    return at_most(iterate(step, 0, n, invariant=lambda x, k: x <= 1), 1)


# ---- hypotheses, divisors and branches within a round, and in the invariant


@attack(*proofs({"n": 0}), breaks={"n": 2})
def hypothesis_in_the_invariant(n: Rounds):
    """F. n = 2: the invariant supposes what the line says."""

    def invariant(x, k):
        suppose("x <= 1", x <= 1)
        return x >= 0

    return at_most(iterate(lambda x: x + 1, 0, n, invariant=invariant), 1)


@attack(*proofs({"n": 0, "x": 0}), breaks={"n": 0, "x": F(2)})
def hypothesis_in_the_step(n: Rounds, x: Free):
    """F. n = 0, x = 2: what a step supposes of the state in its round is not known without a round."""

    def step(s):
        suppose("s <= 1", s <= 1)
        return s

    return at_most(iterate(step, x, n, invariant=lambda s, k: s == x), 1)


@attack(*proofs({"n": 0}), breaks={"n": 0})
def hypothesis_in_the_step_that_fails(n: Rounds):
    """F. n = 0: every instance with a round is excluded, and this one has none."""

    def step(s):
        suppose("1 <= 0", 1 <= 0)
        return s

    return at_least(iterate(step, 0, n, invariant=lambda s, k: s == 0), 1)


@attack(*proofs({"n": 1}))
def division_in_the_step(n: Rounds):
    """F-like: the step divides by the state, which is 0 at the start."""
    x = iterate(lambda s: s / s - 1, F(0), n, invariant=lambda s, k: s == 0)
    return at_most(x, 0)


@attack(*proofs({"n": 1}))
def division_in_the_invariant(n: Rounds):
    """F-like: the invariant divides by what is 0, so that it is no statement."""
    x = iterate(lambda s: s + 1, F(0), n, invariant=lambda s, k: (s - k) / (s - k) >= 2)
    return at_most(x, 1)


@attack(*proofs({"n": 0}), breaks={"n": 2})
def branch_of_a_round_outside(n: Rounds):
    """F. n = 2: that the branch x <= 0 was taken in a round says nothing of the last state."""

    def step(x):
        return 1 + x if x <= 0 else x + 1

    return at_most(iterate(step, 0, n, invariant=lambda x, k: x >= 0), 1)


@attack(*proofs({"n": 0}), breaks={"n": 3})
def one_branch_is_kept(n: Rounds):
    """F. n = 3: x <= 2 is kept on one branch only."""

    def step(x):
        return x if x <= 1 else x + 1

    return at_most(iterate(step, 2, n, invariant=lambda x, k: x <= 2), 2)


@attack(*proofs({"x": 0}), breaks={"x": F(2)})
def branch_without_the_other(x: Free):
    """F. x = 2: only where x <= 1 is the line true."""
    return at_most(x if x <= 1 else x + 1, 1)


@attack(*proofs({"x": 0}), breaks={"x": F(3)})
def both_branches_asked_twice(x: Free):
    """F. x = 3: one comparison is asked twice."""
    small = x <= 1
    first = 0 if small else 1
    return at_most((0 * x if small else x) * first, 1)


@attack(*proofs({"x": "1/2"}), breaks={"x": F(2)})
def hypothesis_by_and(x: Free):
    """F. x = 2 meets x >= 0 and x <= 3, joined by `and`."""
    suppose("0 <= x <= 3", x >= 0 and x <= 3)
    return at_most(x, 1)


@attack(*proofs({"x": "1/2"}), breaks={"x": F(2)})
def hypothesis_by_or(x: Free):
    """F. x = 2 meets x <= 1 or x >= 2."""
    suppose("x <= 1 or x >= 2", x <= 1 or x >= 2)
    return at_most(x, 1)


@attack(*proofs({"x": "1/2"}), breaks={"x": F(-2)})
def absolute_value(x: Free):
    """F. x = -2: |x| = 2."""
    return at_most(abs(x), x + 1)


@attack(*proofs({"n": 0, "x": 0}), breaks={"n": 1, "x": F(2)})
def rounds_within_given(n: Rounds, x: Free):
    """F. n = 1, x = 2 has the line b, of which the hypothesis of a says nothing."""

    def loop():
        return at_most(iterate(lambda s: s, x, n, invariant=lambda s, k: (s == x, s <= 1)), 1)

    return {"": at_most(x, 1), "a": given("x <= 1", x <= 1, loop)}


@attack(*proofs({"n": 0, "x": 0}), breaks={"n": 1, "x": F(2)})
def given_within_an_invariant(n: Rounds, x: Free):
    """F. n = 1, x = 2: the invariant is a line of its own."""

    def invariant(s, k):
        return given("s <= 1", s <= 1, lambda: equal((s, x)))

    return at_most(iterate(lambda s: s, x, n, invariant=invariant), 1)


# ---- loops in loops, and entries of a sequence


@attack(*proofs({"n": 0}), breaks={"n": 3})
def loop_in_a_loop(n: Rounds):
    """F. n = 3: x = 9, and the inner loop says x <= s + 1."""

    def step(x):
        return iterate(lambda y: y + 1, x, n, invariant=lambda y, k: (y <= x + 1, y >= x))

    return at_most(iterate(step, 0, n, invariant=lambda x, k: x <= k), n)


@attack(*proofs({"n": 2}, {"n": 0}), breaks={"n": 1})
def rounds_that_a_round_counts(n: Rounds):
    """F-like: the inner loop has as many rounds as the state says."""

    def step(x):
        return iterate(lambda y: y + 1, 1, x + 1, invariant=lambda y, k: y == k + 1)

    return at_most(iterate(step, 0, n, invariant=lambda x, k: x == k), 0)


@attack(*proofs({"n": 1, "xs": [0]}), breaks={"n": 1, "xs": (F(1),)})
def entry_as_if_the_least(n: Rounds, xs: Many):
    """F. n = 1, xs = (1): each entry is any of its range."""
    return at_most(iterate(lambda s, x: s + x, 0, xs, invariant=lambda s, k: s <= 0), 0)


@attack(*proofs({"n": 2, "xs": [0, 0]}), breaks={"n": 2, "xs": (F(1), F(0))})
def entries_that_are_one(n: Rounds, xs: Many):
    """F. n = 2, xs = (1, 0): the entries of two rounds differ."""
    step = lambda s, x: (x, s[1] + (x - s[0]) ** 2)
    return at_most(iterate(step, (0, 0), xs, invariant=lambda s, k: (s[1] <= k * s[0] ** 2, s[1] >= 0))[1], 1)


@attack(*proofs({"n": 1, "xs": [0]}), breaks={"n": 1, "xs": (F(0),)})
def entry_of_another_round(n: Rounds, xs: Many):
    """F. n = 1, xs = (0): the sequence is looked at beside its rounds."""
    return at_least(iterate(lambda s, x: x, xs[0] if n == 1 else 1, xs, invariant=lambda s, k: s >= 0), 1)


@attack(*proofs({"n": 0, "xs": []}), breaks={"n": 1, "xs": (F(1),)})
def sequence_as_a_number(n: Rounds, xs: Many):
    """F. n = 1, xs = (1): the sum of all entries."""
    return at_most(sum(xs), 0)


# ---- what is known of a value


@attack(*proofs({"x": 0}), breaks={"x": F(2)})
def known_wrongly(x: Free):
    """F. x = 2: it is not shown that the value is at most 1."""
    return at_most(known(lambda: x, lambda y: y <= 1), 1)


@attack(*proofs({"x": 0}), breaks={"x": F(2)})
def known_on_one_branch(x: Free):
    """F. x = 2: y <= 1 holds on one branch."""
    return at_most(known(lambda: x if x <= 1 else x + 1, lambda y: y <= 1), 1)


@attack(*proofs({"x": 0}), breaks={"x": F(2)})
def known_as_supposed(x: Free):
    """F. x = 2: what is supposed of the value within it is not known of x."""

    def make():
        suppose("y <= 1", 0 * x <= 1)
        return x

    return at_most(known(make, lambda y: y == x), 1)


@attack(*proofs({"x": 0}), breaks={"x": F(2)})
def known_by_a_list(x: Free):
    """F. x = 2: the value leaves a list behind."""
    seen = []

    def make():
        seen.append(x)
        return 0

    return at_most(known(make, lambda y: y == 0) + len(seen) * x, 1)


@attack(*proofs({"x": 0}), breaks={"x": F(2)})
def known_of_no_value(x: Free):
    """F. x = 2: nothing is both at least 1 and at most 0."""
    return at_most(x + known(lambda: 0 * x, lambda y: (y >= 1, y <= 0)), 1)


@attack(*proofs({"n": 3}), breaks={"n": 3})
def half_of_an_odd_number(n: Rounds):
    """F. n = 3: n // 2 = 1."""
    return equal((2 * known(lambda: n // 2, lambda q: (2 * q <= n, 2 * q >= n - 1)), n))


@attack(*proofs({"n": 2}), breaks={"n": 2})
def half_is_not_less(n: Rounds):
    """F. n = 2: n // 2 = 1 is not at most (n - 1) / 2."""
    return at_most(2 * known(lambda: n // 2, lambda q: 2 * q <= n - 1), n - 1)


@attack(*proofs({"x": 0, "c": 1}, between=["c"]), breaks={"x": F(0), "c": 3})
def between_two_choices(x: Free, c: Annotated[int, choice(1, 3)]):
    """F. c = 3: a choice is not its least option."""
    return at_most(known(lambda: 0 * x + c, lambda y: y >= 1), 1)


@attack(*proofs({"x": 0, "c": 2}, between=["c"], listed=["c"]), breaks={"x": F(0), "c": 2})
def choice_between_that_is_listed(x: Free, c: Annotated[int, choice(2, 1)]):
    """F. c = 2: the ends of a choice are its least and largest option, in any order."""
    return at_most(0 * x + c, 1)


# ---- the record


@dataclass(frozen=True)
class Pair:
    first: Any
    second: Any

    @property
    def more(self):
        return self.first + 1


@attack(*proofs({"n": 0}), breaks={"n": 2})
def record_as_a_state(n: Rounds):
    """F. n = 2: the fields of a record are exchanged in each round."""

    def step(s):
        return Pair(s.second, s.more)

    return at_most(iterate(step, Pair(0, 0), n, invariant=lambda s, k: s.first <= s.second).second, 0)


@attack(
    ev("induction", witness={"n": 0}, blocks=[], states=-1),
    ev("induction", witness={"n": 0}, blocks=[], states=1),
    ev("induction", witness={"n": 0}, blocks=[], states=10**9),
    ev("induction", witness={"n": 0}, blocks=[], states="8"),
    ev("induction", witness={"n": 0}, blocks=[], states=8, listed=["m"]),
    ev("induction", witness={"n": 0}, blocks=[], states=8, between=["n"]),
    ev("induction", witness={"n": -1}, blocks=[], states=8),
    ev("induction", witness={"n": 11}, blocks=[], states=8),
    breaks={"n": 11},
)
def edited(n: Rounds):
    """F. n = 11: no number of states helps."""
    return at_most(iterate(lambda x: x + 1, 0, n, invariant=lambda x, k: x == k), 10)


@attack(ev("instance", instance={"n": 10**30}), breaks=None)
def many_rounds(n: Rounds):
    """T. An instance of 10^30 rounds ends by its fuel."""
    return at_most(iterate(lambda x: x, 0, n, invariant=lambda x, k: x == 0), 0)


@attack(ev("induction", witness={"n": 0}, blocks=[], states=4), breaks=None)
def true_one(n: Rounds):
    """T. The sum of k < n is n (n - 1) / 2."""
    step = lambda s: (s[0] + 1, s[1] + s[0])
    invariant: Callable[..., Any] = lambda s, k: (s[0] == k, 2 * s[1] == k * (k - 1))
    return equal((iterate(step, (0, 0), n, invariant=invariant)[1], n * (n - 1) / 2))
