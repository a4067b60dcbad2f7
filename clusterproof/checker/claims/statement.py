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
from clusterproof.checker.kernel.spaces import Instance
from clusterproof.common import InvalidArgument, generator

EVALUATIONS, DRAWN = 2000, 100
"""Instances that are tried by default; of random statements, and of objects that a function draws."""
REPLICATES = 400
"""Repetitions of each random instance by default."""
LONG = 40
"""Longest text of a quantity that is spelled out."""


@dataclass(frozen=True, eq=False)
class Statement:
    """A function from a space to lines, and how it is tried.

    Attributes
    ----------
    name
        Of a further line with a space of its own; empty for the claim's function.
    function
        Its signature is the space, its value the lines.
    evaluations
        Instances that are tried, if they are more. None for 2 000, or 100 of random statements and drawn objects.
    replicates
        Repetitions of each instance, for a function that asks for ``Replicates``.
    example
        Instances that are tried first, each as arguments by name.
    role
        ``"statement"``; ``"lemma"``, a step of the proof, without which the claim is not certified; or ``"step"``, one
        that the claim is certified without.
    multipliers
        An author's own, of a proof for every function and every value; ``search/hints.py`` has their form.
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
        # a statement that cannot be tried is refused where it is written
        object.__setattr__(self, "space", Space.of(self.function))
        object.__setattr__(self, "first", [self.space.flatten(arguments) for arguments in self.example])

    @property
    def random(self) -> bool:
        """Whether its value depends on random numbers."""
        return self.space.stream is not None

    @property
    def repeated(self) -> bool:
        """Whether each instance is repeated, so that few repetitions choose the instances that many decide."""
        return self.space.replicates is not None

    @property
    def wanted(self) -> int:
        """Instances that are tried if there are more."""
        default = DRAWN if self.random or self.space.drawn else EVALUATIONS
        return default if self.evaluations is None else self.evaluations

    def stream(self, seed: int, instance: Instance, sample: str = "") -> np.random.Generator:
        """Return the random numbers of an instance, with a seed; other samples of them have a name.

        They do not depend on the names of the claim, the statement and the quantities: what a search finds is the same
        under any name.
        """
        return generator(seed, "sides", sample, self.space.key(instance))

    def lines(
        self, instance: Instance, stream: np.random.Generator | None = None, replicates: int | None = None
    ) -> dict[str, Conclusion]:
        """Evaluate an instance: a pure function of what is passed.

        Parameters
        ----------
        instance
            The quantities.
        stream
            Random numbers, for a function that asks for a ``Stream``.
        replicates
            In place of the statement's own number.

        Raises
        ------
        Outside
            If the instance breaks a hypothesis; the message is its name.
        Exception
            Whatever the function raises; a note names file, line and instance.
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
                remedy = "end the function with `return at_most(...)` or its like"
                raise InvalidArgument(f"{name_of(self.function)}()", value, "must be two sides", remedy)
        return lines

    @contextmanager
    def naming_errors(self, instance: Instance) -> Iterator[None]:
        """Add file, line and instance to an error in the evaluation of an instance."""
        try:
            yield
        except Outside:
            raise
        except NotListed:
            raise Outside("a function is known where it is asked for") from None
        except Exception as error:  # of a user's function: raised again with its place
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
    """Write a quantity, or the kind of object that it is if the text is long."""
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
