"""The rule for every value of the parameters: true theorems, false neighbours, and each condition in between."""

import copy
from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

import pytest
from families_by_hand import (
    BY_HAND,
    CONTRACTION,
    FALSE,
    GRADIENT_DESCENT,
    PROXIMAL_POINT,
    Convex,
    Share,
    Smooth,
    contraction,
    descent_of,
    gradient_descent,
    member,
    over,
    proximal_point,
)
from kernel_statements import in_language, shown

from clusterproof.checker import kernel
from clusterproof.checker.claims import (
    Function,
    Operator,
    Sides,
    Z,
    at_least,
    at_most,
    functions,
    iterate,
    operators,
    rationals,
    suppose,
)
from clusterproof.checker.kernel import families, loops, multipliers, ranges, traces, worlds
from clusterproof.checker.kernel.evaluation import running
from clusterproof.checker.kernel.families import needs

CERTIFIED = kernel.Word.CERTIFIED
Record = dict[str, Any]


@pytest.mark.parametrize("statement", BY_HAND, ids=lambda each: each.__name__)
def test_true_theorems_are_certified(statement: Callable[..., Sides]) -> None:
    found = shown(statement, **BY_HAND[statement])
    assert found.word is CERTIFIED, found.why


# ---- false statements, with the evidence of their true neighbours


@pytest.mark.parametrize("name", FALSE)
def test_false_neighbours_are_not_certified(name: str) -> None:
    statement, evidence = FALSE[name]
    assert shown(statement, **evidence).word is kernel.Word.OPEN


def test_the_neighbours_differ_from_the_theorem_only() -> None:
    assert shown(descent_of(Fraction(1), Fraction(1, 2), 1, 0), **GRADIENT_DESCENT).word is CERTIFIED


def region(s: Share, t: Share, f: Smooth) -> Sides:
    """s |x|^2 <= t |x|^2 where s <= t, which is no box."""
    suppose("s <= t", s <= t)
    x = f.point() - f.minimiser
    return at_most(s * (x @ x), bound=t * (x @ x))


def on_region(factor: Any) -> Record:
    square = {"hypothesis": 0, "factor": factor, "direction": [[2, 1]]}
    point = {**member(), "further": [["1"]]}
    proof = {"multipliers": {}, "squares": [square]}
    return {"rule": "family", "proofs": [proof], "witness": {"s": 1, "t": 1, "f": point}}


def test_a_hypothesis_on_symbols_times_a_square_is_nonnegative(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(region, **on_region(1)).word is CERTIFIED

    def other_way(s: Share, t: Share, f: Smooth) -> Sides:
        suppose("s <= t", s <= t)
        x = f.point() - f.minimiser
        return at_most(t * (x @ x), bound=s * (x @ x))

    assert shown(other_way, **on_region(-1)).word is kernel.Word.OPEN
    monkeypatch.setattr(multipliers.Need, "is_at_least_zero", passes)
    assert shown(other_way, **on_region(-1)).word is CERTIFIED


def outside_by_an_invariant(s: Share, f: Smooth, n: int = Z[1:]) -> Sides:
    """False for s > 1/2: y is n, and the invariant says that it is 0, so that no path has the line."""
    y = iterate(lambda k: k + 1, 0, n, invariant=lambda state, _: state == 0)
    x = f.point() - f.minimiser
    z = y * (x @ x)
    if not z > 0:
        suppose("z > 0", 1 > 2)
    return at_most(s, bound=Fraction(1, 2))


def test_needs_of_a_loop_are_shown_on_paths_without_the_line() -> None:
    witness = {"s": 0, "n": 1, "f": {**member(), "further": [["1"]]}}
    evidence: Record = {"rule": "family", "states": 4, "proofs": [], "witness": witness}
    assert shown(outside_by_an_invariant, **evidence).word is kernel.Word.OPEN


# ---- forged evidence of true theorems


def forged(evidence: Record, place: int = 0, **fields: Any) -> Record:
    """Return evidence of which one proof is changed: a multiplier by its name with __, or a field."""
    made = copy.deepcopy(evidence)
    for name, value in fields.items():
        made["proofs"][place][name] = value
    return made


def without(evidence: Record, place: int) -> Record:
    made = copy.deepcopy(evidence)
    del made["proofs"][place]
    return made


TWICE = CONTRACTION["proofs"][0]["multipliers"]["0:0,1:0"]
ROUND = GRADIENT_DESCENT["proofs"][1]["multipliers"]
FORGED = {
    "no proof of the round": (gradient_descent, without(GRADIENT_DESCENT, 1)),
    "no proof of the start": (gradient_descent, without(GRADIENT_DESCENT, 0)),
    "no proof of the line": (gradient_descent, without(GRADIENT_DESCENT, 2)),
    "a proof too many": (
        gradient_descent,
        {**GRADIENT_DESCENT, "proofs": [*GRADIENT_DESCENT["proofs"], {"multipliers": {}}]},
    ),
    "no states": (gradient_descent, {**GRADIENT_DESCENT, "states": 0}),
    "weights that are no mean": (gradient_descent, forged(GRADIENT_DESCENT, 1, weights=[2])),
    "two weights of one number": (gradient_descent, forged(GRADIENT_DESCENT, 1, weights=[2, -1])),
    "a vector twice": (gradient_descent, forged(GRADIENT_DESCENT, 1, order=[0, 0, 1, 2, 3])),
    "a vector left out": (gradient_descent, forged(GRADIENT_DESCENT, 1, order=[0, 1])),
    "an unknown condition": (gradient_descent, forged(GRADIENT_DESCENT, 1, multipliers={**ROUND, "9:0,1:0": 1})),
    "a smaller multiplier": (
        gradient_descent,
        forged(GRADIENT_DESCENT, 1, multipliers={**ROUND, "0:1,2:0": over([(1, 0, 1)], [(1, 0, 0)])}),
    ),
    "bottoms of -1": (
        contraction,
        forged(CONTRACTION, multipliers={name: [TWICE[0], [[[0, 0], -1]]] for name in ("0:0,1:0", "0:1,0:0")}),
    ),
    "a bottom of 0": (contraction, forged(CONTRACTION, multipliers={"1": over([(1, 0, 0)], [])})),
    "too few exponents": (contraction, forged(CONTRACTION, multipliers={"1": [[[[0], 0]], [[[0], 1]]]})),
    "negative exponents": (contraction, forged(CONTRACTION, multipliers={"1": over([(0, -1, 0)], [(1, 0, 0)])})),
    "a float": (contraction, forged(CONTRACTION, multipliers={"1": 0.0})),
    "a square of no hypothesis": (
        contraction,
        forged(CONTRACTION, squares=[{"hypothesis": 9, "factor": 1, "direction": [[0, 1]]}]),
    ),
    "a negative square": (
        contraction,
        forged(CONTRACTION, squares=[{"hypothesis": 0, "factor": -1, "direction": [[0, 1]]}]),
    ),
    "a field that is not known": (contraction, forged(CONTRACTION, order=[0, 1, 2], more=1)),
    "another witness": (contraction, {**CONTRACTION, "witness": {"mu": 2, "step": 1, "f": member()}}),
    "no witness": (contraction, {name: v for name, v in CONTRACTION.items() if name != "witness"}),
    "a step of another round": (
        proximal_point,
        forged(PROXIMAL_POINT, 1, multipliers=GRADIENT_DESCENT["proofs"][1]["multipliers"]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_forged_evidence_is_refused(name: str) -> None:
    statement, evidence = FORGED[name]
    found = shown(statement, **evidence)
    assert found.word is kernel.Word.OPEN
    assert found.why


# ---- each condition of the theorem: what is refused, and would be certified without it


def passes(*_: Any) -> bool:
    return True


def positive(*_: Any) -> int:
    return 1


def nothing(*_: Any) -> tuple[()]:
    return ()


def divides(mu: Share, f: Smooth) -> Sides:
    """No value at mu = 0."""
    return at_most(0, bound=mu / mu * f.distance**2)


def end_divides(
    mu: Share, s: Annotated[Fraction, rationals(0, lambda mu: 1 + mu / mu, 12)], f: Smooth
) -> Sides:
    """No range at mu = 0."""
    return at_most(0, bound=f.distance**2)


def negative_constant(
    mu: Annotated[Fraction, rationals(-1, 1, 12)],
    f: Annotated[Function, functions(strong_convexity=lambda mu: mu)],
) -> Sides:
    """No class at mu = -1."""
    return at_most(0, bound=f.distance**2)


def negative_distance(
    r: Annotated[Fraction, rationals(-1, 1, 12)],
    f: Annotated[Function, functions(distance=lambda r: r)],
) -> Sides:
    """No function at r = -1."""
    return at_most(0, bound=(f.start - f.minimiser) @ (f.start - f.minimiser))


def equal_constants(
    mu: Share, f: Annotated[Function, functions(smoothness=1, strong_convexity=lambda mu: mu)]
) -> Sides:
    """At mu = L the conditions are others."""
    return at_most(0, bound=f.distance**2)


def thin(t: Annotated[Fraction, rationals(1, 1, 12)], f: Smooth) -> Sides:
    """|y|^2 <= 0 at t = 1: without an interior every pivot is 0, whatever follows the first."""
    x, y = f.point(), f.point()
    return at_most(y @ y, bound=(t - 1) * (x @ x))


def negative_multiplier(mu: Share, f: Smooth) -> Sides:
    """The other way round it is true: f(x) - f* >= |grad f(x)|^2 / 2."""
    slope = f.gradient(f.start)
    return at_most(f(f.start) - f.minimum, bound=slope @ slope / 2)


def small_bound(mu: Share, f: Smooth) -> Sides:
    """A form that is nowhere semidefinite."""
    return at_most(f.distance**2, bound=mu / 2 * f.distance**2)


def crossed(mu: Share, f: Smooth) -> Sides:
    """False at x = y: the diagonal of |x|^2 - (2 + mu) <x, y> alone is nonnegative."""
    x, y = f.point() - f.minimiser, f.point() - f.minimiser
    return at_most((2 + mu) * (x @ y), bound=x @ x)


def impossible(mu: Share, f: Smooth) -> Sides:
    """A hypothesis that nothing meets."""
    suppose("far", f.distance**2 <= -1)
    return at_most(f.distance**2, bound=-1)


def step_of_a_state(f: Convex, s: Annotated[Fraction, rationals(-1, 1, 12)], rounds: int = Z[1:]) -> Sides:
    """No value at s = 0: j is the step of a round, and after the loop its place is that of k, which is positive."""

    def potential(state, n):
        _, k, x = state
        return k >= n + 1, (x - f.minimiser) @ (x - f.minimiser) >= 0

    def step(state):
        j, k, x = state
        return j, k + 1, f.prox(x, j)

    _, _, x = iterate(step, (s, 1, f.start), rounds, invariant=potential)
    return at_most(0, start=(x - f.minimiser) @ (x - f.minimiser))


def resolvent_of_a_state(
    a: Annotated[Operator, operators()], s: Annotated[Fraction, rationals(-1, 1, 12)], rounds: int = Z[1:]
) -> Sides:
    """The same of an operator."""

    def potential(state, n):
        _, k, x = state
        return k >= n + 1, (x - a.solution) @ (x - a.solution) >= 0

    def step(state):
        j, k, x = state
        return j, k + 1, a.resolvent(x, j)

    _, _, x = iterate(step, (s, 1, a.start), rounds, invariant=potential)
    return at_most(0, start=(x - a.solution) @ (x - a.solution))


def falling(f: Smooth, rounds: int = Z[1:]) -> Sides:
    """False for three rounds: f(x_0) - N / 4 >= f*, where f(x_0) - f* = 1/2."""
    value = iterate(lambda v: v - Fraction(1, 4), f(f.start), rounds, invariant=lambda v, n: n >= 0)
    return at_least(value, f.minimum)


def value_at_the_start(kind: str) -> Any:
    """Return what a loop begins with in place of a free number."""
    return running().fresh() if kind == "x" else running().world.oracles[0].triplets[1][2]


def record(witness: Record, *proofs: Record, **more: Any) -> Record:
    several = [{"multipliers": each} if "multipliers" not in each else each for each in proofs]
    return {"rule": "family", "proofs": several, "witness": witness, **more}


Patch = tuple[Any, str, Any]
IDENTITY = {
    **{name: member()[name] for name in ("start", "solution", "minimum", "further")},
    "triplets": [[[["0"], ["0"], 0], [["1/2"], ["1/2"], 0]]],
}
"""x -> x from 1, known at 0 and 1/2."""
F = {"f": member()}
CONDITIONS: dict[str, tuple[Callable[..., Sides], Record, list[Patch]]] = {
    "a divisor has a sign": (
        divides, record({"mu": 1, **F}, {}), [(multipliers.Need, "sign", positive)]
    ),
    "the divisor of an end has a sign": (
        end_divides,
        record({"mu": 1, "s": 0, **F}, {}),
        [
            (ranges, "sign_of", positive),
            (families, "sign_of", positive),
            (families, "is_nonnegative", passes),
        ],
    ),
    "a constant is at least 0": (
        negative_constant, record({"mu": 1, **F}, {}), [(ranges, "required", nothing)]
    ),
    "a distance is at least 0": (
        negative_distance, record({"r": 1, **F}, {}), [(multipliers.Need, "require", passes)]
    ),
    "smoothness is more than strong convexity": (
        equal_constants,
        record({"mu": "1/2", **F}, {}),
        [(ranges, "required", nothing), (multipliers.Need, "sign", positive)],
    ),
    "a box has an interior": (
        thin,
        record({"t": 1, "f": {**member(), "further": [["0"], ["0"]]}}, {"multipliers": {}, "order": [2, 3, 0, 1]}),
        [(families, "_has_interior", passes)],
    ),
    "multipliers are nonnegative": (
        negative_multiplier, record({"mu": 1, **F}, {"0:1,0:0": -1}), [(multipliers.Need, "is_at_least_zero", passes)]
    ),
    "the form is semidefinite": (
        small_bound,
        record({"mu": 1, "f": {**member(), "start": ["0"]}}, {}),
        [(multipliers, "_is_positive_semidefinite", passes)],
    ),
    "rows of one block are not taken apart": (
        crossed,
        record({"mu": 1, "f": {**member(), "further": [["1"], ["0"]]}}, {}),
        [(multipliers, "blocks", lambda _, rows: [[row] for row in rows])],
    ),
    "there is a witness": (
        impossible, record({"mu": 1, **F}, {"hypothesis 0": 1}), [(families, "has_instance", passes)]
    ),
    "a number of a state is free": (
        falling,
        record({"f": member(), "rounds": 1}, {"0:1,0:0": 1}, states=1),
        [(loops, "_free", value_at_the_start)],
    ),
    "a step of a round is positive in that round": (
        step_of_a_state,
        record({"f": member("1/2"), "s": 1, "rounds": 1}, {}, {}, {}, states=4),
        [(worlds.Oracle, "_require_positive", passes)],
    ),
    "a resolvent's step is positive in its round": (
        resolvent_of_a_state,
        record(
            {"a": IDENTITY, "s": 1, "rounds": 1},
            {}, {}, {}, states=4,
        ),
        [(worlds.Oracle, "_require_positive", passes)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CONDITIONS)
def test_each_condition_stands_between_a_false_statement_and_the_word(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    statement, evidence, patches = CONDITIONS[name]
    assert shown(statement, **evidence).word is kernel.Word.OPEN
    for where, attribute, value in patches:
        monkeypatch.setattr(where, attribute, value)
    found = shown(statement, **evidence)
    assert found.word is CERTIFIED, found.why


def test_a_round_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Any, Any]] = []
    forget = traces.Trace.forget

    def spied(trace: traces.Trace, asked: Any) -> None:
        forget(trace, asked)
        seen.append((trace.asked(), asked))

    monkeypatch.setattr(traces.Trace, "forget", spied)
    list(needs(in_language(gradient_descent).statements[""], "", {"states": 1}))
    assert seen
    assert all(after == before for after, before in seen)


def test_what_a_trace_keeps_is_what_is_forgotten() -> None:
    """A new field of a trace or an oracle must be forgotten after a round, or be listed here as one that stays."""
    statement = in_language(gradient_descent).statements[""]
    of_class = statement.space.ranges["f"]
    trace = of_class.trace({})
    stays = {
        "symbolic",
        "any_number",
        "groups",
        "reach",
        "weights",
        "definitions",
        "origin",
        "oracles",
        "start",
        "solution",
        "minimum",
    }
    assert set(vars(trace)) == stays | {"vectors", "values", "further", "keyed"}
    assert set(vars(trace.oracles[0])) == {"definition", "trace", "offset", "triplets", "known", "proximal"}
