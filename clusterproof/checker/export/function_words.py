"""Write traced values in Rocq's notation, and as data that the checker of ``duals.v`` reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from clusterproof.checker.export.rocq_text import Names, listed, whole
from clusterproof.checker.export.traced import (
    Comparison,
    Traced,
    Triplet,
    View,
    in_order,
    mean_of,
    operands,
)
from clusterproof.checker.kernel.evaluation import Refused
from clusterproof.checker.kernel.interpolation import OperatorClass
from clusterproof.checker.kernel.polynomials import Polynomial, constant
from clusterproof.checker.kernel.quotients import Quotient
from clusterproof.checker.kernel.worlds import Form, Point

Multiples = Mapping[int, Any]
"""Coefficients, by the indices of base vectors."""


def number_text(value: Any) -> str:
    """Write a number in Rocq's notation, in brackets if necessary."""
    exact = Fraction(value)
    if exact.denominator != 1:
        return f"({whole(exact.numerator)} / {whole(exact.denominator)})"
    return whole(exact.numerator) if exact >= 0 else f"({whole(exact.numerator)})"


def number_code(value: Any) -> str:
    """Write a number as data for the checker."""
    exact = Fraction(value)
    top = f"(Num {whole(exact.numerator) if exact >= 0 else f'({whole(exact.numerator)})'})"
    return top if exact.denominator == 1 else f"(Div {top} (Num {whole(exact.denominator)}))"


class Symbols:
    """Object that writes quotients of polynomials, given the names of the symbols.

    Parameters
    ----------
    names
        Names of the symbols, in their order.
    """

    def __init__(self, names: Sequence[str] = ()) -> None:
        self.names = names

    def text(self, value: Any) -> str:
        """Write a number or quotient in Rocq's notation."""
        return self._written(value, number_text, self._power_text, "({} {} {})".format)

    def code(self, value: Any) -> str:
        """Write a number or quotient as data for the checker."""
        words = {"+": "Add", "*": "Mul", "/": "Div"}
        return self._written(
            value, number_code, self._power_code, lambda a, sign, b: f"({words[sign]} {a} {b})"
        )

    def _power_text(self, place: int, power: int) -> str:
        return self.names[place] if power == 1 else f"{self.names[place]} ^ {power}"

    def _power_code(self, place: int, power: int) -> str:
        return f"(Var {place})" if power == 1 else f"(Pow (Var {place}) {power})"

    def _written(self, value: Any, number: Callable[[Any], str], power: Any, join: Any) -> str:
        if type(value) is not Quotient:
            return number(value)

        def polynomial(p: Polynomial) -> str:
            total = ""
            for powers, factor in sorted(p.items()):
                parts = [power(place, n) for place, n in enumerate(powers) if n]
                parts = [number(factor), *parts] if factor != 1 or not parts else parts
                term = parts[0]
                for part in parts[1:]:
                    term = join(term, "*", part)
                total = join(total, "+", term) if total else term
            return total or number(0)

        top = polynomial(value.top)
        return top if value.bottom == constant(1, value.width) else join(top, "/", polynomial(value.bottom))


class Frame:
    """Names in a case: names of functions, quantities and points, and the set of all names in use.

    Parameters
    ----------
    view
        What is known about the functions.
    quantities
        Names of the claim's quantities.
    counts
        Names of the quantities that are numbers of rounds.
    steps
        The requested proximal steps: index of the member, and step size.
    """

    def __init__(
        self,
        view: View,
        quantities: Sequence[str],
        counts: Sequence[str] = (),
        steps: Sequence[tuple[int, Fraction]] = (),
    ) -> None:
        self.names = Names()
        definitions = view.trace.definitions
        self.functions, self.gradients = list[str](), list[str]()
        for k, definition in enumerate(definitions, start=1):
            behind = "" if len(definitions) == 1 else f"_{k}"
            is_operator = isinstance(definition, OperatorClass)
            self.functions.append("" if is_operator else self.names.new(f"f{behind}"))
            self.gradients.append(self.names.new(f"A{behind}" if is_operator else f"g{behind}"))
        self.proximal = {step: self.names.new("prox") for step in steps}
        self.least = self.names.new("least") if view.trace.solution is None else ""
        self.quantities = {name: self.names.new(name) for name in quantities}
        self.numbers = {
            name: f"INR {own}" if name in counts else own for name, own in self.quantities.items()
        }
        is_split = view.trace.any_number
        self.mean, self.count, self.index = (
            self.names.new(each) if is_split else "" for each in ("mean", "n", "index")
        )
        self.points = {id(each): self.names.new(each.parts[0]) for each in view.free}
        self.shared = list(self.points.values())[:2] if is_split else []
        self.sequences: list[str] = []

    def binders(self) -> str:
        """Write the functions, gradients and operators with their types."""
        functions = " ".join(filter(None, self.functions))
        given = f"({functions} : V S -> R) " if functions else ""
        maps = " ".join([*self.gradients, *self.proximal.values()])
        return f"{given}({maps} : V S -> V S){f' ({self.least} : R)' * bool(self.least)}"

    def bound(self) -> str:
        """Write the names of the functions, gradients and operators."""
        return " ".join(filter(None, [*self.functions, *self.gradients, *self.proximal.values(), self.least]))


class Words:
    """Object that writes and names the values that are traced at one place of a claim about functions.

    Parameters
    ----------
    frame
        Names of the case.
    view
        What is known about the functions.
    roots
        The values to write besides the points at which functions are known.
    wanted
        Names of values in the source, by the identity of the values.
    symbols
        Writer of coefficients.
    given
        By identity: names that are defined elsewhere, and the numbers of a state in Rocq's notation.
    only
        Identities of the values that may be defined here, or None for all values.

    Attributes
    ----------
    bases, heights
        Base vectors, and values of functions, in the order of their indices.
    lets
        Names of vectors with their definitions, in order.
    again
        Gradients and values at points for which the source has a second expression, with the triplet of the first
        expression.
    vectors
        The base vectors that are defined here or requested again, in order.
    """

    def __init__(
        self,
        frame: Frame,
        view: View,
        roots: Sequence[Traced],
        wanted: Mapping[int, tuple[Any, str]],
        symbols: Symbols,
        given: Mapping[int, str] | None = None,
        only: set[int] | None = None,
    ) -> None:
        self.frame, self.view, self.symbols = frame, view, symbols
        self._given = {**frame.points, **(given or {})}
        triplets = [view.triplets[at] for at in sorted(view.triplets)]
        gradients = [gradient for _, gradient, _ in triplets]
        self.bases, self.split = [*view.free, *gradients], list[tuple[Traced, Traced, Traced]]()
        if view.trace.any_number and only is None:
            self._split(view.free[:2], [*view.free[2:], *gradients[1:]], gradients[0])
        self.heights = [height for *_, height in triplets if height.operator == "height"]
        nodes = in_order([*(point for point, *_ in view.triplets.values()), *roots])
        uses = Counter(id(part) for node in nodes for part in operands(node))
        self.heights += [node for node in nodes if node.operator == "minimum"]
        points = {id(point) for point, *_ in triplets}
        self._place = {id(each): k for k, each in enumerate(self.bases)}
        self._height = {id(each): k for k, each in enumerate(self.heights)}
        self._named: dict[int, str] = {}
        texts: dict[str, str] = {}
        self.lets: list[tuple[str, Traced]] = []
        self.again: list[tuple[Traced, Triplet]] = []
        self.vectors: list[Traced] = [vector for vector, *_ in self.split]
        for node in nodes:
            if node.operator == "height" and id(node) not in self._height and only is None:
                self._ask_again(node, triplets)
                self._height[id(node)] = len(self.heights)
                self.heights.append(node)
            if not node.is_vector or id(node) in self._place or id(node) in self._given:
                continue
            if node.operator == "gradient":
                if only is not None:  # no proof is about such a gradient
                    continue
                self._ask_again(node, triplets)
            else:
                name = wanted.get(id(node), (None, ""))[1]
                is_own = id(node) in points or uses[id(node)] > 1 or name or node.operator == "mean"
                if not is_own or (only is not None and id(node) not in only):
                    continue
                text = self.text(node, define=True)
                if text not in texts:
                    texts[text] = frame.names.new(name or ("common" if node.operator == "mean" else "x"))
                    self.lets.append((texts[text], node))
                self._named[id(node)] = texts[text]
            self._place[id(node)] = len(self.bases)
            self.bases.append(node)
            self.vectors.append(node)

    def _split(self, common: Sequence[Traced], own: Sequence[Traced], at_solution: Traced) -> None:
        """Use the mean of each split vector, and the rest, as base vectors; at the solution, the mean is 0."""
        trace = self.view.trace
        for vector in own:
            mean = mean_of(trace, vector)
            self.split.append((vector, mean, vector - mean))
        parts = [part for _, *both in self.split for part in both]
        self.bases = [*common, at_solution, *parts, *own]

    def _ask_again(self, node: Traced, triplets: Sequence[Triplet]) -> None:
        """Store a gradient or value at a point with a second expression, with the known triplet of this point."""
        for triplet in triplets:
            if triplet[1 if node.operator == "gradient" else 2].value is node.value:
                self.again.append((node, triplet))
                return
        raise Refused("no Rocq file: a requested gradient or value is unknown at a point")

    @property
    def named(self) -> dict[int, str]:
        """All defined names, indexed by the identity of their values."""
        return {**self._given, **self._named}

    # ---- in Rocq's notation

    def text(self, value: Any, *, define: bool = False) -> str:
        """Write a vector or number in Rocq's notation."""
        return self._text(value, define)[0]

    def _text(self, value: Any, define: bool = False) -> tuple[str, int]:
        if not isinstance(value, Traced):
            return number_text(value), 9
        if id(value) in self._given:
            return self._given[id(value)], 8 if " " in self._given[id(value)] else 9
        if id(value) in self._named and not define:
            return self._named[id(value)], 9
        if value.operator == "number":
            return number_text(value.value), 9
        if value.operator == "minimum":
            return self.frame.least, 9
        if value.operator == "leaf":
            return self.symbols.text(value.value), 9
        if value.operator == "quantity":
            own = self.frame.numbers[value.parts[0]]
            return own, 8 if " " in own else 9
        if value.operator == "point":
            raise Refused(
                "a Rocq file about functions cannot yet contain points that are given in each round"
            )
        if value.operator == "mean":
            return f"{self.frame.mean} {self._within(value.parts[0], 9)}", 8
        if value.operator in ("gradient", "height"):
            names = self.frame.gradients if value.operator == "gradient" else self.frame.functions
            place, point = value.parts
            return f"{names[place]} {self._within(point, 9)}", 8
        if value.operator == "prox":
            place, point, step = value.parts
            return f"{self.frame.proximal[place, step]} {self._within(point, 9)}", 8
        if value.operator == "^":
            return f"{self._within(value.parts[0], 9)} ^ {value.parts[1]}", 7
        left, right = value.parts
        if value.operator == "inner":
            return f"<<{self.text(left)}, {self.text(right)}>>", 9
        if value.is_vector and value.operator in "*/":
            factor, vector = _factor_first(value)
            scalar = f"(1 / {self._within(factor, 9)})" if value.operator == "/" else self._within(factor, 9)
            return f"{scalar} [*] {self._within(vector, 6)}", 6
        level = 1 if value.operator in "+-" else 2
        if value.operator == "*":
            left, right = _factor_first(value)
        sign = f"[{value.operator}]" if value.is_vector else value.operator
        return f"{self._within(left, level)} {sign} {self._within(right, level + 1)}", level

    def _within(self, value: Any, least: int) -> str:
        text, level = self._text(value)
        return text if level >= least else f"({text})"

    # ---- symbol by symbol

    def sides(self, comparison: Comparison) -> tuple[Any, Any]:
        """Return the smaller and the larger side of a comparison."""
        pair = comparison.left, comparison.right
        return pair[::-1] if comparison.sign in (">=", ">") else pair

    def proposition(self, comparison: Comparison) -> str:
        """Write a comparison, with the smaller side first."""
        small, large = map(self.text, self.sides(comparison))
        sign = {">=": "<=", ">": "<", "==": "="}.get(comparison.sign, comparison.sign)
        return f"{small} {sign} {large}"

    def function(self, value: Traced) -> str:
        """Return the name of the function to which a value belongs."""
        place: int = value.parts[0]
        return self.frame.functions[place]

    def gradient(self, value: Traced) -> str:
        """Return the name of the gradient or operator that returned a vector."""
        place: int = value.parts[0]
        return self.frame.gradients[place]

    def height(self, value: Traced) -> int:
        """Return the index of a value of a function."""
        return self._height[id(value)]

    def base(self, value: Traced) -> int:
        """Return the index of a base vector."""
        return self._place[id(value)]

    def code(self, value: Traced, *, define: bool = False) -> str:
        """Write a vector, or a number that depends on functions, as data for the checker."""
        if value.is_scalar:
            return f"(Number {self.scalar(value)})"
        if id(value) in self._place and not define:
            return f"(Base {self._place[id(value)]})"
        if id(value) in self._height:
            return f"(Value {self._height[id(value)]})"
        left, right = value.parts
        if value.operator == "inner":
            return f"(Inner {self.code(left)} {self.code(right)})"
        if value.operator in "+-":
            words = ("Sum", "Less") if value.is_vector else ("Plus", "Minus")
            return f"({words['+-'.index(value.operator)]} {self.code(left)} {self.code(right)})"
        factor, other = _factor_first(value)
        scalar = self.scalar(factor)
        if value.is_vector:
            scalar = f"(Div (Num 1) {scalar})" if value.operator == "/" else scalar
            return f"(Multiple {scalar} {self.code(other)})"
        if value.operator == "/":
            return f"(Over {self.code(other)} {scalar})"
        return f"(Times {scalar} {self.code(other)})"

    def scalar(self, value: Traced) -> str:
        """Write a number that depends on no function, as data for the checker."""
        if value.operator in ("number", "quantity", "leaf"):
            return self.symbols.code(value.value)
        if value.operator == "^":
            return f"(Pow {self.scalar(value.parts[0])} {value.parts[1]})"
        word = {"+": "Add", "-": "Sub", "*": "Mul", "/": "Div"}[value.operator]
        return f"({word} {' '.join(map(self.scalar, value.parts))})"

    # ---- as multiples of base vectors

    def in_bases(self, point: Point | Mapping[int, Any]) -> dict[int, Any]:
        """Return a combination of the kernel's free vectors as a combination of base vectors."""
        total: dict[int, Any] = {}
        for vector, factor in (point.terms if isinstance(point, Point) else point).items():
            for base, share in self._free_vectors()[vector].items():
                total[base] = total.get(base, 0) + factor * share
        return total

    def _free_vectors(self) -> dict[int, dict[int, Any]]:
        view = self.view
        origin = next(self.base(each) for each in view.free if each.value.terms.keys() == {0})
        found: dict[int, dict[int, Any]] = {0: {origin: 1}}
        for each in self.bases[: len(self.bases) - len(self.vectors)]:
            terms = each.value.terms
            new = [vector for vector in terms if vector not in found]
            if len(new) != 1 or terms[new[0]] != 1:
                continue
            of_new: dict[int, Any] = {self.base(each): 1}
            for vector, factor in terms.items():
                for base, share in found.get(vector, {}).items():
                    of_new[base] = of_new.get(base, 0) - factor * share
            found[new[0]] = of_new
        return found

    def multiples(self, point: Point | Mapping[int, Any]) -> str:
        """Write a combination of the kernel's free vectors as a list of factors and indices."""
        return listed(
            f"({self.symbols.code(factor)}, {base}%nat)"
            for base, factor in sorted(self.in_bases(point).items())
            if not _is_zero(factor)
        )

    def matrix(self, form: Form) -> list[list[Fraction]]:
        """Return the upper rows of the matrix of a form in the free base vectors; the form has no function values."""
        size = len(self.bases) - len(self.vectors)
        rows = [[Fraction(0)] * (size - i) for i in range(size)]
        free = self._free_vectors()
        for (left, right), factor in ((key, value) for key, value in form.terms.items() if len(key) == 2):
            for i, a in free[left].items():
                for j, b in free[right].items():
                    share = factor * a * b
                    rows[min(i, j)][abs(i - j)] += share if i == j else share / 2
        return rows

    def direction(self, point: Point | Mapping[int, Any]) -> str:
        """Write a combination of the kernel's free vectors as a vector."""
        parts = [
            f"(Multiple {self.symbols.code(factor)} (Base {base}))"
            for base, factor in sorted(self.in_bases(point).items())
            if not _is_zero(factor)
        ]
        if not parts:
            return "(Multiple (Num 0) (Base 0))"
        text = parts[-1]
        for part in reversed(parts[:-1]):
            text = f"(Sum {part} {text})"
        return text

    def kinds(self) -> tuple[list[int], list[int]]:
        """Return the indices of the base vectors that all functions share, and of the base vectors with mean 0."""
        if not self.frame.mean:
            return [], []
        means, rests = ([self.base(each[k]) for each in self.split] for k in (1, 2))
        return [0, 1, *means], [2, *rests]


def _is_zero(factor: Any) -> bool:
    return not (factor.top if type(factor) is Quotient else factor)


def _factor_first(value: Traced) -> tuple[Traced, Traced]:
    """Return the two sides of a product or quotient, with the number first."""
    left, right = value.parts
    if value.operator == "/":
        return (left, right) if value.is_scalar else (right, left)
    return (left, right) if left.is_scalar else (right, left)


def with_lets(lets: Iterable[tuple[str, str]], text: str) -> str:
    """Write a proposition with local definitions."""
    return "".join(f"let {name} := {what} in\n  " for name, what in lets) + text
