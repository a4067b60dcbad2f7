"""A run that is stopped and resumed has the bits of one that is not; both are those of `algorithms.run`."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
import torch
from polars.testing import assert_frame_equal

from clusterproof.algorithms import ALGORITHMS, InvalidArgument, Randomness, run
from clusterproof.algorithms.arrays import to_numpy
from clusterproof.neural.runs import training
from clusterproof.neural.runs.assembly import assemble
from clusterproof.neural.runs.configuration import Configuration, configuration_from
from clusterproof.neural.runs.measurement import share_with_correct_model
from clusterproof.neural.runs.storage import checkpoint
from clusterproof.neural.runs.storage.checkpoint import find_checkpoint, save_checkpoint
from clusterproof.neural.runs.storage.run_folder import stored_configuration
from clusterproof.neural.runs.training import TrainingResult, train

SMALL = {"name": "rotated-groups", "clusters": 2, "clients_per_cluster": 3, "images": 240}
OPTIONS: dict[str, dict[str, Any]] = {
    "cfl-mgd": {"averaging": "model", "local_steps": 2, "participation": 0.5},
    "ifca": {"clusters": 3},
    "fedavg": {"participation": 0.5},
    "cfl": {"warm_up": 1, "mean_threshold": 0.05, "client_threshold": 0.05},
    "gradient-loss": {"empty_cluster": "always"},
    "sofl": {"pretraining": 2, "updates": 20, "participation": 0.5},
    "fpfc": {"local_steps": 2, "participation": 0.5, "strength": 5.0, "reuse_memory": True},
    "per-fedavg": {"gradient": "second-order"},
}
MINI_BATCHES = ("fedavg", "gradient-loss", "per-fedavg", "fedprox")


def configure(name: str, **training: Any) -> Configuration:
    return configuration_from(
        {
            "partition": SMALL,
            "network": {"name": "mlp", "hidden": [8]},
            "algorithm": {"name": name, **OPTIONS.get(name, {})},
            "training": {
                "rounds": 6,
                "checkpoint_every": 2,
                "evaluate_every": 3,
                "threads": 1,
                **({"batch_size": 7} if name in MINI_BATCHES else {}),
                **training,
            },
        }
    )


def stop_after(rounds: int) -> Any:
    """Ask a run to stop when it has carried out some rounds."""
    left = rounds

    def stop() -> bool:
        nonlocal left
        left -= 1
        return left == 0

    return stop


def content(folder: Path) -> dict[str, Any]:
    """All that two equal runs have in common: every file but for seconds and the sums over them."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.suffix == ".json":
            record = json.loads(path.read_bytes())
            del record["sha256"], record["metrics"]["seconds"]
            found[name] = record
        elif path.suffix in (".safetensors", ".toml"):
            found[name] = path.read_bytes()
        elif path.suffix == ".parquet":
            found[name] = polars.read_parquet(path).drop("seconds", strict=False).to_dicts()
        elif path.is_file() and path.name != ".lock":
            raise AssertionError(f"what is {name}?")
    return found


def last_state(folder: Path, configuration: Configuration) -> Any:
    stored = find_checkpoint(folder / "checkpoints")
    assert stored is not None
    return stored.restore(configuration.algorithm).state


@pytest.mark.parametrize("name", list(ALGORITHMS))
def test_interrupted_runs_end_with_the_same_bits(tmp_path: Path, name: str) -> None:
    configuration = configure(name, step_size_decay=0.9)
    whole = train(configuration, out=tmp_path / "whole")
    assert whole.complete
    parts = train(configuration, out=tmp_path / "parts", stop=stop_after(3))
    assert not parts.complete
    parts = train(
        stored_configuration(tmp_path / "parts"), out=tmp_path / "parts", resume=True, stop=stop_after(1)
    )
    parts = train(stored_configuration(tmp_path / "parts"), out=tmp_path / "parts", resume=True)
    assert parts.complete
    assert not parts.remarks
    whole_files, files = content(tmp_path / "whole"), content(tmp_path / "parts")
    assert set(whole_files) == set(files)
    for file, expected in whole_files.items():
        assert files[file] == expected, file
    metrics = [{**result.metrics, "seconds": None} for result in (whole, parts)]
    assert metrics[0] == metrics[1]


@pytest.mark.parametrize("name", list(ALGORITHMS))
def test_a_run_is_the_algorithm_itself(tmp_path: Path, name: str) -> None:
    configuration = configure(name, rounds=4, seed=3)
    result = train(configuration, out=tmp_path / "run")
    assembly = assemble(configuration)
    trace = run(assembly.algorithm, assembly.task, rounds=4, seed=3)
    assert np.array_equal(to_numpy(last_state(tmp_path / "run", configuration).models), trace.models[-1])
    share = OPTIONS.get(name, {}).get("participation", 1.0)
    assert result.metrics["participants"] == [6 * share] * 4  # also where all are asked before a split
    first = replace(trace, assignments=trace.assignments[:1])  # after which some are not known
    assert result.metrics["adjusted_rand_index"][0] == float(first.adjusted_rand_index)
    assert result.metrics["clusters"][0] == int(first.cluster_count)
    assert result.metrics["purity"][-1] == float(trace.purity)
    assert result.metrics["adjusted_rand_index"][-1] == float(trace.adjusted_rand_index)
    assert result.metrics["clusters"][-1] == int(trace.cluster_count)


def test_the_step_size_decays_round_by_round(tmp_path: Path) -> None:
    configuration = configure("cfl-mgd", rounds=3, step_size_decay=0.5)
    result = train(configuration, out=tmp_path / "run")
    assert result.metrics["step_size"] == [0.1, 0.05, 0.025]
    assembly = assemble(configuration)
    task, algorithm = assembly.task, assembly.algorithm
    randomness = Randomness.from_seed(0, "image", "cfl-mgd")
    state = algorithm.initialise(task.initial_models(2, (), randomness.initialisation), task)
    for step_size in (0.1, 0.05, 0.025):
        state = replace(algorithm, step_size=step_size).step(state, task, randomness)  # type: ignore[call-arg]
    assert torch.equal(state.models, last_state(tmp_path / "run", configuration).models)


def resumed(folder: Path, **training: Any) -> TrainingResult:
    configuration = stored_configuration(folder)
    return train(
        replace(configuration, training=replace(configuration.training, **training)), out=folder, resume=True
    )


def test_a_finished_run_stays_as_it_is_and_can_be_prolonged(tmp_path: Path) -> None:
    train(configure("ifca", rounds=3, evaluate_every=1), out=tmp_path / "run")
    before = content(tmp_path / "run")
    assert resumed(tmp_path / "run").complete
    assert content(tmp_path / "run") == before
    (tmp_path / "run" / "metrics.parquet").unlink()
    assert resumed(tmp_path / "run").complete
    assert content(tmp_path / "run") == before
    resumed(tmp_path / "run", rounds=5)
    train(configure("ifca", rounds=5, evaluate_every=1), out=tmp_path / "whole")
    name = "checkpoints/checkpoint-000005.safetensors"
    assert content(tmp_path / "run")[name] == content(tmp_path / "whole")[name]
    assert content(tmp_path / "run")["metrics.parquet"] == content(tmp_path / "whole")["metrics.parquet"]
    with pytest.raises(InvalidArgument, match="at least the 5 that are done"):
        resumed(tmp_path / "run", rounds=4)


def test_a_run_with_a_damaged_checkpoint_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    train(configure("cfl-mgd"), out=tmp_path / "run", stop=stop_after(5))
    (newest,) = (tmp_path / "run" / "checkpoints").glob("*.safetensors")
    newest.write_bytes(newest.read_bytes()[:-100])
    before = content(tmp_path / "run")
    with pytest.raises(
        InvalidArgument, match=r"checkpoint-000005\.safetensors.*SHA-256.*start the run again"
    ):
        resumed(tmp_path / "run")
    assert content(tmp_path / "run") == before


def test_a_lost_file_is_written_again(tmp_path: Path) -> None:
    configuration = configure("fedavg")
    train(configuration, out=tmp_path / "whole")
    train(configuration, out=tmp_path / "stopped", stop=stop_after(4))
    for lost in ("configuration.toml", "metrics.parquet", "checkpoints"):
        run = tmp_path / lost.partition(".")[0]
        shutil.copytree(tmp_path / "stopped", run)
        shutil.rmtree(run / lost) if lost == "checkpoints" else (run / lost).unlink()
        assert resumed(run).complete
        assert content(run) == content(tmp_path / "whole"), lost


def test_a_run_is_resumed_as_it_was_begun(tmp_path: Path) -> None:
    train(configure("fedavg", rounds=1), out=tmp_path / "run")
    for section, key, value in (
        ("algorithm", "step_size", 0.2),
        ("algorithm", "name", "fedprox"),
        ("training", "seed", 1),
        ("partition", "clusters", 1),
        ("training", "batch_size", 9),
        ("network", "hidden", [9]),
        ("network", "hidden", None),
    ):
        sections = configure("fedavg", rounds=2).sections
        if key == "name":  # whose parameters are others
            sections[section] = {"step_size": 0.1}
        sections[section] = {**sections[section], key: value}
        if value is None:
            del sections[section][key]
        with pytest.raises(InvalidArgument, match=rf"{section}\.{key} = .*was .* when the run was begun"):
            train(configuration_from(sections), out=tmp_path / "run", resume=True)


def pretend(folder: Path, configuration: Configuration, **choices: Any) -> None:
    """Make the last checkpoint one of a run that had chosen otherwise."""
    stored = find_checkpoint(folder / "checkpoints")
    assert stored is not None
    checkpoint = stored.restore(configuration.algorithm)
    settings = {**checkpoint.settings, "choices": {**checkpoint.settings["choices"], **choices}}
    save_checkpoint(folder / "checkpoints", replace(checkpoint, settings=settings))


@pytest.mark.parametrize(("value", "complete"), [(1.0, True), (0.5, False)])
def test_a_run_from_before_a_parameter_was_added_had_its_default(
    tmp_path: Path, value: float, complete: bool
) -> None:
    train(configure("fedavg", rounds=1), out=tmp_path / "run")
    configuration = configure("fedavg", rounds=2)
    stored = find_checkpoint(tmp_path / "run" / "checkpoints")
    assert stored is not None
    checkpoint = stored.restore(configuration.algorithm)
    before = {section: dict(keys) for section, keys in checkpoint.settings["configuration"].items()}
    del before["algorithm"]["server_step_size"], before["algorithm"]["reshuffle"]
    settings = {**checkpoint.settings, "configuration": before}
    save_checkpoint(tmp_path / "run" / "checkpoints", replace(checkpoint, settings=settings))
    sections = configuration.sections
    sections["algorithm"]["server_step_size"] = value
    if complete:
        assert train(configuration_from(sections), out=tmp_path / "run", resume=True).complete
    else:
        with pytest.raises(InvalidArgument, match=r"server_step_size = 0\.5: was 1\.0 when"):
            train(configuration_from(sections), out=tmp_path / "run", resume=True)


def test_what_was_left_open_is_kept(tmp_path: Path) -> None:
    configuration = configure("ifca", rounds=1)
    first = train(configuration, out=tmp_path / "run")
    assert first.choices == {"device": "cpu", "engine": "gram", "threads": 1, "test_assignment": "train"}
    pretend(tmp_path / "run", configuration, engine="serial", test_assignment="test-loss")
    later = resumed(tmp_path / "run", rounds=2)
    assert later.choices == {**first.choices, "engine": "serial", "test_assignment": "test-loss"}


def test_another_device_is_remarked_and_chooses_its_own_engine(tmp_path: Path) -> None:
    configuration = configure("ifca", rounds=1)
    train(configuration, out=tmp_path / "run")
    pretend(tmp_path / "run", configuration, device="cuda", engine="vmap", test_assignment="test-loss")
    if not torch.cuda.is_available():
        with pytest.raises(InvalidArgument, match=r"training\.device = 'cuda': is not there"):
            resumed(tmp_path / "run", rounds=2)
    result = resumed(tmp_path / "run", rounds=2, device="cpu")
    assert (result.choices["device"], result.choices["engine"]) == ("cpu", "gram")
    assert result.choices["test_assignment"] == "test-loss"  # how clients are served is kept
    (remark,) = result.remarks
    assert "was written on cuda" in remark


def test_other_versions_are_remarked(tmp_path: Path, plant: Callable[..., Any]) -> None:
    train(configure("ifca", rounds=1), out=tmp_path / "run")
    plant(checkpoint, "current_versions", lambda: {"torch": "99"})
    (remark,) = resumed(tmp_path / "run", rounds=2).remarks
    assert "other versions" in remark


def test_metrics_are_the_columns_of_the_file(tmp_path: Path) -> None:
    result = train(configure("ifca", rounds=5), out=tmp_path / "run")
    frame = polars.read_parquet(tmp_path / "run" / "metrics.parquet")
    assert frame["round"].to_list() == [1, 2, 3, 4, 5]
    assert frame["accuracy"].is_null().to_list() == [True, True, False, True, False]
    schema = {name: frame.schema[name] for name in frame.columns}
    assert_frame_equal(frame, polars.DataFrame(dict(result.metrics), schema=schema))
    assert (frame["seconds"] > 0).all()
    rotated = {"name": "rotations", "clusters": 2, "clients": 4, "samples": 100}  # three to test on in each
    given = configure("ifca", rounds=1, client_metrics=True).sections | {"partition": rotated}
    train(configuration_from(given), out=tmp_path / "others")
    frame = polars.read_parquet(tmp_path / "others" / "clients.parquet")
    assert frame["cluster"].to_list() == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("name", ["ifca", "local", "fedavg"])
def test_every_client_has_a_row_in_every_evaluated_round(tmp_path: Path, name: str) -> None:
    configuration = configure(name, client_metrics=True, evaluate_every=1)
    result = train(configuration, out=tmp_path / "whole")
    frame = polars.read_parquet(tmp_path / "whole" / "clients.parquet")
    assert frame["round"].to_list() == [done for done in range(1, 7) for _ in range(6)]
    assert frame["client"].to_list() == list(range(6)) * 6
    assert frame["cluster"].to_list() == [0, 0, 0, 1, 1, 1] * 6
    for done, part in frame.group_by("round"):
        assert part["accuracy"].mean() == pytest.approx(result.metrics["accuracy"][done[0] - 1])
        correct = share_with_correct_model(part["assignment"].to_numpy(), part["cluster"].to_numpy(), 2)
        assert correct == result.metrics["correct_model"][done[0] - 1]
    # a run whose last checkpoint is older than the file, as after a kill, has each row once
    parts, older = tmp_path / "parts", tmp_path / "older"
    train(configuration, out=parts, stop=stop_after(4))
    shutil.copytree(parts / "checkpoints", older)
    train(configuration, out=parts, resume=True, stop=stop_after(1))
    shutil.rmtree(parts / "checkpoints")
    older.rename(parts / "checkpoints")
    assert resumed(parts).complete
    assert polars.read_parquet(tmp_path / "parts" / "clients.parquet").equals(frame)


def test_a_round_that_fails_leaves_the_rows_of_those_before_it(
    tmp_path: Path, plant: Callable[..., Any]
) -> None:
    advance = training.advance

    def failing(configuration: Configuration, assembly: Any, now: Any, clients: Any) -> Any:
        if now.rounds == 3:
            raise RuntimeError("the fourth round")
        return advance(configuration, assembly, now, clients)

    plant(training, "advance", failing)
    asked = {"checkpoint_every": 10, "evaluate_every": 1, "client_metrics": True}
    with pytest.raises(RuntimeError, match="the fourth round"):
        train(configure("ifca", **asked), out=tmp_path / "run")
    for name in ("metrics", "clients"):
        kept = polars.read_parquet(tmp_path / "run" / f"{name}.parquet")["round"]
        assert sorted(set(kept)) == [1, 2, 3]


def test_distorted_images_are_resumed_to_the_same_bits(tmp_path: Path) -> None:
    seen = {"name": "digits", "crop": 6, "flip": True, "contrast": 0.5, "augmentation_per": "batch"}
    given = configure("cfl-mgd", rounds=3, checkpoint_every=1, batch_size=7).sections
    configuration = configuration_from({**given, "data": seen})
    whole = train(configuration, out=tmp_path / "whole")
    parts = tmp_path / "parts"
    train(configuration, out=parts, stop=stop_after(1))
    train(stored_configuration(parts), out=parts, resume=True)
    assert content(tmp_path / "whole") == content(parts)
    plain = train(configuration_from(given), out=tmp_path / "plain")
    assert plain.metrics["accuracy"] != whole.metrics["accuracy"]
