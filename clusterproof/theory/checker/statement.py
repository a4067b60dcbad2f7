"""One inequality of a claim: its function, and how it is tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from clusterproof.algorithms import InvalidArgument, generator
from clusterproof.theory.checker.conclusions import Conclusion
from clusterproof.theory.checker.expectation import Expectation
from clusterproof.theory.checker.frequency import Frequency
from clusterproof.theory.checker.instance_words import place_of, quantities
from clusterproof.theory.checker.range_ends import Instance
from clusterproof.theory.checker.sides import Outside, Sides, recording_failures
from clusterproof.theory.checker.space import Space
from clusterproof.theory.checker.symbols import Symbol

Conclusions: TypeAlias = Conclusion | Mapping[str, Conclusion]
"""What a statement's function returns: one comparison, or several of one evaluation by name."""

EXHAUSTIBLE = 40_000
"""Spaces up to this size are enumerated."""
EVALUATIONS, DRAWN = 2000, 100
"""Instances that are tried by default, and those where objects or random numbers are drawn."""
DECIDED = 5
"""Settings of a statement with repetitions that are decided, of those that were looked at."""
REPLICATES_EACH = 400
"""Repetitions of each random setting by default."""


@dataclass(frozen=True)
class Statement:
    """A function from a space to two sides.

    Attributes
    ----------
    name
        Of the part; empty where a claim has one only.
    function
        Its signature is the space, its value the conclusions.
    budget
        Instances that are tried where the space is not enumerated; None for the default.
    replicates
        Repetitions of each instance, for a function that asks for ``Replicates``.
    confirm
        Runs the very algorithm on an instance that was found: takes the same arguments and gives what
        was measured, which must agree to 1e-9; or compares by itself and gives None.
    prove
        Whether to try a proof first.
    whole
        Whether that proof is one of the whole claim: its sides are compared with those of the other parts.
    at
        Of such a proof: takes the arguments of another part, and returns the arguments of the proof, or a list of them,
        one for each entry of the sides; or a mapping from names of parts to such functions. None where the other
        parts return what the proof's function returns.
    extremes
        Instances that are tried before all others, each as arguments by name.
    exhaustible
        Largest space that is enumerated; less where an evaluation is slow.
    same
        Whether its terms are those of the claim's first statement.
    space
        What the signature says.
    first
        The extremes as flat quantities.
    """

    name: str
    function: Callable[..., Conclusions]
    budget: int | None = None
    replicates: int = REPLICATES_EACH
    confirm: Callable[..., float | None] | None = None
    prove: bool = False
    whole: bool = False
    at: Callable[..., Any] | Mapping[str, Callable[..., Any]] | None = None
    extremes: Sequence[Mapping[str, Any]] = ()
    exhaustible: int = EXHAUSTIBLE
    same: bool = True
    space: Space = field(init=False, repr=False)
    first: list[dict[str, Any]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # a statement that cannot be tried is refused where it is written
        object.__setattr__(self, "space", Space.of(self.function))
        if self.prove and self.random:
            raise InvalidArgument(
                "prove",
                True,
                f"must not be asked of {self.name or 'a statement'} with random numbers",
                "state the algebra on quantities of its own",
            )
        object.__setattr__(self, "first", [self.space.flatten(arguments) for arguments in self.extremes])

    @property
    def evaluations(self) -> int:
        """Instances that are tried where there are more."""
        if self.budget is not None:
            return self.budget
        return DRAWN if self.random or self.space.sampled else EVALUATIONS

    @property
    def repeated(self) -> bool:
        """Whether a setting is repeated, so that few repetitions choose the settings that many decide."""
        return self.space.replicates is not None

    @property
    def random(self) -> bool:
        """Whether its value depends on random numbers."""
        return self.space.stream is not None

    def conclude(
        self,
        one: Instance,
        *,
        seed: int = 0,
        claim: str = "",
        replicates: int | None = None,
    ) -> dict[str, Conclusion]:
        """Evaluate an instance: a pure function of what is given.

        Parameters
        ----------
        one
            The quantities.
        seed, claim
            Axes of the random numbers, with the part and the instance.
        replicates
            In place of the statement's own number.

        Raises
        ------
        Outside
            If the instance breaks a hypothesis; the message is its name.
        Exception
            Whatever the function raises; a note names file, line and instance.
        """
        filled: dict[str, Any] = {}
        if self.space.stream is not None:
            filled[self.space.stream] = generator(seed, claim, self.name, self.space.key(one))
        if self.space.replicates is not None:
            filled[self.space.replicates] = replicates or self.replicates
        with self.naming_errors(one), recording_failures() as failed:
            value = self.function(**self.space.arguments(one), **filled)
            if failed:
                rule = f'must not catch what is raised where a hypothesis fails: "{failed[0]}"'
                raise InvalidArgument(self.function.__name__, "a result", rule, "let it pass")
        if not isinstance(value, Sides | Frequency | Expectation) and not (
            isinstance(value, Mapping) and value
        ):
            name = getattr(self.function, "__name__", self.name)
            raise InvalidArgument(
                name, value, "must be two sides", "end the function with `return at_most(...)` or its like"
            )
        return dict(value) if isinstance(value, Mapping) else {"": value}

    @contextmanager
    def naming_errors(self, one: Instance) -> Iterator[None]:
        """Add file, line and instance to an error in the evaluation of an instance, or of what it concludes."""
        try:
            yield
        except Outside:
            raise
        except Exception as error:
            if any(isinstance(value, Symbol) for value in one.values()):
                raise  # a proof names the reason, and a symbol is no text
            words = [place_of(error, self.function), f"at {quantities(self.space.encode(one))}"]
            note = ", ".join(word for word in words if word)
            if note not in getattr(error, "__notes__", ()):
                error.add_note(note)
            raise
