"""Reasons why a search could not have refuted a line even if it is false."""

from __future__ import annotations

from clusterproof.checker.claims.sides import leaving_out
from clusterproof.checker.claims.statistics import critical
from clusterproof.checker.kernel.evaluation import Outside
from clusterproof.checker.report import sentences
from clusterproof.checker.search.findings import Findings
from clusterproof.checker.search.state import Tried
from clusterproof.common.limits import SPENT

FEWEST = 30
"""Smallest number of different instances for the verdict *consistent*, unless fewer instances exist.

With fewer instances, the verdict is *inconclusive*.
"""


def doubts_of(tried: Tried, findings: Findings, key: str) -> list[str]:
    """Return the reasons why the search could not have refuted a false line, or an empty list if there are none."""
    doubts = []
    count = max(findings.instances, tried.coverage.looked_at)
    every = (tried.coverage.exhausted or tried.coverage.looked_at_all) and tried.space.complete
    if count < FEWEST and findings.rounding is None and not every:
        are = "instance is" if count == 1 else "different instances are"
        remedy = f"{FEWEST} are needed, or ranges that are tried completely, such as choice(...)"
        if tried.rejected:
            remedy += ": the hypotheses reject most drawn instances"
        doubts.append(f"{count} {are} too few to refute it; {remedy}")
    if findings.rounding is not None:
        words = sentences.broken(tried.statement, findings.rounding, key)
        doubts.append(f"in floats {words}, which is not confirmed: {findings.why}")
    if tried.coverage.stopped and not (tried.coverage.why_stopped == SPENT and count >= FEWEST):
        doubts.append(sentences.stopped(tried))
    if findings.undefined is not None:
        doubts.append(sentences.broken(tried.statement, findings.undefined, key))
    if findings.grows:
        doubts.append(
            f"the share of the bound that it uses grows with {findings.grows} and would pass 1: state a larger range"
        )
    if findings.inconclusive.total() == findings.instances:
        doubts.append("no interval decides anything")
    if findings.unlikely is not None:
        doubts.append("all replicates together speak against it, but no single instance's replicates do")
    blind = {
        level: size
        for level, size in findings.levels.items()
        if 0 < level <= 0.5 and critical(size, level, tried.evaluator.significance) > 2 * level * size
    }
    if 2 * sum(blind.values()) > findings.levels.total():
        level, size = max(blind.items())
        doubts.append(
            f"{size} replicates would not show twice the probability {level:.3g}: give more replicates"
        )
    return doubts


def exclude_each_other(tried: Tried) -> list[str]:
    """Return a minimal set of hypotheses such that every tried instance breaks at least one of them.

    The search counts only the first false hypothesis of each instance, so these counts would name too many hypotheses.
    The function therefore omits the hypotheses one by one, and puts a hypothesis back if some instance meets all
    others.
    """
    known = list(tried.rejected)
    left_out: frozenset[str] = frozenset()
    for name in known:  # the list grows when omitted hypotheses reveal others
        met = _rejections(tried, left_out | {name})
        if met is not None:
            left_out |= {name}
            known.extend(other for other in met if other not in known)
    return [name for name in known if name not in left_out]


def _rejections(tried: Tried, left_out: frozenset[str]) -> list[str] | None:
    """Return the first false hypothesis of each instance if some are ignored, or None if an instance meets the rest."""
    names: dict[str, None] = {}
    with leaving_out(left_out):
        for _, instance in tried.outside:
            try:
                tried.evaluator.lines(instance, 1)
                return None
            except Outside as outside:
                names[str(outside)] = None
            except Exception:  # a statement may be undefined where its hypotheses fail
                return None
    return list(names)
