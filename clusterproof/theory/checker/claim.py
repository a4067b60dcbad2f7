"""A claim: one statement of a paper, or of ours, together with the check that decides on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterproof.algorithms import InvalidArgument, Trace, generator
from clusterproof.algorithms.discovery import Registry
from clusterproof.algorithms.notebook import html_table
from clusterproof.synthetic import Mixture
from clusterproof.theory.checker.verdict import FAILURES, JUDGES, Finding, source_of

if TYPE_CHECKING:
    from clusterproof.theory.checker.claim_parts import Parts

CLAIM_SIGNIFICANCE = 1e-9
"""Probability that a true claim is called violated: a fixed share, so that another claim moves no interval.

A thousand claims together stay within the 1e-6 that a report promises."""

KINDS = ("tight", "upper", "lower", "identity", "probability", "hypothesis", "definition")
"""What a statement is: an inequality (attained, or one-sided), an equality, the probability of an
event, an assumption, or a definition."""


@dataclass(frozen=True)
class Context:
    """What a check may use.

    Attributes
    ----------
    seed
        Of the report.
    trials
        How many random instances or repetitions to make; None for the check's own number.
    significance
        Error probability that a claim's intervals may have together.
    claim
        Id of the claim under check: an axis of its random numbers.
    """

    seed: int
    trials: int | None
    significance: float
    claim: str

    def generator(self, *axes: str | int) -> np.random.Generator:
        """Give the stream for this claim and further named axes."""
        return generator(self.seed, self.claim, *axes)


TraceBounder = Callable[[Mixture, Trace, float | None], Any]
"""Bounds a run on a task, with a failure probability or its own where None: a ``TraceBound``, or what is made one."""


@dataclass(frozen=True, repr=False)
class Claim:
    """One statement.

    Attributes
    ----------
    id
        ``paper/name``.
    label
        The statement's place in the paper.
    kind
        As in ``claim``.
    title
        One line.
    card
        The theorem card: hypotheses, statement, symbols, source, what is checked and how.
    check
        Decides; must not print or keep state.
    module
        Name of the module that states it.
    judges
        ``printed``, what the paper states; ``reading``, a meaning that is given to an ambiguous or informal sentence;
        or ``ours``, such as a repair, a lemma that supports it or a constant tried where the paper leaves it open.
    failure
        What a counterexample shows: a ``false statement``; a ``misprint``, which the context corrects; or ``wording``,
        a sentence of prose or a rounded number on which nothing depends.
    reexamine
        Evaluates a counterexample again, hypotheses included; refuses what is no instance of the claim. None where the
        check gives none.
    bound_trace
        Bounds the errors of a run on a task, or raises ``InvalidArgument`` where the claim
        does not speak of such a run; None for claims that are not about runs.
    repaired_by
        Ids of the claims that replace this one.
    quick
        Whether a plain ``check`` includes it.
    parts
        The statements that it is made of; None for checks of their own kind.
    """

    id: str
    label: str
    kind: str
    title: str
    card: str
    check: Callable[[Context], Finding]
    module: str
    judges: str = "printed"
    failure: str = "false statement"
    reexamine: Callable[[dict[str, Any]], Finding] | None = None
    bound_trace: TraceBounder | None = None
    repaired_by: tuple[str, ...] = ()
    quick: bool = True
    parts: Parts | None = None

    @property
    def paper(self) -> str:
        """Name of the paper, the part of the id before the slash."""
        return self.id.partition("/")[0]

    @property
    def source(self) -> str:
        """The label, and whether it is a reading or ours."""
        return source_of(self.label, self.judges)

    def __repr__(self) -> str:
        return f"<Claim {self.id} ({self.source}, {self.kind}): {self.title}>"

    def _repr_html_(self) -> str:
        facts = {
            "title": self.title,
            "source": self.source,
            "kind": self.kind,
            "repaired by": ", ".join(self.repaired_by) or None,
        }
        return html_table(self.id, facts) + f"<pre>{escape(self.card)}</pre>"


REGISTRY: dict[str, Claim] = Registry("All claims by id, in the order in which the papers state them.")
"""All claims in the order in which the papers state them."""


def check_words(kind: str, judges: str, failure: str) -> None:
    """Refuse a word that says nothing of a claim.

    Raises
    ------
    InvalidArgument
        If one of them is not in its list.
    """
    for argument, word, words in (
        ("kind", kind, KINDS),
        ("judges", judges, JUDGES),
        ("failure", failure, FAILURES),
    ):
        if word not in words:
            raise InvalidArgument(argument, word, f"must be one of {', '.join(words)}", "choose the nearest")


def register(
    claim_id: str,
    check: Callable[[Context], Finding],
    card: str,
    *,
    label: str,
    kind: str,
    judges: str = "printed",
    failure: str = "false statement",
    repaired_by: str | Sequence[str] = (),
    **facts: Any,
) -> None:
    """Add a claim to the registry.

    Parameters
    ----------
    claim_id, check, label, kind, judges, failure, facts
        As in ``Claim``.
    card
        Its first line is the title.
    repaired_by
        An id, or several.

    Raises
    ------
    InvalidArgument
        If the id is taken, a word is unknown, or ``repaired_by`` is neither a text nor a sequence of texts.
    """
    check_words(kind, judges, failure)
    if claim_id in REGISTRY:
        raise InvalidArgument("id", claim_id, "must be new", "rename one of the two claims")
    repairs = (repaired_by,) if isinstance(repaired_by, str) else repaired_by
    if not isinstance(repairs, tuple | list) or not all(isinstance(each, str) for each in repairs):
        raise InvalidArgument("repaired_by", repaired_by, "must be an id or a tuple of ids", "leave it out")
    title, _, text = card.partition("\n")
    REGISTRY[claim_id] = Claim(
        claim_id,
        label,
        kind,
        title.strip(),
        text.strip(),
        check,
        judges=judges,
        failure=failure,
        repaired_by=tuple(repairs),
        **facts,
    )
