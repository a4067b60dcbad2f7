"""Try one statement: prove it, else enumerate its space, else take the extremes and search."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from clusterproof.algorithms.time_limit import TimeLimitExceeded, time_limit
from clusterproof.theory.checker.claim import Context
from clusterproof.theory.checker.corners import (
    BEYOND,
    CORNERS,
    beyond,
    corners,
    neighbours,
    open_ends,
    spread_draws,
    toward,
)
from clusterproof.theory.checker.evaluation import Evaluator, Trial, drawn_corners
from clusterproof.theory.checker.frequency import Frequency
from clusterproof.theory.checker.proof import Unproved, certify
from clusterproof.theory.checker.proof_sources import objection
from clusterproof.theory.checker.search import search
from clusterproof.theory.checker.statement import DRAWN, SEARCHED, Statement
from clusterproof.theory.checker.statistics import binomial_tail
from clusterproof.theory.checker.ties import COMPARED, Tie

STEP_SECONDS = 0.2
"""The next multiple of an open end is tried where it is expected to take less processor time."""
LONGEST_STEP = 1.0
"""Seconds of processor time after which such a step is given up, where the expectation was wrong."""
SHORTEST_STEP = 1e-4
"""Seconds below which the times of two steps are not compared."""
SIMPLER = 50
"""Simpler values of each quantity that are tried in place of those of a counterexample."""
HALVINGS = 8
"""Steps from an instance towards an end of a range, after which a hypothesis that forbids the end is met."""
FEW_LISTED = 100
"""A list of fewer values counts as so many, where a statement speaks of others, too: a quarter of it is drawn."""
TRIES = 50
"""Draws for each instance that is wanted, after which too few are admissible."""


def attempt(statement: Statement, context: Context, ties: Sequence[Tie] = ()) -> Trial:
    """Try a statement: a proof where one is asked for, then extremes, enumeration, draws or search in any case.

    Parameters
    ----------
    statement
        What is tried.
    context
        Seed, budget (or repetitions, for random statements) and the error level of this statement.
    ties
        Proofs by separate functions, compared with the statement at every instance that is tried.
    """
    trial = Trial(statement)
    if statement.prove:
        trial.unproved = ""
        try:
            records = tuple(record for record, _ in statement.space.records.values())
            if wrong := objection(statement.function, records):
                raise Unproved(wrong)
            trial.symbolic = certify(statement.space, statement.conclude)
        except Unproved as reason:
            trial.unproved = str(reason)
    _Search(trial, context, ties).run()
    if trial.proved and not trial.instances:
        # a proof on symbols passes over the hypotheses
        trial.unproved = "no instance was found that meets its hypotheses"
    return trial


class _Search(Evaluator):
    """Chooses the instances that are evaluated."""

    def run(self) -> None:
        """Evaluate until something breaks, or all that is to be tried was; what is tightest with all replicates.

        If all instances together fail more often than the probability allows, the tightest has as many replicates.
        """
        self._try()
        trial, tightest = self.trial, self.trial.tightest
        if trial.found is not None or tightest is None:
            return
        trial.unlikely = self._unlikely()
        if trial.unlikely is not None and tightest.replicates is not None:
            self.sizes = [trial.trials]
        if tightest.replicates != self.sizes[-1]:
            self.sizes = self.sizes[-1:]
            self.keep(evaluation := self.conclude(tightest.instance))
            trial.found = evaluation if evaluation.broken is not None else None

    def _unlikely(self) -> float | None:
        """Probability of as many failures over all instances, if it is below the error level."""
        trial = self.trial
        tightest = trial.tightest.conclusions.values() if trial.tightest else ()
        if trial.events != 1 or any(isinstance(each, Frequency) and each.exactly for each in tightest):
            return None
        # a setting's interval errs on this side with half of its level, which leaves room for one more
        found = binomial_tail(trial.failures, trial.trials, max(trial.levels))
        return found if found < self.context.significance / trial.settings else None

    def _try(self) -> None:
        trial, statement, space = self.trial, self.statement, self.statement.space
        budget = statement.budget or (DRAWN if space.sampled or statement.random else SEARCHED)
        listed = space.instances(budget if statement.random else statement.exhaustible)
        if self.any_breaks(statement.first):
            return
        if listed is not None:
            self.distinct = not statement.first
            trial.exhausted = not self.any_breaks(listed)
            trial.listed = trial.instances
            if trial.found is None and not space.complete:
                self.distinct = False
                self._look_further(min(max(len(listed), FEW_LISTED), SEARCHED))
            return
        if space.replicates is None:
            budget = self.context.trials or budget
        if (statement.random or space.sampled) and not space.searched:
            self.any_breaks(self._draws(budget))
        else:
            self._search(budget, climbs=not (statement.random or space.sampled))
        if trial.found is None:
            self._look_further(budget)
        short = COMPARED - min((tie.compared for tie in self.ties if not tie.refused), default=COMPARED)
        if trial.found is None and short > 0:
            if space.searched:
                self._search(4 * short, climbs=False, name=" again")  # some are drawn twice
            else:
                self.any_breaks(self._draws(short))

    def _search(self, budget: int, *, climbs: bool, name: str = "") -> None:
        """Search with hypothesis, and simplify what breaks the statement."""
        seed = f"{self.context.seed} {self.context.claim} {self.statement.name}{name}"
        found = search(self.statement.space, self.evaluate, seed=seed, budget=budget, climbs=climbs)
        self.trial.found = None if found is None else self.conclude(found)

    def _look_further(self, budget: int) -> None:
        """Try corners, values beyond open ends, other magnitudes, and neighbours of what uses most of the bound."""
        statement, space, tightest = self.statement, self.statement.space, self.trial.tightest
        if tightest is None:
            return
        base = tightest.instance
        stream = self.context.generator(statement.name, "corners")
        if space.sampled or space.replicates is not None:
            drawn = (space.draw(stream) for _ in range(drawn_corners(statement, budget)))
            self.any_breaks(one for base in drawn for one in corners(space, stream, base, 1))
            return
        found = self.any_breaks(corners(space, stream, base, min(CORNERS, budget)))
        if not found and not statement.random:
            found = (
                self.any_breaks(spread_draws(space, stream, base, budget // 4))
                or self._climb(budget // 4)
                or self._breaks_at_a_hypothesis()
            )
        if found or self._breaks_beyond():
            self._simplify()

    def _breaks_at_a_hypothesis(self) -> bool:
        """Move each quantity of the tightest instance towards its ends, up to where a hypothesis forbids it."""
        space, tightest = self.statement.space, self.trial.tightest
        assert tightest is not None
        for name, side in itertools.product(space.ranges, (0, 1)):
            inside, outside = Fraction(0), Fraction(1)
            share = outside
            for _ in range(HALVINGS):
                moved = toward(space, tightest.instance, name, side, share)
                seen = None if moved is None else self.evaluate(moved)
                if seen is not None and seen[0]:
                    return True
                inside, outside = (inside, share) if seen is None else (share, outside)
                if inside == outside:
                    break
                share = (inside + outside) / 2
        return False

    def _breaks_beyond(self) -> bool:
        """Go beyond each open end, one quantity at a time, from the tightest instance, as long as that is quick."""
        trial, space = self.trial, self.statement.space
        if trial.tightest is None or not open_ends(space):
            return False
        start = trial.tightest.instance
        began = time.process_time()
        self.conclude(start)
        usual = max(time.process_time() - began, SHORTEST_STEP)
        for name, sign in open_ends(space):
            before = usual
            for multiple in BEYOND:
                moved = beyond(space, start, name, sign, multiple)
                if moved is None:
                    break
                began = time.process_time()
                try:
                    with time_limit(LONGEST_STEP):
                        broken = self.any_breaks([moved])
                except (ArithmeticError, MemoryError, TimeLimitExceeded):
                    break
                if broken:
                    return True
                trial.reached[name] = multiple
                seconds = time.process_time() - began
                # the next step takes as many times longer, and ten times at least
                if seconds * max(10.0, seconds / before) > STEP_SECONDS:
                    break
                before = max(seconds, usual)
        return False

    def _climb(self, steps: int) -> bool:
        """Move from the tightest instance to better neighbours."""
        trial = self.trial
        while steps > 0 and trial.tightest is not None:
            start = trial.tightest
            around = list(itertools.islice(neighbours(self.statement.space, start.instance), steps))
            if self.any_breaks(around):
                return True
            steps -= len(around)
            if trial.tightest is start:
                return False
        return False

    def _simplify(self) -> None:
        """Replace quantities of what was found by simpler ones, as long as it breaks the statement."""
        found = self.trial.found
        assert found is not None
        space = self.statement.space
        for name, allowed in space.ranges.items():
            for value in itertools.islice(allowed.values(found.instance) or (), SIMPLER):
                moved = dict(found.instance) | {name: value}
                if value == found.instance[name]:
                    break
                if space.holds(moved) and self.any_breaks([moved]):
                    found = self.trial.found
                    assert found is not None
                    break
        self.trial.found = found

    def _draws(self, count: int) -> Iterator[dict[str, Any]]:
        """Draw settings, none of them chosen by what another gave, until enough are admissible."""
        start = self.trial.instances
        for number in range(TRIES * count):
            if self.trial.instances - start >= count:
                return
            yield self.statement.space.draw(self.context.generator(self.statement.name, "instance", number))
