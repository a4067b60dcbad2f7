"""The proof of what is shown at one place of a claim about functions, for the checker of ``duals.v``."""

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


@dataclass(frozen=True)
class Sum:
    """What a number is beside multiples of conditions, by the factors of their names.

    Attributes
    ----------
    scale
        Numbers with which everything is multiplied, each with a positive one that it is at least.
    given
        Factors by the names of conditions.
    squares, matrix
        Factors with combinations of the kernel's vectors, or upper rows.
    rest
        A number.
    """

    scale: Sequence[str]
    given: Sequence[tuple[str, str]]
    rest: str
    squares: Sequence[tuple[str, Mapping[int, Any]]] = ()
    matrix: Sequence[str] = ()


@dataclass
class Place:
    """A place of a claim: what is known there, and a proof that grows.

    Parameters
    ----------
    words
        Writes what is traced there.
    env, entries
        The values of symbols, and what the checker reads of them.
    bounds
        The hypotheses by which ``entries`` hold.
    known
        By the names of the kernel's conditions the comparison, and the hypothesis.
    suffix
        Of names that are defined for it.
    """

    words: Words
    suffix: str
    env: Sequence[str] = ()
    entries: Sequence[str] = ()
    bounds: Sequence[str] = ()
    known: Mapping[str, tuple[Comparison, str]] = field(default_factory=dict)

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
        if view.equation is not None:
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
        meanings += [
            f"({words.base(node)}%nat, {words.code(node, define=True)}, {words.multiples(node.value)})"
            for _, node in words.lets
        ]
        self._define("meanings", "meanings", listed(meanings))
        self._define("entries", "list entry", listed(self.entries))

    def own(self, name: str) -> str:
        """Return a name of the proof, which no source has."""
        return f"{name}_{self.suffix}'"

    def _define(self, name: str, kind: str, text: str) -> None:
        self.definitions.append(f"Definition {self.own(name)}{f' : {kind}' if kind else ''} :=\n  {text}.")

    def begin(self) -> list[str]:
        """Return the steps with which a proof at this place begins."""
        words = self.words
        entries = self.own("entries")
        bases = "; ".join(words.text(each) for each in words.bases)
        values = "; ".join(words.text(each) for each in words.heights)
        steps = [
            *(f"pose ({name} := {words.text(node, define=True)})." for name, node in words.lets),
            f"pose (env' := [{'; '.join(self.env)}] : list R).",
            f"pose (v' := fun i' => nth i' [{bases}] (origin S)).",
            f"pose (val' := fun i' => nth i' ([{values}] : list R) 0).",
            f"assert (D' : fst (defined env' 0 {entries}) = snd (defined env' 0 {entries})) by exact (eq_refl nil).",
            f"assert (B' : bounded env' 0 {entries}) by exact {conjunction(self.bounds)}.",
        ]
        for member in self._members:
            steps += member.begin(entries)
        known = [*self._known, *["(fun z' => eq_refl)"] * len(words.lets)]
        return [
            *steps,
            f"assert (K' : mean_it S env' v' {self.own('meanings')}) by exact {conjunction(known)}.",
        ]

    def below(self, small: Any, large: Any, sum_: Sum) -> tuple[list[str], str]:
        """Return steps, and a proof by them that a number that depends on functions is at most another one."""
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
        self._define(f"small_{k}", "form", self._form(small))
        self._define(f"large_{k}", "form", self._form(large))
        own = {
            name: self.own(f"{name}_{k}")
            for name in ("given", "squares", "matrix", "scale", "rest", "small", "large")
        }
        steps = [
            f"assert (P_{k}' : proves {self.own('entries')} {self.own('meanings')} {own['scale']}",
            f"  (Minus {own['large']} {own['small']}) {own['given']} {own['squares']} {own['matrix']}",
            f"  {own['rest']} = true)",
            "  by (vm_cast_no_check (eq_refl true)).",
            f"assert (H_{k}' : hold S env' v' val' {own['given']})",
            f"  by exact {conjunction([proof for _, proof in conditions])}.",
            f"pose proof (proves_ok S env' v' val' _ D' B' _ _ _ _ _ _ _ P_{k}' K' H_{k}') as E_{k}'.",
        ]
        return steps, f"(below S env' v' val' {own['small']} {own['large']} E_{k}')"

    def _form(self, value: Any) -> str:
        return self.words.code(value) if isinstance(value, Traced) else f"(Number {number_code(value)})"

    def _condition(self, name: str) -> tuple[str, str]:
        """Return a condition symbol by symbol, and the proof that it is at least 0."""
        if name in self.known:
            comparison, hypothesis = self.known[name]
            if comparison.sign == "==":
                raise Refused("no theorem for Rocq about functions uses an equation of them yet")
            small, large = map(self.words.code, self.words.sides(comparison))
            return f"Minus {large} {small}", f"(nonneg_gap S env' v' val' {small} {large} {hypothesis})"
        oracle, _, rest = name.partition(":")
        pair, _, which = rest.partition(":")
        if not oracle.isdigit():
            raise Refused(f"no theorem for Rocq about functions uses the condition {name} yet")
        triplets = [self.own(f"at_{oracle}_{place}") for place in pair.split(",")]
        return self._members[int(oracle)].condition(triplets, int(which), self._least)
