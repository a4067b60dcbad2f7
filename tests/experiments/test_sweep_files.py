"""A sweep's file, where it is at its bounds or cannot be read; what a table and a message say of its runs."""

import errno
import os
from pathlib import Path

import pytest

from clusterproof.algorithms import InvalidArgument
from clusterproof.experiments.runner import Execution
from clusterproof.experiments.store import Outcome
from clusterproof.experiments.sweeps.plan import Plan, read_plan
from clusterproof.experiments.sweeps.result import describe, sweep_frame

RANGE = "must be { low"


def plan(folder: Path, text: str) -> Plan:
    file = folder / "sweep.toml"
    file.write_text(f'measure = ["error"]\n{text}', encoding="utf-8")
    return read_plan(file)


@pytest.mark.parametrize(
    ("text", "argument", "rule"),
    [
        ("rounds = -1", "rounds", "at least 0"),
        ("every = 0", "every", "at least 1"),
        ("seeds = []", "seeds", "none twice"),
        ("seeds = [-1]", "seed", "integer"),
        ("seeds = 1000001", "seeds", "1000000"),
        ("grid.momentum = [0.5]\nsettings.momentum = 0.1", "setting", "one table alone"),
        ("grid.noise = [0.5]\nrandom.noise = { low = 0.0, high = 1.0 }", "setting", "one table alone"),
        ("grid = { condition-number = [1.0], condition_number = [2.0] }", "grid", "each setting once"),
        ("random.draws = 1000001", "draws", "1000000"),
        ("random.seed = -1", "seed", "integer"),
        ("random.noise = { low = 1.0, high = 1.0 }", "random.noise", RANGE),
        ("random.noise = { low = -inf, high = 1.0 }", "random.noise", RANGE),
        ("random.noise = { low = 1.0, high = inf }", "random.noise", RANGE),
        ("random.noise = { low = 1.0, high = 2.0, scale = 'sqrt' }", "random.noise", RANGE),
        ("random.noise = { high = 1.0, choice = [1.0] }", "random.noise", RANGE),
    ],
)
def test_a_file_beyond_its_bounds_is_refused_by_the_name_of_what_is_wrong(
    text: str, argument: str, rule: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidArgument, match=rule) as caught:
        plan(tmp_path, text)
    assert caught.value.argument == argument


def test_what_is_just_within_the_bounds_is_a_plan(tmp_path: Path) -> None:
    """No rounds, one replicate, every round; a file says 50 rounds, one seed and the last round by saying nothing."""
    (unit,) = plan(tmp_path, "rounds = 0\nreplicates = 1\nevery = 1").units
    assert [unit.settings[name] for name in ("rounds", "replicates", "every")] == [0, 1, 1]
    (unit,) = plan(tmp_path, "").units
    assert (unit.method, unit.seed, unit.settings["task"]) == ("cfl-mgd", 0, "regression")
    assert [unit.settings[name] for name in ("rounds", "replicates", "every")] == [50, None, None]
    assert [unit.seed for unit in plan(tmp_path, "seeds = 3").units] == [0, 1, 2]
    (unit,) = plan(tmp_path, "settings.condition-number = 3").units
    assert unit.settings["options"] == {"condition_number": 3.0}


@pytest.mark.parametrize(("name", "reason"), [("none.toml", os.strerror(errno.ENOENT)), ("a\0b", "null")])
def test_why_a_file_cannot_be_read_is_said(name: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument) as caught:
        read_plan(tmp_path / name)
    assert caught.value.argument == "file"
    assert reason in caught.value.rule


def test_a_table_has_the_runs_that_ended_in_the_order_of_the_plan(tmp_path: Path) -> None:
    """Of three runs the last ended first, and the second not at all; where none ended there is no table."""
    made = plan(tmp_path, "grid = { algorithm = ['ifca', 'fedavg', 'cfl-mgd'], momentum = [0.5] }\nevery = 1")
    found = {
        2: {"round": [0, 1], "replicate": [0, 0], "error": [2.0, None]},
        0: {"round": [1], "replicate": [0], "error": [0.5]},
    }
    frame = sweep_frame(made, Execution({number: Outcome(own, 0, 0) for number, own in found.items()}))
    expected = {
        "algorithm": ["ifca", "cfl-mgd", "cfl-mgd"],
        "task": ["regression"] * 3,
        "momentum": [None, 0.5, 0.5],
        "seed": [0] * 3,
        "round": [1, 0, 1],
        "replicate": [0] * 3,
        "error": [0.5, 2.0, None],
    }
    assert frame.to_dict(as_series=False) == expected
    assert frame.columns == list(expected)
    assert sweep_frame(made, Execution({})).is_empty()


def test_a_run_is_described_by_all_its_settings(tmp_path: Path) -> None:
    (unit,) = plan(
        tmp_path, "rounds = 7\nseeds = [4]\nsettings = { clients = 6, proportions = [0.25, 0.75] }"
    ).units
    assert describe(unit) == (
        "algorithm cfl-mgd, task regression, clients 6, proportions 0.25,0.75, seed 4, rounds 7"
    )
