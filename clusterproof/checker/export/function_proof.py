"""The proof of the facts to show at one place of a claim about functions, in the form that ``duals.v`` checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from clusterproof.checker.export.function_classes import members
from clusterproof.checker.export.function_words import Words, number_code
from clusterproof.checker.export.rocq_text import listed
from clusterproof.checker.export.traced import Comparison, Traced
from clusterproof.checker.kernel.evaluation import Refused


def conjunction(proofs: Sequence[str]) -> str:
    """Write the proof of a conjunction that ends with True."""
    return "".join(f"(conj {each}\n    " for each in proofs) + "Logic.I" + ")" * len(proofs)


@dataclass(frozen=True, eq=False)
class Squared:
    """A hypothesis about symbols, times the square of a combination of the kernel's vectors."""

    fact: Any
    direction: tuple[tuple[int, Any], ...]


@dataclass(frozen=True)
class Sum:
    """A number as a sum of nonnegative terms, with the factors of the named conditions.

    Attributes
    ----------
    scale
        Factors by which the number is multiplied, each with a positive lower bound.
    given
        Conditions, each with its factor: the name of a condition, or a hypothesis times a square.
    squares, matrix
        Factors with combinations of the kernel's vectors, or the upper rows of a matrix.
    rest
        The remaining number.
    """

    scale: Sequence[str]
    given: Sequence[tuple[str | Squared, str]]
    rest: str
    squares: Sequence[tuple[str, Mapping[int, Any]]] = ()
    matrix: Sequence[str] = ()


@dataclass
class Place:
    """A place of a claim: the facts that are known at the place, and the proof written so far.

    Parameters
    ----------
    words
        Writer for everything traced at this place.
    env, entries
        The values of the symbols, and the facts about them that the checker reads.
    bounds
        The hypotheses from which ``entries`` follow.
    known
        The comparison and the hypothesis, by the names of the kernel's conditions.
    suffix
        Suffix of the names that are defined for this place.
    positive
        Factors of divisors, each with positive numbers whose product is a lower bound of the factor.
    about_symbols
        The comparison and the hypothesis, by the identity of the kernel's facts about symbols.
    """

    words: Words
    suffix: str
    env: Sequence[str] = ()
    entries: Sequence[str] = ()
    bounds: Sequence[str] = ()
    known: Mapping[str, tuple[Comparison, str]] = field(default_factory=dict)
    positive: Sequence[Sequence[str]] = ()
    about_symbols: Mapping[int, tuple[Comparison, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        words, view = self.words, self.words.view
        self.definitions: list[str] = []
        self._members = members(words.frame, view.trace.definitions, words.symbols)
        minima = [node for node in words.heights if node.operator == "minimum"]
        self._least = words.code(minima[0]) if minima else ""
        self._count = 0
        for (k, i), triplet in sorted(view.triplets.items()):
            self._define(f"at_{k}_{i}", "", f"Triplet {' '.join(map(words.code, triplet))}")
        meanings, self._known = list[str](), list[str]()
        self._kinds = words.kinds()
        if view.equation is not None and not words.frame.mean:
            total, right = view.equation
            last = view.triplets[len(view.trace.definitions) - 1, 0][1]
            place, inverse = words.base(last), number_code(1 / view.trace.weights[-1])
            if right is None:
                what = f"Less (Base {place}) (Multiple {inverse} {words.code(total)})"
                self._known.append(f"(by_zero S env' v' {words.code(total)} {inverse} _ M')")
            else:
                what = words.code(right)
                self._known.append("(by_equation S _ _ M')")
            meanings.append(f"({place}%nat, {what}, {words.multiples(last.value)})")
        self._again: list[tuple[str, str, str]] = []
        self._equalities: list[str] = []
        self._conditions: dict[int, list[str]] = {}
        parts = {id(whole): (mean, rest) for whole, mean, rest in words.split}
        for node in words.vectors:
            if id(node) in parts:
                self._known.append(f"(by_parts S {words.frame.mean} ({words.text(node)}))")
                what = f"(Sum {' '.join(map(words.code, parts[id(node)]))})"
            elif node.operator == "mean":
                self._known.append(self._mean(node))
                what = words.direction(node.value)
            elif node.operator == "gradient":
                first = next(triplet for other, triplet in words.again if other is node)
                equal = self._same(node, first[0])
                self._known.append(f"(by_equation S _ _ (f_equal {words.gradient(node)} {equal}))")
                what = words.code(first[1])
            elif node.operator == "prox":
                place, point, step = node.parts
                own = words.frame.proximal[place, step]
                (gradient,) = (gradient for at, gradient, _ in view.triplets.values() if at is node)
                known = f"_ _ _ _ {own} ({words.text(point)}) U_{place}' {own}' ltac:(lra)"
                self._known.append(f"(by_proximal S {known})")
                step_back = f"(Multiple {number_code(step)} (Base {words.base(gradient)}))"
                what = f"(Less {words.code(point)} {step_back})"
            else:
                self._known.append("(fun z' => eq_refl)")
                what = words.code(node, define=True)
            meanings.append(f"({words.base(node)}%nat, {what}, {words.multiples(node.value)})")
        self._values = [
            (node, first, f"(f_equal {words.function(node)} {self._same(node, first[0])})")
            for node, first in words.again
            if node.operator == "height"
        ]
        pairs = [
            f"({words.height(node)}%nat, {words.height(first[2])}%nat)" for node, first, _ in self._values
        ]
        self._define("same", "list (nat * nat)", listed(pairs))
        self._define("meanings", "meanings", listed(meanings))
        kinds = (f"[{'; '.join(map(str, each))}]%nat" for each in self._kinds)
        self._define("kinds", "kinds", f"({', '.join(kinds)})")
        self._define("basic", "list entry", listed(self.entries))
        kind = "list (list formula * formula)"
        for k, factors in enumerate(self.positive):
            self._define(f"divisor_{k}", kind, listed(factors))
        signs = [
            f"Supposed (Lt (Num 0) (product_of {self.own(f'divisor_{k}')}))"
            for k in range(len(self.positive))
        ]
        self._define("entries", "list entry", f"{self.own('basic')} ++ {listed(signs)}")

    def own(self, name: str) -> str:
        """Return a name for the proof that the source does not use."""
        return f"{name}_{self.suffix}'"

    def _define(self, name: str, kind: str, text: str) -> None:
        self.definitions.append(f"Definition {self.own(name)}{f' : {kind}' if kind else ''} :=\n  {text}.")

    def _mean(self, node: Traced) -> str:
        """Return the name of the equality of a mean and a combination of shared vectors."""
        name, own = f"N_{len(self._known)}'", f"(firstn {len(self._known)} {self.own('meanings')})"
        of, what = self.words.code(node.parts[0]), self.words.direction(node.value)
        mean = self.words.frame.mean
        self._equalities += [
            f"assert ({name} : like S ({mean} (vec S env' v' {of})) (vec S env' v' {what})).",
            f"{{ refine (same_mean S env' v' {self.own('entries')} D' B' {mean} {self.own('kinds')} {own} {of} {what}",
            f"    PM' RK' {conjunction(self._known)} _); vm_cast_no_check (eq_refl true). }}",
        ]
        return name

    def _kinds_shown(self) -> list[str]:
        """Return the steps that show which base vectors are shared, and which have the mean 0."""
        words, mean = self.words, self.words.frame.mean
        if not mean:
            return [
                "pose (mean' := fun x' : V S => x'). pose proof (every_vector S) as PM'.",
                "assert (RK' : right_kinds S v' mean' ([], [])) by exact (conj Logic.I Logic.I).",
            ]
        texts = [words.text(whole) for whole, *_ in words.split]
        shared = [f"shared_{each}'" for each in words.frame.shared]
        shared += [f"(mean_of_mean S {mean} ({text}) PM')" for text in texts]
        apart = ["M'", *(f"(mean_of_rest S {mean} ({text}) PM')" for text in texts)]
        return [
            f"assert (RK' : right_kinds S v' {mean} {self.own('kinds')})",
            f"  by exact (conj {conjunction(shared)} {conjunction(apart)}).",
        ]

    def _same(self, node: Traced, first: Traced) -> str:
        """Return the name of the equality of two points, which is shown from the facts known so far."""
        other = node.parts[1]
        texts = self.words.text(other), self.words.text(first)
        for *pair, name in self._again:
            if tuple(pair) == texts:
                return name
        name, several = f"Y_{len(self._again)}'", f"(firstn {len(self._known)} {self.own('meanings')})"
        self._again.append((*texts, name))
        points = " ".join(map(self.words.code, (other, first)))
        self._equalities += [
            f"assert ({name} : {texts[0]} = {texts[1]}).",
            f"{{ refine (same_points S env' v' {self.own('entries')} D' B' {several} {points} _",
            f"    {conjunction(self._known)} _); vm_cast_no_check (eq_refl true). }}",
        ]
        return name

    def begin(self) -> list[str]:
        """Return the steps with which a proof at this place begins."""
        words = self.words
        entries = self.own("entries")
        bases = "; ".join(words.text(each) for each in words.bases)
        values = "; ".join(words.text(each) for each in words.heights)
        bounds = [*self.bounds, *(f"V_{k}'" for k in range(len(self.positive)))]
        steps = [
            *(f"pose ({name} := {words.text(node, define=True)})." for name, node in words.lets),
            f"pose (env' := [{'; '.join(self.env)}] : list R).",
            f"pose (v' := fun i' => nth i' [{bases}] (origin S)).",
            f"pose (val' := fun i' => nth i' ([{values}] : list R) 0).",
            *self._signs_of_divisors(),
            f"assert (D' : fst (defined env' 0 {entries}) = snd (defined env' 0 {entries})) by exact (eq_refl nil).",
            f"assert (B' : bounded env' 0 {entries}) by exact {conjunction(bounds)}.",
        ]
        for member in self._members:
            steps += member.begin(entries)
        return [
            *steps,
            *self._kinds_shown(),
            *self._equalities,
            f"assert (K' : mean_it S env' v' {self.own('meanings')}) by exact {conjunction(self._known)}.",
            f"assert (W' : equal_values val' {self.own('same')})",
            f"  by exact {conjunction([proof for *_, proof in self._values])}.",
        ]

    def _signs_of_divisors(self) -> list[str]:
        """Return the steps that show divisors to be positive."""
        if not self.positive:
            return []
        basic = self.own("basic")
        steps = [
            f"assert (D_0' : fst (defined env' 0 {basic}) = snd (defined env' 0 {basic})) by exact (eq_refl nil).",
            f"assert (B_0' : bounded env' 0 {basic}) by exact {conjunction(self.bounds)}.",
        ]
        for k in range(len(self.positive)):
            product = self.own(f"divisor_{k}")
            steps += [
                f"assert (V_{k}' : 0 < den env' (product_of {product})).",
                f"{{ apply (positive_product env' {basic} D_0' B_0' {product}). vm_cast_no_check (eq_refl true). }}",
            ]
        return steps

    def below(self, small: Any, large: Any, sum_: Sum) -> tuple[list[str], str]:
        """Return steps, and a proof that uses them: one number, which depends on functions, is at most another."""
        k = self._evidence(sum_)
        self._define(f"small_{k}", "form", self._form(small))
        self._define(f"large_{k}", "form", self._form(large))
        small_name, large_name = self.own(f"small_{k}"), self.own(f"large_{k}")
        steps = self._positive(k, f"(Minus {large_name} {small_name})")
        return steps, f"(below S env' v' val' {small_name} {large_name} E_{k}')"

    def least_below(
        self, numbers: Sequence[Any], weights: Sequence[str], large: Any, sum_: Sum
    ) -> tuple[list[str], str]:
        """Return steps, and a proof that uses them: one of several numbers is at most another number."""
        k = self._evidence(sum_)
        pairs = [f"({weight}, {self._form(each)})" for weight, each in zip(weights, numbers, strict=True)]
        self._define(f"numbers_{k}", "list (formula * form)", listed(pairs))
        self._define(f"large_{k}", "form", self._form(large))
        several, large_name, entries = self.own(f"numbers_{k}"), self.own(f"large_{k}"), self.own("entries")
        steps = self._positive(k, f"(mean_gap {several} {large_name})")
        steps += [
            f"assert (Z_{k}' : are_weights {entries} {several} = true) by (vm_cast_no_check (eq_refl true)).",
        ]
        return steps, f"(one_is_below S env' v' val' {entries} {several} {large_name} D' B' Z_{k}' E_{k}')"

    def _evidence(self, sum_: Sum) -> int:
        """Define the evidence of a sum, and return its index."""
        self._count += 1
        k = self._count
        conditions = [self._condition(name) for name, _ in sum_.given]
        given = [f"({factor}, {code})" for (_, factor), (code, _) in zip(sum_.given, conditions, strict=True)]
        squares = [f"({factor}, {self.words.direction(row)})" for factor, row in sum_.squares]
        self._define(f"given_{k}", "list (formula * form)", listed(given))
        self._define(f"squares_{k}", "list (formula * vector)", listed(squares))
        self._define(f"matrix_{k}", "list (list Z)", f"{listed(sum_.matrix)}%Z")
        self._define(f"scale_{k}", "list (list formula * formula)", listed(sum_.scale))
        self._define(f"rest_{k}", "formula", sum_.rest)
        self._conditions[k] = [proof for _, proof in conditions]
        return k

    def _positive(self, k: int, form: str) -> list[str]:
        """Return the steps that show that a form is at least 0."""
        scale, given, squares, matrix, rest = (
            self.own(f"{name}_{k}") for name in ("scale", "given", "squares", "matrix", "rest")
        )
        return [
            f"assert (P_{k}' : proves {self.own('entries')} {self.own('same')} {self.own('meanings')} {scale}",
            f"  {form} {given} {squares} {matrix} {rest} {self.own('kinds')} = true)",
            "  by (vm_cast_no_check (eq_refl true)).",
            f"assert (H_{k}' : hold S env' v' val' {given})",
            f"  by exact {conjunction(self._conditions[k])}.",
            f"pose proof (proves_ok S env' v' val' _ D' B' _ _ _ _ _ _ _ _ _ _ PM' RK' P_{k}' W' K' H_{k}') as E_{k}'.",
        ]

    def _form(self, value: Any) -> str:
        return self.words.code(value) if isinstance(value, Traced) else f"(Number {number_code(value)})"

    def _condition(self, name: str | Squared) -> tuple[str, str]:
        """Return a condition as data for the checker, and the proof that it is at least 0."""
        if isinstance(name, Squared):
            comparison, hypothesis = self.about_symbols[id(name.fact)]
            small, large = map(self.words.scalar, self.words.sides(comparison))
            along = self.words.direction(dict(name.direction))
            proof = f"(Rlt_le _ _ {hypothesis})" if comparison.sign in ("<", ">") else hypothesis
            code = f"Times (Sub {large} {small}) (Inner {along} {along})"
            return code, f"(nonneg_square S env' v' val' {small} {large} {along} {proof})"
        if name in self.known:
            comparison, hypothesis = self.known[name]
            if comparison.sign == "==":
                raise Refused(
                    "a Rocq file about functions cannot yet contain a proof that uses an equation between their values"
                )
            small, large = map(self.words.code, self.words.sides(comparison))
            return f"Minus {large} {small}", f"(nonneg_gap S env' v' val' {small} {large} {hypothesis})"
        oracle, _, rest = name.partition(":")
        pair, _, which = rest.partition(":")
        if not oracle.isdigit():
            raise Refused(
                f"a Rocq file about functions cannot yet contain a proof that uses the condition {name}"
            )
        triplets = [self.own(f"at_{oracle}_{place}") for place in pair.split(",")]
        return self._members[int(oracle)].condition(triplets, int(which), self._least)
