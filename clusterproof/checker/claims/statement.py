"""A statement: a typed function from a space of instances to the two sides of each of its lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clusterproof.checker.claims.expectation import Expectation
from clusterproof.checker.claims.frequency import Frequency
from clusterproof.checker.claims.judge import Conclusion
from clusterproof.checker.claims.places import place_of
from clusterproof.checker.claims.sides import Sides, recording_failures
from clusterproof.checker.claims.slices import annotate_ranges
from clusterproof.checker.claims.space import Space
from clusterproof.checker.kernel.claim_words import Excluded
from clusterproof.checker.kernel.evaluation import Outside
from clusterproof.checker.kernel.listed import NotListed
from clusterproof.checker.kernel.ranges import Instance
from clusterproof.common import InvalidArgument, generator

EVALUATIONS, DRAWN = 2000, 100
"""Number of instances that are tried by default, and that number for random statements or drawn objects."""
REPLICATES = 400
"""Repetitions of each random instance by default."""
LONG = 40
"""Longest text of a quantity that is printed in full."""


@dataclass(frozen=True, eq=False)
class Statement:
    """A function from a space to lines, and options for its search.

    Attributes
    ----------
    name
        Name of a further line with a space of its own; empty for the claim's function.
    function
        Function whose signature gives the space and whose value gives the lines.
    evaluations
        Number of instances to try if there are more. None for 2 000, or 100 for random statements and drawn objects.
    replicates
        Repetitions of each instance, for a function that asks for ``Replicates``.
    example
        Instances that are tried first, each as arguments by name.
    role
        ``"statement"``; ``"lemma"``, a step of the proof that the claim needs to be certified; or ``"step"``, a step
        that it does not need.
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
        # reject a statement that cannot be tried where it is written
        object.__setattr__(self, "space", Space.of(self.function))
        object.__setattr__(self, "first", [self.space.flatten(arguments) for arguments in self.example])

    @property
    def random(self) -> bool:
        """Whether the statement's value depends on random numbers."""
        return self.space.stream is not None

    @property
    def repeated(self) -> bool:
        """Whether each instance is repeated: a few repetitions choose the instances, many decide them."""
        return self.space.replicates is not None

    @property
    def wanted(self) -> int:
        """Number of instances to try if there are more."""
        default = DRAWN if self.random or self.space.drawn else EVALUATIONS
        return default if self.evaluations is None else self.evaluations

    def stream(self, seed: int, instance: Instance, sample: str = "") -> np.random.Generator:
        """Return the random generator of an instance for a seed; further samples have names.

        The numbers do not depend on the names of claim, statement and quantities, so a renamed claim gives the same
        result.
        """
        return generator(seed, "sides", sample, self.space.key(instance))

    def lines(
        self, instance: Instance, stream: np.random.Generator | None = None, replicates: int | None = None
    ) -> dict[str, Conclusion]:
        """Evaluate an instance; the result depends only on the arguments.

        Parameters
        ----------
        instance
            The quantities.
        stream
            Random numbers, for a function that asks for a ``Stream``.
        replicates
            Replaces the statement's own number.

        Raises
        ------
        Outside
            If the instance breaks a hypothesis; the message is its name.
        Exception
            Any error of the function; a note names file, line and instance.
        """
        passed: dict[str, Any] = {}
        if self.space.stream is not None:
            passed[self.space.stream] = stream
        if self.space.replicates is not None:
            passed[self.space.replicates] = replicates or self.replicates
        with self.naming_errors(instance), recording_failures() as failed:
            value = self.function(**self.space.arguments(instance), **passed)
            if failed:
                rule = f'must not catch what is raised if a hypothesis fails: "{failed[0]}"'
                raise InvalidArgument(name_of(self.function), "a result", rule, "let it pass")
            lines = dict(value) if isinstance(value, Mapping) else {"": value}
            kinds = (Sides, Frequency, Expectation, Excluded)
            if not lines or not all(type(each) in kinds for each in lines.values()):
                remedy = "end the function with `return at_most(left, right=...)` or another comparison"
                raise InvalidArgument(f"{name_of(self.function)}()", value, "must be a comparison", remedy)
        return lines

    @contextmanager
    def naming_errors(self, instance: Instance) -> Iterator[None]:
        """Add file, line and instance to an error that arises when an instance is evaluated."""
        try:
            yield
        except Outside:
            raise
        except NotListed:
            raise Outside("a function is known only at requested points") from None
        except Exception as error:  # an error of a user's function: raise it again with its place
            place = place_of(error, self.function)
            note = ", ".join(filter(None, (place, f"at {quantities(self.space.encode(instance))}")))
            if note not in getattr(error, "__notes__", ()):
                error.add_note(note)
            raise


# ---- words for instances and places


def quantities(numbers: Mapping[str, Any]) -> str:
    """Write the quantities of an encoded instance, such as ``step = 1/2, rounds = 3``."""
    return ", ".join(f"{name} = {short(value)}" for name, value in numbers.items())


def short(value: Any) -> str:
    """Write a quantity, or only the type of the object if the text is long."""
    text = _listed(value) if isinstance(value, list) else str(value)
    if len(text) <= LONG:
        return text
    if isinstance(value, dict) and "task" in value:
        return f"a {value['task']} task"
    if isinstance(value, dict) and "triplets" in value:
        return f"a function on R^{len(value['start'])}, started at {_listed(value['start'])}"
    return text[: LONG - 3] + "..."


def _listed(value: Any) -> str:
    """Write a vector as (1, 1/2), a matrix as ((1, 0), (0, 1))."""
    return f"({', '.join(map(_listed, value))})" if isinstance(value, list) else str(value)


def name_of(function: Callable[..., Any]) -> str:
    """Return a function's name."""
    return getattr(function, "__name__", "the function")
