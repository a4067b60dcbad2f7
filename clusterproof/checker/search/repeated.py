"""Search for random statements: a few replicates select suspicious instances, and many replicates decide them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from clusterproof.checker.claims.frequency import Frequency
from clusterproof.checker.claims.statistics import binomial_tail
from clusterproof.checker.kernel.claim_words import Excluded
from clusterproof.checker.kernel.evaluation import Outside
from clusterproof.checker.search.findings import Findings, suspicion
from clusterproof.checker.search.instances import MOST, REDRAWS, some, stream_of
from clusterproof.checker.search.state import LEAST, Tried
from clusterproof.common.limits import SPENT_ON_ONE, TooMuchWork

DECIDED = 5
"""Number of instances that get all replicates, namely the most suspicious ones after a few replicates."""
FEW = 10
"""The selection of instances uses the number of replicates divided by ``FEW``, but at least 30 replicates."""


def decide_settings(tried: Tried, wanted: int) -> None:
    """Evaluate many instances with a few replicates each, and decide the worst instances with independent replicates.

    Parameters
    ----------
    tried
        The state of the search, to which the results are added.
    wanted
        Number of instances to evaluate with a few replicates.
    """
    listed = tried.space.instances(wanted)
    complete = tried.space.complete
    few = listed is not None and complete and len(listed) <= DECIDED
    if listed is not None and few:
        chosen = listed
        settings = len(tried.statement.first) + max(1, len(listed))
        tried.evaluator = replace(tried.evaluator, settings=settings)
    else:
        others = () if listed is not None and complete else _settings(tried, wanted)
        looks = _look(tried, itertools.chain(listed or (), others))
        chosen = [instance for _, instance in sorted(looks, key=lambda look: -look[0])[:DECIDED]]
    for instance in tried.until_refuted(chosen):
        tried.evaluate(instance)
    tried.coverage.exhausted = few and tried.is_open
    tried.coverage.looked_at_all = listed is not None and complete and not tried.coverage.stopped
    _decide_tightest(tried)


def _look(tried: Tried, instances: Iterator[dict[str, Any]]) -> Iterator[tuple[float, dict[str, Any]]]:
    """Yield each admissible instance with its suspicion, a score from a few replicates."""
    most = tried.evaluator.sizes[-1] or LEAST
    few = max(min(most, LEAST), most // FEW)
    looked: set[str] = set()
    for instance in itertools.takewhile(lambda _: not tried.is_spent, instances):
        if (key := tried.space.key(instance)) in looked:
            continue
        looked.add(key)
        try:
            evaluate = partial(tried.evaluator.lines, instance, few, "first")
            lines = tried.within_limit(instance, partial(tried.work.done, evaluate))
        except Outside as outside:
            tried.outside.append((str(outside), instance))
            continue
        except TooMuchWork:
            tried.stop(instance, SPENT_ON_ONE)
            continue
        if lines is None:
            continue
        tried.coverage.looked_at += 1
        known = [suspicion(each) for each in lines.values() if not isinstance(each, Excluded)]
        yield max(known, default=0.0), instance


def _settings(tried: Tried, wanted: int) -> Iterator[dict[str, Any]]:
    """Yield corners, then random instances; if a hypothesis is false, redraw the quantities that it mentions."""
    space = tried.space
    yield from itertools.islice(space.corners(), wanted // 4)
    for number in range(MOST * wanted):
        if tried.coverage.looked_at >= wanted:
            return
        stream = stream_of(tried, "instance", number)
        instance = space.draw(stream, tried.coverage.farthest)
        for _ in range(REDRAWS):
            if instance is None:
                break
            before = len(tried.outside)
            yield instance
            if len(tried.outside) == before:
                break
            names = some(stream, space.named_in(tried.outside[-1][0]))
            instance = space.draw(stream, tried.coverage.farthest, start=instance, names=names)


def _decide_tightest(tried: Tried) -> None:
    """Evaluate the tightest instance of each unrefuted line with all replicates, if this has not been done."""
    for findings in list(tried.lines.values()):
        tightest = findings.tightest
        if findings.found or tightest is None:
            continue
        all_of_them = unlikely(tried, findings) is None or tightest.replicates is None
        size = tried.evaluator.sizes[-1] if all_of_them else findings.trials
        if tightest.replicates != size:
            evaluator = replace(tried.evaluator, sizes=(size,))
            if (evaluation := tried.conclude(tightest.instance, evaluator)) is not None:
                tried.keep(evaluation)


def unlikely(tried: Tried, findings: Findings) -> float | None:
    """Return the probability of at least the observed number of failures of a true line; None if it is not small."""
    tightest = findings.tightest.lines.values() if findings.tightest else ()
    exactly = any(isinstance(each, Frequency) and each.exactly for each in tightest)
    if not findings.trials or not findings.levels or findings.instances == 1 or exactly:
        return None
    # each interval uses half of its level on this side, so one more test is possible
    tail = binomial_tail(findings.failures, findings.trials, max(findings.levels))
    return tail if tail < tried.evaluator.significance / tried.evaluator.settings else None
