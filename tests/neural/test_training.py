"""A run is the algorithm itself; stopped, killed and resumed, it has the bits of one that is not."""

import math
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars
import pytest
import safetensors.numpy
import torch
from small_training import TINY, Plant, contents, rounds_kept

from clusterproof.algorithms import ALGORITHMS, IFCA, State, Task
from clusterproof.common import InvalidArgument, Randomness
from clusterproof.common.arrays import to_numpy
from clusterproof.neural import checkpoint, training
from clusterproof.neural.checkpoint import (
    CHECKPOINT,
    CONFIGURATION,
    read_checkpoint,
    run_folder,
    stored_configuration,
)
from clusterproof.neural.configuration import Configuration, configuration_from
from clusterproof.neural.round_metrics import share_with_correct_model
from clusterproof.neural.task import ImageTask
from clusterproof.neural.training import TrainingResult, assemble, divergence, lost_clusters, train
from clusterproof.running import run

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


def configure(name: str = "ifca", options: dict[str, Any] | None = None, **given: Any) -> Configuration:
    asked = {"rounds": 6, "checkpoint_every": 2, "evaluate_every": 3, "threads": 1}
    asked |= {"batch_size": 7} if name in MINI_BATCHES else {}
    return configuration_from(
        {
            "partition": SMALL,
            "network": {"name": "mlp", "hidden": [8]},
            "algorithm": {"name": name, **(OPTIONS.get(name, {}) if options is None else options)},
            "training": {**asked, **given},
        }
    )


def stop_after(rounds: int) -> Callable[[], bool]:
    """Ask a run to stop when it has carried out some rounds."""
    left = iter(range(rounds - 1, -1, -1))
    return lambda: next(left) == 0


def resumed(folder: Path, stop: Callable[[], bool] | None = None, **given: Any) -> TrainingResult:
    configuration = stored_configuration(folder)
    changed = replace(configuration, training=replace(configuration.training, **given))
    return train(changed, folder, resume=True, stop=stop)


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("name", list(ALGORITHMS))
def test_interrupted_runs_end_with_the_same_bits(tmp_path: Path, name: str) -> None:
    decay = {} if name == "proxskip" else {"step_size_decay": 0.9}
    configuration = configure(name, **decay)
    whole = train(configuration, tmp_path / "whole")
    parts = train(configuration, tmp_path / "parts", stop=stop_after(3))
    assert (whole.complete, parts.complete) == (True, False)
    resumed(tmp_path / "parts", stop_after(1))
    parts = resumed(tmp_path / "parts")
    assert (parts.complete, parts.remarks) == (True, whole.remarks)
    assert contents(tmp_path / "whole") == contents(tmp_path / "parts")
    assert whole.metrics | {"seconds": None} == parts.metrics | {"seconds": None}
    assert torch.equal(whole.state.models, parts.state.models)
    unstored = train(configuration)
    assert torch.equal(whole.state.models, unstored.state.models)
    assert unstored.folder is None


@pytest.mark.parametrize("name", list(ALGORITHMS))
def test_a_run_is_the_algorithm_itself(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the stream of the seed alone, so that methods are compared on the same starts and participants."""
    configuration = configure(name, rounds=4, seed=3)
    result = train(configuration)
    assembly = assemble(configuration)
    streams = Randomness.from_seed(3, "image")
    monkeypatch.setattr(Randomness, "from_seed", lambda *_: streams)
    trace = run(assembly.algorithm, assembly.task, rounds=4, seed=3)
    assert np.array_equal(to_numpy(result.state.models), trace.models[-1])
    share = OPTIONS.get(name, {}).get("participation", 1.0)
    assert result.metrics["participants"] == [6 * share] * 4  # also where all are asked before a split
    first = replace(trace, assignments=trace.assignments[:1])  # after which some are not known
    assert result.metrics["clusters"][0] == int(first.cluster_count)
    assert result.metrics["clusters"][-1] == int(trace.cluster_count)
    if (
        assembly.algorithm.target == "pooled"
    ):  # one model for all finds no clusters, and gets no scores of them
        assert result.metrics["purity"] == result.metrics["adjusted_rand_index"] == [None] * 4
        return
    assert result.metrics["adjusted_rand_index"][0] == float(first.adjusted_rand_index)
    assert result.metrics["purity"][-1] == float(trace.purity)
    assert result.metrics["adjusted_rand_index"][-1] == float(trace.adjusted_rand_index)


@pytest.mark.slow(reason="several seconds")
def test_a_run_that_is_killed_at_any_moment_resumes_to_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is on the disk before and after each of all renames is what a kill leaves there."""
    configuration = configure("cfl-mgd", rounds=3, checkpoint_every=1, evaluate_every=2, client_metrics=True)
    out, real, left = tmp_path / "whole", checkpoint.os.replace, []

    def watched(source: Path, target: Path) -> None:
        for moment in ("before", "after"):
            left.append(shutil.copytree(out, tmp_path / f"{len(left)}-{moment}"))
            if moment == "before":
                real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", watched)
        train(configuration, out)
    expected = contents(out)
    assert len(left) == 2 * (1 + 3 * 3)  # configuration; rows, rows of clients and checkpoint in each round
    for folder in left:
        train(configuration, folder, resume=True)
        assert contents(folder) == expected, folder.name
        assert not list(folder.glob("*.partial"))


def test_the_step_size_decays_round_by_round() -> None:
    configuration = configure("cfl-mgd", rounds=3, step_size_decay=0.5)
    result = train(configuration)
    assert result.metrics["step_size"] == [0.1, 0.05, 0.025]
    assembly = assemble(configuration)
    task, algorithm = assembly.task, assembly.algorithm
    randomness = Randomness.from_seed(0, "image")
    state = algorithm.initialise(task.initial_models(2, (), randomness.initialisation), task)
    for step_size in (0.1, 0.05, 0.025):
        state = replace(algorithm, step_size=step_size).step(state, task, randomness)  # type: ignore[call-arg]
    assert torch.equal(state.models, result.state.models)
    with pytest.raises(InvalidArgument, match=r"training\.step_size_decay is 1e-200.*in round 3"):
        train(configure(step_size_decay=1e-200))


def test_a_finished_run_stays_as_it_is_and_can_be_prolonged(tmp_path: Path) -> None:
    train(configure(rounds=3, evaluate_every=1), tmp_path / "run")
    before = {path: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    assert resumed(tmp_path / "run").complete
    assert before == {path: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    resumed(tmp_path / "run", rounds=5)
    whole = train(configure(rounds=5, evaluate_every=1), tmp_path / "whole")
    longer = contents(tmp_path / "run")
    assert longer["metrics.parquet"] == contents(tmp_path / "whole")["metrics.parquet"]
    assert torch.equal(resumed(tmp_path / "run").state.models, whole.state.models)
    with pytest.raises(InvalidArgument, match="at least 5, the number"):
        resumed(tmp_path / "run", rounds=4)


@pytest.mark.parametrize("damage", ["cut", "digit", "record", "empty", "other"])
def test_a_damaged_checkpoint_is_one_sentence_and_left_as_it_is(tmp_path: Path, damage: str) -> None:
    out = tmp_path / "run"
    train(configure("cfl-mgd"), out, stop=stop_after(5))
    path = out / CHECKPOINT
    content = bytearray(path.read_bytes())
    if damage == "cut":
        del content[-100:]
    elif damage == "digit":
        content[-50] ^= 1
    elif damage == "record":
        content = content.replace(b'\\"rounds\\": 5', b'\\"rounds\\": 4')
    elif damage == "empty":
        content = bytearray()
    else:
        content = bytearray(safetensors.numpy.save({"assignments": np.zeros(3)}))
    assert bytes(content) != path.read_bytes()
    path.write_bytes(content)
    with pytest.raises(InvalidArgument, match=r"checkpoint\.safetensors.*unchanged checkpoint") as caught:
        resumed(out)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == content


def test_a_folder_without_its_metrics_is_refused(tmp_path: Path) -> None:
    train(configure(), tmp_path / "run", stop=stop_after(4))
    path = tmp_path / "run" / "metrics.parquet"
    written = path.read_bytes()
    frame = polars.read_parquet(path)
    near = frame.with_columns(polars.col("training_loss") * (1 + 2**-52))
    for changed in (frame.head(2), near):
        changed.write_parquet(path)
        with pytest.raises(InvalidArgument, match="must contain the 4 rounds of the checkpoint, unchanged"):
            resumed(tmp_path / "run")
    path.write_bytes(written)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InvalidArgument, match=r"metrics\.parquet.*must be a readable"):
        resumed(tmp_path / "run")
    path.unlink()
    with pytest.raises(InvalidArgument, match=r"metrics\.parquet.*must be a readable"):
        resumed(tmp_path / "run")


def test_a_run_whose_clients_would_hold_other_samples_is_refused(tmp_path: Path, plant: Plant) -> None:
    """As with another NumPy, whose generator divides the data otherwise; or with other bytes of the data set."""
    train(configure(rounds=1), tmp_path / "run")
    divide, load = training.partition, training.load
    before = contents(tmp_path / "run")

    def other_stream(*arguments: Any, seed: int, **options: Any) -> Any:
        return divide(*arguments, seed=seed + 1, **options)

    def other_bytes(*arguments: Any) -> Any:
        images = load(*arguments)
        pixels = images.train.pixels.copy()
        pixels[:, 0, 0, 0] ^= 1
        return replace(images, train=replace(images.train, pixels=pixels))

    for name, fault, words in (
        (
            "partition",
            other_stream,
            "partition.name is 'rotated-groups', but it gives the clients other samples",
        ),
        ("load", other_bytes, "partition.name is 'rotated-groups', but it gives the clients other samples"),
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(training, name, fault)
            with pytest.raises(InvalidArgument, match=words):
                resumed(tmp_path / "run", rounds=2)
    assert contents(tmp_path / "run") == before
    assert resumed(tmp_path / "run", rounds=2).complete


def rewrite(folder: Path, **changed: Any) -> None:
    """Replace the record of a checkpoint."""
    stored = read_checkpoint(folder)
    assert stored is not None
    configuration = stored_configuration(folder)
    now = stored.restore(configuration.make_algorithm(), "cpu")
    checkpoint.save_checkpoint(folder, now, {**stored.record, **changed})


def test_what_was_left_open_is_kept(tmp_path: Path) -> None:
    first = train(configure(rounds=1), tmp_path / "run")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    assert first.choices == {"device": device, "engine": "vmap", "threads": 1, "test_assignment": "train"}
    rewrite(tmp_path / "run", choices={**first.choices, "engine": "serial", "test_assignment": "test-loss"})
    later = resumed(tmp_path / "run", rounds=2)
    assert later.choices == {**first.choices, "engine": "serial", "test_assignment": "test-loss"}


def test_another_device_and_other_versions_are_remarked(tmp_path: Path) -> None:
    first = train(configure(rounds=1), tmp_path / "run")
    choices = {**first.choices, "device": "cuda", "engine": "serial", "test_assignment": "test-loss"}
    rewrite(tmp_path / "run", choices=choices, versions={"torch": "99"})
    if not torch.cuda.is_available():
        with pytest.raises(InvalidArgument, match=r"training\.device is 'cuda', but it is missing"):
            resumed(tmp_path / "run", rounds=2)
    result = resumed(tmp_path / "run", rounds=2, device="cpu")
    assert (result.choices["device"], result.choices["engine"]) == ("cpu", "vmap")
    assert result.choices["test_assignment"] == "test-loss"  # how clients are served is kept
    assert ["was written on cuda" in result.remarks[0], "other versions" in result.remarks[1]] == [True] * 2


@pytest.mark.parametrize("name", ["ifca", "local", "fedavg"])
def test_every_client_has_a_row_in_every_evaluated_round(tmp_path: Path, name: str) -> None:
    configuration = configure(name, client_metrics=True, evaluate_every=1)
    result = train(configuration, tmp_path / "run")
    frame = polars.read_parquet(tmp_path / "run" / "clients.parquet")
    assert frame.to_dict(as_series=False) == result.clients
    assert frame["round"].to_list() == [done for done in range(1, 7) for _ in range(6)]
    assert frame["client"].to_list() == list(range(6)) * 6
    assert frame["cluster"].to_list() == [0, 0, 0, 1, 1, 1] * 6
    assert frame["test_samples"].to_list() == [8] * 36  # a fifth of 40
    for (done,), part in frame.group_by("round"):
        row = {key: column[done - 1] for key, column in result.metrics.items()}  # type: ignore[operator]
        assert part["accuracy"].mean() == pytest.approx(row["accuracy"])
        weighted = (part["accuracy"] * part["test_samples"]).sum() / part["test_samples"].sum()
        assert weighted == pytest.approx(row["accuracy_over_samples"])
        correct = share_with_correct_model(part["assignment"].to_numpy(), part["cluster"].to_numpy(), 2)
        assert row["correct_model"] == (None if name == "fedavg" else correct)


def test_a_round_that_fails_names_itself_and_leaves_the_checkpoint(tmp_path: Path, plant: Plant) -> None:
    """One client's gradients are NaN from the fourth round on: FPFC refuses its model, the others return it."""
    gradients = ImageTask.gradients
    done: list[int] = []

    def spoilt(self: ImageTask, points: torch.Tensor, clients: torch.Tensor, generator: Any) -> torch.Tensor:
        is_sick = (clients == 4) & (len(done) >= 3)
        return torch.where(is_sick[:, None], torch.nan, gradients(self, points, clients, generator))

    for name, method in (
        ("gradients", spoilt),
        ("gradient_sums", Task.gradient_sums),
        ("local_steps", Task.local_steps),
    ):
        plant(ImageTask, name, method)
    for algorithm in ("ifca", "local", "fpfc"):
        done.clear()
        out = tmp_path / algorithm
        with pytest.raises(
            InvalidArgument, match=r"led in round 4 to numbers that are not finite. Lower it;"
        ):
            train(
                configure(algorithm, {"step_size": 0.01}), out, progress=lambda row: done.append(row["round"])
            )
        assert rounds_kept(out) == 2
        state = read_checkpoint(out).restore(ALGORITHMS[algorithm](step_size=0.01), "cpu").state  # type: ignore[union-attr]
        assert torch.isfinite(state.models).all()


GLOBAL = """
from dataclasses import replace
import numpy as np
from clusterproof.algorithms import IFCA
from clusterproof.algorithms.base import State
ROUNDS = []

class Drawing(IFCA):
    name = "drawing"
    def step(self, state: State, task, randomness) -> State:
        after = IFCA.step(self, state, task, randomness)
        return replace(after, models=after.models * (1 + 1e-3 * float(np.random.rand())))

class Counting(IFCA):
    name = "counting"
    def step(self, state: State, task, randomness) -> State:
        ROUNDS.append(1)
        return IFCA.step(replace(self, step_size=self.step_size / len(ROUNDS)), state, task, randomness)

class Right(IFCA):
    name = "right"
    def step(self, state: State, task, randomness) -> State:
        noise = randomness.gradient.random()
        return IFCA.step(replace(self, step_size=self.step_size * noise), state, task, randomness)
"""


@pytest.mark.parametrize("name", ["Drawing", "Counting", "Right"])
def test_users_code_that_does_not_repeat_is_told_in_the_first_round(tmp_path: Path, name: str) -> None:
    """And the repetition changes no number of code that does."""
    (tmp_path / "mine.py").write_text(GLOBAL, encoding="utf-8")
    told: list[str] = []
    result = train(
        configure(f"{tmp_path / 'mine.py'}:{name}", {"step_size": 0.1}),
        progress=lambda row: told.append(f"round {row['round']}"),
        announce=told.append,
    )
    if name == "Right":
        assert (result.remarks, told[0]) == ((), "round 1")
        assembly = assemble(configure(f"{tmp_path / 'mine.py'}:Right", {"step_size": 0.1}))
        randomness = Randomness.from_seed(0, "image")
        state = assembly.algorithm.initialise(
            assembly.algorithm.draw_models(assembly.task, (), randomness), assembly.task
        )
        for _ in range(6):
            state = assembly.algorithm.step(state, assembly.task, randomness)
        assert torch.equal(state.models, result.state.models)
    else:
        assert f"mine.py:{name}: a round that was carried out twice gave two results" in told[0]
        assert told[1:3] == ["round 1", "round 2"]
        assert result.remarks == (told[0],)


def test_a_run_killed_before_its_first_checkpoint_says_so_when_it_is_resumed(tmp_path: Path) -> None:
    whole = train(configure(rounds=2), tmp_path / "whole")
    assert whole.remarks == ()
    train(configure(rounds=2), tmp_path / "run")
    (tmp_path / "run" / CHECKPOINT).unlink()
    result = train(configure(rounds=2), tmp_path / "run", resume=True)
    (remark,) = result.remarks
    assert "ended before its first checkpoint" in remark
    assert contents(tmp_path / "run") == contents(tmp_path / "whole")
    assert train(configure(rounds=2), tmp_path / "new", resume=True).remarks == ()


def test_a_run_whose_loss_is_far_above_a_guess_s_is_called_diverged() -> None:
    """A guess among ten classes has log 10."""
    assert divergence([2.7e29], 10) != []
    assert "2.7e+29" in divergence([1.0, 2.7e29, None], 10)[0]
    assert divergence([2.7e29, 1.0], 10) == divergence([], 10) == divergence([None], 10) == []
    assert divergence([10.01 * math.log(10)], 10) != []
    assert divergence([9.99 * math.log(10)], 10) == []
    assert train(configure(rounds=3, evaluate_every=1)).remarks == ()
    diverged = train(configure("ifca", {"averaging": "model", "step_size": 2e4, "local_steps": 3}, rounds=3))
    assert any("has diverged" in remark for remark in diverged.remarks)


@pytest.mark.parametrize("algorithm", ["fedavg", "ifca", "local"])
@pytest.mark.parametrize("partition", ["iid", "rotated-groups"])
def test_clusters_are_scored_where_there_are_several_and_a_method_that_may_find_them(
    algorithm: str, partition: str
) -> None:
    sizes = {"clients": 3} if partition == "iid" else {"clients_per_cluster": 1}
    options = {"partition": {"name": partition, **sizes}, "network": {"hidden": [3]}}
    given = {**options, "algorithm": {"name": algorithm}, "training": {"rounds": 1, "threads": 1}}
    metrics = train(configuration_from(given)).metrics
    scored = partition != "iid" and algorithm != "fedavg"
    for name in ("purity", "adjusted_rand_index", "correct_model"):
        assert [value is not None for value in metrics[name]] == [scored], name


def test_large_checkpoints_are_announced_and_need_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(checkpoint, "LARGE_CHECKPOINT", 1000)
    run = train(configure(rounds=1), tmp_path / "run", announce=told.append)
    (sentence,) = told
    assert f"{run.state.models.nbytes / 2**30:.3g} GiB" in sentence
    for name, fault in (
        ("free_memory", lambda: run.state.models.nbytes - 1),
        ("shutil", SimpleNamespace(disk_usage=lambda _: SimpleNamespace(free=1))),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(checkpoint, name, fault)
            with pytest.raises(InvalidArgument, match=r"GiB of .* for a checkpoint"):
                train(configure(rounds=1), tmp_path / "another")
        assert not (tmp_path / "another").exists()


def test_by_default_a_checkpoint_is_written_when_time_has_passed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a clock that one look at it advances by a second, and writing takes one: after 7 seconds, or 20 writings."""
    kept: list[int] = []
    seconds = iter(range(10**6))
    monkeypatch.setattr(training, "INTERVAL", 7.0)
    monkeypatch.setattr(training.time, "monotonic", lambda: float(next(seconds)))
    monkeypatch.setattr(training, "save_checkpoint", lambda folder, now, record: kept.append(now.rounds))
    train(configure(rounds=60, checkpoint_every=None, evaluate_every=60), tmp_path / "run")
    assert kept == [7, 27, 47, 60]


NETWORK = """
from torch import nn

class Opposite(nn.Module):
    def __init__(self, sample_shape, classes):
        super().__init__()
        self.layer = nn.Linear(64, classes)

    def forward(self, images):
        scores = self.layer(images.flatten(1))
        return scores if self.training else -scores
"""


def test_a_network_is_evaluated_in_evaluation_mode(tmp_path: Path) -> None:
    """Trained to predict the labels, it predicts the least likely class when it is evaluated."""
    (tmp_path / "own.py").write_text(NETWORK)
    values: dict[str, Any] = {**TINY, "network": {"name": f"{tmp_path}/own.py:Opposite"}}
    values["partition"] = {**TINY["partition"], "clusters": 1}
    values["algorithm"] = {"name": "fedavg", "step_size": 0.5, "local_steps": 20}
    values["training"] = {"rounds": 10, "threads": 1}
    assert train(configuration_from(values)).metrics["accuracy"][-1] < 0.02


def test_a_resumed_run_needs_the_code_that_it_was_begun_with(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text(NETWORK.replace("-scores", "scores"))
    values: dict[str, Any] = {**TINY, "network": {"name": f"{path}:Opposite"}}
    train(configuration_from(values), tmp_path / "run", stop=stop_after(1))
    with pytest.raises(InvalidArgument, match=r"network\.name is .* a file alone may not request this"):
        stored_configuration(tmp_path / "run")
    code = {"network": f"{path}:Opposite"}
    path.write_text(NETWORK)
    with pytest.raises(InvalidArgument, match=r"network\.name is .*is not the same code as"):
        train(stored_configuration(tmp_path / "run", code), tmp_path / "run", resume=True)
    moved = tmp_path / "elsewhere" / "own.py"
    moved.parent.mkdir()
    moved.write_text(NETWORK.replace("-scores", "scores"))
    code = {"network": f"{moved}:Opposite"}
    assert train(stored_configuration(tmp_path / "run", code), tmp_path / "run", resume=True).complete


def test_two_runs_do_not_share_a_folder(tmp_path: Path) -> None:
    out = tmp_path / "run"
    with run_folder(out, resume=False) as folder:
        for resume in (False, True):
            with pytest.raises(InvalidArgument, match="is in use by another run"):
                train(configure(), out, resume=resume)
        (folder / CONFIGURATION).write_text("{}")
    with pytest.raises(InvalidArgument, match=f"must be empty. Continue it with --resume {out}"):
        train(configure(), out)
    with run_folder(out, resume=True):
        pass
    (out / ".lock").write_text("no database")
    with pytest.raises(InvalidArgument, match="can be locked"):
        train(configure(), out, resume=True)


def test_a_run_that_fails_before_its_first_checkpoint_leaves_nothing(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    for out in (tmp_path / "a" / "b", empty):
        with pytest.raises(InvalidArgument, match="led in round 1"):
            train(configure("ifca", {"step_size": 1e308}), out)
        with pytest.raises(InvalidArgument, match="too small"):
            train(configuration_from({"network": {"name": "cnn"}}), out)
    assert list(tmp_path.rglob("*")) == [empty]
    assert train(configure(rounds=1), empty).complete


def test_the_number_of_threads_is_the_callers_again() -> None:
    before, seen = torch.get_num_threads(), []
    torch.set_num_threads(2)
    try:
        train(configure(rounds=1), progress=lambda _: seen.append(torch.get_num_threads()))
        assert (seen, torch.get_num_threads()) == ([1], 2)
        with pytest.raises(InvalidArgument, match="not finite"):
            train(configure("ifca", {"step_size": 1e30}, rounds=3))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("library", [np.array, torch.tensor])
def test_a_state_is_finite_if_all_its_numbers_are(library: Any) -> None:
    """Also where their sum overflows, or where two infinities would cancel in it."""
    for numbers, is_finite in (
        ([3e38, 3e38, 1.0], True),
        ([-3e38, -3e38, 0.0], True),
        ([0.0, 1.0, 2.0], True),
        ([math.inf, -math.inf, 0.0], False),
        ([0.0, math.nan, 1.0], False),
        ([0.0, -math.inf, 1.0], False),
    ):
        models = library(np.array(numbers, dtype=np.float32).reshape(1, 3))
        assert checkpoint.is_finite(State(models, library(np.arange(3)), None)) == is_finite, numbers


def test_what_is_told_measured_and_stored_round_by_round(tmp_path: Path, plant: Plant) -> None:
    """With the protocol that was asked for and the step size of the round; rows of clients only where asked for."""
    noted, save, evaluate = [], training.save_checkpoint, training.evaluate

    def noted_evaluate(algorithm: Any, *state: Any, **given: Any) -> Any:
        noted.append((given["test_assignment"], algorithm.step_size))
        return evaluate(algorithm, *state, **given)

    plant(training, "save_checkpoint", lambda *given: noted.append(given[1].rounds) or save(*given))
    plant(training, "evaluate", noted_evaluate)
    told, asked = [], {"rounds": 5, "step_size_decay": 0.5, "test_assignment": "test-loss"}
    result = train(configure(**asked), tmp_path / "run", progress=told.append)
    assert noted == [2, ("test-loss", 0.1 / 4), 4, ("test-loss", 0.1 / 16), 5]
    assert {name: [row[name] for row in told] for name in result.metrics} == result.metrics
    assert not (tmp_path / "run" / "clients.parquet").exists()


@pytest.mark.parametrize("asked", [{"step_size_decay": 0.9}, {"after_local_training": True}], ids=str)
def test_what_needs_a_step_size_is_refused_without_one(asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ALGORITHMS["fedavg"], "settings", {})
    assemble(configure("fedavg", step_size_decay=1.0, after_local_training=False))
    with pytest.raises(InvalidArgument, match="a step size; fedavg has none") as refusal:
        assemble(configure("fedavg", **asked))
    assert refusal.value.argument == f"training.{next(iter(asked))}"


@pytest.mark.parametrize(
    ("clusters", "said"),
    [
        ([2, 3, 3], []),
        ([3, 2, 2], ["2 of 3 models have clients, since round 2"]),
        ([1, 1], ["1 of 3 models have clients, since the start"]),
        ([], []),
    ],
)
def test_models_that_no_client_has_chosen_any_more_are_told(clusters: list[int], said: list[str]) -> None:
    algorithm, state = IFCA(clusters=3, step_size=0.1), SimpleNamespace(models=np.zeros((3, 4)))
    told = lost_clusters(algorithm, state, clusters)  # type: ignore[arg-type]  # it reads the shape alone
    assert [sentence.partition(";")[0] for sentence in told] == said
