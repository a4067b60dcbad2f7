"""Which algorithm code is, if nobody says so."""

from typing import Any

import pytest

from clusterproof.conformance import DEFINITIONS, infer


@pytest.mark.slow(reason="tries all algorithms")
@pytest.mark.parametrize("algorithm", ["fedavg", "fedprox", "scaffold", "feddyn", "fedavgm", "pfedme"])
def test_the_algorithm_is_inferred(algorithm: str) -> None:
    reports = infer(DEFINITIONS[algorithm])
    assert [report.algorithm for report in reports] == [algorithm]


def test_what_is_declared_holds_for_every_algorithm_that_is_tried() -> None:
    tried = set()

    def start(task: Any, settings: dict[str, Any]) -> Any:
        tried.add(task.labels is None)
        return DEFINITIONS["local"](task, settings)

    start.supports, start.dtype, start.loss = (), "float32", "cross-entropy"  # type: ignore[attr-defined]
    reports = infer(start)
    assert {(report.algorithm, report.dtype) for report in reports} == {("local", "float32")}
    assert tried == {False}
