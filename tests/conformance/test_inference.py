"""Which algorithm code is, if nobody says so."""

from typing import Any

import pytest

from clusterproof.conformance import DEFINITIONS, conform, infer
from clusterproof.conformance.definitions import KNOWN_MISTAKES


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("algorithm", ["fedavg", "scaffold", "fedavgm"])
def test_the_algorithm_is_inferred(algorithm: str) -> None:
    reports = infer(DEFINITIONS[algorithm])
    assert [report.algorithm for report in reports] == [algorithm]


@pytest.mark.parametrize("explained", [True, False])
def test_the_cause_of_a_difference_is_looked_for_unless_told_otherwise(explained: bool) -> None:
    fault = KNOWN_MISTAKES["fedprox"]["prox-halved"].changes
    report = conform(
        lambda task, given: DEFINITIONS["fedprox"](task, given, [fault]), "fedprox", explained=explained
    )
    assert report.verdict == "differs"
    assert bool(report.likely) is explained


def test_what_is_declared_holds_for_every_algorithm_that_is_tried() -> None:
    tried = set()

    def start(task: Any, settings: dict[str, Any]) -> Any:
        tried.add(task.labels is None)
        return DEFINITIONS["local"](task, settings)

    declared = {"supports": (), "dtype": "float32", "loss": "cross-entropy"}
    start.conform_options = declared  # type: ignore[attr-defined]
    reports = infer(start)
    assert {(report.algorithm, report.dtype) for report in reports} == {("local", "float32")}
    assert tried == {False}
