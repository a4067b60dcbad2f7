"""Each probe, check and unit is needed: without it the report on some implementation is another one."""

import itertools
import json
import random
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from checkout import ROOT
from numpy_federated import FedAvg
from tiers import slow_after

from clusterproof.conformance import (
    DEFINITIONS,
    ConformanceTask,
    conform,
    random_task,
)
from clusterproof.conformance.definitions import KNOWN_MISTAKES
from clusterproof.conformance.further_checks import CHECKS
from clusterproof.conformance.probes import PLANS
from clusterproof.conformance.tolerance import is_bounded


def with_mistake(algorithm: str, name: str) -> Callable[..., Any]:
    return lambda task, settings: DEFINITIONS[algorithm](
        task, settings, [KNOWN_MISTAKES[algorithm][name].changes]
    )


def with_change(algorithm: str, changes: Mapping[str, Any]) -> Callable[..., Any]:
    return lambda task, settings: DEFINITIONS[algorithm](task, settings, [changes])


class Combined(DEFINITIONS["fedavg"]):  # type: ignore[misc]
    """Wrong where minibatches, a server step and absent clients come together."""

    def round(self, participants: Sequence[int]) -> None:
        super().round(participants)
        settings = self.settings
        if (
            settings["batch_size"]
            and settings["server_step_size"] != 1
            and len(participants) < self.task.clients
        ):
            self.model = self.model + 1e-3


class Late(DEFINITIONS["fedavg"]):  # type: ignore[misc]
    """Moves its model from the hundredth round on."""

    def round(self, participants: Sequence[int]) -> None:
        super().round(participants)
        self.memory["rounds"] = self.memory.get("rounds", 0) + 1
        self.model = self.model + 1e-3 * (self.memory["rounds"] > 100)


def _first_five(value: np.ndarray) -> Any:
    """Return weights that leave out all participants after the fifth."""
    return np.where(np.arange(len(value)) < 5, value, 0) / value[:5].sum()


class Prunes(DEFINITIONS["ifca"]):  # type: ignore[misc]
    """Sets clusters of four clients without members to 0 after six rounds, as code that prunes after a first phase."""

    def round(self, participants: Sequence[int]) -> None:
        super().round(participants)
        self.memory["rounds"] = self.memory.get("rounds", 0) + 1
        if self.memory["rounds"] > 6 and self.task.clients == 4:
            empty = [j for j in range(len(self.model)) if j not in self.assignments]
            self.model[empty] = 0


class OnlyItsModel:
    """Offers the model of a run, and no states."""

    def __init__(self, run: Any) -> None:
        self._run = run

    def round(self, participants: Sequence[int]) -> None:
        self._run.round(participants)

    @property
    def model(self) -> Any:
        return self._run.model


FIRST = [
    ("fedavg", with_mistake("fedavg", "loss-summed"), "one-step"),
    ("fedprox", with_mistake("fedprox", "prox-doubled"), "local-epochs"),
    ("fedavg", lambda task, given: DEFINITIONS["fedavg"](task, {**given, "step_size": 0.05}), "step-size"),
    ("fedavg", with_mistake("fedavg", "own-old-start"), "rounds"),
    ("fedavg", with_change("fedavg", {"weights": "{} ** 2 / ({} ** 2).sum()"}), "sizes"),
    ("fedavg", with_mistake("fedavg", "first-batch-only"), "batches"),
    ("fedavg", with_mistake("fedavg", "server-step-twice"), "server-step"),
    ("scaffold", with_mistake("scaffold", "controls-averaged-over-participants"), "participation"),
    ("fedprox", lambda task, given: DEFINITIONS["fedprox"](task, {**given, "proximal": 0.7}), "strengths"),
    ("fedavg", with_change("fedavg", {"weights": lambda _, value: _first_five(value)}), "seven-clients"),
    ("fedavg", Late, "many-rounds"),
    ("fedavg", Combined, "everything"),
    ("ifca", Prunes, "clusters"),
    ("sofl", with_mistake("sofl", "clustered-one-round-late"), "groups"),
]


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(
    ("algorithm", "changes", "words"),
    [
        ("proxskip", {"shift change": "0 * {}"}, "or it stays at 0."),
        ("feddyn", {"state change": "0 * {}"}, "or L_i stays at 0"),
        (
            "scaffold",
            {"control change": "0 * ({})", "new controls": "run.controls[participants]"},
            "stay at 0",
        ),
        ("scaffold", {"K": "1"}, "K is missing in the control's update."),
        ("fedavg", {"steps": "[local_epochs for _ in {}]"}, "an epoch takes one step for every batch_size"),
    ],
)
def test_what_is_said_of_a_cause_is_true_of_states_that_never_move(
    algorithm: str, changes: Any, words: str
) -> None:
    def start(task: ConformanceTask, settings: Mapping[str, Any]) -> Any:
        return OnlyItsModel(DEFINITIONS[algorithm](task, settings, [changes]))

    report = conform(start, algorithm)
    assert report.verdict == "differs"
    assert words in " ".join(str(report).split())


@pytest.mark.parametrize(
    ("algorithm", "start", "probe"), slow_after(5, "every mistake of the bank is tried", FIRST)
)
def test_the_first_probe_that_fails_is_the_plainest_that_can(algorithm: str, start: Any, probe: str) -> None:
    report = conform(start, algorithm, explained=False)
    assert report.localised is not None, str(report)
    assert (report.verdict, report.localised.probe) == ("differs", probe)


def test_every_probe_has_a_mistake_that_it_finds_first() -> None:
    assert [probe for _, _, probe in FIRST] == list(PLANS)


class MovesALittle(FedAvg):
    def gradient(self, client: int, y: np.ndarray) -> np.ndarray:
        return self.task.gradient(client, y) + 1e-8 * (y > 2.2).all()


class ClipsGradients(FedAvg):
    def gradient(self, client: int, y: np.ndarray) -> np.ndarray:
        gradient = self.task.gradient(client, y)
        return gradient * min(1, 8 / np.linalg.norm(gradient)) if self.settings["batch_size"] else gradient


class CachesData(FedAvg):
    """Keeps a client's data by the client's number, as a loader in a module-level dictionary does."""

    cache: dict[Any, Any] = {}  # noqa: RUF012

    def gradient(self, client: int, y: np.ndarray) -> np.ndarray:
        key = (client, self.task.start.tobytes(), self.task.samples.sum())
        curvature, optimum = self.cache.setdefault(
            key, (self.task.curvatures[client].copy(), self.task.optima[client].copy())
        )
        product: np.ndarray = curvature @ (y - optimum)
        return product


class DecaysLate(FedAvg):
    def gradient(self, client: int, y: np.ndarray) -> np.ndarray:
        return (
            self.task.gradient(client, y)
            + 0.01 * (self.rounds > 50 and self.settings["local_epochs"] > 3) * y
        )


class BreaksLate(FedAvg):
    def gradient(self, client: int, y: np.ndarray) -> np.ndarray:
        return self.task.gradient(client, y) + (
            np.nan if self.rounds > 50 and self.settings["local_epochs"] > 3 else 0
        )


MISTAKES = [
    *((MovesALittle, "shift"), (ClipsGradients, "scale"), (CachesData, "order")),
    *((DecaysLate, "fixed-point"), (BreaksLate, "fixed-point")),
]


@pytest.mark.parametrize(("start", "check"), MISTAKES)
def test_a_mistake_that_no_probe_shows_is_found_by_a_check(start: type, check: str) -> None:
    report = conform(start, "fedavg")
    assert (report.verdict, report.likely) == ("differs", ()), str(report)
    assert check in {one.name for one in report.checks if one.outcome == "failed"}
    assert not {one.name for one in report.checks if one.outcome == "failed"} & set(PLANS)


def test_a_check_that_fails_makes_a_variant_a_difference() -> None:
    def start(task: ConformanceTask, settings: Mapping[str, Any]) -> Any:
        return DecaysLate(task, {**settings, "weighting": "samples"})

    weighted = conform(start, "fedavg", settings={"weighting": "clients"})
    assert weighted.verdict == "differs"
    assert weighted.sentence.startswith("conforms to fedavg with weighting = samples")
    assert "but fixed-point fails" in weighted.sentence


def found(start: Any, algorithm: str, check: str) -> tuple[str, str]:
    report = conform(start, algorithm, explained=False)
    return {one.name: (one.outcome, one.sentence) for one in report.checks}[check]


def outcome(start: Any, algorithm: str, check: str) -> str:
    return found(start, algorithm, check)[0]


@pytest.mark.slow(reason="several seconds")
def test_states_of_absent_clients_and_the_mean_of_controls_are_checked() -> None:
    class MovesAll(DEFINITIONS["scaffold"]):  # type: ignore[misc]
        """Moves the controls of all clients, present or not."""

        def round(self, participants: Sequence[int]) -> None:
            super().round(participants)
            self.controls = self.controls + 1e-3

    assert outcome(MovesAll, "scaffold", "absent") == "failed"
    assert outcome(MovesAll, "scaffold", "control-mean") == "failed"
    assert outcome(DEFINITIONS["scaffold"], "scaffold", "absent") == "passed"
    assert outcome(DEFINITIONS["scaffold"], "scaffold", "control-mean") == "passed"

    class MovesTheLast(DEFINITIONS["scaffold"]):  # type: ignore[misc]
        """Moves the controls of absent clients but the first."""

        def round(self, participants: Sequence[int]) -> None:
            super().round(participants)
            absent = [i for i in range(self.task.clients) if i not in participants]
            self.controls[absent[1:]] += 1e-3

    class OtherSign(OnlyItsModel):
        """Offers the controls of SCAFFOLD, the server's with the other sign."""

        def __init__(self, *given: Any) -> None:
            super().__init__(DEFINITIONS["scaffold"](*given))

        control = property(lambda self: -self._run.control)
        controls = property(lambda self: self._run.controls)

    assert outcome(MovesTheLast, "scaffold", "absent") == "failed"
    assert outcome(OtherSign, "scaffold", "control-mean") == "passed"


AT_REST = ("fedavg", "fedavgm", "fednova", "fedprox", "ditto", "fedlin", "scaffold", "feddyn", "proxskip")


@pytest.mark.slow(reason="several seconds")
def test_a_check_is_left_out_where_it_says_nothing_and_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that 120 rounds do not bring to rest, or that have steps of their own; Adam's tau has the models' unit."""
    # the list of mistakes that would not have shown takes most of the time
    monkeypatch.setattr(sys.modules[conform.__module__], "_unseen", lambda *_: "")

    def judged(algorithm: str, forms: Mapping[str, Any] = {}, **settings: Any) -> dict[str, str]:
        def start(task: ConformanceTask, given: Mapping[str, Any]) -> Any:
            return DEFINITIONS[algorithm](task, {**given, **forms})

        names = ("sizes", "shift", "scale", "fixed-point")
        report = conform(start, algorithm, settings=settings, checks=names)
        assert (report.verdict == "variant") == bool(forms), str(report)
        return {check.name: check.outcome for check in report.checks}

    for algorithm in AT_REST:
        assert judged(algorithm)["fixed-point"] == "passed", algorithm
    for weighting in ("clients", "samples"):
        assert judged("fedlin", weighting=weighting)["fixed-point"] == "passed"
        assert judged("fedprox", weighting=weighting, proximal=0.4)["fixed-point"] == "passed"
    assert judged("fedavg", {"weighting": "clients"})["fixed-point"] == "passed"
    for settings in ({"step_size": 0.2}, {"local_epochs": 3}, {"batch_size": 3}, {"server_step_size": 0.01}):
        assert judged("fedavg", **settings)["fixed-point"] == "skipped"
    assert judged("per-fedavg")["fixed-point"] == "skipped"
    adaptive = judged("fedyogi")
    assert (adaptive["shift"], adaptive["scale"]) == ("passed", "skipped")


def test_arrays_that_are_handed_out_are_overwritten() -> None:
    class Copies(FedAvg):
        def __getattribute__(self, name: str) -> Any:
            value = super().__getattribute__(name)
            return value.copy() if name == "model" else value

    class HandsOutControls(DEFINITIONS["scaffold"]):  # type: ignore[misc]
        def __getattribute__(self, name: str) -> Any:
            value = super().__getattribute__(name)
            return value.copy() if name in ("model", "control") else value

    class ReadOnly(FedAvg):
        def __getattribute__(self, name: str) -> Any:
            value = super().__getattribute__(name)
            if name == "model":
                value = value.view()
                value.flags.writeable = False
            return value

    assert outcome(Copies, "fedavg", "aliasing") == outcome(ReadOnly, "fedavg", "aliasing") == "passed"
    for start, algorithm, name in ((FedAvg, "fedavg", "model"), (HandsOutControls, "scaffold", "controls")):
        verdict, sentence = found(start, algorithm, "aliasing")
        assert verdict == "skipped"
        assert f"a caller that writes into `run.{name}` changes the next round" in sentence
        assert "return a copy" in sentence


def test_a_run_that_repeats_to_rounding_only_is_told_so() -> None:
    starts = itertools.count()

    class Reorders(FedAvg):
        """Rounds its model otherwise in every second run, as parallel code does."""

        def __init__(self, task: ConformanceTask, settings: Mapping[str, Any]) -> None:
            super().__init__(task, settings)
            self.odd = next(starts) % 2

        def round(self, participants: Sequence[int]) -> None:
            super().round(participants)
            self.model = np.nextafter(self.model, np.inf) if self.odd else self.model

    report = conform(Reorders, "fedavg")
    verdict, sentence = {one.name: (one.outcome, one.sentence) for one in report.checks}["repeatable"]
    assert (report.verdict, verdict) == ("conforms", "skipped"), str(report)
    assert "by rounding only" in sentence
    assert outcome(FedAvg, "fedavg", "repeatable") == "passed"


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("size", [1e-3, 1e-14])
@pytest.mark.parametrize("generator", ["random", "numpy", "torch"])
def test_code_that_draws_from_a_global_generator_does_not_repeat(generator: str, size: float) -> None:
    if generator == "torch":
        torch = pytest.importorskip("torch")
    draw = {
        "random": random.random,
        "numpy": lambda: np.random.random(),  # noqa: NPY002 - what people write
        "torch": lambda: float(torch.rand((), dtype=torch.float64)),
    }[generator]

    class Noisy(FedAvg):
        """Adds noise, of the size of rounding or not, and is not seeded."""

        def round(self, participants: Sequence[int]) -> None:
            super().round(participants)
            self.model = self.model + size * draw()

    report = conform(Noisy, "fedavg", explained=False)
    if size == 1e-3:
        assert (report.verdict, "seed what is random" in report.sentence) == ("unusable", True), str(report)
    else:
        verdict = {one.name: one.outcome for one in report.checks}["repeatable"]
        assert (report.verdict, verdict) == ("conforms", "skipped"), str(report)


@pytest.mark.parametrize("name", ["prox-doubled", "prox-sign"])
def test_the_same_report_is_made_twice(name: str) -> None:
    def record() -> dict[str, Any]:
        np.random.random()  # noqa: NPY002 - a state that must not matter
        found: dict[str, Any] = json.loads(conform(with_mistake("fedprox", name), "fedprox").json())
        return found

    assert record() == record()


def test_nothing_global_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    from clusterproof.conformance.adapters.torch_side import replaced_losses

    class Disturbs(FedAvg):
        def round(self, participants: Sequence[int]) -> None:
            random.seed(0)
            np.random.seed(0)  # noqa: NPY002 - what people write
            torch.manual_seed(0)
            torch.set_default_dtype(torch.float64)
            super().round(participants)

    before = (random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist())  # noqa: NPY002
    assert conform(Disturbs, "fedavg").verdict == "conforms"
    after = (random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist())  # noqa: NPY002
    assert before == after
    assert torch.get_default_dtype() == torch.float32
    losses = (torch.nn.CrossEntropyLoss, torch.nn.functional.cross_entropy)
    another = SimpleNamespace(cross_entropy=abs)
    monkeypatch.setitem(sys.modules, "another", another)
    with replaced_losses():
        assert torch.nn.CrossEntropyLoss is torch.nn.MSELoss
        assert torch.nn.functional.cross_entropy is torch.nn.functional.mse_loss
        assert another.cross_entropy is abs
    assert (torch.nn.CrossEntropyLoss, torch.nn.functional.cross_entropy) == losses


@pytest.mark.parametrize("clusters", [0, 2])
def test_a_task_becomes_one_of_the_library_and_comes_back(clusters: int) -> None:
    task = random_task(1, (1, 2, 3), clusters=clusters)
    start = task.start if task.starts is None else task.starts
    assert task.to_quadratic_mixture().clusters == max(1, clusters)
    back = ConformanceTask.from_quadratic_mixture(task.to_quadratic_mixture(), start)
    arrays = {**task.arrays(), "start": back.start} if clusters else task.arrays()
    assert back.arrays().keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(getattr(back, name), array)


def test_the_guide_explains_every_check() -> None:
    guide = (ROOT / "docs/how-to/compare-code-with-a-paper.md").read_text(encoding="utf-8")
    table = guide.partition("| check | what it tests |")[2].partition("\n\n")[0]
    assert {*re.findall(r"`([\w-]+)`", table)} == {*PLANS, *CHECKS}


def test_a_run_is_compared_up_to_1e8() -> None:
    assert is_bounded({"model": np.array([1e8, -1e8])})
    for size in (1.001e8, -1.001e8, np.nan, np.inf):
        assert not is_bounded({"model": np.array([0.0, size])})
