"""A claim's function in the language, on its space: what evidence speaks of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from clusterproof.checker.kernel.evaluation import Evaluation, Refused, evaluating, spend
from clusterproof.checker.kernel.loading import Source
from clusterproof.checker.kernel.spaces import Instance, Space
from clusterproof.checker.kernel.vocabulary import Excluded, Sides

Line = Sides | Excluded


@dataclass(frozen=True)
class Statement:
    """What is claimed of every instance of a space.

    Attributes
    ----------
    space
        The quantities.
    function
        Of the language: takes the quantities, or records of them, to a line or to lines by name.
    records
        By parameter of the function, the record that it takes and the record's quantities.
    digest
        SHA-256 of everything that the statement rests on.
    """

    space: Space
    function: Callable[..., Any]
    records: Mapping[str, tuple[Any, tuple[str, ...]]]
    digest: str

    @classmethod
    def of(
        cls,
        function: Any,
        space: Callable[[Source], Space],
        records: Mapping[str, tuple[type, tuple[str, ...]]],
        source: Source,
    ) -> Statement:
        """Compile a function and its space.

        Parameters
        ----------
        function
            Of the running program.
        space
            Makes the space, whose ends it loads.
        records
            By parameter, a frozen dataclass and its quantities.
        source
            Loads them.

        Raises
        ------
        Refused
            If something is not of the language; the message says where, why and what to write.
        """
        try:
            own = source.load(function, "function")
            of_records = {name: (source.load(kind, name), keys) for name, (kind, keys) in records.items()}
            made = space(source)
            text = str(made)
        except Refused:
            raise
        except (
            Exception
        ) as error:  # such as a source that is nested too deeply, or a number of too many digits
            raise Refused(f"the statement is not read: {type(error).__name__}") from error
        written = [
            f"{name}: {kind.__name__} of {', '.join(keys)}" for name, (kind, keys) in of_records.items()
        ]
        return cls(made, own, of_records, source.digest(text, *written))

    def evaluate(self, instance: Instance) -> Any:
        """Call the function within an evaluation that has begun, and return what it returns."""
        spend(10)
        rest = dict(instance)
        records = {
            n: kind(**{key: rest.pop(key) for key in keys}) for n, (kind, keys) in self.records.items()
        }
        return self.function(**rest, **records)

    def lines(
        self, instance: Instance, record: Evaluation | None = None
    ) -> tuple[dict[str, Line], Evaluation]:
        """Evaluate the function.

        Parameters
        ----------
        instance
            Numbers or symbols.
        record
            Of an evaluation on symbols.

        Returns
        -------
        lines, evaluation
            By name, of a single one the empty name; and what was supposed and divided by.

        Raises
        ------
        Outside
            If a hypothesis fails.
        Refused
            If the function does what is not of the language, or returns no lines.
        """
        with evaluating(record) as evaluation:
            value = self.evaluate(instance)
        lines = dict(value) if type(value) is dict else {"": value}
        if not lines or any(type(line) not in (Sides, Excluded) for line in lines.values()):
            raise Refused("the function returns no line: end it with at_most(...) or its like")
        return lines, evaluation
