"""Checks on many seeds without trying again what no seed enters: statements whose instances are all listed.

A statement that asks for no random numbers and whose space is enumerated gives the same trial whatever the seed.
On two seeds it is tried in full, and must give the same; on all others that trial stands, beside the claim's
random or searched parts, which are tried on every seed.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from planting import planted

from clusterproof.theory.claim import Context
from clusterproof.theory.statement import trial
from clusterproof.theory.statement.statement import Statement

COMPARED = 2
"""Seeds on which a listed statement is tried."""


class SeedEntersError(AssertionError):
    """A statement without random numbers gives something else on another seed."""


@contextmanager
def listed_once() -> Iterator[None]:
    """Let listed statements without random numbers be tried on two seeds only.

    Raises
    ------
    SeedEntersError
        Within, if the two differ.
    """
    known: dict[int, list[trial.Trial]] = {}

    def attempt(statement: Statement, context: Context) -> trial.Trial:
        before = known.setdefault(id(statement), [])
        if len(before) == COMPARED:
            return before[0]
        found: trial.Trial = true(statement, context)
        if found.exhausted and not statement.random:
            if before and summary(before[0]) != summary(found):
                raise SeedEntersError(
                    f"{context.claim}, {statement.name}: seed {context.seed} gives another trial"
                )
            before.append(found)
        return found

    with planted(trial, "attempt", attempt) as true:
        yield


def summary(one: trial.Trial) -> tuple[Any, ...]:
    """What a trial found: every instance with the share of the allowed that it uses, and what was rejected."""
    return one.evaluated, one.rejected, one.factors
