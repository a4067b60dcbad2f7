"""A statement: a typed function that maps an instance to the two sides of each line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clusterproof.checker.claims.class_ranges import OfClass
from clusterproof.checker.claims.expectation import Expectation
from clusterproof.checker.claims.frequency import Frequency
from clusterproof.checker.claims.judge import Conclusion
from clusterproof.checker.claims.places import place_of
from clusterproof.checker.claims.sides import Sides, recording_failures
from clusterproof.checker.claims.slices import annotate_ranges
from clusterproof.checker.claims.space import Space, written
from clusterproof.checker.kernel.claim_words import Excluded
from clusterproof.checker.kernel.evaluation import Outside
from clusterproof.checker.kernel.listed import NotListed
from clusterproof.checker.kernel.ranges import Instance
from clusterproof.checker.kernel.reading import MOST_LINES
from clusterproof.common import InvalidArgument, generator
from clusterproof.common.validation import check_text

EVALUATIONS, DRAWN = 2000, 100
"""Default number of instances to try: for ordinary statements, and for random statements and drawn objects."""
REPLICATES = 400
"""Default number of replicates of each random instance."""
LONG = 40
"""Largest number of characters of a quantity that is printed in full."""


@contextmanager
def raising_exceptions() -> Iterator[None]:
    """Convert errors that are not an ``Exception`` to an ``Exception``, except Ctrl-C and ``sys.exit``."""
    try:
        yield
    except (Exception, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        if type(error).__module__.startswith("clusterproof."):
            raise
        raise RuntimeError(
            f"{type(error).__name__} is raised, but a claim may raise an Exception only"
        ) from error


@dataclass(frozen=True, eq=False)
class Statement:
    """A function that maps an instance to the lines of a claim, and options for the search.

    Attributes
    ----------
    name
        Name of the line that the function states, or an empty string for the claim's own function.
    function
        Function whose parameters are the quantities, and whose return value contains the lines.
    evaluations
        Largest number of instances to try. If None: 2 000, or 100 for random statements and drawn objects.
    replicates
        Number of replicates of each instance, for a function with a parameter of type ``Replicates``.
    example
        Instances that the search tries first, each as a dictionary of arguments.
    role
        ``"statement"`` for the claim itself; ``"lemma"`` for a step that must be proved before the claim can be
        certified; ``"step"`` for any other step of the proof.
    multipliers
        The author's multipliers for a proof about every function and every value; ``search/hints.py`` describes their
        form.
    """

    name: str
    function: Callable[..., Any]
    evaluations: int | None = None
    replicates: int = REPLICATES
    example: Sequence[Mapping[str, Any]] = ()
    role: str = "statement"
    multipliers: Mapping[str, Any] = field(default_factory=dict)
    space: Space = field(init=False, repr=False)
    first: list[dict[str, Any]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        annotate_ranges(self.function)
        # raises an error where the user writes the statement, not later in the search
        object.__setattr__(self, "space", Space.of(self.function))
        object.__setattr__(self, "first", [self.space.flatten(arguments) for arguments in self.example])

    @property
    def random(self) -> bool:
        """Whether the function uses random numbers."""
        return self.space.stream is not None

    @property
    def repeated(self) -> bool:
        """Whether the search repeats random instances: all of them a few times, and the most suspicious ones often."""
        return self.space.replicates is not None

    @property
    def wanted(self) -> int:
        """Largest number of instances to try."""
        default = DRAWN if self.random or self.space.drawn else EVALUATIONS
        return default if self.evaluations is None else self.evaluations

    def stream(self, seed: int, instance: Instance, sample: str = "") -> np.random.Generator:
        """Return the random generator for an instance; different values of ``sample`` give independent samples.

        The random numbers do not depend on the names of the claim, the statement or the quantities, so renaming changes
        no result.
        """
        return generator(seed, "sides", sample, self.space.key(instance))

    def lines(
        self, instance: Instance, stream: np.random.Generator | None = None, replicates: int | None = None
    ) -> dict[str, Conclusion]:
        """Evaluate an instance. The result depends only on the arguments.

        Parameters
        ----------
        instance
            The quantities.
        stream
            Random generator, for a function with a parameter of type ``Stream``.
        replicates
            Number of replicates, or None for the statement's own number.

        Raises
        ------
        Outside
            If the instance breaks a hypothesis; the message is the name of the hypothesis.
        Exception
            Any other error of the function, with a note that states the file, the line and the instance.
        """
        passed: dict[str, Any] = {}
        if self.space.stream is not None:
            passed[self.space.stream] = stream
        if self.space.replicates is not None:
            passed[self.space.replicates] = replicates or self.replicates
        with self.naming_errors(instance), recording_failures() as failed:
            value = self.function(**self.space.arguments(instance), **passed)
            if failed:
                rule = f'must not catch the exception of a failing hypothesis: "{failed[0]}"'
                raise InvalidArgument(name_of(self.function), "a result", rule, "let the exception pass")
            lines = dict(value) if isinstance(value, Mapping) else {"": value}
            kinds = (Sides, Frequency, Expectation, Excluded)
            if not lines or not all(type(each) in kinds for each in lines.values()):
                remedy = "end the function with `return at_most(left, right=...)` or another comparison"
                raise InvalidArgument(f"{name_of(self.function)}()", value, "must be a comparison", remedy)
            if wrong := [name for name in lines if not isinstance(name, str)]:
                rule = "must be a text"
                raise InvalidArgument(
                    "the name of a line", wrong[0], rule, 'write it in quotes, such as "left"'
                )
            if len(lines) > MOST_LINES:
                rule = f"must have at most {MOST_LINES} lines"
                raise InvalidArgument(f"{name_of(self.function)}()", len(lines), rule, "state several claims")
            check_text("line", *lines)
        return lines

    @contextmanager
    def naming_errors(self, instance: Instance) -> Iterator[None]:
        """Add a note with file, line and instance to an error from the evaluation of an instance."""
        try:
            with raising_exceptions():
                yield
        except Outside:
            raise
        except NotListed:
            raise Outside("a function is known only at requested points") from None
        except Exception as error:  # an error of a user's function: raise it again with a note on its place
            place = place_of(error, self.function)
            note = ", ".join(filter(None, (place, f"at {quantities(self.space, instance)}")))
            with suppress(Exception):  # the class of the error may have no place for notes
                if note not in getattr(error, "__notes__", ()):
                    error.add_note(note)
            raise


# ---- words for instances and places


def quantities(space: Space, instance: Instance) -> str:
    """Format the quantities of an instance, for example as ``step = 1/2, rounds = 3``."""
    nouns = {written(name): each.noun for name, each in space.ranges.items() if isinstance(each, OfClass)}
    return ", ".join(
        f"{name} = {member(value, nouns[name]) if name in nouns else short(value)}"
        for name, value in space.encode(instance).items()
    )


def member(code: Mapping[str, Any], noun: str) -> str:
    """Describe a member of a class, or the summands of a sum, by its noun, its dimension and its starting point."""
    start = code["start"]
    article = "an" if noun == "operator" else "a"
    what = f"{noun}s" if len(code["triplets"]) > 1 else f"{article} {noun}"
    return f"{what} on R^{len(start)}, started at {_listed(start)}"


def short(value: Any) -> str:
    """Return a quantity as text; if the text is long, shorten it after an entry or print only the type."""
    text = _listed(value) if isinstance(value, list) else str(value)
    if len(text) <= LONG:
        return text
    if isinstance(value, dict) and "task" in value:
        return f"a {value['task']} task"
    if isinstance(value, list):
        first = text[: LONG - 20].rpartition(", ")[0]
        if first and first.count("(") == first.count(")") + 1:
            return f"{first}, ..., {len(value)} entries)"
        return f"an array of {len(value)} entries"
    return text[: LONG - 3] + "..."


def _listed(value: Any) -> str:
    """Format a vector as (1, 1/2) and a matrix as ((1, 0), (0, 1))."""
    return f"({', '.join(map(_listed, value))})" if isinstance(value, list) else str(value)


def name_of(function: Callable[..., Any]) -> str:
    """Return the name of a function, or "the function" if it has none."""
    return getattr(function, "__name__", "the function")
