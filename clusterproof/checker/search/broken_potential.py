"""Search for a function that breaks the potential of a loop: try random functions, then worst cases of a solver."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from clusterproof.checker import kernel
from clusterproof.checker.claims.class_members import Known
from clusterproof.checker.claims.space import Space
from clusterproof.checker.kernel.evaluation import Outside, evaluating, limited
from clusterproof.checker.kernel.induction import potential_of
from clusterproof.checker.kernel.loops import Looked, looking_at_invariants
from clusterproof.checker.kernel.numbers import number
from clusterproof.checker.kernel.ranges import Instance
from clusterproof.checker.kernel.vocabulary import Sides
from clusterproof.checker.search.paths import Path, paths_of
from clusterproof.checker.search.worst_functions import LEAST, worst_functions
from clusterproof.checker.search.worst_ratio import worst_excess

SOLVED = 40
"""Largest number of comparisons whose worst case a solver computes."""
NO_VALUE = (kernel.Refused, Outside, ArithmeticError, LookupError, TypeError, ValueError)


@dataclass(frozen=True)
class BrokenPotential:
    """An instance, and the first comparison of an invariant that is false at this instance."""

    instance: Instance
    comparison: Looked


def broken_potential(
    statement: kernel.Statement, space: Space, settings: Sequence[Instance], drawn: Sequence[Any]
) -> BrokenPotential | None:
    """Return an instance at which an invariant is false in some round, or None if none is found.

    Parameters
    ----------
    statement
        A statement of the language about every function of a class.
    space
        The space of the statement, read from the function of the claim's author.
    settings
        Values of all quantities except the function, with a small number of rounds.
    drawn
        Random functions of the class to try with each of these values.
    """
    name = statement.space.function
    assert name is not None
    for setting, several in zip(settings, drawn, strict=True):
        for value in several:
            if (found := broken_at(statement, {**setting, name: value}, space)) is not None:
                return found
    for setting, path in islice(_entries(statement, settings), SOLVED):
        excess = worst_excess(path)
        if excess is None or excess.value > LEAST:
            for code in worst_functions([[path]]):
                if (found := broken_at(statement, {**setting, name: Known(code)}, space)) is not None:
                    return found
    return None


def _entries(statement: kernel.Statement, settings: Sequence[Instance]) -> Iterator[tuple[Instance, Path]]:
    """Yield every comparison of every invariant, for each round and each path of the program."""
    for setting in settings:
        with suppress(*NO_VALUE):
            for path in paths_of(potential_of(statement), setting):
                yield from ((setting, entry) for entry in path.get("", ()))


def broken_at(statement: kernel.Statement, instance: Instance, space: Space) -> BrokenPotential | None:
    """Return the first false comparison at an instance, or None if all hold or a hypothesis is not met."""
    with suppress(*NO_VALUE), limited(), evaluating() as evaluation, looking_at_invariants() as looked:
        lines = statement.evaluate(
            {n: space.ranges[n].passed(value, instance) for n, value in instance.items()}
        )
        if evaluation.now.facts or any(type(line) is not Sides for line in lines.values()):
            return None
        first = next((each for each in looked if number(each.slack) < 0), None)
        return None if first is None else BrokenPotential(instance, first)
    return None
