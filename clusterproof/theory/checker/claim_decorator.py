"""State a theorem: a decorator that makes a typed function a claim, wherever the function is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar, get_type_hints

import numpy as np

from clusterproof.algorithms import InvalidArgument, Trace
from clusterproof.synthetic import Mixture
from clusterproof.theory.checker.claim import REGISTRY, TraceBounder, check_words
from clusterproof.theory.checker.expectation import Expectation
from clusterproof.theory.checker.family import Family
from clusterproof.theory.checker.sides import Outside
from clusterproof.theory.checker.statement import Conclusions
from clusterproof.theory.checker.theorem import Theorem

P = ParamSpec("P")
R = TypeVar("R", bound=Conclusions)

ID = re.compile(r"[a-z0-9][a-z0-9._-]*/[a-z0-9][a-z0-9._-]*")
OPTIONS = (
    "part",
    "ill_posed",
    "budget",
    "replicates",
    "confirm",
    "prove",
    "extremes",
    "exhaustible",
)
"""What may be said of how a statement is tried."""


def claim(
    id: str,  # noqa: A002 - the field's and the interface's name for it
    *,
    label: str | None = None,
    kind: str = "upper",
    judges: str = "printed",
    failure: str = "false statement",
    repaired_by: str | Sequence[str] = (),
    quick: bool = True,
    bound: Callable[[Any, Trace], Any] | None = None,
    **how: Any,
) -> Callable[[Callable[P, R]], Theorem[P, R]]:
    """Make a typed function a claim that ``check``, ``show``, ``replay`` and the command line know.

    Its signature is the space of instances, ``suppose`` in its body states a hypothesis, and its value is
    the two sides: ``at_most``, ``at_least``, ``equal`` or ``probability``. Keyword-only parameters keep
    their defaults. Its docstring is the theorem card. The decorated function is called as before, and gives the sides.

    Parameters
    ----------
    id
        ``paper/name``, in lower case.
    label
        The statement's label in the paper; the id's last part where None.
    kind
        ``tight``, ``upper``, ``lower``, ``identity``, ``probability``, ``hypothesis`` or ``definition``.
    judges
        ``printed``, what the paper states; ``reading``, a meaning that is given to an ambiguous or informal sentence;
        or ``ours``, a statement of the author of the claim, such as a repair.
    failure
        What a counterexample shows: a ``false statement``, a ``misprint`` or ``wording``.
    repaired_by
        Id of the claim that replaces this one, or several ids. Each must be known when the claim is checked.
    quick
        Whether a plain ``check`` includes it.
    bound
        What the claim allows on a run, for ``assert_holds``, ``clusterproof.bound`` and ``check --trace``: takes
        the task and the trace, gives the allowed errors, broadcastable to ``trace.errors``, or
        ``expectation(samples, ...)`` with the replicates of the run as first axis, or a ``TraceBound``. ``suppose`` in
        it states a hypothesis on the run.
    how
        ``budget``: instances to try where there are too many for all. ``replicates``: repetitions of each, 400 by
        default; for an expectation the most, to which 10 000 are doubled while its interval contains what is allowed.
        ``extremes``: instances to try first, as mappings. ``exhaustible``: size up to which all are tried, 40 000.
        ``prove=True``: try a proof on symbols first. ``confirm``: function of the same arguments that runs the
        algorithm on a counterexample, and returns what is measured. ``part``: name of this statement where
        others follow. ``ill_posed=True``: a counterexample shows that it has no meaning.

    Raises
    ------
    InvalidArgument
        If the id is not of this form or belongs to another function, an option or a word is unknown, ``repaired_by`` is
        no id, or a parameter of the function has no range. Stating the same function again, as a notebook does,
        replaces the claim.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from typing import Annotated
    >>> from clusterproof import at_most, check, claim, rationals
    >>> @claim("my-paper/lemma-1")
    ... def lemma_1(step: Annotated[Fraction, rationals(0, 2, 8)]):
    ...     return at_most(abs(1 - step), contraction=1 - step / 2)
    >>> print(check("my-paper/lemma-1").reason)
    at step = 3/2: 0.5 > 0.25
    """
    if not isinstance(id, str) or not ID.fullmatch(id):
        raise InvalidArgument(
            "id", id, "must be paper/name in lower case", "write it such as my-paper/lemma-1"
        )
    check_words(kind, judges, failure)
    for option in how:
        if option not in OPTIONS:
            raise InvalidArgument(
                option, how[option], f"is no option of a claim; they are {', '.join(OPTIONS)}", "leave it out"
            )
    paper, _, name = id.partition("/")

    def decorate(function: Callable[P, R]) -> Theorem[P, R]:
        if id in REGISTRY and _is_again(function, getattr(REGISTRY[id].parts, "function", None)):
            del REGISTRY[id]
        _check_names(id, function)
        return Family(paper).claim(
            name,
            label=label or name,
            kind=kind,
            judges=judges,
            failure=failure,
            repaired_by=repaired_by,
            quick=quick,
            bound_trace=None if bound is None else _on_runs(bound),
            **how,
        )(function)

    return decorate


def _is_again(function: Any, known: Any) -> bool:
    """Return whether a function is written again; a file may be two modules, loaded and imported."""
    if getattr(function, "__qualname__", "") != getattr(known, "__qualname__", None):
        return False
    file, other = (getattr(getattr(each, "__code__", None), "co_filename", "") for each in (function, known))
    return function.__module__ == known.__module__ or file == other != ""


def _on_runs(bound: Callable[[Any, Trace], Any]) -> TraceBounder:
    """Make a user's bound one that is asked of a run, and that refuses a run outside of its hypotheses."""

    def bounder(task: Mixture, trace: Trace, _failure_probability: float | None) -> Any:
        try:
            allowed = bound(task, trace)
        except Outside as outside:
            raise InvalidArgument(
                "trace",
                trace,
                f'must meet the hypothesis "{outside}"',
                "the claim does not speak of this run",
            ) from outside
        if isinstance(allowed, Expectation):
            return allowed
        if np.isnan(
            np.asarray(getattr(allowed, "bound", allowed), dtype=float)
        ).any():  # no run would break it
            rule, remedy = "must return numbers", "end it with `return`, and suppose what keeps it from 0 / 0"
            raise InvalidArgument("bound", "nan", rule, remedy)
        return allowed

    return bounder


def _check_names(claim_id: str, function: Callable[..., Any]) -> None:
    """Refuse what is no function, and annotations that name what only a function's body knows."""
    if not callable(function) or isinstance(function, type):
        raise InvalidArgument(
            claim_id, function, "must decorate a function", "put @claim(...) above the function's def"
        )
    try:
        get_type_hints(function, include_extras=True)
    except NameError as error:
        raise InvalidArgument(
            claim_id,
            getattr(function, "__name__", "?"),
            f"has an annotation that cannot be read ({error})",
            "define the range at the top of the file, or leave out `from __future__ import annotations`",
        ) from error
