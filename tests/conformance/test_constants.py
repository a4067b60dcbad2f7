"""Constants that code has of its own are named with their values; mistakes made in texts are seen and named."""

import re
import tomllib
import types
from pathlib import Path
from typing import Any

import clustered_by_hand
import numpy as np
import numpy_federated
import pytest
from tiers import slow_after

from clusterproof.conformance import DEFINITIONS, check_names, conform
from clusterproof.conformance.further_checks import CHECKS


class FedProx(numpy_federated.FedProx):  # type: ignore[misc]
    """FedProx (FedAvg without ``proximal``) by hand; subclasses deviate in one number."""

    momentum = decay = 0.0
    ahead = False
    keeps, norm, by_round, factor, proximal = False, np.inf, 1.0, 1.0, None

    def prepare(self) -> None:
        self.buffers = np.zeros((self.task.clients, self.task.dimension))
        self.step_size = self.settings["step_size"]

    def train(self, client: int) -> np.ndarray:
        y = self.model.copy()
        mu = self.settings.get("proximal", 0.0) if self.proximal is None else self.proximal
        if not self.keeps:
            self.buffers[client] = 0
        for _ in range(self.steps(client)):
            direction = self.factor * self.task.gradient(client, y) + mu * (y - self.model) + self.decay * y
            direction *= min(1, self.norm / np.linalg.norm(direction))
            self.buffers[client] = self.momentum * self.buffers[client] + direction
            moved = direction + self.momentum * self.buffers[client] if self.ahead else self.buffers[client]
            y -= self.step_size * moved
        return y

    def aggregate(self, clients: Any, mean: np.ndarray) -> None:
        super().aggregate(clients, mean)
        self.step_size *= self.by_round


SHORT = ("one-step", "local-epochs", "rounds", "sizes", "batches", "participation")


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(
    ("deviation", "algorithm", "mistake", "words"),
    [
        ({"momentum": 0.9}, "fedavg", "local-momentum", "momentum 0.9, which starts at 0 in each round"),
        ({"momentum": 0.5, "keeps": True}, "fedprox", "local-momentum-kept", "momentum 0.5, which is kept"),
        ({"momentum": 0.9, "ahead": True}, "fedprox", "local-nesterov", "Nesterov's momentum 0.9"),
        ({"decay": 0.02}, "fedprox", "weight-decay", "weight decay 0.02"),
        (
            {"momentum": 0.9, "decay": 0.01},
            "fedavg",
            "local-momentum-and-weight-decay",
            "momentum 0.9 and weight decay 0.01",
        ),
        ({"norm": 1.5}, "fedprox", "clipped", "clipped to the norm 1.5"),
        ({"by_round": 0.99}, "fedavg", "step-decayed", "multiplied by 0.99 after every round"),
        ({"factor": 0.5}, "fedprox", "gradient-scaled", "multiplied by 0.5"),
        ({"proximal": 0.1}, "fedprox", "proximal-constant", "proximal is 0.1 for every requested value"),
    ],
)
def test_the_constant_is_named(deviation: dict[str, Any], algorithm: str, mistake: str, words: str) -> None:
    report = conform(type("Deviating", (FedProx,), deviation), algorithm)
    assert report.verdict == "differs"
    assert [one.mistakes for one in report.likely] == [(mistake,)], str(report)
    assert words in report.sentence


def test_a_factor_near_1_is_not_printed_as_1() -> None:
    report = conform(type("Nearly", (FedProx,), {"factor": 1.00002}), "fedprox", dtype="float64")
    assert "multiplied by 1.00002:" in report.sentence


def test_a_fixed_step_size_is_named() -> None:
    report = conform(lambda task, settings: FedProx(task, {**settings, "step_size": 0.01}), "fedavg")
    assert [one.mistakes for one in report.likely] == [("step_size-constant",)]
    assert "step_size is 0.01 for every requested value" in report.sentence


@pytest.mark.slow(reason="several seconds")
def test_a_constant_and_a_mistake_are_named_together() -> None:
    class Uniform(FedProx):
        momentum = 0.9

        def round(self, participants: list[int]) -> None:
            mean = np.mean([self.train(client) for client in participants], axis=0)
            self.model = self.model + self.settings["server_step_size"] * (mean - self.model)

    report = conform(Uniform, "fedprox")
    assert [one.mistakes for one in report.likely] == [("local-momentum", "other-weights")], str(report)
    assert "momentum 0.9" in report.sentence
    assert "other weights" in report.sentence


@pytest.mark.slow(reason="a second or more")
def test_code_that_is_right_apart_from_two_such_mistakes_is_not_explained_by_one() -> None:
    report = conform(type("Twice", (FedProx,), {"momentum": 0.9, "norm": 1.0}), "fedavg")
    assert (report.verdict, report.likely) == ("differs", ()), str(report)


def test_a_threshold_that_the_probes_do_not_reach_is_found_by_the_scaled_task() -> None:
    """It is observed on the task scaled by 4; expected is 4 times the run on the task itself."""

    class Clipped(FedProx):
        """Clips where it has minibatches."""

        def train(self, client: int) -> np.ndarray:
            self.norm = 10.0 if self.settings["batch_size"] else np.inf
            return super().train(client)

    clipped = Clipped
    report = conform(clipped, "fedavg")
    probe, models = report.runs[-1].probe, {}
    for scale in (1.0, 4.0):
        start = clipped(probe.task.moved(0.0, scale), dict(probe.settings))
        for participants in probe.schedule[:2]:
            start.round(list(participants))
        models[scale] = start.model[0]
    (numbers,) = re.findall(
        "after round 2, coordinate 0 \\(counted from 0\\): observed (\\S+), expected (\\S+)$", report.sentence
    )
    assert [float(number) for number in numbers] == pytest.approx([models[4.0], 4 * models[1.0]], rel=1e-5)
    assert [one.name for one in report.checks if one.outcome == "failed"] == ["scale"]
    assert "is there a length that is fixed, such as clipping?" in report.sentence


ALONE: dict[str, Any] = {"local_epochs": 1, "batch_size": None}


@pytest.mark.parametrize(
    ("name", "fixed"),
    [
        ("fedprox", ALONE),
        ("fedavg", {**ALONE, "server_step_size": 1.0}),  # all that it has
    ],
)
def test_settings_that_are_fixed_in_the_code_are_named(name: str, fixed: dict[str, Any]) -> None:
    report = conform(lambda task, settings: DEFINITIONS[name](task, {**settings, **fixed}), name)
    assert [one.mistakes for one in report.likely] == [("settings-ignored",)], str(report)
    assert ", ".join(f"{name} = {value}" for name, value in fixed.items()) in report.sentence


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(
    ("name", "fixed"),
    [
        ("feddyn", {"alpha": 0.1, "weighting": "samples"}),
        ("fedavgm", {"momentum": 0.9, "nesterov": True}),
    ],
)
def test_a_constant_under_another_form_is_named_with_it(name: str, fixed: dict[str, Any]) -> None:
    report = conform(lambda task, settings: DEFINITIONS[name](task, {**settings, **fixed}), name)
    (constant, value), *others = fixed.items()
    form = dict(others)
    assert (f"{constant}-constant",) in [one.mistakes for one in report.likely if one.forms == form], str(
        report
    )
    assert f"{constant} is {value} for every requested value" in report.sentence


@pytest.mark.slow(reason="compares in both precisions")
def test_agreement_in_single_precision_says_so_and_double_precision_sees_more() -> None:
    torch = pytest.importorskip("torch")
    from clusterproof.conformance.adapters.torch_side import torch_optimiser

    for dtype, verdict, words in (
        ("float32", "conforms", "in every round, to single precision"),
        ("float64", "differs", "local steps have weight decay 1e-05"),
    ):
        optimiser = torch_optimiser(torch.optim.SGD, dtype=dtype, weight_decay=1e-5)
        report = conform(optimiser, "fedavg", checks=SHORT)
        assert (report.verdict, words in report.sentence) == (verdict, True), str(report)


FOLDER = Path(clustered_by_hand.__file__).parent
ROWS = tomllib.loads(Path(__file__).with_name("changed_texts.toml").read_text(encoding="utf-8"))["changes"]
NAMES = {"PerFedAvg": "per-fedavg", "GradientLoss": "gradient-loss"}
"""Algorithms that are not called like their classes."""

LONGER = ("seven-clients", "many-rounds")
"""Probes that take most of the time, and that few rows need."""


def texts(row: dict[str, Any], key: str) -> list[str]:
    return [row[key]] if isinstance(row[key], str) else row[key]


def implementation(row: dict[str, Any]) -> Any:
    """Return the class of a row, whose text has the row's changes."""
    if row["source"].startswith("torch"):
        pytest.importorskip("torch")
    text = (FOLDER / f"{row['source']}.py").read_text(encoding="utf-8")
    for old, new in zip(texts(row, "text"), texts(row, "new"), strict=True):
        assert old in text, old
        text = text.replace(old, new)
    module = types.ModuleType("mutant")
    exec(compile(text, "mutant.py", "exec"), module.__dict__)
    return getattr(module, row["name"])


@pytest.mark.parametrize(
    "row", slow_after(9, "some take seconds", sorted(ROWS, key=lambda row: row["source"]))
)
def test_a_change_is_seen_and_named_if_it_is_known(row: dict[str, Any]) -> None:
    start, algorithm = implementation(row), NAMES.get(row["name"], row["name"].lower())
    settings, forms = row.get("settings", {}), row.get("forms", {})
    names = check_names(DEFINITIONS[algorithm])[: -len(CHECKS)]
    checks = [name for name in names if name not in LONGER or row.get("longer")]
    report = conform(start, algorithm, settings=settings, checks=checks, explained="mistakes" in row)
    assert report.verdict == row.get("verdict", "differs"), str(report)
    assert row.get("words", "") in " ".join(str(report).split())
    if report.verdict == "variant" and forms:
        assert report.changed == forms
        declared = {**settings, **forms}
        again = conform(start, algorithm, settings=declared, checks=checks, explained=False)
        assert again.verdict == "conforms"
    elif "mistakes" in row:
        named = [(one.mistakes, one.forms) for one in report.likely]
        assert (tuple(row["mistakes"]), forms) in named if row["mistakes"] else named == [], str(report)
    # one probe has more of everything: it does not tell which of them matters
    assert "that differ are the runs with more than" not in report.sentence
