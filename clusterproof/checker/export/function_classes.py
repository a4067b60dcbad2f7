"""The hypotheses about a member of a class, and proofs that they imply the conditions at the member's points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clusterproof.checker.export.function_words import Frame, Symbols
from clusterproof.checker.kernel.evaluation import Refused
from clusterproof.checker.kernel.interpolation import Class, FunctionClass, OperatorClass, is_symbol

RIGHT = "(conj (fun z' => eq_refl) eq_refl)"
"""Proof that a triplet belongs to a function; it is immediate, because the file writes the triplet with this
function."""
RIGHT_OPERATOR = "(fun z' => eq_refl)"


@dataclass(frozen=True)
class Member:
    """A function or operator of a class.

    Attributes
    ----------
    definition, place
        The class of the member, and its index among all members.
    frame, symbols
        Names of the case, and the writer of constants.
    """

    definition: Class
    place: int
    frame: Frame
    symbols: Symbols

    @property
    def is_function(self) -> bool:
        """Whether the member has values."""
        return isinstance(self.definition, FunctionClass)

    @property
    def name(self) -> str:
        """Name of the gradient or operator."""
        return self.frame.gradients[self.place]

    @property
    def _own(self) -> str:
        return f"{self.frame.functions[self.place]} {self.name}"

    def hypotheses(self) -> list[tuple[str, str]]:
        """Return the hypotheses about the member, each with a name."""
        k, text, definition = self.place, self.symbols.text, self.definition
        if isinstance(definition, OperatorClass):
            return [
                (f"{letter}_{k}'", f"{word} {text(constant)} {self.name}")
                for letter, word, constant, _ in self._of_operator()
            ]
        assert isinstance(definition, FunctionClass)
        if not definition.convex:
            return [
                (f"F_{k}'", f"smooth {text(definition.smoothness)} {self._own}"),
                (f"W_{k}'", f"bounded_below {self.frame.least} {self.frame.functions[k]}"),
            ]
        found = [(f"C_{k}'", f"strongly_convex {text(definition.strong_convexity)} {self._own}")]
        if definition.smoothness is not None:
            constants = definition.smoothness, definition.strong_convexity
            if not any(map(is_symbol, constants)) and constants[0] == constants[1]:
                raise Refused(
                    "a Rocq file about functions cannot yet contain a class with strong_convexity equal to smoothness"
                )
            found.append((f"U_{k}'", f"upper_smooth {text(definition.smoothness)} {self._own}"))
        if definition.lipschitz is not None:
            found.append((f"Z_{k}'", f"lipschitz {text(definition.lipschitz)} {self.frame.functions[k]}"))
        return found + [
            (f"{own}'", f"proximal {text(step)} {self.frame.functions[k]} {own}")
            for (place, step), own in self.frame.proximal.items()
            if place == k
        ]

    def _of_operator(self) -> list[tuple[str, str, Any, str]]:
        """Return an operator's properties in the kernel's order: letter, property, constant and condition."""
        definition = self.definition
        assert isinstance(definition, OperatorClass)
        several = [
            (
                "T",
                "strongly_monotone",
                definition.strong_monotonicity if definition.monotone else None,
                "monotone",
            ),
            ("O", "cocoercive", definition.cocoercivity, "cocoercive"),
            ("Z", "lipschitz_operator", definition.lipschitz, "lipschitz"),
        ]
        return [each for each in several if each[2] is not None]

    def begin(self, entries: str) -> list[str]:
        """Return the steps that show the facts about constants from which the conditions follow."""
        k, code, definition = self.place, self.symbols.code, self.definition
        if not isinstance(definition, FunctionClass) or definition.smoothness is None:
            return []
        mu, L = self._mu(), code(definition.smoothness)
        split = (
            []
            if definition.convex
            else [f"destruct (smooth_is S env' {self._own} {L} F_{k}') as [C_{k}' U_{k}']."]
        )
        pairs = [(f"A_{k}'", mu)] + ([] if definition.convex else [(f"P_{k}'", "(Num 0)")])
        return split + [
            line
            for own, low in pairs
            for line in (
                f"assert ({own} : den env' {low} < den env' {L}).",
                f"{{ apply (strictly env' {entries} {L} {low} D' B'). vm_cast_no_check (eq_refl true). }}",
            )
        ]

    def _mu(self) -> str:
        assert isinstance(self.definition, FunctionClass)
        if self.definition.convex:
            return self.symbols.code(self.definition.strong_convexity)
        return f"(Opp {self.symbols.code(self.definition.smoothness)})"

    def condition(self, triplets: Sequence[str], which: int, least: str) -> tuple[str, str]:
        """Return a condition at one or two triplets as data for the checker, and the proof that it is at least 0."""
        k, code, definition = self.place, self.symbols.code, self.definition
        at = " ".join(triplets)
        if isinstance(definition, OperatorClass):
            letter, _, constant, word = self._of_operator()[which]
            own = f"{word}_pair {code(constant)} {at}"
            proof = f"{word}_pair_holds S env' v' val' {self.name} {code(constant)} {at} {letter}_{k}'"
            return own, f"({proof} {RIGHT_OPERATOR} {RIGHT_OPERATOR})"
        assert isinstance(definition, FunctionClass)
        start = f"S env' v' val' {self._own}"
        if len(triplets) == 1 and not definition.convex:
            L = code(definition.smoothness)
            proof = f"bounded_point_holds {start} {L} {least} {at} P_{k}' U_{k}' W_{k}' {RIGHT}"
            return f"bounded_point {L} {least} {at}", f"({proof})"
        mu = self._mu()
        if len(triplets) == 1:
            M = code(definition.lipschitz)
            proof = f"short_point_holds {start} {M} {mu} {at} (Rle_refl 0) C_{k}' Z_{k}' {RIGHT}"
            return f"short_point {M} {at}", f"({proof})"
        if definition.smoothness is None:
            return f"convex_pair {mu} {at}", f"(convex_pair_holds {start} {mu} {at} C_{k}' {RIGHT} {RIGHT})"
        L = code(definition.smoothness)
        proof = f"smooth_pair_holds {start} {mu} {L} {at} A_{k}' C_{k}' U_{k}' {RIGHT} {RIGHT}"
        return f"smooth_pair {mu} {L} {at}", f"({proof})"


def members(frame: Frame, definitions: Sequence[Class], symbols: Symbols) -> list[Member]:
    """Return the members of some classes."""
    return [Member(definition, place, frame, symbols) for place, definition in enumerate(definitions)]
