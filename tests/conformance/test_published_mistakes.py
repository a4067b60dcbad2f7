"""Mistakes of SCAFFOLD that public issues report are found, and the code without them conforms."""

import published_scaffold_mistakes as published
import pytest

from clusterproof.conformance import conform

NAMED = {
    "Plato382": ("new-control-sent-for-change",),
    "NIIDBench8": (),  # the code hands no controls out, and no step of a round is wrong
    "NIIDBench12": ("controls-averaged-over-participants",),
    "Fedbiomed734": ("correction-sign", "drift-sign"),  # each gives the same runs as the other
    "PFLlib160": ("K-counts-batches",),
    "KarhouTam1": ("change-always-zero",),
    "KiLjl1": ("K-counts-epochs",),
}
QUICK = ("one-step", "rounds", "batches", "participation", "everything")


def test_the_code_without_a_mistake_conforms() -> None:
    assert conform(published.Scaffold, "scaffold", checks=QUICK, explained=False).verdict == "conforms"


@pytest.mark.parametrize("name", NAMED)
def test_a_published_mistake_is_found(name: str) -> None:
    report = conform(getattr(published, name), "scaffold", checks=QUICK, explained=bool(NAMED[name]))
    assert report.verdict == "differs"
    assert {one for each in report.likely for one in each.mistakes} == set(NAMED[name]), str(report)
