"""Any number of clients: true theorems, false neighbours, and each condition that keeps a false one from a word."""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Annotated, Any

import pytest
from kernel_statements import Shown, in_language, replayed

from clusterproof.checker import kernel
from clusterproof.checker.claims import Function, Sides, Z, at_most, equal, functions, iterate, suppose
from clusterproof.checker.kernel import listed
from clusterproof.checker.kernel.functions import Parts, problem
from clusterproof.checker.kernel.interpolation import FunctionClass, slacks_of
from clusterproof.checker.kernel.numbers import read, write
from clusterproof.checker.kernel.traces import Trace
from clusterproof.checker.kernel.worlds import ANY, Point

CERTIFIED, VIOLATED, OPEN = kernel.Word.CERTIFIED, kernel.Word.VIOLATED, kernel.Word.OPEN
Losses = Annotated[Function, functions(smoothness=1, count="any")]


def square(vector: Any) -> Any:
    return vector @ vector


stated = cache(in_language)


def shown(statement: Callable[..., Sides], **record: Any) -> Shown:
    return replayed(stated(statement), {"statement": "", "line": "", **record})


# ---- statements about one point, by the rule dual without multipliers


def mean_is_shorter(f: Losses) -> Sides:
    """True: the mean of vectors is no longer than their mean square."""
    return at_most(square(f.gradient(f.start)), bound=square(f.parts.gradient(f.start)))


def one_gradient(f: Losses) -> Sides:
    """False for two clients, true for one: all clients have the gradient of f."""
    return at_most(square(f.parts.gradient(f.start)), bound=square(f.gradient(f.start)))


def no_heterogeneity(f: Losses) -> Sides:
    """False for two clients, true for one: at the minimiser of f, all gradients are 0."""
    return at_most(square(f.parts.gradient(f.minimiser)), bound=0)


def shared_with_any(f: Losses) -> Sides:
    """True: the product with a shared vector is the product with the mean."""
    u, w = f.parts.point() - f.minimiser, f.point() - f.minimiser
    return at_most(u @ w, bound=f.parts.mean(u) @ w)


def any_with_any(f: Losses) -> Sides:
    """False: neither vector is shared, and neither has the mean 0."""
    u, w = f.parts.point() - f.minimiser, f.parts.point() - f.minimiser
    return at_most(u @ w, bound=f.parts.mean(u) @ f.parts.mean(w))


def shared_is_apart(f: Losses) -> Sides:
    """False: a further point of f is shared, and not 0."""
    w = f.point() - f.minimiser
    return at_most(square(w), bound=square(w - f.parts.mean(w)))


def equal_vectors(f: Losses) -> Sides:
    """True: equal split vectors are equal at each client."""
    y, z = f.parts.point(), f.parts.point()
    suppose("y = z", equal((y, z)))
    return at_most(square(y - z), bound=0)


def equal_means(f: Losses) -> Sides:
    """False: equal means are not equal vectors."""
    y, z = f.parts.point(), f.parts.point()
    suppose("equal means", equal((f.parts.mean(y), f.parts.mean(z))))
    return at_most(square(y - z), bound=0)


def drifts(f: Losses, rounds: int = Z[1:]) -> Sides:
    """False: clients share the start of a loop, but not the end of their local steps."""

    def says(y: Any, k: Any) -> Any:
        return square(y - f.minimiser) >= 0

    y = iterate(lambda y: y - f.parts.gradient(y) / 2, f.start, rounds, invariant=says)
    return at_most(square(y - f.parts.mean(y)), bound=0)


def functions_of(*triplets: Any, start: Any = (0, 0), solution: Any = (0, 0), further: Any = ()) -> Any:
    """Return a listed function of the first client, and its mirror image, on R^2."""

    def image(vector: Any) -> Any:
        return [vector[0], write(-read(vector[1]))]

    first = [[list(map(write, x)), list(map(write, g)), write(f)] for x, g, f in triplets]
    second = [[image(x), image(g), f] for x, g, f in first]
    names = ("start", "solution", "minimum", "further", "triplets")
    code = [*start], [*solution], 0, [list(point) for point in further], [first, second]
    return {"f": dict(zip(names, code, strict=True))}


TILTED = ((0, 0), (0, 1), 0)
"""At the origin, the gradients of the clients are (0, 1) and (0, -1)."""
MULTIPLIERS: Any = {"multipliers": {}}
DUAL: Any = {"rule": "dual", "settings": [{"setting": {}, "paths": [[MULTIPLIERS]]}]}
TWO_EQUAL = {"witness": functions_of(TILTED, further=[(1, 1), (1, 1)])}
FAMILY: Any = {"rule": "family", "proofs": [MULTIPLIERS]}
LOOP = {
    **FAMILY,
    "states": 2,
    "proofs": [MULTIPLIERS] * 3,
    "witness": {**functions_of(((0, 0), (0, 0), 0)), "rounds": 1},
}


@pytest.mark.parametrize(
    ("statement", "evidence"),
    [(mean_is_shorter, DUAL), (shared_with_any, DUAL), (equal_vectors, {**FAMILY, **TWO_EQUAL})],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_a_true_theorem_is_certified(statement: Callable[..., Sides], evidence: Any) -> None:
    found = shown(statement, **evidence)
    assert found.word is CERTIFIED, found.why


def only_shared(trace: Trace) -> Point:
    trace.vectors += 2
    return Point(trace, {trace.vectors - 2: Fraction(1)})


def shared_point(trace: Trace) -> Point:
    return trace.origin + only_shared(trace)


def product_of_shared(trace: Trace, left: Point, right: Point) -> Any:
    return INNER(trace, trace.mean(left), trace.mean(right))


def product_of_apart(trace: Trace, left: Point, right: Point) -> Any:
    return INNER(trace, left - trace.mean(left), right - trace.mean(right))


INNER = Trace.inner
CONDITIONS: dict[Callable[..., Sides], tuple[Any, Any, str, Any]] = {
    one_gradient: (DUAL, Trace, "vector", only_shared),
    no_heterogeneity: (DUAL, Trace, "vector", only_shared),
    any_with_any: (DUAL, Trace, "inner", product_of_shared),
    shared_is_apart: (DUAL, Trace, "inner", product_of_apart),
    equal_means: ({**FAMILY, **TWO_EQUAL}, Parts, "mean", lambda _, vector: vector),
    drifts: (LOOP, Trace, "point", shared_point),
}
"""By false statement, evidence that would certify it if something were otherwise."""


@pytest.mark.parametrize("statement", CONDITIONS, ids=lambda each: each.__name__)
def test_a_condition_is_needed(statement: Callable[..., Sides], monkeypatch: pytest.MonkeyPatch) -> None:
    evidence, owner, name, otherwise = CONDITIONS[statement]
    assert shown(statement, **evidence).word is OPEN
    monkeypatch.setattr(owner, name, otherwise)
    assert shown(statement, **evidence).word is CERTIFIED


@pytest.mark.parametrize(
    ("statement", "instance"),
    [
        (one_gradient, functions_of(TILTED)),
        (no_heterogeneity, functions_of(TILTED)),
        (any_with_any, functions_of(TILTED, further=[(0, 1), (0, 1)])),
        (shared_is_apart, functions_of(TILTED, further=[(1, 0)])),
        (equal_means, functions_of(TILTED, further=[(1, 1), (1, -1)])),
        (
            drifts,
            {
                **functions_of(TILTED, ((0, Fraction(-1, 2)), (0, Fraction(1, 2)), Fraction(-3, 8))),
                "rounds": 1,
            },
        ),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_two_clients_break_a_false_statement(statement: Callable[..., Sides], instance: Any) -> None:
    found = shown(statement, rule="instance", instance=instance)
    assert found.word is VIOLATED, found.why


# ---- points that are not shared


def value_of_f(f: Losses) -> Sides:
    return at_most(f(f.parts.point()), bound=f.minimum)


def gradient_of_f(f: Losses) -> Sides:
    return at_most(0, bound=square(f.gradient(f.parts.point())))


def parts_of_f(f: Losses) -> Sides:
    return at_most(0, bound=f.parts[0](f.start) - f.minimum)


def proximal_step(f: Losses) -> Sides:
    return at_most(0, bound=square(f.prox(f.start, 1) - f.minimiser))


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        (value_of_f, "all functions share"),
        (gradient_of_f, "all functions share"),
        (parts_of_f, "no entries"),
        (proximal_step, "any number of functions"),
    ],
)
def test_what_is_known_of_no_mean_is_refused(statement: Callable[..., Sides], why: str) -> None:
    """On a trace and on numbers, also at a point that happens to be shared for the parts and the proximal step."""
    instance = functions_of(TILTED, ((0, 1), (0, 2), Fraction(3, 2)), further=[(0, 1)])
    for found in (shown(statement, **DUAL), shown(statement, rule="instance", instance=instance)):
        assert found.word is OPEN
        assert why in found.why


def test_the_parts_of_a_listed_number_are_several() -> None:
    def listed_count(f: Annotated[Function, functions(smoothness=1, count=2)]) -> Sides:
        return at_most(0, bound=square(f.parts.gradient(f.start)))

    assert "tuple" in shown(listed_count, **DUAL).why


# ---- listed functions


def shared_start(f: Losses) -> Sides:
    return at_most(square(f.start - f.parts.mean(f.start)), bound=0)


def shared_solution(f: Losses) -> Sides:
    return at_most(square(f.minimiser - f.parts.mean(f.minimiser)), bound=0)


def stationary(f: Losses) -> Sides:
    return at_most(square(f.gradient(f.minimiser)), bound=0)


FORGED = {
    "a start that is not shared": (shared_start, functions_of(TILTED, start=(0, 1))),
    "a solution that is not shared": (
        shared_solution, functions_of(((0, 1), (0, 0), 0), solution=(0, 1))
    ),
    "a solution with another mean gradient": (stationary, functions_of(((0, 0), (1, 0), 0))),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_instance_does_not_violate_a_true_statement(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    statement, instance = FORGED[name]
    assert shown(statement, rule="instance", instance=instance).word is OPEN
    monkeypatch.setattr(listed.Listed, "_require_solution", lambda _: None)
    assert shown(statement, rule="instance", instance=instance).word is VIOLATED


def test_the_second_function_is_the_mirror_image() -> None:
    good = functions_of(TILTED)
    first, second = good["f"]["triplets"]
    assert shown(no_heterogeneity, rule="instance", instance=good).word is VIOLATED
    others = ([first], [first, first], [first, []], [first, second, second], [first, [[[0, 0], [0, -1], 1]]])
    for triplets in others:
        instance = {"f": {**good["f"], "triplets": triplets}}
        found = shown(no_heterogeneity, rule="instance", instance=instance)
        assert found.word is OPEN
        assert "function" in found.why


TEXT = """
def stated(f):
    return at_most(0, bound=f.gradient(f.start) @ f.gradient(f.start))


claim("test/one")
statement("", stated, {{"f": member({member})}}, {{}}, lines=("",), role="statement")
"""
SMOOTH = "'function', {'smoothness': 1}"


@pytest.mark.parametrize(
    "member",
    [
        "('any', 'operator', {})",
        "('any', 'set', {})",
        "('any', 'function', {'smoothness': 1, 'convex': False})",
        f"('any', {SMOOTH}), (1, {SMOOTH})",
        f"(1, {SMOOTH}), ('any', {SMOOTH})",
    ],
)
def test_only_convex_functions_without_further_summands_are_any_number(member: str) -> None:
    record = {"statement": "", "line": "", **DUAL}
    assert replayed(kernel.read(TEXT.format(member=f"('any', {SMOOTH})")), record).word is CERTIFIED
    with pytest.raises(kernel.Refused, match=r"stands alone|one class"):
        kernel.show(kernel.read(TEXT.format(member=member)), record)


def test_a_count_is_a_number_or_any() -> None:
    with pytest.raises(kernel.Refused):
        kernel.read(TEXT.format(member=f"('some', {SMOOTH})"))


# ---- the theorem, by functions of three clients


class Parabola:
    """curvature / 2 |x - centre|^2 on R^2."""

    def __init__(self, curvature: Fraction, *centre: int) -> None:
        self.curvature, self.centre = curvature, [Fraction(entry) for entry in centre]

    def gradient(self, x: Any) -> list[Fraction]:
        return [self.curvature * (a - b) for a, b in zip(x, self.centre, strict=True)]

    def value(self, x: Any) -> Fraction:
        return sum((a**2 for a in self.gradient(x)), Fraction(0)) / (2 * self.curvature)


CLIENTS = [Parabola(Fraction(1, 2), 0, 3), Parabola(Fraction(1), 2, -1), Parabola(Fraction(1, 4), -5, 1)]
MINIMISER = [
    sum(each.curvature * each.centre[k] for each in CLIENTS) / sum(each.curvature for each in CLIENTS)
    for k in (0, 1)
]


def inner(u: Any, v: Any) -> Fraction:
    """Return the mean over the clients of the inner products."""
    return sum((a * b for x, y in zip(u, v, strict=True) for a, b in zip(x, y, strict=True)), Fraction(0)) / 3


def mean_and_rest(vector: Any) -> tuple[Any, Any]:
    mean = [sum(entries, Fraction(0)) / 3 for entries in zip(*vector, strict=True)]
    return [mean] * 3, [[a - b for a, b in zip(each, mean, strict=True)] for each in vector]


def minus(u: Any, v: Any) -> Any:
    return [[a - b for a, b in zip(x, y, strict=True)] for x, y in zip(u, v, strict=True)]


def test_conditions_of_a_trace_are_means_of_the_clients_conditions() -> None:
    """Give each free vector and value what three clients have: forms of the trace are then numbers of the clients."""
    definition = FunctionClass(smoothness=Fraction(3, 2), strong_convexity=Fraction(1, 8))
    trace = Trace([(ANY, definition)], None)
    f = problem(trace)
    star = [MINIMISER] * 3
    far = [[Fraction(a), Fraction(b)] for a, b in ((1, 2), (-3, 0), (2, 7))]
    vectors, values = dict(enumerate(mean_and_rest(star))), dict[int, Fraction]()
    apart = minus([[Fraction(4), Fraction(-2)]] * 3, star)
    vectors |= {2: apart}

    def located(point: Point) -> Any:
        total = [[Fraction(0)] * 2 for _ in range(3)]
        for place, factor in point.terms.items():
            total = minus(total, [[-factor * entry for entry in each] for each in vectors[place]])
        return total

    def number(form: Any) -> Fraction:
        total = Fraction(0)
        for key, factor in form.terms.items():
            if len(key) == 2:
                total += factor * inner(vectors[key[0]], vectors[key[1]])
            else:
                total += factor * (values[key[0]] if key else 1)
        return total

    y = f.parts.point()
    places = [place for place in y.terms if place > 1]
    vectors |= dict(zip(places, mean_and_rest(minus(far, star)), strict=True))
    z = f.start - f.parts.gradient(y) / 3
    f.parts.gradient(z), f.gradient(f.start)

    oracle = trace.oracles[0]
    for x, g, value in oracle.triplets:
        at = located(x)
        gradients = [client.gradient(point) for client, point in zip(CLIENTS, at, strict=True)]
        mean, rest = mean_and_rest(gradients)
        vectors |= {place: rest if place % 2 else mean for place in g.terms}
        height = sum((client.value(p) for client, p in zip(CLIENTS, at, strict=True)), Fraction(0)) / 3
        (new,) = {key[0] for key in value.terms} - values.keys()
        values[new] = height - sum((values[k] for (k,) in value.terms if k in values), Fraction(0))
        assert located(g) == gradients  # at the minimiser, the mean of the gradients is 0
        assert number(value) == height

    found = slacks_of(definition, oracle.triplets, trace.minimum)
    assert len(oracle.triplets) == 4
    for name, form in found.items():
        i, j = (oracle.triplets[int(k)][0] for k in name.partition(":")[0].split(","))
        of_clients = []
        for client, a, b in zip(CLIENTS, located(i), located(j), strict=True):
            of_clients.append(slack_by_hand(client, a, b, definition))
        assert number(form) == sum(of_clients, Fraction(0)) / 3 >= 0


def slack_by_hand(client: Parabola, x: Any, y: Any, definition: FunctionClass) -> Fraction:
    """Return f(x) - f(y) - <f'(y), x - y> - mu/2 |x - y|^2 - |r|^2 / (2 (L - mu)) of one client."""
    L, mu = definition.smoothness, definition.strong_convexity
    assert L is not None
    g, h = client.gradient(x), client.gradient(y)
    d = [a - b for a, b in zip(x, y, strict=True)]
    r = [a - b - mu * c for a, b, c in zip(g, h, d, strict=True)]
    linear = sum(a * b for a, b in zip(h, d, strict=True))
    return (
        client.value(x)
        - client.value(y)
        - linear
        - mu / 2 * sum(a * a for a in d)
        - sum(a * a for a in r) / (2 * (L - mu))
    )
