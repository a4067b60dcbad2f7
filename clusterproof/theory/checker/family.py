"""Families of claims: one paper, and card sections that its claims share."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ParamSpec, TypeVar

from clusterproof.theory.checker.claim import Context, TraceBounder, register
from clusterproof.theory.checker.deciding import decide
from clusterproof.theory.checker.docstring_sections import card_of
from clusterproof.theory.checker.replay import replay
from clusterproof.theory.checker.statement import Conclusions, Statement
from clusterproof.theory.checker.theorem import Theorem
from clusterproof.theory.checker.verdict import Finding

P = ParamSpec("P")
R = TypeVar("R", bound=Conclusions)


@dataclass(frozen=True)
class Family:
    """Claims of one paper that belong together.

    Attributes
    ----------
    paper
        First part of their ids.
    sections
        Card sections that they share, such as ``{"Symbols": ..., "Source": ...}``; a claim's own
        section of the same name comes in its place.
    """

    paper: str
    sections: Mapping[str, str] = field(default_factory=dict)

    def claim(
        self,
        name: str,
        *,
        label: str,
        kind: str,
        judges: str = "printed",
        failure: str = "false statement",
        part: str = "",
        repaired_by: str | Sequence[str] = (),
        bound_trace: TraceBounder | None = None,
        ill_posed: bool | None = None,
        quick: bool = True,
        **how: Any,
    ) -> Callable[[Callable[P, R]], Theorem[P, R]]:
        """Register a statement: its docstring is the card, its signature the space, its value the sides.

        Parameters
        ----------
        name
            Of the claim: the id is ``paper/name``.
        label, kind, judges, failure, repaired_by, bound_trace, quick
            As in ``Claim``.
        part
            Name of this statement where the claim has several.
        ill_posed
            Whether an instance that breaks it shows that it has no single meaning; so for definitions
            where None.
        how
            ``budget``, ``replicates``, ``confirm``, ``prove``, ``extremes``, ``exhaustible`` as in ``Statement``.

        Raises
        ------
        InvalidArgument
            If the id is taken, a word unknown or a parameter has no range.
        """

        def decorate(function: Callable[P, R]) -> Theorem[P, R]:
            statement = Statement(part, function, **how)
            vague = kind == "definition" if ill_posed is None else ill_posed
            theorem = Theorem(f"{self.paper}/{name}", function, statement, ill_posed=vague)

            def check(context: Context) -> Finding:
                return decide(theorem, context)

            register(
                theorem.id,
                check,
                card_of(function, self.sections),
                module=function.__module__,
                label=label,
                kind=kind,
                judges=judges,
                failure=failure,
                reexamine=partial(replay, theorem),
                repaired_by=repaired_by,
                bound_trace=bound_trace,
                quick=quick,
                parts=theorem,
            )
            return theorem

        return decorate

    def decided(
        self,
        name: str,
        *,
        label: str,
        kind: str,
        no_sharpness: str,
        judges: str = "printed",
        failure: str = "false statement",
        repaired_by: str | Sequence[str] = (),
        quick: bool = True,
    ) -> Callable[[Callable[[Context], Finding]], Callable[[Context], Finding]]:
        """Register a check of its own kind: a function that decides.

        For certificates, tables and results of training, statements that a theorem shows to be vacuous
        and statements about an algorithm's text. Whatever has a space is better a ``claim``.

        Parameters
        ----------
        name, label, kind, judges, failure, repaired_by, quick
            As for ``claim``.
        no_sharpness
            Why the verdict has no sharpness, such as "one number of a table"; becomes a part of its reason.
        """

        def decorate(decide: Callable[[Context], Finding]) -> Callable[[Context], Finding]:
            def check(context: Context) -> Finding:
                finding = decide(context)
                words = f"{finding.reason.rstrip('.')}; sharpness does not apply ({no_sharpness})"
                return dataclasses.replace(finding, reason=words)

            register(
                f"{self.paper}/{name}",
                check,
                card_of(decide, self.sections),
                module=decide.__module__,
                label=label,
                kind=kind,
                judges=judges,
                failure=failure,
                repaired_by=repaired_by,
                quick=quick,
            )
            return decide

        return decorate
