"""Which subgradient is returned where there are several, and what readers are shown."""

import re
from fractions import Fraction

import pytest

from clusterproof.theory.classes.concrete import ConcreteOracle, ConcreteWorld
from clusterproof.theory.classes.definitions import FunctionClass, OperatorClass, SetClass
from clusterproof.theory.classes.formulas import Envelope, Maximum, Separable, SmoothMaximum
from clusterproof.theory.classes.function import problem
from clusterproof.theory.classes.operators import AffineOperator
from clusterproof.theory.classes.piecewise import Piecewise
from clusterproof.theory.classes.sets import Box, Hull
from clusterproof.theory.classes.vectors import Vector
from clusterproof.theory.squares.exact import rational

ONE, HALF, ZERO = Fraction(1), Fraction(1, 2), Fraction(0)


def numbers(*values):
    return tuple(map(rational, values))


def vectors(*rows):
    return tuple(map(Vector, rows))


def absolute_value():
    """|x|, whose minimiser 0 has the subgradient 0, from 3/2."""
    formula = Maximum(rational(0), vectors([1], [-1]), numbers(0, 0))
    oracle = ConcreteOracle(FunctionClass(lipschitz=ONE), formula, [(Vector([0]), Vector([0]))])
    return ConcreteWorld([oracle], Vector([Fraction(3, 2)]), Vector([0]), ZERO)


def test_each_proximal_point_has_its_own_subgradient():
    world = absolute_value()
    f = problem(world)
    first = f.prox(f.start, Fraction(2))
    assert f.gradient(f.minimiser) == 0 * f.start
    second = f.prox(first, Fraction(2))
    assert first == second == f.minimiser
    assert f.gradient(first) == f.start / 2
    assert f.gradient(second) == 0 * f.start
    assert f.gradient(f.minimiser) == 0 * f.start
    assert f.gradient(first) == f.start / 2
    assert len(world.oracles[0].triplets) == 2


def test_the_minimiser_has_the_first_subgradient_that_is_known_there():
    """The second is that of a proximal point which happens to be the minimiser."""
    formula = Maximum(rational(0), vectors([1], [-1]), numbers(0, 0))
    known = [(Vector([0]), Vector([0])), (Vector([0]), Vector([1]))]
    oracle = ConcreteOracle(FunctionClass(lipschitz=ONE), formula, known)
    f = problem(ConcreteWorld([oracle], Vector([2]), Vector([0]), ZERO))
    assert f.gradient(f.prox(f.start, Fraction(2))) == Vector([1])
    assert f.gradient(f.minimiser) == Vector([0])


def test_the_same_point_has_the_same_subgradient():
    f = problem(absolute_value())
    y = f.prox(f.start, Fraction(2))
    assert f.gradient(f.start - 2 * (f.start / 2)) == f.gradient(y) == f.start / 2
    f = problem(absolute_value())
    assert f.gradient(f.start - f.start) == 0 * f.start


def test_a_linear_minimum_has_the_opposite_direction_as_normal_vector():
    oracle = ConcreteOracle(SetClass(), Box(vectors([1]), numbers(-1), numbers(2)))
    y = oracle.minimise_linear(Vector([3]))
    assert oracle.triplets == [(y, Vector([-3]), 0)] == [(Vector([-1]), Vector([-3]), 0)]


def test_steps_and_points_that_are_none_are_refused():
    f = problem(absolute_value())
    for call in (f.gradient, lambda x: f.prox(x, 1)):
        with pytest.raises(TypeError, match="no point"):
            call(3)
    nonexpansive = OperatorClass(monotone=False, lipschitz=ONE)
    oracle = ConcreteOracle(nonexpansive, AffineOperator(vectors([-1]), Vector([0])))
    with pytest.raises(TypeError, match="below 1"):
        oracle.proximal(Vector([1]), ONE)
    with pytest.raises(TypeError, match="not in the set"):
        ConcreteOracle(SetClass(), Hull(vectors([0], [1]))).evaluate(Vector([2]))


HUBER = Piecewise.from_curvatures(
    numbers(-1, 0, 1), numbers(0, 1, 1, 0), at=rational(0), derivative=rational(0), value=rational(0)
)
PARABOLA = Piecewise((), (numbers(3, 0, 0),))
SQUARE = vectors([1, 0], [0, 1])
REFLECTED = vectors([Fraction(3, 5), Fraction(4, 5)], [Fraction(4, 5), Fraction(-3, 5)])


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (Maximum(rational(0), vectors([3], [-1]), numbers(-1, 0)), "max(3 x - 1, -x)"),
        (Maximum(rational(1), vectors([3, 1], [0, 0]), numbers(0, 2)), "1/2 |x|^2 + max(<(3, 1), x>, 2)"),
        (Maximum(rational(1), vectors([3]), numbers(0)), "1/2 |x|^2 + 3 x"),
        (Separable(vectors([1]), (PARABOLA,)), "3/2 x^2"),
        (
            Separable(vectors([1]), (HUBER,)),
            "-x - 1/2 for x <= -1; 1/2 x^2 for -1 < x <= 1; x - 1/2 for 1 < x",
        ),
        (
            Separable(REFLECTED, (PARABOLA, Piecewise((), (numbers(0, 5, 1),)))),
            "1/2 <x, H x> + <(4, -3), x> + 1, H = [[27/25, 36/25], [36/25, 48/25]]",
        ),
        (
            Separable(SQUARE, (PARABOLA, HUBER)),
            "phi_1(<(1, 0), x>) + phi_2(<(0, 1), x>); phi_1: 3/2 x^2; "
            "phi_2: -x - 1/2 for x <= -1; 1/2 x^2 for -1 < x <= 1; x - 1/2 for 1 < x",
        ),
        (
            Envelope(rational(0), rational(1), SQUARE, numbers(0, 1)),
            "min over a >= 0, sum 1, of 1/2 |x - sum a_i z_i|^2 + sum a_i c_i, z = [[1, 0], [0, 1]], c = [0, 1]",
        ),
        (
            SmoothMaximum(rational(2), vectors([1, 0], [0, 0]), numbers(0, 1)),
            "min over y of max(<(1, 0), y>, 1) + 1 |x - y|^2",
        ),
        (Box(vectors([1]), numbers(0), numbers(HALF)), "the interval [0, 1/2]"),
        (Hull(SQUARE), "the convex hull of [[1, 0], [0, 1]]"),
    ],
)
def test_formulas_are_shown_as_a_reader_writes_them(formula, text):
    assert formula.text() == text


def value_in_text(text: str, x: Fraction) -> Fraction:
    """Evaluate "1/2 x^2 - 1 for -1 < x <= 1; ..." at a number."""
    for piece in text.split("; "):
        formula, _, condition = piece.partition(" for ")
        low, high = re.match(r"(?:(\S+) < )?x(?: <= (\S+))?$", condition or "x").groups()
        if (low is None or Fraction(low) < x) and (high is None or x <= Fraction(high)):
            tokens = re.findall(r"([+-]?) ?(\d[\d/]*)? ?(x\^2|x)?(?: |$)", formula)
            return sum(
                (-1 if sign == "-" else 1) * Fraction(factor or 1) * {"x^2": x * x, "x": x, "": 1}[name]
                for sign, factor, name in tokens
                if factor or name
            )
    raise AssertionError(text)


@pytest.mark.parametrize(
    "formula",
    [
        Envelope(rational(HALF), rational(2), vectors([0], [1], [3], [1]), numbers(0, -1, 2, 5)),
        Envelope(rational(-1), rational(2), vectors([0], [2], [1]), numbers(0, 0, 3)),
        Envelope(rational(0), rational(1), vectors([2]), numbers(1)),
        SmoothMaximum(rational(2), vectors([-1], [HALF], [3]), numbers(0, 1, -2)),
    ],
)
def test_the_pieces_of_an_envelope_on_the_line_are_those_of_its_values(formula):
    text = formula.text()
    for number in range(-60, 60):
        x = Fraction(number, 7)
        assert str(value_in_text(text, x)) == str(formula.evaluate(Vector([x]))[1])


def test_several_oracles_are_listed_as_parts():
    set_ = ConcreteOracle(SetClass(), Box(vectors([1]), numbers(-1), numbers(1)))
    world = ConcreteWorld([absolute_value().oracles[0], set_], Vector([3]), Vector([0]), ZERO)
    set_.proximal(world.start, ONE)
    assert world.evaluated() == {
        "parts": [{"points": []}, {"points": [{"at": ["1"], "gradient": ["2"], "value": "0"}]}]
    }
    written = world.to_json()
    assert written["formula"] == "part 1: max(x, -x); part 2: the interval [-1, 1]"
    assert (written["dimension"], written["start"], written["minimiser"], written["minimum"]) == (
        1,
        ["3"],
        ["0"],
        "0",
    )
