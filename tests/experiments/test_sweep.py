"""Sweeps: all combinations, what a file may say, and the one table, against runs called directly."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from command_line import refused

from clusterproof.algorithms import IFCA
from clusterproof.commands.application import main
from clusterproof.common import InvalidArgument
from clusterproof.experiments.sweep import Run, read_sweep, runs_of, summarise, sweep_frame
from clusterproof.neural.configuration import configuration_from
from clusterproof.running import run
from clusterproof.running.metrics import adjusted_rand_index, purity
from clusterproof.synthetic import RegressionMixture

FILE = """
measure = ["error", "purity"]
rounds = 4
every = 2
seeds = 2
settings = { clients = 8, dimension = 3 }
grid = { algorithm = ["ifca", "cfl-mgd"], momentum = [0.0, 0.5] }
"""


def write(folder: Path, text: str = FILE) -> Path:
    file = folder / "sweep.toml"
    file.write_text(text, encoding="utf-8")
    return file


def runs_in(folder: Path, text: str = FILE, **values: Any) -> list[Run]:
    return runs_of(read_sweep(write(folder, text), values))


def frame_of(file: Path, **values: Any) -> polars.DataFrame:
    """The table of a sweep whose units are computed in this process."""
    sweep = read_sweep(file, values)
    runs = runs_of(sweep)
    return sweep_frame(sweep, runs, [run.unit.function(**run.unit.settings) for run in runs])


def test_a_sweep_has_each_combination_once(tmp_path: Path) -> None:
    """ifca has no momentum: of four combinations three are left, each with two seeds."""
    runs = runs_in(tmp_path)
    assert len(runs) == 3 * 2
    shown = [(run.settings["algorithm"], run.settings.get("momentum"), run.settings["seed"]) for run in runs]
    assert shown == [
        (*pair, seed) for pair in (("ifca", None), ("cfl-mgd", 0.0), ("cfl-mgd", 0.5)) for seed in (0, 1)
    ]
    assert len({run.unit.file for run in runs}) == 6
    three = 'measure = ["error"]\n[grid]\nclients = [4, 6, 8]\ndimension = [2, 3]\nnoise = [1, 2, 3, 4]'
    assert len(runs_in(tmp_path, three)) == 3 * 2 * 4


def test_the_command_line_goes_before_the_file(tmp_path: Path) -> None:
    runs = runs_in(tmp_path, rounds=7, momentum=0.25, seeds=[5])
    assert [(run.settings.get("momentum"), run.settings["seed"]) for run in runs] == [(None, 5), (0.25, 5)]
    assert {run.unit.settings["rounds"] for run in runs} == {7}
    with pytest.raises(InvalidArgument, match="momentun"):
        runs_in(tmp_path, momentun=0.25)


def test_an_integer_for_a_float_is_the_same_run(tmp_path: Path) -> None:
    texts = [f'measure = ["error"]\nsettings.separation = {number}' for number in ("1", "1.0")]
    first, second = (runs_in(tmp_path, text)[0].unit for text in texts)
    assert first.file == second.file


def test_a_run_is_measured_round_by_round_as_called_directly(tmp_path: Path) -> None:
    text = """
    measure = ["error", "mean_error", "purity", "adjusted_rand_index", "clusters"]
    rounds = 5
    seeds = [3, 6]
    replicates = 2
    every = 2
    settings = { clients = 9, dimension = 3, algorithm = "ifca", participation = 0.5, noise = 0.7 }
    """
    frame = frame_of(write(tmp_path, text))
    assert frame["seed"].to_list() == [3] * 8 + [6] * 8
    found = frame.filter(seed=3).to_dict(as_series=False)
    task = RegressionMixture.random(clusters=2, clients=9, dimension=3, noise=0.7, seed=3)
    trace = run(IFCA(step_size=1 / task.smoothness, participation=0.5), task, rounds=5, replicates=2, seed=3)
    assert (found["round"], found["replicate"]) == ([0, 0, 2, 2, 4, 4, 5, 5], [0, 1] * 4)
    for place, (done, replicate) in enumerate(zip(found["round"], found["replicate"], strict=True)):
        errors = np.linalg.norm(trace.models[done, replicate] - task.optima, axis=-1)
        assert found["error"][place] == pytest.approx(errors.max())
        assert found["mean_error"][place] == pytest.approx(errors.mean())
        last = np.full(9, -1)
        for chosen in trace.assignments[:done, replicate]:
            last = np.where(chosen >= 0, chosen, last)
        if done == 0:
            assert found["purity"][place] is None  # no client has chosen yet
            continue
        assert found["clusters"][place] == len(set(last[last >= 0]))
        assert found["purity"][place] == pytest.approx(purity(last, task.labels))
        assert found["adjusted_rand_index"][place] == pytest.approx(adjusted_rand_index(last, task.labels))


def test_proportions_may_be_numbers_or_a_list(tmp_path: Path) -> None:
    text = 'measure = ["error"]\nrounds = 1\nsettings = {{ clients = 10, dimension = 2, proportions = {} }}'
    results = []
    for written in ("[0.3, 0.7]", "[0.5, 0.5]"):
        (only,) = runs_in(tmp_path, text.format(written))
        results.append(only.unit.function(**only.unit.settings))
    assert results[0] != results[1]


NESTED = 'measure = ["error"]\nsettings.clients = ' + "[" * 20_000 + "]" * 20_000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rounds = 3", "measure is missing: it must be given"),
        ("measure = []", "must be a list of different names"),
        ('measure = ["eror"]', "The nearest are error"),
        ('measure = ["error", "error"]', "different names"),
        ('measure = "error"', "wrong type"),
        ('measure = ["error"]\nround = 3', "Write rounds"),
        ('measure = ["error"]\nrounds = 1.5', "wrong type"),
        ('measure = ["error"]\nseeds = [1, 1]', "different seeds"),
        ('measure = ["error"]\nseeds = [-1]', "seed is -1"),
        ('measure = ["error"]\nseeds = 1000001', "must be a number of seeds"),
        ('measure = ["error"]\ncommand = "fly"', "must be one of 'run', 'train'"),
        ('measure = ["error"]\ngrid.momentum = 0.5', "wrong type"),
        ('measure = ["error"]\n[grid]\nmomentun = [1]', "Write momentum"),
        ('measure = ["error"]\n[grid]\nmomentum = []', "Give every list at least one value"),
        ('measure = ["error"]\n[grid]\nmomentum = ["much"]', "momentum is 'much', but it has the wrong type"),
        ('measure = ["error"]\n[grid]\nstrength = [1.0]', "is not an option of any run"),
        (
            'measure = ["error"]\n[grid]\nnoise = [1.0]\n[settings]\nnoise = 1',
            "must be in only one of the tables settings and grid",
        ),
        (
            'measure = ["error"]\n[grid]\ncondition-number = [1.0]\ncondition_number = [1.0]',
            "each setting once",
        ),
        ('measure = ["error"]\n[grid]\nalgorithm = ["x.py:Own"]', "is code"),
        ('measure = ["error"]\nseeds = 1000000\n[grid]\nnoise = [1.0, 2.0]', "grid is 2000000"),
        ("measure = [", "must be a TOML file"),
        ("\x00", "must be a TOML file"),
        (NESTED, "nested more than 100 levels deep"),
        ('command = "train"\nmeasure = ["round"]', "measure is 'round', but it must be one of"),
        ('command = "train"\nmeasure = ["purity"]\nreplicates = 2', "must be left out for training"),
        ('command = "train"\nmeasure = ["purity"]\n[grid]\ndata = ["digit"]', "Write digits"),
        ('command = "train"\nmeasure = ["purity"]\n[grid]\nnetwork = ["x.py:Net"]', "is code"),
        ('command = "train"\nmeasure = ["purity"]\n[grid]\nhidden = ["wide"]', "wrong type"),
        (
            'command = "train"\nmeasure = ["purity"]\n[grid]\nchannels = [[1, 2]]',
            "is not an option of any run",
        ),
        ('command = "train"\nmeasure = ["purity"]\n[settings]\nseed = 2', "Write rounds, seeds and every"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = refused(capsys, "sweep", str(write(tmp_path, text)), "--parquet", str(tmp_path / "out.parquet"))
    assert words in message
    assert not (tmp_path / "out.parquet").exists()


def test_wrong_options_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["sweep", str(write(tmp_path)), "--out", str(tmp_path / "runs")]
    assert "cannot be combined with --dask" in refused(capsys, *command, "--jobs", "2", "--dask", "tcp://x:1")
    assert "must be an integer, at least 1" in refused(capsys, *command, "--jobs", "0")
    assert "must be NAME=VALUE" in refused(capsys, *command, "--set", "momentum")
    assert "must be a file that can be read" in refused(capsys, "sweep", str(tmp_path / "none.toml"))
    last = 'measure = ["error"]\nrounds = 2\n[grid]\nalgorithm = ["ifca", "cfl-mgd"]'
    command[1] = str(write(tmp_path, last))
    assert "`every = 2`" in refused(capsys, *command, "--plot", str(tmp_path / "plot.svg"))
    assert not (tmp_path / "runs").exists()


def test_a_sweep_is_one_tidy_table_and_resumes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out, parts = write(tmp_path), tmp_path / "out.parquet", tmp_path / "parts"
    command = ["sweep", str(file), "--parquet", str(out), "--out", str(parts), "--jobs", "1"]
    assert main([*command, "--plot", str(tmp_path / "plot.svg")]) == 0
    output = capsys.readouterr().out
    assert "6 of 6 runs; 18 rows stored in" in output
    assert "over 2 seeds, after the last round" in output
    assert (tmp_path / "plot.svg").read_text(encoding="utf-8").count("<svg") == 1
    frame = polars.read_parquet(out)
    assert frame.equals(frame_of(file))
    assert frame.columns == [
        "algorithm",
        "task",
        "clients",
        "dimension",
        "momentum",
        "seed",
        "round",
        "replicate",
        "error",
        "purity",
    ]
    assert frame.filter(polars.col("round") == 0)["purity"].null_count() == 6
    first, times = out.read_bytes(), {path: path.stat().st_mtime_ns for path in parts.iterdir()}
    sorted(parts.glob("*.json"))[0].unlink()
    assert main(command) == 0
    assert out.read_bytes() == first
    again = {path: path.stat().st_mtime_ns for path in parts.iterdir()}
    assert sum(again[path] != time for path, time in times.items()) == 1


def test_a_failed_run_is_named_with_its_settings_and_costs_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = 'measure = ["error"]\nrounds = 2\nsettings = { clients = 6 }\ngrid = { models = [2, 7] }'
    command = ["sweep", str(write(tmp_path, text)), "--parquet", str(tmp_path / "out.parquet"), "--jobs", "1"]
    assert main([*command, "--out", str(tmp_path / "parts")]) == 1
    output, errors = capsys.readouterr()
    assert "1 of 2 runs" in output
    assert "failed: algorithm cfl-mgd, task regression, clients 6, models 7, seed 0: " in errors
    assert "must be at most the number of clients (6)" in errors
    assert polars.read_parquet(tmp_path / "out.parquet")["models"].to_list() == [2]


def test_medians_and_ranges_by_hand() -> None:
    """Three values, of which the mean is 4; and what has no value."""
    columns = {"a": [1, 1, 1, 2], "x": [1.0, 3.0, 8.0, 5.0], "y": [None, None, None, 2.0]}
    assert summarise(polars.DataFrame(columns, strict=False), ["a"], ["x", "y"]) == [
        ["1", "3 [1, 8]", "-"],
        ["2", "5", "2"],
    ]


# ------------------------------------------------------------------ training runs

NETWORKS = """
command = "train"
measure = ["accuracy", "purity"]
rounds = 3
every = 2
seeds = 2
settings = { clients_per_cluster = 2 }
grid = { algorithm = ["ifca", "cfl-mgd"], hidden = [[4], [5, 4]], momentum = [0.5] }
"""


def test_a_sweep_of_training_runs_measures_what_single_runs_do(tmp_path: Path) -> None:
    from clusterproof.neural.training import train

    frame = frame_of(write(tmp_path, NETWORKS))
    assert set(frame.columns) == {
        *("algorithm", "data", "partition", "network", "clients_per_cluster", "hidden", "momentum", "seed"),
        *("round", "replicate", "accuracy", "purity"),
    }
    assert frame["round"].unique().sort().to_list() == [2, 3]
    assert frame.filter(algorithm="ifca")["momentum"].null_count() == 8
    sections = {
        "partition": {"clients_per_cluster": 2},
        "network": {"hidden": [5, 4]},
        "algorithm": {"name": "cfl-mgd", "momentum": 0.5},
        "training": {"rounds": 3, "seed": 1, "evaluate_every": 2, "threads": 1},
    }
    metrics = train(configuration_from(sections)).metrics
    measured = frame.filter(algorithm="cfl-mgd", hidden="5,4", seed=1)
    for name in ("accuracy", "purity"):
        assert measured[name].to_list() == metrics[name][1:]


def test_without_every_the_last_round_alone_is_measured_and_threads_can_be_set(tmp_path: Path) -> None:
    settings = "[settings]\nhidden = [4]\nclients_per_cluster = 2\nthreads = 2"
    for text in (
        'measure = ["error"]\nrounds = 3',
        f'command = "train"\nmeasure = ["purity"]\nrounds = 3\n{settings}',
    ):
        assert frame_of(write(tmp_path, text))["round"].to_list() == [3]
    (only,) = runs_in(tmp_path, text)
    assert only.unit.settings["sections"]["training"]["threads"] == 2


def test_user_code_is_named_on_the_command_line_and_counts_by_its_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "from clusterproof.algorithms import IFCA\n\n\nclass Own(IFCA):\n    name = 'own'\n"
    monkeypatch.chdir(tmp_path)
    for command in ("run", "train"):
        measure = "purity" if command == "train" else "error"
        text = f'command = "{command}"\nmeasure = ["{measure}"]\nrounds = 1\n[settings]\nalgorithm = "mine.py:Own"'
        files = []
        for content in (code, f"{code}# changed\n", code):
            (tmp_path / "mine.py").write_text(content, encoding="utf-8")
            sweep = read_sweep(write(tmp_path, text), {})
            with pytest.raises(InvalidArgument, match=r"is code, .*add --code mine\.py:Own"):
                runs_of(sweep, ["mine.py:Other"])
            (only,) = runs_of(sweep, ["mine.py:Own"])
            files.append(only.unit.file)
            with pytest.raises(InvalidArgument, match="'ifka'"):
                runs_of(read_sweep(tmp_path / "sweep.toml", {"algorithm": "ifka"}), ["mine.py:Own"])
        assert files[0] == files[2] != files[1]
        assert len(only.unit.function(**only.unit.settings)["round"]) == 1
        assert only.settings["algorithm"] == "own"
        if command == "run":  # a configuration has the path, and both are one run
            both = ["mine.py:Own", f"{tmp_path / 'mine.py'}:Own"]
            twice = replace(sweep, settings={}, grid={"algorithm": both})
            assert [run.settings["algorithm"] for run in runs_of(twice, both)] == both


DATA = """
from pathlib import Path

import numpy as np

PLACE = Path(__file__).with_name("samples.npz")
AT_IMPORT = np.load(PLACE)["train"]


def samples():
    labels = np.arange(40) % 2
    return {"train": (AT_IMPORT, labels), "test": (AT_IMPORT, labels)}
"""

READS_DATA = """
command = "train"
measure = ["training_loss"]
rounds = 1
settings = { data = "mine.py:samples", partition = "iid", clients = 2, hidden = [3] }
grid = { step_size = [0.1, 0.2] }
"""


@pytest.mark.slow(reason="three commands in processes of their own")
def test_a_changed_data_file_of_the_user_s_makes_its_runs_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read when the code is imported, once for both runs; each is then computed again, and no other time."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(DATA, encoding="utf-8")
    (tmp_path / "other.txt").write_text("of nobody", encoding="utf-8")
    file, parts = write(tmp_path, READS_DATA), tmp_path / "parts"
    command = [sys.executable, "-m", "clusterproof", "sweep", str(file), "--out", str(parts), "--jobs", "1"]
    losses, times = [], []
    for seed in (0, 0, 1):
        train = np.random.default_rng(seed).standard_normal((40, 3))
        np.savez(tmp_path / "samples.npz", train=train)
        (tmp_path / "other.txt").write_text(f"{seed} of nobody", encoding="utf-8")
        subprocess.run([*command, "--code", "mine.py:samples"], check=True, capture_output=True)
        records = {path.name: json.loads(path.read_text()) for path in parts.glob("*.json")}
        assert len(records) == 2
        losses.append([record["result"]["training_loss"] for record in records.values()])
        times.append([path.stat().st_mtime_ns for path in parts.glob("*.json")])
        for record in records.values():
            assert [Path(name).name for name in record["files"]] == ["samples.npz"]
    assert losses[0] == losses[1]
    assert times[0] == times[1]
    assert all(before != after for before, after in zip(losses[1], losses[2], strict=True))
