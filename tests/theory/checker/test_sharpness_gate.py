"""Of every claim of the catalogue: what is measured over its factor flips the comparison, and so does a dropped term.

Nothing is listed here: the registry says which claims there are, and their statements which terms. Each part
is tried on
a few instances, and every factor is held against the instance that it comes from.
"""

import dataclasses
from typing import Any

import numpy as np
import pytest

from clusterproof import theory
from clusterproof.theory import Claim
from clusterproof.theory.checker import Expectation, Frequency, Sides
from clusterproof.theory.checker.claim import CLAIM_SIGNIFICANCE, Context
from clusterproof.theory.checker.comparison import Comparison
from clusterproof.theory.checker.conclusions import WHOLE, judge
from clusterproof.theory.checker.evaluation import Trial
from clusterproof.theory.checker.expectation import replicates_to_try
from clusterproof.theory.checker.statement import Statement
from clusterproof.theory.checker.trial import attempt

pytestmark = pytest.mark.slow(reason="checks claims with each factor and term changed")

FEW = 1
"""Instances of a part, beside its extremes."""
LISTED = 100
"""Longest space that is enumerated here."""
REPETITIONS = 60
"""Of random settings that are cheap enough for a hundred."""
BELOW, ABOVE = 1 - 1e-3, 1 + 1e-6

TRUE = [
    claim for claim in theory.catalogue() if claim.parts is not None and not claim.repaired_by and claim.quick
]


def tried(part: Statement, claim: Claim) -> tuple[Trial, Context]:
    small = dataclasses.replace(part, exhaustible=LISTED, budget=FEW, prove=False)
    if part.space.replicates is not None:
        trials = REPETITIONS if part.replicates >= 100 else min(part.replicates, 5)
    else:
        trials = FEW
    context = Context(0, trials, CLAIM_SIGNIFICANCE, claim.id)
    return attempt(small, context), context


def scaled(conclusion: Any, term: str, factor: float) -> Any:
    """The conclusion with everything that is allowed, or one term, multiplied; a negative one divided."""
    if isinstance(conclusion, Frequency | Expectation):
        return dataclasses.replace(conclusion, allowed=conclusion.allowed * factor)
    sign = -1 if conclusion.lower else 1
    terms = {name: np.asarray(value, dtype=float) for name, value in conclusion.terms.items()}

    def times(value: np.ndarray, total: np.ndarray) -> np.ndarray:
        if factor == 0:
            return 0 * value
        return np.where(sign * total >= 0, value * factor, value / factor)

    if term == WHOLE:
        total = sum(terms.values())
        return dataclasses.replace(conclusion, terms={key: times(each, total) for key, each in terms.items()})
    return dataclasses.replace(conclusion, terms=terms | {term: times(terms[term], terms[term])})


class Again:
    """Evaluates the instances of a trial anew, each once."""

    def __init__(self, trial: Trial, context: Context) -> None:
        self.trial, self.context = trial, context
        self.known: dict[str, dict[str, Any]] = {}

    def conclusions(self, instance: dict[str, Any]) -> dict[str, Any]:
        part = self.trial.statement
        key = part.space.key(instance)
        if key not in self.known:
            self.known[key] = part.conclude(
                instance,
                seed=self.context.seed,
                claim=self.context.claim,
                replicates=self.context.trials if part.space.replicates is not None else None,
            )
        return dict(self.known[key])

    def broken(self, instance: dict[str, Any], name: str, term: str, factor: float) -> bool:
        conclusions = self.conclusions(instance)
        conclusions[name] = scaled(conclusions[name], term, factor)
        significance = self.context.significance / self.trial.settings
        if isinstance(conclusions[name], Expectation):  # the level is shared by the looks at growing samples
            significance /= 2 * len([*replicates_to_try(self.context.trials or 0)])
        return judge(conclusions, significance)[name].broken

    def resolved(self, instance: dict[str, Any], name: str) -> bool:
        """Whether a change of what is allowed by 1 - BELOW exceeds the tolerance of the tightest entry."""
        one = self.conclusions(instance)[name]
        if not isinstance(one, Sides):
            return True
        comparison = Comparison(one)
        place = comparison.worst()
        tolerance = np.broadcast_to(comparison.tolerance, comparison.measured.shape)[place]
        return float(tolerance) < (1 - BELOW) / 2 * abs(float(comparison.measured[place]))

    def can_be_dropped(self, instance: dict[str, Any], name: str, term: str) -> bool:
        """Whether a term allows more than nothing somewhere: without it the statement says more."""
        one = self.conclusions(instance)[name]
        value = np.asarray(one.terms[term], dtype=float)
        return bool(((-value if one.lower else value) > 0).all())


@pytest.mark.parametrize("claim", TRUE, ids=lambda claim: claim.id)
def test_factors_flip_and_needed_terms_cannot_be_dropped(claim: Claim) -> None:
    assert claim.parts is not None
    for part in claim.parts.parts:
        trial, context = tried(part, claim)
        if trial.found is not None:
            return  # refuted, and so without a sharpness
        again = Again(trial, context)
        for (name, term), extreme in trial.factors.items():
            if extreme.factor is None or not 0 < extreme.factor < np.inf:
                continue
            factor, one = float(extreme.factor), extreme.instance
            where = (part.name, name, term, factor)
            assert not again.resolved(one, name) or again.broken(one, name, term, factor * BELOW), where
            assert not again.broken(one, name, term, factor * ABOVE), where
            if term != WHOLE and again.resolved(one, name) and again.can_be_dropped(one, name, term):
                assert again.broken(one, name, term, 0.0), where
