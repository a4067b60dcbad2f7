"""Every algorithm does in many of its settings what it did when it was held against plain loops and closed forms.

``python -m benchmarks.runs_at_points`` writes the digits anew, after an algorithm has been changed on purpose.
"""

import json
from pathlib import Path

import pytest

from benchmarks.claims_at_points.points import agree
from benchmarks.runs_at_points import VALUES, outcome, tasks
from clusterproof.algorithms import ALGORITHMS

STORED = json.loads(Path(__file__).with_name("runs_at_points.json").read_text(encoding="utf-8"))
TASKS = tasks()


@pytest.mark.parametrize(("algorithm", "task"), sorted({(one["algorithm"], one["task"]) for one in STORED}))
def test_runs_give_the_digits_that_are_stored(algorithm: str, task: str) -> None:
    for stored in STORED:
        if (stored["algorithm"], stored["task"]) == (algorithm, task):
            found = outcome(algorithm, stored["settings"], TASKS[task])
            for part, expected in stored["found"].items():
                assert agree(found[part], expected), (part, stored["settings"])


def test_every_algorithm_and_nearly_every_value_of_its_parameters_is_run() -> None:
    assert {one["algorithm"] for one in STORED} == ALGORITHMS.keys()
    ran = {(name, json.dumps(value)) for one in STORED for name, value in one["settings"].items()}
    missing = {(name, json.dumps(value)) for name, values in VALUES.items() for value in values} - ran
    assert not missing
