"""The functions of a claim, such as ``at_most``, defined once for all kinds of numbers.

The kernel computes with exact numbers and symbols, the search with floats and arrays, and the confirmation of
counterexamples with intervals. The kernel, the search and the confirmation each define how to handle hypotheses and
lines for their own kind of numbers. This module contains the code that they share.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, TypeVar

from clusterproof.checker.kernel.evaluation import Outside, Refused

L = TypeVar("L")
"""The type of a line."""
NAMES = ("suppose", "given", "at_most", "at_least", "equal", "least")
"""Names of the functions that a claim calls."""


class Untrue:
    """Base class of lines. A line is a conclusion, not a condition: ``if``, ``and``, ``or`` and ``not`` reject it."""

    def __bool__(self) -> NoReturn:
        raise Refused("a line has no truth value: compare by <=, >= or ==, and join these")


@dataclass(frozen=True)
class Excluded(Untrue):
    """A line that does not apply to an instance, because the line's own hypothesis is false."""

    hypothesis: str


class Words(ABC, Generic[L]):
    """The functions of a claim, for any kind of numbers.

    The abstract methods at the end depend on the kind of numbers.
    """

    def suppose(self, name: Any, holds: Any = None) -> None:
        """State a hypothesis. The statement does not apply to instances that break the hypothesis.

        Parameters
        ----------
        name
            The hypothesis in the paper's words. If you omit the name, as in ``suppose(n > 1)``, the code is used as the
            name.
        holds
            Whether the instance meets the hypothesis, as a boolean or an array of booleans. In a proof it may also be a
            fact about symbols or about a function of a class, which the kernel records. ``equal((left, right))`` states
            that two points are equal.

        Raises
        ------
        Outside
            If the instance breaks the hypothesis.
        """
        if holds is None:  # suppose(n > 1)
            name, holds = "a hypothesis", name
        words, facts = self.in_words(name), self.facts(holds)
        if facts is None:
            raise Outside(words)
        self.know(facts)

    def given(self, name: Any, holds: Any, make: Callable[[], L | Excluded]) -> L | Excluded:
        """State a line with an additional hypothesis that the other lines do not need.

        Parameters
        ----------
        name, holds
            As in ``suppose``.
        make
            Function that returns the line. The function is called only if the hypothesis holds. Hypotheses inside the
            function apply only to this line.
        """
        words, facts = self.in_words(name), self.facts(holds)
        if facts is None:
            return Excluded(words)
        try:
            return self.alone(facts, make)
        except Outside as outside:
            return Excluded(str(outside))

    def at_most(
        self,
        /,
        measured: Any,
        *allowed: Any,
        failure: float | None = None,
        rounding: float | None = None,
        words: str | Callable[[], str] = "",
        decrease_from: Any = None,
        **terms: Any,
    ) -> L:
        """State that measured <= the sum of the terms, entry by entry (with probability >= 1 - failure).

        Parameters
        ----------
        measured
            A number, or an array or list that is compared entry by entry. If ``failure`` is given, the first axis
            contains independent replicates.
        failure, rounding, words
            As in ``Sides``. Clusterproof searches for counterexamples to a line with a failure probability or
            tolerance, but cannot prove it.
        decrease_from
            For a contraction with rate h, the quantity before the step. The report then also compares the measured
            decrease with the promised one, (1 - h) times this quantity. The report can thus distinguish the rates .99
            and .98.
        allowed, terms
            The summands of the bound: one positional argument, keyword arguments, or both.
        """
        how = {"failure": failure, "rounding": rounding, "words": words, "decrease_from": decrease_from}
        return self.compared("<=", measured, self.named(allowed, terms), **how)

    def at_least(
        self,
        /,
        measured: Any,
        *allowed: Any,
        failure: float | None = None,
        rounding: float | None = None,
        words: str | Callable[[], str] = "",
        **terms: Any,
    ) -> L:
        """State that measured >= the sum of the terms; the parameters are as in ``at_most``."""
        if "decrease_from" in terms:  # no summand: readers would confuse it with the option of at_most
            raise self.refused("decrease_from", terms["decrease_from"], "is of at_most only", "leave it out")
        how = {"failure": failure, "rounding": rounding, "words": words}
        return self.compared(">=", measured, self.named(allowed, terms), **how)

    def equal(self, *pairs: Any, rounding: float | None = None, words: str | Callable[[], str] = "") -> L:
        """State that left = right for every pair of numbers, arrays or lists, entry by entry.

        Parameters
        ----------
        pairs
            One or several pairs (left, right).
        rounding
            Largest difference that rounding errors can explain. If None, it is 1e-9 times the largest magnitude among
            the sides, or 0 for exact numbers.
        words
            As in ``Sides``.
        """
        if not pairs or any(type(pair) not in (tuple, list) or len(pair) != 2 for pair in pairs):
            raise self.refused(
                "pairs", pairs, "must hold one (left, right) or more", "write equal((left, right))"
            )
        return self.equated(pairs, rounding=rounding, words=words)

    def least(self, *numbers: Any) -> Any:
        """Return the smallest of several numbers, such as the value at the best iterate."""
        if not numbers:
            raise self.refused("numbers", numbers, "must be one or more", "write least(*values) of a list")
        best, *others = numbers
        for other in others:
            best = other if self.is_less(other, best) else best
        return best

    def named(self, bound: tuple[Any, ...], terms: Mapping[str, Any]) -> dict[str, Any]:
        """Return the summands, indexed by name; the positional summand is called ``bound``."""
        if len(bound) > 1 or (bound and "bound" in terms):
            rule = "must be the only summand without a name, which is called bound"
            raise self.refused(
                "allowed", bound, rule, "name the summands, as in at_most(error, contraction=..., noise=...)"
            )
        if not bound and not terms:
            raise self.refused("terms", terms, "must hold at least one summand", "name what is allowed")
        return dict(zip(("bound",), bound, strict=False)) | dict(terms)

    # ---- what differs

    @abstractmethod
    def facts(self, holds: Any) -> list[Any] | None:
        """Return None if a hypothesis is false, otherwise the list of facts that it adds, which is usually empty."""

    @abstractmethod
    def in_words(self, name: Any) -> str:
        """Return the name of a hypothesis."""

    @abstractmethod
    def know(self, facts: list[Any]) -> None:
        """Record that a hypothesis holds in the rest of the evaluation."""

    @abstractmethod
    def alone(self, facts: list[Any], make: Callable[[], L | Excluded]) -> L | Excluded:
        """Return the line that ``make`` returns; the given facts are known only for this line."""

    @abstractmethod
    def is_less(self, left: Any, right: Any) -> Any:
        """Return whether one number is less than another."""

    @abstractmethod
    def compared(self, sign: str, measured: Any, terms: Mapping[str, Any], **how: Any) -> L:
        """Return the line that compares each entry with the sum of the terms, by <= or >=."""

    @abstractmethod
    def equated(self, pairs: Sequence[Any], **how: Any) -> L:
        """Return the line that states that the two sides of each pair are equal."""

    @abstractmethod
    def refused(self, argument: str, value: Any, rule: str, remedy: str) -> BaseException:
        """Return the exception for an invalid call."""
