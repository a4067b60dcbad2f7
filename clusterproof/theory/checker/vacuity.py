"""Hypotheses that exclude each other: a least set of them that no tried instance meets."""

from __future__ import annotations

from clusterproof.theory.checker.claim import Context
from clusterproof.theory.checker.evaluation import Trial
from clusterproof.theory.checker.sides import Outside, leaving_out


def exclude_each_other(trial: Trial, context: Context) -> list[str]:
    """Find hypotheses that no instance of a trial meets together, none of which could be left out.

    Counting which hypothesis rejects first would name all of them. So each is left out in turn, for good
    where the others still reject everything.

    Parameters
    ----------
    trial
        Of a statement without an admissible instance.
    context
        Seed and claim.
    """
    known = list(trial.rejected)
    left_out: frozenset[str] = frozenset()
    for name in known:  # grows while hypotheses come to light behind the ones that are left out
        without = left_out | {name}
        met = _rejections(trial, context, without)
        if met is None:
            continue
        left_out = without
        known.extend(other for other in met if other not in known)
    return [name for name in known if name not in left_out]


def _rejections(trial: Trial, context: Context, left_out: frozenset[str]) -> list[str] | None:
    """Names of the hypotheses that reject all instances when some are left out; None where one passes."""
    names: dict[str, None] = {}
    with leaving_out(left_out):
        for _, one in trial.outside:
            try:
                trial.statement.conclude(one, seed=context.seed, claim=context.claim, replicates=1)
                return None
            except Outside as outside:
                names[str(outside)] = None
            except Exception:  # beyond its hypotheses a statement need not be defined
                return None
    return list(names)
