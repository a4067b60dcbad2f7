"""Every definition against the exact values of the specification, which an independent program computed."""

import numpy as np
import pytest

from clusterproof.conformance.definitions import DEFINITIONS
from clusterproof.conformance.tasks import ConformanceTask

SCHEDULE = ([0, 1, 2], [0, 2], [1, 2])
FEDAVG = (0.522755083333, 0.732656227563, 1.019244191051)

GOLDEN = [
    ("fedavg", {}, FEDAVG),
    ("fedprox", {}, (0.450614256930, 0.645607604507, 0.936358058565)),
    ("scaffold", {"option": "II"}, (0.522755083333, 0.621776454497, 0.627042132911)),
    ("scaffold", {"option": "I"}, (0.522755083333, 0.683884005341, 0.580645575652)),
    ("fednova", {}, (0.429464486111, 0.543475608121, 0.955585583339)),
    ("feddyn", {"weighting": "clients"}, (0.617057409760, 0.920681626052, 1.261236736784)),
    ("ditto", {}, FEDAVG),
    ("pfedme", {}, (0.498130667740, 0.785635874899, 1.067967178972)),
    ("fedavgm", {}, (0.522755083333, 1.046309277563, 1.484899014495)),
    ("fedadam", {}, (0.094198385043, 0.213648500837, 0.363360164577)),
    ("fedyogi", {}, (0.093891604377, 0.209269819121, 0.352784045436)),
]


def task(starts: np.ndarray | None = None) -> ConformanceTask:
    return ConformanceTask(
        curvatures=np.array([1.0, 2.0, 0.5])[:, None, None],
        optima=np.array([-1.0, 1.0, 3.0])[:, None],
        samples=np.array([1, 3, 2]),
        start=np.zeros(1),
        starts=starts,
    )


def settings(algorithm: str, **chosen: object) -> dict[str, object]:
    given = {"step_size": 0.1, "local_epochs": 2, "batch_size": 1, "weighting": "samples"}
    return {**DEFINITIONS[algorithm].defaults(), **given, **chosen}


@pytest.mark.parametrize(("algorithm", "chosen", "expected"), GOLDEN)
def test_models_of_three_rounds(algorithm: str, chosen: dict[str, str], expected: tuple[float, ...]) -> None:
    run = DEFINITIONS[algorithm](task(), settings(algorithm, **chosen))
    for participants, model in zip(SCHEDULE, expected, strict=True):
        run.round(participants)
        np.testing.assert_allclose(run.model, [model], rtol=0, atol=1e-12)


def test_personal_models_of_ditto() -> None:
    run = DEFINITIONS["ditto"](task(), settings("ditto"))
    for participants, model in zip(SCHEDULE, (0.405212528640, 0.784270488977, 1.071002094396), strict=True):
        run.round(participants)
        np.testing.assert_allclose(run.personal[2], [model], rtol=0, atol=1e-12)  # type: ignore[attr-defined]


def test_models_and_choices_of_ifca() -> None:
    run = DEFINITIONS["ifca"](task(np.array([[-0.5], [2.0]])), settings("ifca"))
    models = ((-0.595, 1.631483900000), (-0.67195, 1.88533508), (-0.67195, 1.57609055))
    choices = ((0, 1, 1), (0, -1, 1), (-1, 1, 1))
    for participants, model, choice in zip(SCHEDULE, models, choices, strict=True):
        run.round(participants)
        np.testing.assert_allclose(run.model[:, 0], model, rtol=0, atol=5e-9)  # as many digits as are printed
        assert tuple(run.assignments) == choice  # type: ignore[attr-defined]
