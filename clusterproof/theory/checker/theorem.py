"""A claim made of statements, which stays a typed function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar

from clusterproof.algorithms import InvalidArgument
from clusterproof.theory.checker.claim_parts import Parts
from clusterproof.theory.checker.statement import Conclusions, Statement

P = ParamSpec("P")
R = TypeVar("R", bound=Conclusions, covariant=True)
Q = ParamSpec("Q")
S = TypeVar("S", bound=Conclusions)


PROOF = 200
"""Instances on which a separate proof is evaluated by itself: those of the statement count."""


class Theorem(Parts, Generic[P, R]):
    """A registered claim. Calling it evaluates its first statement, so that a repair reuses the sides."""

    def __init__(
        self,
        id: str,  # noqa: A002 - the field's and the interface's name for it
        function: Callable[P, R],
        first: Statement,
        *,
        ill_posed: bool,
    ) -> None:
        super().__init__(id, [first], ill_posed)
        self.function = function
        self.__doc__ = function.__doc__

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Evaluate the first statement."""
        return self.function(*args, **kwargs)

    def also(self, name: str, **how: Any) -> Callable[[Callable[Q, S]], Callable[Q, S]]:
        """Try the same statement on another space: its terms are the same ones.

        Parameters
        ----------
        name
            Of the part.
        how
            ``budget``, ``replicates``, ``confirm``, ``prove``, ``extremes``, ``exhaustible`` as in ``Statement``.
        """
        return self._add(name, {"same": True, **how})

    def step(self, name: str, **how: Any) -> Callable[[Callable[Q, S]], Callable[Q, S]]:
        """Add another inequality that the claim, or its proof, consists of, with terms of its own.

        Parameters are those of ``also``.
        """
        return self._add(name, {"same": False, **how})

    def proof(self, name: str, **how: Any) -> Callable[[Callable[Q, S]], Callable[Q, S]]:
        """Add a proof of the whole claim by a separate function, the statement reduced to numbers.

        The claim is certified where the proof goes through, no instance breaks a part, and ``at`` takes the arguments
        of the statement, which computes its sides by itself, to those of the proof, and both give the same sides at
        every instance that is tried, at least 50. Without ``at`` it is a proved step. A step that asks for a proof and
        gets none leaves the claim uncertified.

        Parameters are those of ``also``, and ``at`` as in ``Statement``.
        """
        few = {"budget": PROOF, "exhaustible": PROOF}
        return self._add(name, {"same": True, "prove": True, "whole": True, **few, **how})

    def _add(self, name: str, how: dict[str, Any]) -> Callable[[Callable[Q, S]], Callable[Q, S]]:
        if not name or any(part.name == name for part in self.parts):
            raise InvalidArgument("name", name, f"must be new among the parts of {self.id}", "name the part")

        def add(function: Callable[Q, S]) -> Callable[Q, S]:
            statement = Statement(name, function, **how)
            self.parts.append(statement)
            return function

        return add
