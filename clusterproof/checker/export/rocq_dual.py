"""A theorem about every function of a class, in any inner product space, at each setting of the other quantities."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

from clusterproof.checker.export.function_words import Words, number_code, number_text, with_lets
from clusterproof.checker.export.rocq_text import comment, listed, whole
from clusterproof.checker.export.source_names import naming
from clusterproof.checker.export.traced import Asked, Comparison, Followed, Traced, begun, plain, quantities
from clusterproof.checker.kernel.definitions import WORDS
from clusterproof.checker.kernel.evaluation import Evaluation, Outside, Refused, evaluating, limited, running
from clusterproof.checker.kernel.functions import problem
from clusterproof.checker.kernel.interpolation import FunctionClass
from clusterproof.checker.kernel.numbers import read, write
from clusterproof.checker.kernel.reading import read as read_text
from clusterproof.checker.kernel.spaces import OfClass
from clusterproof.checker.kernel.vocabulary import Sides
from clusterproof.checker.kernel.worlds import Form


@dataclass(frozen=True)
class Line:
    """A line as it is written: its sign, what is measured, and by name the summands that it is compared with."""

    sign: str
    measured: Any
    terms: Mapping[str, Any]


class Source:
    """Runs a statement on what is traced.

    Parameters
    ----------
    text, statement
        Of a claim, and the name of one of its statements.

    Attributes
    ----------
    supposed
        By the identity of the kernel's facts: their words, and the comparison.
    lines
        By the identity of the kernel's slacks the lines.
    names
        By identity, names of values in the source.
    """

    def __init__(self, text: str, statement: str) -> None:
        self.supposed: dict[int, tuple[str, Comparison]] = {}
        self.lines: dict[int, Line] = {}
        self.names: dict[int, tuple[Any, str]] = {}
        own: dict[str, Callable[..., Any]] = {
            "suppose": self._suppose,
            "at_most": self._compare("at_most", "<="),
            "at_least": self._compare("at_least", ">="),
            "given": self._no_word("given(...)"),
            "equal": self._no_word("equal(...)"),
            "known": self._no_word("known(...)"),
            "iterate": self._no_word("iterate(...)"),
        }
        self.stated = read_text(text, {**WORDS, **own}).statements[statement]
        assert self.stated.space.function is not None
        self.function = self.stated.space.function
        of_class = self.stated.space.ranges[self.function]
        assert type(of_class) is OfClass
        self.of_class = of_class

    @staticmethod
    def _no_word(name: str) -> Callable[..., Any]:
        def refuse(*arguments: Any, **named: Any) -> Any:
            raise Refused(f"no theorem for Rocq about functions uses {name} yet")

        return refuse

    def _suppose(self, name: Any, holds: Any = None, words: Any = None) -> None:
        before = len(running().now.facts)
        WORDS["suppose"](name, plain(holds))
        for fact in running().now.facts[before:]:
            if type(holds) is not Comparison:
                raise Refused("a hypothesis on functions is one comparison")
            self.supposed[id(fact)] = name, holds

    def _compare(self, word: str, sign: str) -> Callable[..., Sides]:
        def compare(measured: Any, *more: Any, words: Any = None, **terms: Any) -> Sides:
            line: Sides = WORDS[word](
                plain(measured), *map(plain, more), **{n: plain(t) for n, t in terms.items()}
            )
            self.lines[id(line.slacks)] = Line(sign, measured, terms)
            return line

        return compare

    def evaluate(self, instance: Mapping[str, Any], asked: Asked) -> tuple[dict[str, Any], Evaluation]:
        """Return the lines, and what was supposed; none where a hypothesis fails."""
        given = {**quantities(instance), self.function: Followed(problem(asked.trace), asked)}
        with evaluating() as evaluation, naming(self.names, Traced):
            try:
                return self.stated.evaluate(given), evaluation
            except Outside:
                return {}, evaluation


@dataclass(frozen=True)
class Case:
    """A line at a setting on one path, with the multipliers of an entry."""

    setting: Mapping[str, Any]
    asked: Asked
    line: Line
    measured: Any
    bounds: Mapping[str, Any]
    slack: Any
    facts: tuple[Mapping[str, Form], Mapping[str, Form]]
    supposed: Sequence[tuple[str, Comparison]]
    proof: Mapping[str, Any]


def dual(text_of_claim: str, record: Mapping[str, Any], name: str = "certified") -> list[str]:
    """Write a theorem for each setting and entry of the line, and one, of a name, that composes them."""
    source = Source(text_of_claim, record["statement"])
    lines: list[str] = []
    count = 0
    with limited(10**9):
        for count, case in enumerate(_cases(source, record), start=1):
            words = ", ".join(f"{key} = {value}" for key, value in case.setting.items())
            lines += ["", comment(words or "no other quantity"), *_Theorem(case, source.names, count).lines]
    whole = " /\\ ".join(f"case_{k}" for k in range(1, count + 1))
    parts = (
        "".join(f"(conj case_{k}_holds " for k in range(1, count)) + f"case_{count}_holds" + ")" * (count - 1)
    )
    return [
        *lines,
        "",
        f"Theorem {name} : {whole}.",
        f"Proof. exact {parts}. Qed.",
        f"Definition theorems := {name}.",
    ]


def _cases(source: Source, record: Mapping[str, Any]) -> Iterator[Case]:
    proofs = {_key(each["setting"]): each["paths"] for each in record["settings"]}
    for setting in source.stated.space.every(left_out=source.function):
        paths = iter(proofs.get(_key({key: write(value) for key, value in setting.items()}), ()))
        asked = begun(source.of_class.trace(setting, []))
        lines, evaluation = source.evaluate(setting, asked)
        if asked.trace.forked:
            raise Refused("no theorem for Rocq about functions decides a comparison of their values yet")
        sides = lines.get(record["line"])
        if type(sides) is not Sides:
            continue
        line = source.lines[id(sides.slacks)]
        known = [*evaluation.now.facts, *sides.facts]
        facts = asked.trace.facts(known)
        several = list(line.measured) if type(line.measured) in (list, tuple) else [line.measured]
        for place, (slack, proof) in enumerate(zip(sides.slacks, next(paths), strict=True)):
            if type(slack) is tuple:
                raise Refused("no theorem for Rocq about functions is about least(...) yet")
            measured = several[place % len(several)]
            bounds = {
                name: term[place] if type(term) in (list, tuple) else term
                for name, term in line.terms.items()
            }
            supposed = [source.supposed[id(fact)] for fact in known]
            yield Case(setting, asked, line, measured, bounds, slack, facts, supposed, proof)


def _key(setting: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(sorted((str(key), str(value)) for key, value in setting.items()))


class _Theorem:
    """The statement of a case, and its proof."""

    def __init__(self, case: Case, names: Mapping[int, tuple[Any, str]], number: int) -> None:
        self._case, self._number, self._name = case, number, f"case_{number}"
        roots = [each for each in (case.measured, *case.bounds.values()) if isinstance(each, Traced)]
        given = [name for name, value in case.setting.items() if type(value) in (int, Fraction)]
        self._words = Words(case.asked, roots, names, given)
        self.lines = [*self._statement(), *self._evidence(), *self._proof()]

    def _own(self, name: str) -> str:
        """Return a name of the proof, which no source has."""
        return f"{name}_{self._number}'"

    # ---- what is stated

    def _statement(self) -> list[str]:
        words, asked, case = self._words, self._case.asked, self._case
        functions, gradients = words.functions, words.gradients
        self._given: list[str] = []
        hypotheses = []
        for place, definition in enumerate(asked.trace.definitions):
            assert isinstance(definition, FunctionClass)
            own = f"{functions[place]} {gradients[place]}"
            hypotheses += [
                f"strongly_convex {number_text(definition.strong_convexity)} {own}",
                f"upper_smooth {number_text(definition.smoothness)} {own}",
            ]
            self._given += [f"C_{place}'", f"U_{place}'"]
        total: Any = 0
        for place, weight in enumerate(asked.trace.weights):
            total = total + weight * asked.triplets[place, 0][1]
        self._total: Traced = total
        vanishes = f"{words.text(total)} = origin S"
        values = {name: case.setting[own] for own, name in words.quantities.items()}
        lets = [(name, number_text(value)) for name, value in values.items()]
        lets += [(name, words.text(node, define=True)) for name, node in words.lets]
        bound = []
        for name, term in case.bounds.items():
            bound.append(words.names.new(name))
            lets.append((bound[-1], f"{words.text(term)}"))
        measured, allowed = words.text(case.measured), " + ".join(bound)
        conclusion = f"{measured} {case.line.sign} {allowed}"
        free = " ".join(words.free.values())
        self._lets = [name for name, _ in lets]
        return [
            f"Definition {self._name} : Prop :=",
            f"  forall (S : space) ({' '.join(functions)} : V S -> R) ({' '.join(gradients)} : V S -> V S),",
            *(f"  {each} ->" for each in hypotheses),
            f"  forall {free} : V S, {vanishes} ->",
            f"  {with_lets(lets, conclusion)}.",
        ]

    # ---- symbol by symbol

    def _evidence(self) -> list[str]:
        words, case, trace = self._words, self._case, self._case.asked.trace
        nonnegative, zero = case.facts
        if zero or case.supposed:
            raise Refused("no theorem for Rocq about functions has further hypotheses on them yet")
        self._conditions: list[str] = []
        rest, given = trace.constant(0) + case.slack, list[tuple[Fraction, str]]()
        least = Fraction(0)
        for name, code in case.proof["multipliers"].items():
            factor = Fraction(read(code))
            rest = rest - factor * nonnegative[name]
            if name == "1":
                least = factor
            elif factor:
                given.append((factor, self._condition(name)))
        self._bound = _sum(case.bounds.values())
        small, large = case.measured, self._bound
        if case.line.sign == ">=":
            small, large = large, small
        self._small, self._large = (
            words.code(each) if isinstance(each, Traced) else f"(Number {number_code(each)})"
            for each in (small, large)
        )
        matrix = words.matrix(rest)
        scale = lcm(*(entry.denominator for row in matrix for entry in row))
        rows = [listed(f"({whole(int(entry * scale))})" for entry in row) for row in matrix]
        triplets = [
            f"Definition {self._own(f'at_{k}_{i}')} := Triplet {' '.join(map(words.code, triplet))}."
            for (k, i), triplet in sorted(case.asked.triplets.items())
        ]
        last = case.asked.triplets[len(trace.definitions) - 1, 0][1]
        weight = trace.weights[-1]
        place = words.base(last)
        meanings = [
            f"({place}%nat, Less (Base {place}) (Multiple {number_code(1 / weight)} {words.code(self._total)}), "
            f"{words.multiples(last.value)})"
        ]
        meanings += [
            f"({words.base(node)}%nat, {words.code(node, define=True)}, {words.multiples(node.value)})"
            for _, node in words.lets
        ]
        own = self._own
        return [
            *triplets,
            f"Definition {own('meanings')} : meanings :=\n  {listed(meanings)}.",
            f"Definition {own('given')} : list (formula * form) :=\n  "
            + listed(f"({number_code(factor * scale)}, {text})" for factor, text in given)
            + ".",
            f"Definition {own('matrix')} : list (list Z) :=\n  ({listed(rows)})%Z.",
            f"Definition {own('rest')} : formula := {number_code(least * scale)}.",
            f"Definition {own('scale')} : formula := {number_code(scale)}.",
            f"Definition {own('small')} : form := {self._small}.",
            f"Definition {own('large')} : form := {self._large}.",
        ]

    def _condition(self, name: str) -> str:
        oracle, _, rest = name.partition(":")
        pair, _, which = rest.partition(":")
        if not oracle.isdigit() or "," not in pair or which != "0":
            raise Refused(f"no theorem for Rocq about functions uses the condition {name} yet")
        definition = self._case.asked.trace.definitions[int(oracle)]
        assert isinstance(definition, FunctionClass)
        first, second = (self._own(f"at_{oracle}_{place}") for place in pair.split(","))
        mu, L = number_code(definition.strong_convexity), number_code(definition.smoothness)
        own = f"{self._words.functions[int(oracle)]} {self._words.gradients[int(oracle)]}"
        right = "(conj (fun z' => eq_refl) eq_refl)"
        self._conditions.append(
            f"(smooth_pair_holds S nil v' val' {own} {mu} {L} {first} {second} A_{oracle}' C_{oracle}' U_{oracle}' "
            f"{right} {right})"
        )
        return f"smooth_pair {mu} {L} {first} {second}"

    def _proof(self) -> list[str]:
        words, name, trace = self._words, self._name, self._case.asked.trace
        free = " ".join(words.free.values())
        own = f"{' '.join(words.functions)} {' '.join(words.gradients)}"
        several = []
        for place, definition in enumerate(trace.definitions):
            assert isinstance(definition, FunctionClass)
            mu, L = number_code(definition.strong_convexity), number_code(definition.smoothness)
            several.append(f"  assert (A_{place}' : den nil {mu} < den nil {L}) by (simpl; lra).")
        total, inverse = words.code(self._total), number_code(1 / trace.weights[-1])
        known = (
            f"(conj (by_zero S nil v' {total} {inverse} _ M') "
            + "(conj (fun z' => eq_refl) " * len(words.lets)
            + "Logic.I"
            + ")" * (1 + len(words.lets))
        )
        hold = (
            "".join(f"(conj {each}\n    " for each in self._conditions)
            + "Logic.I"
            + ")" * len(self._conditions)
        )
        bases = "; ".join(words.text(each) for each in words.bases)
        values = "; ".join(words.text(each) for each in words.heights)
        meanings, scale, given, matrix, rest, small, large = map(
            self._own, ("meanings", "scale", "given", "matrix", "rest", "small", "large")
        )
        slack = f"(Minus {large} {small})"
        return [
            f"Lemma {name}_holds : {name}.",
            "Proof.",
            f"  cbv delta [{name}]. intros S {own} {' '.join(self._given)} {free} M' {' '.join(self._lets)}.",
            f"  pose (v' := fun i' => nth i' [{bases}] (origin S)).",
            f"  pose (val' := fun i' => nth i' [{values}] 0).",
            *several,
            f"  assert (P' : proves nil {meanings} {scale} {slack} {given} nil {matrix} {rest} = true)",
            "    by (vm_cast_no_check (eq_refl true)).",
            f"  assert (K' : mean_it S nil v' {meanings}) by exact {known}.",
            f"  assert (H' : hold S nil v' val' {given}) by exact {hold}.",
            "  pose proof (proves_ok S nil v' val' nil eq_refl Logic.I _ _ _ _ _ _ _ P' K' H') as E'.",
            f"  exact (below S nil v' val' {small} {large} E').",
            "Qed.",
        ]


def _sum(values: Any) -> Any:
    total, *others = values
    for each in others:
        total = total + each
    return total
