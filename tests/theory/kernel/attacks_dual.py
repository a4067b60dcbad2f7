"""Attempts against the rule dual, traces and listed functions."""

from fractions import Fraction
from typing import Annotated, Any

from attacks_kept import Attacks, ev

from clusterproof.theory.claims import at_least, at_most, choice, equal, given, rationals, suppose
from clusterproof.theory.claims.class_ranges import functions, least, operators, sets

ATTACKS = attack = Attacks()
Convex = Annotated[Any, functions()]
Smooth = Annotated[Any, functions(smoothness=1)]
Lipschitz = Annotated[Any, functions(lipschitz=1)]
Rough = Annotated[Any, functions(smoothness=1, convex=False)]
Both = Annotated[Any, functions(smoothness=1, lipschitz=1)]
Set = Annotated[Any, sets(diameter=1)]
Nonexpansive = Annotated[Any, operators(monotone=False, lipschitz=1)]
Monotone = Annotated[Any, operators()]


def member(start, solution, minimum, triplets, further=()):
    """Functions of evidence."""
    return {
        "f": {
            "start": start,
            "solution": solution,
            "minimum": minimum,
            "further": list(further),
            "triplets": triplets,
        }
    }


def dual(*paths, line="", setting=None, witness=None):
    """A dual at one setting: of each path the multipliers of each entry."""
    several = [[{"multipliers": m} if "multipliers" not in m else m for m in path] for path in paths]
    return ev("dual", line, settings=[{"setting": setting or {}, "paths": several}], witness=witness)


# |x|^2 / 2 from 1, and |x| from 2
HALF = member([1], [0], 0, [[[[0], [0], 0], [[1], [1], "1/2"]]])
ABSOLUTE = member([2], [0], 0, [[[[0], [0], 0], [[2], [1], 2], [[1], [1], 1]]])

# ---- hypotheses


@attack(ev("instance", instance=HALF))
def started_at_the_solution(f: Smooth):
    """T. Of f(start) at start = solution: it is the minimum. The instance starts elsewhere."""
    suppose("start", equal((f.start, f.solution if False else f.minimiser)))
    return at_most(f(f.start) - f.minimum, bound=0)


@attack(ev("instance", instance=HALF))
def started_at_the_solution_by_a_sign(f: Smooth):
    """T. The same by ==."""
    suppose("start", f.start == f.minimiser)
    return at_most(f(f.start) - f.minimum, bound=0)


@attack(ev("instance", instance=HALF))
def line_at_the_solution(f: Smooth):
    """T. The same as the line's hypothesis."""
    return given("start", f.start == f.minimiser, lambda: at_most(f(f.start) - f.minimum, bound=0))


CONTRADICTION = {"hypothesis 0, 0": 0, "hypothesis 1": 1}


@attack(
    dual([CONTRADICTION], witness=HALF),
    dual([{"hypothesis 0, 1": -1, "hypothesis 0, 0": 1, "hypothesis 1": 1}], witness=HALF),
    dual([{"hypothesis 1": 1, "hypothesis 0, 1": "-1"}], witness=HALF),
)
def no_function_meets_it(f: Smooth):
    """F-like: no function starts at its solution, and at a distance of 1."""
    suppose("start", f.start == f.minimiser)
    suppose("far", (f.start - f.minimiser) @ (f.start - f.minimiser) >= 1)
    return at_most(1, bound=0)


@attack(
    dual([{"hypothesis 0": 1, "hypothesis 1": 1}]),
    dual([{"hypothesis 0": 1, "hypothesis 1": 1}], witness=HALF),
)
def no_function_meets_these(f: Smooth):
    """F-like: f(start) >= minimum + 2 and <= minimum + 1."""
    suppose("high", f(f.start) >= f.minimum + 2)
    suppose("low", f(f.start) <= f.minimum + 1)
    return at_most(1, bound=0)


@attack(
    dual([{"hypothesis 0": 1}], witness=HALF),
    dual([{"hypothesis 0": -1}], witness=HALF),
    dual([{"hypothesis 0, 0": 1}], witness=HALF),
)
def sign_of_a_hypothesis(f: Smooth):
    """F. f = |x|^2 / 2 at 1 has f(start) - minimum = 1/2 > 1/4, and meets the hypothesis f(start) <= minimum + 1."""
    suppose("low", f(f.start) <= f.minimum + 1)
    return at_most(f(f.start) - f.minimum, bound=Fraction(1, 4))


# ---- classes in sums


@attack(
    ev("dual", settings=[{"setting": {"n": 1}, "paths": [[{"multipliers": {"1:1:0": 1}}]]}]),
    dual([{"1:1:0": 1}], setting={"n": 1}),
)
def not_convex_in_a_sum(
    n: Annotated[int, choice(1)],
    f: Annotated[Any, functions(smoothness=1) + functions(smoothness=1, convex=lambda n: n == 0)],
):
    """F. parts[0] = 10, parts[1] = |x|^2 / 2 + 0 at 0: value 0 < F.minimum = 10 (both are smooth and bounded below)."""
    return at_least(f.parts[1](f.start), bound=f.minimum)


@attack(
    ev(
        "instance",
        instance={"n": 1, **member([0], [0], 0, [[[[0], [0], 10]], [[[0], [0], -10], [[1], [0], -10]]])},
    )
)
def not_convex_in_a_sum_listed(
    n: Annotated[int, choice(1)],
    f: Annotated[Any, functions(smoothness=1) + functions(smoothness=1, convex=lambda n: n == 0)],
):
    """T or refused: the class is undefined (solution of a sum with a function that need not be convex)."""
    return at_least(f.parts[1](f.start), bound=f.minimum)


@attack(
    ev(
        "instance",
        instance=member([1], [0], 0, [[[[0], [0], 0], [[1], [1], 0]], [[[0], [0], 0], [[1], [1], 0]]]),
    )
)
def fixed_point_in_a_sum(f: Annotated[Any, operators() + operators(monotone=False, lipschitz=1)]):
    """T or refused: is the solution of a monotone plus a nonexpansive operator a zero? A trace refuses it."""
    return at_most(f.parts[0](f.start) @ f.parts[0](f.start), bound=0)


@attack(
    ev("instance", instance={"r": -1, **HALF}),
    ev("dual", settings=[{"setting": {"r": -1}, "paths": [[{"multipliers": {"reach": 1}}]]}]),
)
def negative_reach(
    r: Annotated[int, choice(-1)], f: Annotated[Any, functions(smoothness=1, distance=lambda r: r)]
):
    """T, vacuous: no start is within -1 of a solution. The instance starts at 1, and has |start - solution|^2 = 1."""
    return at_most(
        (f.start - f.minimiser) @ (f.start - f.minimiser), bound=f.distance * f.distance if r > 0 else 0
    )


@attack(ev("dual", settings=[{"setting": {"r": -1}, "paths": [[{"multipliers": {"reach": 1}}]]}]))
def negative_reach_certified(
    r: Annotated[int, choice(-1)], f: Annotated[Any, functions(smoothness=1, distance=lambda r: r)]
):
    """F-like: vacuous, not certified."""
    return at_most((f.start - f.minimiser) @ (f.start - f.minimiser), bound=1)


@attack(
    dual([{"0:0,1:0": 1}]),
    ev("instance", instance=member([2], [0], 0, [[[[0], [0], 0]], [[[0], [0], 0], [[2], [1], 0]]])),
)
def value_of_a_sum_outside_of_a_set(f: Annotated[Any, functions() + sets()]):
    """T in the extended reading (a set's indicator is infinite outside): F(start) >= F.minimum."""
    return at_least(f(f.start), bound=f.minimum)


@attack(
    ev("instance", instance=member([1], [0], 5, [[[[0], [-1], 0], [[1], [0], "-1/2"]], [[[0], [1], 10]]]))
)
def minimum_of_a_part(f: Annotated[Any, functions(smoothness=1, count=2)]):
    """T in one reading: parts[0](start) >= the least value of parts[0]; parts[0].minimum is the mean's."""
    return at_least(f.parts[0](f.start), bound=f.parts[0].minimum)


# ---- members that are none


@attack(
    ev("instance", instance=member([2], [0], 0, [[[[0], [0], 0], [[2], [1], 2]]])),
    ev("instance", instance=member([2], [0], 0, [[[[0], [0], 0], [[2], [2], 3]]])),
    ev("instance", instance=member([1], [0], 0, [[[[0], [0], 0], [[1], [1], "1/2"], [[1], [0], 0]]])),
)
def smooth_bound(f: Smooth):
    """T. f(start) - minimum <= |start - solution|^2 / 2."""
    return at_most(f(f.start) - f.minimum, bound=(f.start - f.minimiser) @ (f.start - f.minimiser) / 2)


@attack(
    ev("instance", instance=member([1], [0], 0, [[[[0], [0], 0], [[1], [1], "1/2"], [[1], [0], "1/2"]]])),
    ev("instance", instance=member([1], [0], 0, [[[[0], [0], 0], [[1], [1], "1/2"], [[1], [1], 0]]])),
)
def two_gradients_at_a_point(f: Smooth):
    """T. The gradient at start is one: f.gradient(start) = start + 0 is the same."""
    return at_most((f.gradient(f.start) - f.gradient(f.start + 0 * f.point())) @ f.gradient(f.start), bound=0)


@attack(
    ev("instance", instance=member([2], [0], 0, [[[[0], [0], 0], [[2], [2], 2]]])),
    ev("instance", instance=member([2], [0], 0, [[[[0], [0], 0], [[2], ["-1/1"], 2]]])),
)
def smooth_and_lipschitz(f: Both):
    """T. |gradient| <= 1."""
    return at_most(f.gradient(f.start) @ f.gradient(f.start), bound=1)


@attack(
    ev("instance", instance=member([2], [0], 0, [[[[0], [0], 0], [[2], [1], 0], [[-2], [-1], 0]]], [[-2]])),
    ev(
        "instance",
        instance=member(
            [2], [0], 0, [[[[0], [0], 0], [["1/2"], ["3/2"], 0], [["-1/2"], ["-5/2"], 0]]], [[-2]]
        ),
    ),
)
def diameter(f: Set):
    """T. Projections of two points are at most 1 apart."""
    x, y = f.project(f.start), f.project(f.point())
    return at_most((x - y) @ (x - y), bound=1)


@attack(
    ev("instance", instance=member([1], [0], 0, [[[[0], [0], 0], [[1], [0], 0]]])),
    ev("instance", instance=member([1], [1], 0, [[[[1], [0], 0]]])),
    ev("instance", instance=member([1], None, 0, [[[[1], [0], 0]]])),
)
def fixed_point(f: Nonexpansive):
    """T. |A(start) - solution| <= |start - solution|. In the second the solution is no fixed point."""
    image = f(f.start)
    return at_most(
        (image - f.solution) @ (image - f.solution) - (f.start - f.solution) @ (f.start - f.solution), bound=0
    )


@attack(ev("instance", instance=member([1], [0], 0, [[[[0], [0], 0], [[1], [0], 0], [["1/2"], ["1/2"], 0]]])))
def only_necessary(f: Annotated[Any, operators(lipschitz=1, strong_monotonicity=1)]):
    """T. Strongly monotone and Lipschitz with the same constant is the identity: A(x) = x - solution."""
    return at_most(f(f.start) @ f(f.start) - (f.start - f.solution) @ (f.start - f.solution), bound=0)


@attack(
    ev("instance", instance=member([1], None, 0, [[[[0], [1], 1], [[2], [-1], 1]]])),
    ev("instance", instance=member([0], None, -1, [[[[0], [0], 0], [[1], [-1], "-1/2"]]])),
)
def prox_of_a_rough_function(f: Rough):
    """T for steps below 1 / L: with step 1 a prox of -|x|^2/2 + ... is any point; f(prox) <= f(start) there."""
    return at_most(f(f.prox(f.start, 1)), bound=f(f.start))


@attack(
    ev("instance", instance=member([1], None, 5, [[[[1], [0], 0]]])),
    ev("instance", instance=member([1], None, 0, [[[[1], [2], 1]]])),
)
def minimum_of_a_rough_function(f: Rough):
    """T. f(start) >= minimum + |g|^2 / 2."""
    return at_least(f(f.start) - f.minimum, bound=f.gradient(f.start) @ f.gradient(f.start) / 2)


@attack(
    ev("instance", instance=ABSOLUTE),
    ev("instance", instance=member([2], [0], 0, [[[[0], [0], 0], [[2], [0], 0]]])),
)
def prox_step(f: Convex):
    """T. x = prox(start, 1) has f(x) <= f(start)."""
    x = f.prox(f.start, 1)
    return at_most(f(x), bound=f(f.start))


@attack(
    ev("instance", instance=member(["1e9"], [0], 0, [[[[0], [0], 0]]])),
    ev("instance", instance=member(["-0"], ["0/7"], "-0", [[[["-0"], ["-0/3"], "00"]]])),
    ev("instance", instance=member(["1/0"], [0], 0, [[[[0], [0], 0]]])),
    ev("instance", instance=member(["9" * 100_000], [0], 0, [[[[0], [0], 0]]])),
    ev("instance", instance=member([True], [0], 0, [[[[0], [0], 0]]])),
)
def numbers(f: Convex):
    """T. f(start) >= minimum."""
    return at_least(f(f.start), bound=f.minimum)


def deep(n):
    x = [1]
    for _ in range(n):
        x = [x]
    return x


@attack(
    ev("instance", instance=member(deep(50_000), [0], 0, [[]])),
    ev("instance", instance={"f": deep(50_000)}),
    ev("instance", instance=deep(50_000)),
    lambda s: {"rule": "dual", "line": "", "digest": s.digest, "settings": deep(100_000), "witness": deep(9)},
    lambda s: {
        "rule": "dual",
        "line": "",
        "digest": s.digest,
        "settings": [{"setting": {"f": deep(100_000)}, "paths": []}],
    },
    name="deep_lists",
)
def deep_lists(f: Convex):
    """C. Lists nested deeply."""
    return at_least(f(f.start), bound=f.minimum)


@attack(ev("instance", instance=member([], [], 0, [[[[], [], 0], [[], [], 1]]])))
def no_dimension(f: Convex):
    """T. In dimension 0."""
    return at_most(f(f.start) - f.minimum, bound=0 * (f.start @ f.start))


@attack(ev("instance", instance=member([1], [0], 0, [[[[0], [0], 0], [[1], [1], 1]]])))
def further_is_missing(f: Convex):
    """T. Of a further point nothing is known; without one the instance is none."""
    return at_least(f(f.point()), bound=f.minimum)


# ---- multipliers and paths


@attack(
    dual([{"1": 1}]),
    dual([{"1": -1}]),
    dual([{"0:0,0:0": 1}]),
    dual([{"reach": 1}]),
    dual([{"fork 0": 1}]),
    dual([{"0:0,1:0": "1e9"}]),
    dual([{"0:0,1:0": -1}]),
    dual([{"multipliers": {}, "weights": [-1]}]),
    dual([]),
    dual([{}, {}]),
    ev("dual", settings=[]),
    ev("dual", settings=[{"setting": {}, "paths": [[{"multipliers": {"1": 0}}]]}] * 2),
)
def multipliers(f: Convex):
    """F. f(start) <= minimum is false for |x| from 2."""
    return at_most(f(f.start) - f.minimum, bound=0)


@attack(
    dual([{"multipliers": {}, "weights": [2, -1]}]),
    dual([{"multipliers": {}, "weights": [0, 0]}]),
    dual([{"multipliers": {}, "weights": ["1/2", "1/2"]}]),
    dual([{"multipliers": {"0:0,1:0": 1}, "weights": [1, 0, 0]}]),
    dual([{"multipliers": {"0:0,1:0": 1}, "weights": [1]}]),
)
def weights_of_least(f: Convex):
    """F. The least of f(start) - minimum and f(start) - minimum + 1 is positive for |x| from 2."""
    gap = f(f.start) - f.minimum
    return at_most(least(gap, gap + 1), bound=0)


@attack(ev("instance", instance=ABSOLUTE), ev("instance", instance=HALF))
def least_of_an_instance(f: Convex):
    """T. The least of f(start) - minimum and -1 is at most -1."""
    return at_most(least(f(f.start) - f.minimum, -1 + 0 * f(f.start)), bound=-1)


@attack(
    dual([{}], [{}]),
    dual([{"fork 0": 1}], [{"fork 0": 1}]),
    dual([{"fork 0": 1}]),
    dual([{}], [{"fork 0": 1}]),
    dual([{"fork 0": 1}], [{"fork 0": 1}], witness=ABSOLUTE),
    dual([{"fork 0": -1}], [{"fork 0": 1}], witness=ABSOLUTE),
)
def forks(f: Convex):
    """F. |x| from 2: f(start) - minimum = 2 > 1: returns 2 > 1 there."""
    gap = f(f.start) - f.minimum
    return at_most(gap, bound=1) if gap <= 1 else at_most(1, bound=gap) if gap <= 2 else at_most(gap, bound=2)


@attack(dual([{"0:0,1:0": 1}]), dual([{}]))
def equation_of_points(f: Convex):
    """F. An equation has no dual: f.gradient(start) = 0."""
    return equal((f.gradient(f.start), f.start - f.start))


@attack(dual([{}]), ev("instance", instance=ABSOLUTE))
def point_as_a_number(f: Convex):
    """F/T. A point is no number."""
    return at_most(f.start, bound=0)


@attack(
    dual([{"0:1,0:0": 1}]), ev("instance", instance=member([1], [0], 0, [[[[0], [0], 0], [[1], [-1], 0]]]))
)
def linear_over_a_set(f: Annotated[Any, sets()]):
    """T where a least point exists; over an unbounded set there may be none (the solution 0, direction start)."""
    x = f.minimise_linear(f.start - f.start)
    return at_most(x @ x - x @ x, bound=0)


@attack(
    ev("dual", settings=[{"setting": {"L": 0}, "paths": [[{"multipliers": {}}]]}]),
    ev("instance", instance={"L": 0, **member([1], None, 0, [[[[1], [0], 0]]])}),
)
def rough_and_constant(
    L: Annotated[int, choice(0)], f: Annotated[Any, functions(smoothness=lambda L: L, convex=False)]
):
    """C/T. Division by L = 0."""
    return at_most(f(f.start), bound=f.minimum)


@attack(dual([{"0:1,0:0": 1, "0:0,1:0": 1}]))
def subgradient_at_the_solution(f: Lipschitz):
    """By definition: f.gradient(minimiser) = 0; a reader may expect any subgradient there (of |x| one of [-1, 1])."""
    return at_most(f.gradient(f.minimiser) @ f.gradient(f.minimiser), bound=0)


@attack(ev("instance", instance=member([1], [0], 0, [[[[0], [0], 0], [[1], [1], 1]]])))
def monotone_is_not_a_gradient(f: Monotone):
    """T or refused: f(x) is a point."""
    return at_most(f(f.start) @ f(f.start), bound=4)


# ---- time and memory


@attack(dual([{}]))
def many_points(f: Convex):
    """R. 5 000 free vectors: a matrix of 25 million entries."""
    for _ in range(5_000):
        f.point()
    return at_most(0, bound=f.start @ f.start)


@attack(dual([{}]))
def more_points(f: Convex):
    """R. 20 000 free vectors: a matrix of 400 million entries."""
    for _ in range(20_000):
        f.point()
    return at_most(0, bound=f.start @ f.start)


@attack(dual([{}]))
def long_points(f: Convex):
    """R. A point of 5 000 vectors is sorted whenever a gradient is asked for."""
    x = f.start
    for _ in range(1_500):
        x = x + f.point()
    for _ in range(20_000):
        f.gradient(x)
    return at_most(0, bound=f.start @ f.start)


@attack(dual([{}]))
def small_plus_long(f: Convex):
    """R. small + long counts the small one."""
    x = f.start
    for _ in range(1_200):
        x = x + f.point()
    zero = f.start - f.start
    for _ in range(20_000):
        y = zero + x
    return at_most(0, bound=f.start @ f.start)


@attack(dual([{}]))
def many_triplets(f: Convex):
    """R. 100 gradients: 10 000 conditions on each path."""
    for _ in range(100):
        f.gradient(f.point())
    return at_most(0, bound=f.start @ f.start)


@attack(ev("instance", instance=member([1], [0], 0, [[[[0], [0], 0], [[1], [0], 0]]])))
def strong_monotonicity_that_is_ignored(
    f: Annotated[Any, operators(monotone=False, strong_monotonicity=1, lipschitz=2)],
):
    """T as stated (strong_monotonicity = 1): <A x - A y, x - y> >= |x - y|^2. With monotone=False it is not asked."""
    return at_least(
        (f(f.start) - f(f.solution)) @ (f.start - f.solution),
        bound=f.strong_monotonicity * ((f.start - f.solution) @ (f.start - f.solution)),
    )


@attack(
    ev(
        "instance",
        instance=member(
            [0], [0], 5, [[[[0], [-1], 0], [["1"], [0], "-1/2"]], [[[0], [1], 10], [[1], [2], "23/2"]]], [[1]]
        ),
    )
)
def minimiser_of_a_part(f: Annotated[Any, functions(smoothness=1, count=2)]):
    """T in one reading: parts[0](x) >= parts[0](its minimiser); parts[0].minimiser is the mean's."""
    return at_least(f.parts[0](f.point()), bound=f.parts[0](f.parts[0].minimiser))


@attack(
    dual([{}]),
    ev("instance", instance=member(["1/2"], [0], 0, [[[[0], [0], 0], [[0], ["1/2"], 0]]])),
)
def subgradient_at_a_proximal_point(f: Convex):
    """F. |x| from 1/2: the proximal point is the minimiser, where the subgradient 0 is asked for."""
    x = f.prox(f.start, 1)
    return at_least(f.gradient(x) @ (f.start - x), bound=(f.start - x) @ (f.start - x))


# ---- given(...) calls its function on a trace or symbols, and does not on numbers

SIGNS = ev("signs", witness={"x": 1})
Signed = Annotated[Fraction, rationals(-1, 1, 4)]


@attack(dual([{"1": 1}]), ev("instance", instance=HALF))
def given_tells_points(f: Smooth):
    """F. |x|^2 / 2 from 1: make is not called, 1 <= 0."""
    called = []

    def make():
        called.append(1)
        return at_most(0, bound=0)

    given("they are equal", f.start == f.minimiser, make)
    return at_most(0, bound=1) if called else at_most(1, bound=0)


@attack(dual([{}]))
def given_tells_values(f: Smooth):
    """F. The same by an equation of values, and a generator that is used up."""
    left = (n for n in (1,))
    given("least", equal((f(f.start), f.minimum)), lambda: at_most(sum(left), bound=1))
    return at_most(sum(left), bound=0)


@attack(SIGNS, ev("empty"))
def given_tells_symbols(x: Signed):
    """F. At x = -1 nothing is called, and 1 <= 0."""
    seen = {"k": 0}

    def make():
        seen["k"] = 1
        return at_most(0, bound=0 * x)

    given("x >= 0", x >= 0, make)
    if seen["k"]:
        suppose("x <= 2", x <= 2)
    return at_most(0 * x, bound=1) if seen["k"] else at_most(1, bound=0 * x)


@attack(SIGNS)
def given_tells_by_a_method(x: Signed):
    """F. The same by a method that is passed as a default."""
    called = []
    given("x >= 0", x >= 0, lambda note=called.append: at_most(0, bound=0 * x, words=note(1)))
    return at_most(0 * x, bound=1) if called else at_most(1, bound=0 * x)


@attack(dual([{"1": 1}], [{"1": 1}]), dual([{"1": 1}]))
def given_tells_another_line(f: Convex):
    """F. Of |x| from 2 the line with the hypothesis is honest, and the other one false."""
    seen = {}

    def make():
        seen["x"] = f.start
        return at_most((f.start - f.minimiser) @ (f.start - f.minimiser), bound=0)

    line = given("at the minimiser", equal((f.start, f.minimiser)), make)
    return {"": at_most(f(f.start) - f.minimum if len(seen) == 0 else 0, bound=1), "a": line}


# ---- constants

NEARLY = f"{10**30 // 2 - 1}/{10**30}"
ONE = Annotated[int, choice(1)]
TWICE = member([1], [0], 0, [[[[0], [0], 0], [[1], [1], "1/2"]]] * 2)
Sum = Annotated[Any, functions(smoothness=1) + functions(smoothness=1)]


@attack(ev("instance", instance={"n": 1, **member([1], [0], 0, [[[[0], [0], 0], [[1], [1], NEARLY]]])}))
def a_truth_value_for_a_constant(n: ONE, f: Annotated[Any, functions(strong_convexity=lambda n: n == 1)]):
    """T. The definition of 1-strong convexity at the minimiser; True / 2 is a float."""
    x = f.start - f.minimiser
    return at_least(f(f.start) - f.minimum, bound=x @ x / 2)


@attack(ev("instance", instance=TWICE))
def smoothness_of_a_sum(f: Sum):
    """T. F(x) - min F <= L |x|^2 / 2 with the smoothness L of F, which is 2."""
    x = f.start - f.minimiser
    return at_most(f(f.start) - f.minimum, bound=f.smoothness * (x @ x) / 2)


@attack(dual([{"1": 0}]))
def smoothness_of_a_sum_is_one(f: Sum):
    """F. |x|^2 / 2 twice is not 1-smooth."""
    return at_most(f.smoothness, bound=1)


@attack(dual([{"0:1,0:0": 2}]), dual([{"0:0,1:0": 2}]))
def resolvent_that_is_none(f: Nonexpansive):
    """F. A = -x + 2 c has no resolvent of most points."""
    x = f.resolvent(f.start, 1)
    a = f.start - 2 * f.solution
    return at_most(a @ a, bound=4 * ((x - f.solution) @ (x - f.solution)))


# ---- long numbers, and many functions

LONG = [Fraction(1, 3**30000), Fraction(1, 2**40000)]
DIGITS = [f"{7**n}/{3 ** (n + 4000)}" for n in range(4000, 4132)]


@attack(dual([{}]))
def long_points_are_added(f: Convex):
    """R. A thousand sums."""
    x, y = f.start * LONG[0], f.start * LONG[1]
    for _ in range(1000):
        x + y
    return at_most(0, bound=0)


@attack(ev("signs", witness={"x": 0}))
def long_coefficients_are_added(x: Signed):
    """R. A thousand sums."""
    a, b = x * LONG[0], x * LONG[1]
    for _ in range(1000):
        a + b
    return at_most(0, bound=x**2)


@attack(dual([{f"0:{i},{j}:0": DIGITS[11 * i + j] for i in range(12) for j in range(i)}]))
def long_multipliers(f: Convex):
    """R. Of twelve points."""
    x = f.start
    for _ in range(11):
        x = x - f.gradient(x)
    return at_most(0, bound=1)


@attack(dual([{"1": 0}]))
def many_members(f: Annotated[Any, functions(smoothness=1, count=10**6)]):
    """R. A million functions."""
    return at_most(0, bound=1)
