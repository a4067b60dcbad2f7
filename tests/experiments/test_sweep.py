"""Sweeps: what a file asks for, the one table, going on, failures, old options, and a cluster whose workers die."""

import math
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars
import pytest
from command_line import refused
from scipy import stats

from clusterproof.algorithms import IFCA, InvalidArgument, run
from clusterproof.algorithms.metrics import adjusted_rand_index, purity
from clusterproof.commands import engine
from clusterproof.commands.application import main
from clusterproof.experiments.progress import Progress
from clusterproof.experiments.runner import Dask, Execution, run_units
from clusterproof.experiments.store import Outcome, UnitStore
from clusterproof.experiments.sweeps import synthetic, training
from clusterproof.experiments.sweeps.plan import read_plan
from clusterproof.experiments.sweeps.result import sweep_frame
from clusterproof.neural.configuration import configuration_from
from clusterproof.neural.training import train
from clusterproof.synthetic import RegressionMixture

FILE = """
measure = ["error", "purity"]
rounds = 4
every = 2
seeds = 2
settings = { clients = 8, dimension = 3 }
grid = { algorithm = ["ifca", "cfl-mgd"], momentum = [0.0, 0.5] }
random = { draws = 2, seed = 1, separation = { low = 1.0, high = 4.0, scale = "log" } }
"""

KILLED = """
measure = ["error", "purity"]
rounds = 150
every = 50
settings = { clients = 60, dimension = 20, samples = 200, data = "fresh" }
grid = { algorithm = ["ifca", "cfl-mgd", "fpfc"], separation = [1.0, 2.0] }
"""


def write(folder: Path, text: str = FILE) -> Path:
    file = folder / "sweep.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_plan_has_each_run_once(tmp_path: Path) -> None:
    plan = read_plan(write(tmp_path))
    # ifca has no momentum: of four combinations three are left, each with two draws and two seeds
    assert len(plan.units) == 3 * 2 * 2
    momenta = {unit.settings["options"].get("momentum") for unit in plan.units if unit.method == "ifca"}
    assert momenta == {None}
    drawn = [
        {unit.settings["options"]["separation"] for unit in plan.units if unit.method == name}
        for name in ("ifca", "cfl-mgd")
    ]
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) == 2
    assert all(1 <= value <= 4 for value in drawn[0])
    alike = 'measure = ["error"]\ngrid = { algorithm = ["ifca", "fedavg"] }'
    assert [unit.method for unit in read_plan(write(tmp_path, alike)).units] == ["ifca", "fedavg"]


def test_random_settings_have_the_stated_laws_and_a_stream_of_their_own(tmp_path: Path) -> None:
    text = """
    measure = ["error"]
    [random]
    draws = 1000
    seed = SEED
    noise = { low = 0.5, high = 1.5 }
    separation = { low = 0.5, high = 1.5 }
    clients = { low = 8, high = 11 }
    dimension = { low = 2, high = 64, scale = "log" }
    data = { choice = ["fresh", "fixed", "population"] }
    """
    first, other = (
        [unit.settings["options"] for unit in read_plan(write(tmp_path, text.replace("SEED", seed))).units]
        for seed in ("1", "2")
    )
    for name, chances in {
        "clients": dict.fromkeys((8, 9, 10, 11), 1 / 4),
        "data": dict.fromkeys(("fresh", "fixed", "population"), 1 / 3),
        # a rounded number is at most n where the number is less than n + 1/2
        "dimension": {2: math.log(2.5 / 2) / math.log(32), 3: math.log(3.5 / 2.5) / math.log(32)},
    }.items():
        for value, chance in chances.items():
            count = sum(options[name] == value for options in first)
            assert stats.binomtest(count, 1000, chance).pvalue > 1e-7, (name, value)
        assert [options[name] for options in first] != [options[name] for options in other]
    values = np.array([[options["noise"], options["separation"]] for options in first])
    assert stats.kstest(values.ravel() - 0.5, "uniform").pvalue > 1e-7
    assert abs(np.corrcoef(values.T)[0, 1]) < 6 / 1000**0.5
    assert {type(options["dimension"]) for options in first} == {int}


def test_a_unit_measures_the_run_of_its_seed_round_by_round(tmp_path: Path) -> None:
    text = """
    measure = ["error", "mean_error", "purity", "adjusted_rand_index", "clusters"]
    rounds = 5
    seeds = [3, 6]
    replicates = 2
    every = 2
    settings = { clients = 9, dimension = 3, algorithm = "ifca", participation = 0.5, noise = 0.7 }
    """
    frame = serial(write(tmp_path, text))
    assert frame["seed"].to_list() == [3] * 8 + [6] * 8
    found = frame.filter(seed=3).to_dict(as_series=False)
    task = RegressionMixture.random(clusters=2, clients=9, dimension=3, noise=0.7, seed=3)
    algorithm = IFCA(step_size=1 / task.smoothness, participation=0.5)
    trace = run(algorithm, task, rounds=5, replicates=2, seed=3)
    assert (found["round"], found["replicate"]) == ([0, 0, 2, 2, 4, 4, 5, 5], [0, 1] * 4)
    for place, (done, replicate) in enumerate(zip(found["round"], found["replicate"], strict=True)):
        errors = np.linalg.norm(trace.models[done, replicate] - task.optima, axis=-1)
        assert found["error"][place] == pytest.approx(errors.max())
        assert found["mean_error"][place] == pytest.approx(errors.mean())
        last = np.full(9, -1)
        for chosen in trace.assignments[:done, replicate]:
            last = np.where(chosen >= 0, chosen, last)
        seen = last >= 0
        if done == 0:
            assert found["purity"][place] is None
            continue
        assert found["clusters"][place] == len(set(last[seen]))
        assert found["purity"][place] == pytest.approx(purity(last, task.labels))
        assert found["adjusted_rand_index"][place] == pytest.approx(adjusted_rand_index(last, task.labels))


def test_proportions_may_be_numbers_or_a_text(tmp_path: Path) -> None:
    text = 'measure = ["error"]\nrounds = 1\nsettings = {{ clients = 10, dimension = 2, proportions = {} }}'
    runs = []
    for written in ("[0.3, 0.7]", '"0.3,0.7"', "[0.5, 0.5]"):
        (unit,) = read_plan(write(tmp_path, text.format(written))).units
        runs.append(synthetic.compute(unit))
    assert runs[0] == runs[1] != runs[2]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "missing required field `measure`"),
        ("measure = []", "must be names, none twice"),
        ('measure = ["eror"]', "the nearest are error"),
        ('measure = ["error"]\nround = 3', "unknown field `round`"),
        ('measure = ["error"]\nseeds = 0', "seeds = 0"),
        ('measure = ["error"]\nseeds = [1, 1]', "none twice"),
        ('measure = ["error"]\n[grid]\nmomentun = [1]', "the nearest are momentum"),
        ('measure = ["error"]\n[grid]\nmomentum = []', "give every list a value"),
        ('measure = ["error"]\n[grid]\nmomentum = ["much"]', "momentum = 'much': has another type"),
        ('measure = ["error"]\n[grid]\nstrength = [1.0]', "is not an option of any run"),
        ('measure = ["error"]\n[grid]\nrho = [1.0]\n[settings]\nrho = 1', "rho"),
        ('measure = ["error"]\n[random]\nnoise = { low = 2, high = 1 }', "with low < high"),
        ('measure = ["error"]\n[random]\nnoise = { low = 0, high = 1, scale = "log" }', "with low < high"),
        ('measure = ["error"]\nseeds = 2\n[random]\ndraws = 1000000', "grid = 2000000"),
        ("measure = [", "must be a sweep's file"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = refused(capsys, "sweep", str(write(tmp_path, text)), "--parquet", str(tmp_path / "out.parquet"))
    assert words in message
    assert not (tmp_path / "out.parquet").exists()


def serial(file: Path) -> polars.DataFrame:
    plan = read_plan(file)
    found = Execution({n: Outcome(plan.compute(unit), 0, 0) for n, unit in enumerate(plan.units)})
    return sweep_frame(plan, found)


@pytest.mark.slow(reason="starts worker processes twice")
def test_a_sweep_is_one_tidy_table_and_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out, parts = write(tmp_path), tmp_path / "out.parquet", tmp_path / "parts"
    command = ["sweep", str(file), "--parquet", str(out), "--out", str(parts), "--jobs", "2"]
    assert main([*command, "--plot", str(tmp_path / "plot.svg")]) == 0
    assert "12 of 12 runs, 12 of them now, 0 failed" in capsys.readouterr().out
    assert (tmp_path / "plot.svg").read_text(encoding="utf-8").count("<svg") == 1
    frame = polars.read_parquet(out)
    assert frame.equals(serial(file))
    assert frame.columns == [
        "algorithm", "task", "clients", "dimension", "separation", "momentum", "seed", "round", "replicate",
        "error", "purity",
    ]  # fmt: skip
    assert frame["round"].unique().sort().to_list() == [0, 2, 4]
    assert frame.filter(polars.col("round") == 0)["purity"].null_count() == 12  # nobody has chosen yet
    first = out.read_bytes()
    sorted(parts.glob("*.json"))[0].unlink()
    sorted(parts.glob("*.json"))[1].write_bytes(b"{")  # half of a file, as a crash of the machine leaves it
    assert main(command) == 0
    assert "12 of 12 runs, 2 of them now" in capsys.readouterr().out
    assert out.read_bytes() == first


def test_the_folder_needs_no_table_and_a_plot_needs_an_axis(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = 'measure = ["error"]\nrounds = 2\nseeds = 2\nsettings = { clients = 6 }\n'
    text += 'grid = { algorithm = ["ifca", "cfl-mgd"] }'
    file, out = write(tmp_path, text), tmp_path / "runs"
    command = ["sweep", str(file), "--out", str(out)]
    assert "`every = 2`" in refused(capsys, *command, "--plot", str(tmp_path / "plot.svg"))
    assert not out.exists()
    found = Execution({i: Outcome(synthetic.compute(u), 0, 0) for i, u in enumerate(read_plan(file).units)})
    monkeypatch.setattr(engine, "compute", lambda *given: (found, given[2]))
    assert main(command) == 0
    output, errors = capsys.readouterr()
    assert "over 2 seeds, after" in output
    assert f"runs stored in {out}" in output
    assert errors == ""
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


@pytest.mark.slow(reason="starts worker processes")
def test_a_failed_run_is_named_with_its_settings_and_costs_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = 'measure = ["error"]\nrounds = 2\nsettings = { clients = 6 }\ngrid = { models = [2, 7] }'
    command = ["sweep", str(write(tmp_path, text)), "--parquet", str(tmp_path / "out.parquet"), "--jobs", "1"]
    assert main([*command, "--out", str(tmp_path / "parts")]) == 1
    output, errors = capsys.readouterr()
    assert "1 of 2 runs, 1 of them now, 1 failed" in output
    assert "failed: algorithm cfl-mgd, task regression, clients 6, models 7, seed 0, rounds 2: " in errors
    assert "must be at most the number of clients (6)" in errors
    assert polars.read_parquet(tmp_path / "out.parquet")["models"].to_list() == [2]


def test_more_than_one_place_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["sweep", str(write(tmp_path)), "--parquet", str(tmp_path / "o.parquet")]
    assert "cannot be combined with --jobs" in refused(capsys, *command, "--jobs", "2", "--dask", "tcp://x:1")
    assert "must be an integer, at least 1" in refused(capsys, *command, "--jobs", "0")


def kill_busy_worker(cluster: Any, killed: list[int]) -> None:
    """Kill a worker's process that has a unit to compute, if there is one; its nanny starts another."""
    workers = list(cluster.scheduler.workers.items())  # the scheduler changes them meanwhile
    busy = {address for address, worker in workers if worker.processing}
    alive = [nanny for nanny in cluster.workers.values() if nanny.pid and nanny.pid not in killed]
    if victims := [nanny.pid for nanny in alive if nanny.worker_address in busy]:
        os.kill(victims[0], 9)
        killed.append(victims[0])


@pytest.mark.slow(reason="starts a Dask cluster and kills workers")
def test_on_a_cluster_whose_workers_are_killed_the_table_is_the_serial_one(tmp_path: Path) -> None:
    distributed: Any = pytest.importorskip("distributed", reason="needs the extra `dask`")
    file = write(tmp_path, KILLED)
    plan, killed = read_plan(file), []
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
    ) as cluster:

        def watch(progress: Progress) -> None:
            if len(killed) < 2 and 2 * (len(killed) + 1) <= progress.done < len(plan.units):
                kill_busy_worker(cluster, killed)

        store = UnitStore.open(tmp_path / "units", plan.compute)
        found = run_units(plan.compute, plan.units, store, Dask(cluster.scheduler_address), watch)
    assert len(killed) == 2
    assert found.failures == []
    assert sweep_frame(plan, found).equals(serial(file))


def test_a_scheduler_that_is_none_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("distributed", reason="needs the extra `dask`")
    command = ["sweep", str(write(tmp_path)), "--parquet", str(tmp_path / "o.parquet")]
    command += ["--out", str(tmp_path / "parts")]
    assert "must be the address of a Dask scheduler" in refused(capsys, *command, "--dask", "nothing://")


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InvalidArgument, match=r"needs distributed .* install the extra `dask`"):
        engine.choose(None, "tcp://127.0.0.1:1", None)
    monkeypatch.setitem(sys.modules, "dask_jobqueue", None)
    with pytest.raises(InvalidArgument, match="needs dask_jobqueue"):
        engine.choose(None, None, 2)


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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('measure = ["error"]', "the nearest are"),
        ('measure = ["purity"]\nreplicates = 2', "is not of training runs"),
        ('measure = ["purity"]\n[grid]\ndata = ["digit"]', "must be one of"),
        ('measure = ["purity"]\n[grid]\nnetwork = ["x.py:Net"]', "is code"),
        ('measure = ["purity"]\n[grid]\nhidden = ["wide"]', "wrong type"),
        ('measure = ["purity"]\n[grid]\nchannels = [[1, 2]]', "is not an option of any run"),
        ('measure = ["purity"]\n[settings]\nseed = 2', "must be an option of the sweep's command"),
    ],
)
def test_a_wrong_file_of_training_runs_is_refused_in_one_line(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path, f'command = "train"\n{text}')
    assert words in refused(capsys, "sweep", str(file), "--parquet", str(tmp_path / "out.parquet"))


def test_a_moved_sweep_finds_its_runs_and_changed_code_is_another_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = "from clusterproof.algorithms import IFCA\n\n\nclass Own(IFCA):\n    name = 'own'\n"
    keys = []
    for folder, text in (("here", own), ("there", own), ("changed", f"{own}# changed\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text(text, encoding="utf-8")
        file = write(
            tmp_path / folder,
            'command = "train"\nmeasure = ["purity"]\n[settings]\nalgorithm = "mine.py:Own"',
        )
        monkeypatch.chdir(tmp_path / folder)
        with pytest.raises(InvalidArgument, match=r"is code, .* then add --code mine\.py:Own"):
            read_plan(file, code=["mine.py:Other"])
        (unit,) = read_plan(file, code=["mine.py:Own"]).units
        keys.append(UnitStore(tmp_path, "function", "source").key(unit))
        assert unit.settings["sections"]["algorithm"]["name"] == f"{tmp_path / folder / 'mine.py'}:Own"
        assert unit.cost == unit.settings["rounds"] == 50
    assert keys[0] == keys[1] != keys[2]


def test_a_training_run_shows_evaluated_rounds_and_the_last(
    tmp_path: Path, plant: Callable[..., Any]
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    metrics = {"round": [0, 1, 2, 3, 4, 5], "purity": [0.5, None, 0.625, None, 0.75, 0.875]}
    plant(training, "train_unit", lambda unit: SimpleNamespace(metrics=metrics))
    settings = {"sections": {"training": {"evaluate_every": 2}}, "measure": ["purity"]}
    found = training.compute(SimpleNamespace(folder=folder, settings=settings))  # type: ignore[arg-type]
    rest = {"replicate": [0, 0, 0, 0], "purity": [0.5, 0.625, 0.75, 0.875]}
    assert found == {"round": [0, 2, 4, 5], **rest}
    assert not folder.exists()


@pytest.mark.slow(reason="trains in worker processes")
def test_a_sweep_of_training_runs_measures_what_single_runs_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, parts = tmp_path / "out.parquet", tmp_path / "parts"
    command = ["sweep", str(write(tmp_path, NETWORKS)), "--parquet", str(out), "--out", str(parts)]
    assert main([*command, "--jobs", "2"]) == 0
    assert "8 of 8 runs, 8 of them now" in capsys.readouterr().out
    frame = polars.read_parquet(out)
    assert frame.columns == [
        "algorithm", "data", "partition", "network", "clients_per_cluster", "hidden", "momentum", "seed", "round",
        "replicate", "accuracy", "purity",
    ]  # fmt: skip
    assert frame["round"].unique().sort().to_list() == [2, 3]
    assert frame.filter(algorithm="ifca")["momentum"].null_count() == 8
    sections = {
        "partition": {"clients_per_cluster": 2},
        "network": {"hidden": [5, 4]},
        "algorithm": {"name": "cfl-mgd", "momentum": 0.5},
        "training": {"rounds": 3, "seed": 1, "evaluate_every": 2, "threads": 1},
    }
    metrics = train(configuration_from(sections), out=tmp_path / "single").metrics
    measured = frame.filter(algorithm="cfl-mgd", hidden="5,4", seed=1)
    for name in ("accuracy", "purity"):
        assert measured[name].to_list() == metrics[name][1:]
    assert [path for path in parts.iterdir() if path.is_dir()] == [], "folders of finished runs are removed"
    assert main(command) == 0
    assert "8 of 8 runs, 0 of them now" in capsys.readouterr().out
