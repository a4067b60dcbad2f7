"""Checks on many seeds without trying again what no seed enters: statements whose instances are all listed.

A statement that asks for no random numbers and whose space is enumerated gives the same trial whatever the seed.
On two seeds it is tried in full, and must give the same; on all others that trial stands, beside the claim's
random or searched parts, which are tried on every seed.

How far a statement's constants could be moved is no part of a verdict, and is found by evaluating every instance again
many times: on two seeds it is; on all others the last factors stand.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from planting import planted

from clusterproof.theory.claim import Context
from clusterproof.theory.statement import constants, trial
from clusterproof.theory.statement.statement import Statement

COMPARED = 2
"""Seeds on which a listed statement is tried, and on which constants are moved."""


class SeedEntersError(AssertionError):
    """A statement without random numbers gives something else on another seed."""


@contextmanager
def listed_once() -> Iterator[None]:
    """Let listed statements without random numbers be tried, and constants be moved, on two seeds only.

    Raises
    ------
    SeedEntersError
        Within, if the two differ.
    """
    known: dict[int, list[trial.Trial]] = {}
    moved: dict[int, list[dict[str, float]]] = {}

    def attempt(statement: Statement, context: Context) -> trial.Trial:
        before = known.setdefault(id(statement), [])
        if len(before) == COMPARED:
            return before[0]
        found: trial.Trial = true_attempt(statement, context)
        if found.exhausted and not statement.random:
            if before and summary(before[0]) != summary(found):
                raise SeedEntersError(
                    f"{context.claim}, {statement.name}: seed {context.seed} gives another trial"
                )
            before.append(found)
        return found

    def constant_factors(tried: trial.Trial, context: Context) -> dict[str, float]:
        before = moved.setdefault(id(tried.statement), [])
        if len(before) < COMPARED:
            before.append(true_factors(tried, context))
        return before[-1]

    with (
        planted(trial, "attempt", attempt) as true_attempt,
        planted(constants, "constant_factors", constant_factors) as true_factors,
    ):
        yield


def summary(one: trial.Trial) -> tuple[Any, ...]:
    """What a trial found: every instance with the share of the allowed that it uses, and what was rejected."""
    return one.evaluated, one.rejected, one.factors
