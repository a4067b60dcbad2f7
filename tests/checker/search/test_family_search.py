"""The search for multipliers that are quotients finds theorems, and nothing of their false neighbours."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Annotated

import pytest
from families_by_hand import BY_HAND, FALSE, Curved, Share, Smooth, member
from kernel_statements import in_language, shown

from clusterproof.checker import kernel
from clusterproof.checker.claims.claim import REGISTRY
from clusterproof.checker.claims.kind import Kind
from clusterproof.checker.claims.statement import Statement
from clusterproof.checker.report.decide import decide
from clusterproof.checker.search import family_programs
from clusterproof.checker.search.families import NotShown, family_of
from clusterproof.checker.search.instances import few_rounds
from clusterproof.theorem import (
    Function,
    Operator,
    Sides,
    Z,
    at_most,
    claim,
    functions,
    iterate,
    least,
    operators,
    rationals,
    suppose,
)


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    before = dict(REGISTRY)
    yield
    REGISTRY.clear()
    REGISTRY.update(before)


@pytest.mark.parametrize("statement", BY_HAND, ids=lambda each: each.__name__)
def test_theorems_are_found(statement: Callable[..., Sides]) -> None:
    data = family_of(in_language(statement).statements[""], "")
    assert shown(statement, **data, witness=BY_HAND[statement]["witness"]).word is kernel.Word.CERTIFIED


@pytest.mark.parametrize("name", FALSE)
def test_nothing_is_found_of_what_is_false(name: str) -> None:
    with pytest.raises(NotShown):
        family_of(in_language(FALSE[name][0]).statements[""], "")


def nesterov(f: Smooth, rounds: int = Z[1:]) -> Sides:
    """2 R^2 / (N + 1)^2 and its like, for every N."""

    def step(state):
        x, z, k = state
        t = Fraction(k + 2, 2)
        y = x + (z - x) / t
        return y - f.gradient(y), z - t * f.gradient(y), k + 1

    def potential(state, n):
        x, z, k = state
        apart = z - f.minimiser
        return k == n, (k + 1) ** 2 * (f(x) - f.minimum) / 4 + apart @ apart / 2 <= at_start

    at_start = (f(f.start) - f.minimum) / 4 + f.distance**2 / 2
    x, _, _ = iterate(step, (f.start, f.start, 0), rounds, invariant=potential)
    return at_most(f(x) - f.minimum, start=4 * at_start / (rounds + 1) ** 2)


Strong = Annotated[Function, functions(strong_convexity=lambda mu: mu)]


def strongly_convex_proximal_point(share: int) -> Callable[..., Sides]:
    """Return |x_N - x*|^2 <= (1 + share s mu)^(-2N) |x_0 - x*|^2: true of 1, false of 2, such as of mu |x|^2 / 2."""

    def statement(mu: Share, step: Share, f: Strong, rounds: int = Z[1:]) -> Sides:
        suppose("step > 0", step > 0)
        rate = 1 / (1 + share * step * mu) ** 2

        def potential(state, n):
            x, power = state
            apart = x - f.minimiser
            return power >= 0, apart @ apart <= power * f.distance**2

        def next_state(state):
            x, power = state
            return f.prox(x, step), rate * power

        x, power = iterate(next_state, (f.start, 1), rounds, invariant=potential)
        apart = x - f.minimiser
        return at_most(apart @ apart, rate=power * f.distance**2)

    return statement


def with_a_power(mu: Share, f: Curved, rounds: int = Z[1:]) -> Sides:
    x = iterate(lambda x: x - f.gradient(x), f.start, rounds, invariant=lambda x, n: (1 - mu) ** n >= 0 * n)
    apart = x - f.minimiser
    return at_most(apart @ apart, rate=(1 - mu) ** rounds * f.distance**2)


def with_a_sum(f: Smooth, rounds: int = Z[1:]) -> Sides:
    def step(state):
        x, total = state
        return x - f.gradient(x), total + f(x)

    _, total = iterate(step, (f.start, 0), rounds, invariant=lambda state, n: n >= 0)
    return at_most(total, bound=rounds * f(f.start))


Lipschitz = Annotated[Function, functions(lipschitz=1)]
Rough = Annotated[Function, functions(smoothness=1, convex=False)]


def ef21(f: Rough, s: Share) -> Sides:
    """EF21 with step 1 - s, s = sqrt(1 - alpha)."""
    suppose("alpha > 0", s < 1)
    x, g, step = f.start, f.point(), 1 - s
    now, new = f.gradient(x), x - step * g
    after, sent = f.gradient(new), f.point()
    suppose("contractive", (sent - (after - g)) @ (sent - (after - g)) <= s**2 * ((after - g) @ (after - g)))
    error = g + sent - after
    return at_most(
        f(new) + error @ error / 2,
        before=f(x) + (g - now) @ (g - now) / 2,
        decrease=-step / 2 * (now @ now),
    )


@pytest.mark.parametrize("function", [nesterov, ef21])
def test_a_check_certifies_every_value_and_says_so(function: Callable[..., Sides]) -> None:
    verdict = decide(claim(f"toy/{function.__name__}")(function), 0)
    assert verdict.verdict is Kind.CERTIFIED
    assert "every value" in verdict.reason


def test_multipliers_have_the_factors_of_the_denominators() -> None:
    """Of the denominator (1 + s mu)^2 of the rate the multipliers have the root: 2 s / (1 + s mu)."""
    data = family_of(in_language(strongly_convex_proximal_point(1)).statements[""], "")
    top, bottom = next(
        value for proof in data["proofs"] for name, value in proof["multipliers"].items() if name[0] == "0"
    )
    assert max(sum(powers) for powers, _ in bottom) - max(sum(powers) for powers, _ in top) == 1
    with pytest.raises(NotShown, match="round"):
        family_of(in_language(strongly_convex_proximal_point(2)).statements[""], "")


def best_value(floor: Fraction) -> Callable[..., Sides]:
    """Return min over k < N of f(x_k) - f* <= |x_0 - x*|^2 / (2 s N) + floor s / 2: true of 1, false of 9/10.

    Of |x| from s / 2 the subgradient method returns to s / 2 after two rounds, and the best value stays s / 2.
    """

    def statement(f: Lipschitz, step: Share, rounds: int = Z[1:]) -> Sides:
        suppose("step > 0", step > 0)

        def next_state(state):
            x, best = state
            return x - step * f.gradient(x), min(best, f(x) - f.minimum)

        def potential(state, n):
            x, best = state
            apart = x - f.minimiser
            return 2 * step * n * best + apart @ apart <= f.distance**2 + floor * n * step**2

        _, best = iterate(next_state, (f.start, f(f.start) - f.minimum), rounds, invariant=potential)
        return at_most(best, start=f.distance**2 / (2 * step * rounds), floor=floor * step / 2)

    return statement


def kept_value(f: Smooth, rounds: int = Z[1:]) -> Sides:
    """Gradient descent, where the state has the value at its point, and the potential says so."""

    def next_state(state):
        x, _ = state
        new = x - f.gradient(x)
        return new, f(new)

    def potential(state, n):
        x, value = state
        apart = x - f.minimiser
        return value == f(x), n * (value - f.minimum) + apart @ apart / 2 <= f.distance**2 / 2

    _, value = iterate(next_state, (f.start, f(f.start)), rounds, invariant=potential)
    return at_most(value - f.minimum, bound=f.distance**2 / (2 * rounds))


@pytest.mark.parametrize("statement", [best_value(Fraction(1)), kept_value])
def test_a_state_may_hold_numbers_that_depend_on_f(statement: Callable[..., Sides]) -> None:
    claim_of_it = in_language(statement)
    given = claim_of_it.statements[""].space.ranges
    witness = {"f": member(), "rounds": 1, **({"step": 1} if "step" in given else {})}
    data = family_of(claim_of_it.statements[""], "")
    assert shown(statement, **data, witness=witness).word is kernel.Word.CERTIFIED


def test_a_best_value_that_is_too_small_is_not_shown() -> None:
    with pytest.raises(NotShown, match="round"):
        family_of(in_language(best_value(Fraction(9, 10))).statements[""], "")


def best_of_two(floor: Fraction) -> Callable[..., Sides]:
    """Return the best of two iterates, of a step s, which is followed by a step 1: true of 1, false of 1/10.

    With the weights s / (s + 1) and 1 / (s + 1), and subgradients of length at most 1, the mean of f - f* at the two
    iterates is at most (|x_0 - x*|^2 + s^2 + 1) / (2 (s + 1)). Of |x| from s / 2, s = 1, both values are 1/2.
    """

    def statement(f: Lipschitz, step: Share) -> Sides:
        suppose("step > 0", step > 0)
        x = f.start
        y = x - step * f.gradient(x)
        f.gradient(y)
        values = f(x) - f.minimum, f(y) - f.minimum
        return at_most(least(*values), bound=(f.distance**2 + floor * (step**2 + 1)) / (2 * (step + 1)))

    return statement


def test_weights_of_a_least_are_found() -> None:
    statement = best_of_two(Fraction(1))
    data = family_of(in_language(statement).statements[""], "")
    assert shown(statement, **data, witness={"f": member("0"), "step": 1}).word is kernel.Word.CERTIFIED
    (proof,) = data["proofs"]
    first, second = ({tuple(powers): value for powers, value in top} for top, _ in proof["weights"])
    assert first == {(1,): second[0,]}
    with pytest.raises(NotShown, match="line 0"):
        family_of(in_language(best_of_two(Fraction(1, 10))).statements[""], "")


def test_an_author_gives_the_multipliers_of_a_least_and_the_search_its_weights() -> None:
    def by_hand(step):
        return {
            "0:0,1:0": step / (step + 1),
            "0:0,2:0": 1 / (step + 1),
            "0:1:0": step**2 / (2 * (step + 1)),
            "0:2:0": Fraction(1, 2) / (step + 1),
        }

    statement = in_language(best_of_two(Fraction(1))).statements[""]
    (proof,) = family_of(statement, "", {"line 0": by_hand})["proofs"]
    assert len(proof["weights"]) == 2
    with pytest.raises(NotShown, match="line 0"):
        family_of(statement, "", {"line 0": ["0:0,1:0", "0:1:0"]})


def last_gradient(f: Smooth, step: Share, rounds: int = Z[1:]) -> Sides:
    """s N |grad f(x_N)|^2 <= 2 (f(x_0) - f*): its multipliers n + 1 and n are constant on no grid of many rounds."""

    def potential(x, n):
        g = f.gradient(x)
        return f(x) + n * step * (g @ g) / 2 <= f(f.start)

    x = iterate(lambda x: x - step * f.gradient(x), f.start, rounds, invariant=potential)
    g = f.gradient(x)
    return at_most(rounds * step * (g @ g) / 2, bound=f(f.start) - f.minimum)


def remembered_error(alpha: Share, f: Smooth, rounds: int = Z[1:]) -> Sides:
    """What a compressor leaves of inputs of length at most 1 stays below 2 sqrt(1 - alpha) / alpha.

    The multiplier of the potential tends to 1 as alpha tends to 0.
    """
    suppose("0 < alpha < 1", 0 < alpha < 1)

    def next_error(error):
        new, left = error + f.point() - f.minimiser, f.point() - f.minimiser
        suppose("length", (new - error) @ (new - error) <= 1)
        suppose("compressor", left @ left <= (1 - alpha) * (new @ new))
        return left

    def potential(error, n):
        return alpha**2 * (error @ error) <= 4 * (1 - alpha)

    error = iterate(next_error, 0 * f.start, rounds, invariant=potential)
    return at_most(alpha**2 * (error @ error), bound=4 * (1 - alpha))


@pytest.mark.parametrize("statement", [last_gradient, remembered_error])
def test_multipliers_hold_far_beyond_the_first_rounds_and_at_the_ends(
    statement: Callable[..., Sides],
) -> None:
    found = in_language(statement).statements[""]
    data = family_of(found, "")
    witness = {"f": {**member(), "further": [["0"]] * 2}, "step": 1, "alpha": "1/2", "rounds": 1}
    own = {name: witness[name] for name in found.space.ranges}
    assert shown(statement, **data, witness=own).word is kernel.Word.CERTIFIED


Bounded = Annotated[Operator, operators(lipschitz=1)]


def best_image(a: Bounded, step: Share, rounds: int = Z[1:]) -> Sides:
    """Extragradient: N s^2 (1 - s^2) min |A x_k|^2 <= R^2, R = |x_0 - x*|."""
    suppose("0 < step < 1", 0 < step < 1)
    gain = step**2 * (1 - step**2)

    def next_state(state):
        x, best = state
        image = a(x)
        return x - step * a(x - step * image), min(best, image @ image)

    def potential(state, n):
        x, best = state
        apart = x - a.solution
        return n * gain * best + apart @ apart <= a.distance**2

    image = a(a.start)
    _, best = iterate(next_state, (a.start, image @ image), rounds, invariant=potential)
    return at_most(rounds * gain * best, bound=a.distance**2)


def test_a_function_value_determines_a_multiplier() -> None:
    """Where the image is the best, n s^2 (1 - s^2) times the old best value is left over."""
    data = family_of(in_language(best_image).statements[""], "")
    of_rounds = [proof["multipliers"] for proof in data["proofs"] if len(proof["multipliers"]) == 4]
    gains = [{tuple(powers): value for powers, value in proof["hypothesis 1"][0]} for proof in of_rounds]
    assert {(2, 0, 1): 1, (4, 0, 1): -1} in gains


def two_steps(mu: Share, step: Share, f: Curved) -> Sides:
    """Two gradient steps contract by (1 - s mu)^4; of the first one the multipliers are s (1 - s mu)^3, twice."""
    suppose("mu < L", mu < 1)
    x = f.start
    for _ in range(2):
        x = x - step * f.gradient(x)
    return at_most((x - f.minimiser) @ (x - f.minimiser), rate=(1 - step * mu) ** 4 * f.distance**2)


def test_multipliers_may_be_powers_of_a_rate() -> None:
    data = family_of(in_language(two_steps).statements[""], "")
    witness = {"f": member(), "mu": "1/2", "step": 1}
    assert shown(two_steps, **data, witness=witness).word is kernel.Word.CERTIFIED


def with_least(f: Smooth, rounds: int = Z[1:]) -> Sides:
    best = iterate(lambda best: least(best, f(f.start)), f(f.start), rounds, invariant=lambda best, n: n >= 0)
    return at_most(best, bound=f(f.start))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (with_a_power, "keep it in the state"),
        (with_a_sum, "0 [*] f.minimum"),
        (with_least, "write min"),
    ],
)
def test_what_a_loop_cannot_hold_is_refused_with_what_to_write(
    function: Callable[..., Sides], message: str
) -> None:
    with pytest.raises(NotShown, match=message):
        family_of(in_language(function).statements[""], "")


def test_what_is_proved_is_not_evaluated_at_thousands_of_rounds() -> None:
    verdict = decide(claim("toy/prox")(strongly_convex_proximal_point(1)), 0)
    assert verdict.verdict is Kind.CERTIFIED
    assert verdict.largest["rounds"] < 1000


def test_no_program_means_no_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(family_programs, "minimum", lambda *_, **__: None)
    with pytest.raises(NotShown):
        family_of(in_language(nesterov).statements[""], "")


def test_the_work_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(family_programs, "MOST_PROGRAMS", 3)
    with pytest.raises(NotShown):
        family_of(in_language(nesterov).statements[""], "")


def falls_too_much(length: Share, h: Rough, steps: int = Z[1:]) -> Sides:
    """False: half as much again as a step of gradient descent lowers a function that need not be convex."""
    suppose("0 < z", length > 0)
    square, before = h.gradient(h.start) @ h.gradient(h.start), h(h.start)

    def says(state, passed):
        model, rest = state
        here = h.gradient(model)
        return rest >= 0, h(model) <= before - (1 - rest) / 2 * square, rest * square <= here @ here

    def step(state):
        model, rest = state
        return model - length * h.gradient(model), (1 - length) ** 2 * rest

    model, rest = iterate(step, (h.start, 1), steps, invariant=says)
    return at_most(h(model), before=before, descent=-Fraction(3, 2) * (1 - rest) / 2 * square)


def test_a_line_that_no_condition_shows_is_not_shown() -> None:
    with pytest.raises(NotShown, match="line 0"):
        family_of(in_language(falls_too_much).statements[""], "")


Short = Annotated[Operator, operators(strong_monotonicity=lambda mu: mu, lipschitz=1)]


def extragradient(
    mu: Share, step: Annotated[Fraction, rationals(0, Fraction(2, 5), 12)], a: Short, rounds: int = Z[1:]
) -> Sides:
    """|x_N - x*|^2 <= (1 - s mu)^N |x_0 - x*|^2; one multiplier is s^2, an end of its interval."""

    def one(state):
        x, power = state
        return x - step * a(x - step * a(x)), (1 - step * mu) * power

    def potential(state, n):
        x, power = state
        return power >= 0, (x - a.solution) @ (x - a.solution) <= power * (start @ start)

    start = a.start - a.solution
    x, power = iterate(one, (a.start, 1), rounds, invariant=potential)
    return at_most((x - a.solution) @ (x - a.solution), rate=power * (start @ start))


def compressed(mu: Share, delta: Share, f: Curved) -> Sides:
    """f(x - c) - f* <= (1 - delta mu) (f(x) - f*); of two least sets of conditions, one has simple multipliers."""
    suppose("mu < 1", mu < 1)
    x, c = f.start, f.point()
    gradient = f.gradient(x)
    suppose("contractive", (c - gradient) @ (c - gradient) <= (1 - delta) * (gradient @ gradient))
    return at_most(f(x - c) - f.minimum, (1 - delta * mu) * (f(x) - f.minimum))


Bounded = Annotated[Operator, operators(strong_monotonicity=lambda mu: mu, lipschitz=lambda length: length)]


def forward(mu: Share, length: Annotated[Fraction, rationals(1, 4, 12)], a: Bounded) -> Sides:
    """|x - s A x - x*|^2 <= (1 - mu s) |x - x*|^2 with s = mu / L^2; one multiplier is mu^2 / L^4."""
    x = a.start - mu / length**2 * a(a.start) - a.solution
    away = a.start - a.solution
    return at_most(x @ x, (1 - mu**2 / length**2) * (away @ away))


@pytest.mark.parametrize("statement", [extragradient, compressed, forward], ids=lambda each: each.__name__)
def test_multipliers_at_ends_and_with_other_conditions_or_denominators_are_found(
    statement: Callable[..., Sides],
) -> None:
    assert family_of(in_language(statement).statements[""], "")["rule"] == "family"


def test_a_proved_claim_is_evaluated_at_few_rounds() -> None:
    space = Statement("", nesterov).space
    assert few_rounds(space, {"f": None, "rounds": 97}) == {"f": None, "rounds": 1}
    assert {few_rounds(space, {"f": None, "rounds": n})["rounds"] for n in range(1, 99)} == {1, 2, 3, 4, 5, 6}
