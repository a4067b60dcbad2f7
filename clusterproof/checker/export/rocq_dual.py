"""A theorem about every function of a class, from the conditions that are used, in any inner product space."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import lcm
from typing import Any

from clusterproof.checker.export.rocq_text import comment, every, listed, rational
from clusterproof.checker.kernel.definitions import WORDS
from clusterproof.checker.kernel.evaluation import Outside, limited
from clusterproof.checker.kernel.functions import problem
from clusterproof.checker.kernel.interpolation import FunctionClass
from clusterproof.checker.kernel.numbers import number, read, write
from clusterproof.checker.kernel.reading import read as read_text
from clusterproof.checker.kernel.spaces import OfClass
from clusterproof.checker.kernel.traces import Trace
from clusterproof.checker.kernel.vocabulary import Least, Sides
from clusterproof.checker.kernel.worlds import Form, Point


class Followed(Trace):
    """A trace that knows of which points each number is the product."""

    def __init__(self, *arguments: Any) -> None:
        self.products: dict[int, tuple[Form, Point, Point]] = {}
        super().__init__(*arguments)

    def inner(self, left: Point, right: Point) -> Form:
        """Return the combination of the products of the free vectors."""
        form = super().inner(left, right)
        self.products[id(form)] = form, left, right
        return form


def _rational(value: Any) -> str:
    return f"{rational(value)}%Q"


class Writer:
    """Writes points and numbers of a trace by the names of its free vectors and values."""

    def __init__(self, trace: Followed) -> None:
        self._trace = trace
        self._vectors = (
            {0: "solution", 1: "start_minus_solution"} if trace.solution is not None else {0: "start"}
        )
        self._values: dict[int, str] = {}
        self.points: dict[tuple[Any, ...], str] = {trace.start.key: "start_point"}
        for k, oracle in enumerate(trace.oracles):
            for i, (point, gradient, value) in enumerate(oracle.triplets):
                for vector, one in ((gradient, f"gradient_{k}_{i}"), (point, f"vector_{k}_{i}")):
                    for v in vector.terms:
                        self._vectors.setdefault(
                            v, one if vector is point or len(vector.terms) == 1 else f"vector_{v}"
                        )
                for key in value.terms:
                    self._values.setdefault(key[0] if key else -1, f"value_{k}_{i}" if key else "1")
                self.points.setdefault(point.key, f"point_{k}_{i}")

    def names(self) -> list[str]:
        """Define the places of the free vectors and values."""
        vectors = {v: self._vectors.get(v, f"vector_{v}") for v in range(self._trace.vectors)}
        self._vectors = vectors
        places = [f"Definition {name} : nat := {v}." for v, name in vectors.items()]
        return places + [
            f"Definition {n}_place : nat := {v}." for v, n in sorted(self._values.items()) if v >= 0
        ]

    def vector(self, point: Point) -> str:
        """Write a combination of free vectors."""
        return (
            listed(f"({rational(c)}, {self._vectors[v]})" for v, c in sorted(point.terms.items()) if c) + "%Q"
        )

    def form(self, value: Any) -> str:
        """Write a number: a product of two points where it is known to be one, else by the free vectors."""
        if not isinstance(value, Form):
            return f"(Number {_rational(number(value))})"
        if id(value) in self._trace.products:
            _, left, right = self._trace.products[id(value)]
            return f"(Inner {self._point(left)} {self._point(right)})"
        parts = []
        for key, c in value.terms.items():
            if len(key) == 2:
                part = f"(Inner [(1%Q, {self._vectors[key[0]]})] [(1%Q, {self._vectors[key[1]]})])"
            elif key:
                part = f"(Value {self._values.get(key[0], 'value')}_place)"
            else:
                part = "(Number 1%Q)"
            parts.append(part if c == 1 else f"(Times {_rational(c)} {part})")
        text = parts[-1] if parts else "(Number 0%Q)"
        for part in reversed(parts[:-1]):
            text = f"(Plus {part}\n    {text})"
        return text

    def _point(self, point: Point) -> str:
        return self.points.get(point.key) or self.vector(point)

    def triplets(self) -> list[str]:
        """Define the points at which a function is known, its subgradients and values there."""
        lines, defined = (
            [f"Definition start_point : vector := {self.vector(self._trace.start)}."],
            {"start_point"},
        )
        for k, oracle in enumerate(self._trace.oracles):
            for i, (point, gradient, value) in enumerate(oracle.triplets):
                name = self.points[point.key]
                if name not in defined:
                    lines.append(f"Definition {name} : vector := {self.vector(point)}.")
                    defined.add(name)
                lines.append(
                    f"Definition f_{k}_{i} := Triplet {name} {self.vector(gradient)} {self.form(value)}."
                )
        return lines


def _condition(trace: Trace, name: str, form: Form, writer: Writer) -> str:
    """Write a condition: of a pair of a function's points by what it says, others by the free vectors."""
    oracle, _, rest = name.partition(":")
    pair, _, which = rest.partition(":")
    definition = trace.definitions[int(oracle)] if oracle.isdigit() else None
    if isinstance(definition, FunctionClass) and "," in pair and which == "0":
        s, t = (f"f_{oracle}_{place}" for place in pair.split(","))
        L = definition.smoothness
        mu = definition.strong_convexity if definition.convex or L is None else -L
        if L is None or mu == L:
            return f"convex {_rational(mu)} {s} {t}"
        return f"smooth {_rational(mu)} {_rational(L)} {s} {t}"
    return f"{comment(name)} {writer.form(form)}"


def dual(text_of_claim: str, record: Mapping[str, Any]) -> list[str]:
    """Write a theorem for each setting, path and entry of the line."""
    compared: list[tuple[Sides, Any, bool]] = []

    def noting(known: Callable[..., Sides]) -> Callable[..., Sides]:
        def compare(measured: Any, *allowed: Any, words: Any = None, **terms: Any) -> Sides:
            line = known(measured, *allowed, **terms)
            compared.append((line, measured, line.sign == ">="))
            return line

        return compare

    noted = {name: noting(WORDS[name]) for name in ("at_most", "at_least")}
    stated = read_text(text_of_claim, {**WORDS, **noted}).statements[record["statement"]]
    name = stated.space.function
    assert name is not None
    of_class = stated.space.ranges[name]
    assert type(of_class) is OfClass
    proofs = {_key(each["setting"]): each["paths"] for each in record["settings"]}
    cases: list[tuple[str, list[str]]] = []
    with limited(10**9):
        for setting in stated.space.every(left_out=name):
            paths = iter(proofs.get(_key({key: write(value) for key, value in setting.items()}), ()))
            decisions: list[bool] | None = []
            while decisions is not None:
                plain = of_class.trace(setting, decisions)
                trace = Followed(plain.groups, plain.reach, decisions)
                compared.clear()
                try:
                    lines, evaluation = stated.evaluated({**setting, name: problem(trace)})
                except Outside:
                    lines, evaluation = {}, None
                decisions = trace.next_decisions()
                sides = lines.get(record["line"])
                if type(sides) is not Sides or evaluation is None:
                    continue
                words_of = ", ".join(f"{key} = {value}" for key, value in setting.items())
                measured, is_lower = next(
                    (m, low) for line, m, low in compared if line.slacks is sides.slacks
                )
                several = list(measured) if type(measured) in (list, tuple) else [measured]
                facts = trace.facts([*evaluation.now.facts, *sides.facts])
                for entry, slack, proof in zip(
                    several * len(sides.slacks), sides.slacks, next(paths), strict=False
                ):
                    pair = (entry, slack, is_lower)
                    cases.append((words_of, _theorem(trace, pair, facts, proof)))
    text: list[str] = []
    for k, (words_of, lines_of) in enumerate(cases, start=1):
        text += [
            "",
            comment(words_of or "no other quantity"),
            f"Module Case_{k}.",
            *lines_of,
            f"End Case_{k}.",
        ]
    return [*text, "", every(f"Case_{k}.certified" for k in range(1, len(cases) + 1))]


def _key(setting: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(sorted((str(key), str(value)) for key, value in setting.items()))


def _theorem(
    trace: Followed,
    compared: tuple[Any, Any, bool],
    facts: tuple[dict[str, Form], dict[str, Form]],
    proof: Mapping[str, Any],
) -> list[str]:
    measured, slack, is_lower = compared
    nonnegative, zero = facts
    if type(measured) is Least:
        weights = [Fraction(read(weight)) for weight in proof["weights"]]
        small = trace.constant(0) + sum(
            (w * m for w, m in zip(weights, measured.numbers, strict=True)), start=trace.constant(0)
        )
        slack = sum((w * s for w, s in zip(weights, slack, strict=True)), start=trace.constant(0))
        large = slack + small
    elif is_lower:
        small, large = measured - slack, measured
    else:
        small, large = measured, slack + measured
    writer = Writer(trace)
    rest, given = trace.constant(0) + slack, []
    for name, code in proof["multipliers"].items():
        factor = Fraction(read(code))
        form = nonnegative[name] if name in nonnegative else zero[name]
        rest = rest - factor * form
        if name == "1" or not factor:
            continue
        given.append((abs(factor), form if factor > 0 else -form, name))
    entries = [value * (2 if key[0] == key[1] else 1) for key, value in rest.terms.items() if len(key) == 2]
    scale = lcm(*(value.denominator for value in entries))
    return [
        *writer.names(),
        *writer.triplets(),
        f"Definition measured : form := {writer.form(small)}.",
        f"Definition bound : form := {writer.form(large)}.",
        "Definition conditions : list form := [\n  "
        + ";\n  ".join(_condition(trace, name, form, writer) for _, form, name in given)
        + "].",
        f"Definition multipliers : list Q := {listed(rational(factor) for factor, _, _ in given)}%Q.",
        "",
        "Theorem certified : forall (S : space) (v : nat -> V S) (val : nat -> R),",
        "  Forall (fun condition => 0 <= sem S v val condition) conditions ->",
        "  sem S v val measured <= sem S v val bound.",
        "Proof.",
        "  intros S v val H.",
        f"  assert (P : proves {trace.vectors} {scale} measured bound (combine multipliers conditions) = true)",
        "    by (vm_cast_no_check (eq_refl true)).",
        "  exact (proves_ok S val _ _ _ _ _ v P H).",
        "Qed.",
    ]
