"""No false alarm: implementations that are right, written independently, conform."""

from dataclasses import dataclass
from typing import Any

import clustered_by_hand
import numpy as np
import numpy_federated
import pytest

from clusterproof.algorithms import Algorithm, State
from clusterproof.common import Randomness
from clusterproof.conformance import DEFINITIONS, conform, from_rules, replayed
from clusterproof.conformance.probes import SUPPORTS, make_probes

TORCH = [
    ("FedAvg", "fedavg", {}),
    ("FedAvg", "fedavg", {"weighting": "clients"}),
    ("FedProx", "fedprox", {}),
    ("Scaffold", "scaffold", {}),
    ("Scaffold", "scaffold", {"option": "I", "weighting": "samples"}),
    ("FedNova", "fednova", {}),
    ("FedDyn", "feddyn", {}),
    ("Ditto", "ditto", {}),
    ("FedAvgM", "fedavgm", {}),
    ("FedAdam", "fedadam", {}),
    ("ServerAdam", "fedadam", {"bias_correction": "adam", "v_start": "zero"}),
    ("PerFedAvg", "per-fedavg", {}),
    ("PFedMe", "pfedme", {}),
    ("IFCA", "ifca", {"weighting": "samples"}),
]

PROBES = ("one-step", "local-epochs", "rounds", "sizes", "batches", "participation", "everything")


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(
    ("name", "algorithm", "settings", "dtype"),
    [*((*case, "float64") for case in TORCH), *((*case, "float32") for case in TORCH[::5])],
)
def test_torch_implementations_conform(
    name: str, algorithm: str, settings: dict[str, str], dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    import torch_federated

    monkeypatch.setattr(torch_federated, "DTYPE", getattr(torch, dtype))
    start = getattr(torch_federated, name)
    report = conform(start, algorithm, settings=settings, checks=PROBES, explained=False)
    assert (report.verdict, report.dtype) == ("conforms", dtype), str(report)
    assert report.settings == settings


@pytest.mark.parametrize(
    ("start", "algorithm", "settings"), [*numpy_federated.FORMS, *clustered_by_hand.FORMS]
)
def test_a_second_writing_of_every_definition_conforms(
    start: Any, algorithm: str, settings: dict[str, str]
) -> None:
    report = conform(start, algorithm, settings=settings, explained=False)
    assert report.verdict == "conforms", str(report)


def test_every_definition_has_a_second_writing() -> None:
    forms = [*numpy_federated.FORMS, *clustered_by_hand.FORMS]
    assert {algorithm for _, algorithm, _ in forms} == set(DEFINITIONS)


class ScaffoldByDifferences(numpy_federated.Scaffold):  # type: ignore[misc]
    """SCAFFOLD II whose controls have the opposite sign, by changes of models and not by a sum of changes."""

    def correction(self, i: int, y: Any) -> Any:
        return self.ci[i] - self.c

    def after_training(self, clients: list[int], models: Any) -> None:
        old = self.ci.copy()
        for i, y in zip(clients, models, strict=True):
            drift = (self.model - y) / (self.steps(i) * self.settings["step_size"])
            self.ci[i] = old[i] - self.c - drift
        self.c = self.c + (self.ci - old).sum(axis=0) / self.task.clients


class FedDynByChanges(numpy_federated.FedAvg):  # type: ignore[misc]
    """FedDyn with the sum of changes kept, and weight decay in the place of the quadratic term."""

    def prepare(self) -> None:
        self.sums = np.zeros((self.task.clients, self.task.dimension))

    def train(self, i: int) -> np.ndarray:
        alpha, eta, y = self.settings["alpha"], self.settings["step_size"], self.model.copy()
        linear = alpha * self.sums[i] - alpha * self.model
        for _ in range(self.steps(i)):
            y = (1 - eta * alpha) * y - eta * (self.task.gradient(i, y) + linear)
        return y

    def after_training(self, clients: list[int], models: Any) -> None:
        self.sums[clients] += models - self.model

    def aggregate(self, clients: Any, mean: Any) -> None:
        self.model = mean + self.sums.mean(axis=0)


class FedNovaByGradients(numpy_federated.FedAvg):  # type: ignore[misc]
    """FedNova by accumulated gradients."""

    def round(self, participants: list[int]) -> None:
        s = self.settings
        direction, effective = 0.0, 0.0
        for share, i in zip(self.weights(participants), participants, strict=True):
            y, total, count = self.model.copy(), np.zeros(self.task.dimension), self.steps(i)
            for _ in range(count):
                gradient = self.task.gradient(i, y)
                total, y = total + gradient, y - s["step_size"] * gradient
            direction, effective = direction + share * total / count, effective + share * count
        self.model = self.model - s["server_step_size"] * s["step_size"] * effective * direction


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("weighting", ["samples", "clients"])
@pytest.mark.parametrize(
    ("start", "algorithm"),
    [(ScaffoldByDifferences, "scaffold"), (FedDynByChanges, "feddyn"), (FedNovaByGradients, "fednova")],
)
def test_other_conventions_conform(start: type, algorithm: str, weighting: str) -> None:
    report = conform(start, algorithm, settings={"weighting": weighting}, explained=False)
    assert report.verdict == "conforms", str(report)


def test_halves_and_whole_runs_conform() -> None:
    def client(state: Any, received: Any, gradient: Any, settings: dict[str, Any]) -> tuple[Any, Any]:
        y = received
        for _ in range(settings["local_steps"]):
            y = y - settings["step_size"] * (gradient(y) + settings["proximal"] * (y - received))
        return state, y - received

    def server(state: Any, x: Any, messages: Any, settings: dict[str, Any]) -> tuple[Any, Any]:
        state = 0 if state is None else state
        mean = np.average([one.change for one in messages], axis=0, weights=[one.samples for one in messages])
        state = settings["momentum"] * state + mean
        return state, x + settings["server_step_size"] * state

    assert conform(from_rules(client=client), "fedprox").verdict == "conforms"
    assert conform(from_rules(server=server), "fedavgm").verdict == "conforms"

    def whole(task: Any, settings: dict[str, Any], schedule: list[list[int]]) -> list[Any]:
        run = FedNovaByGradients(task, settings)
        models = [run.model]
        for participants in schedule:
            run.round(participants)
            models.append(run.model)
        return models

    supports = ("batches", "participation")
    whole.conform_options = {"supports": supports, "dtype": "float64"}  # type: ignore[attr-defined]
    report = conform(replayed(whole), "fednova", checks=PROBES)
    assert (report.verdict, report.supports, report.declared) == ("conforms", supports, "float64")


def test_a_torch_optimiser_is_the_local_step_of_fedavg() -> None:
    torch = pytest.importorskip("torch")
    from clusterproof.conformance.adapters.torch_side import torch_optimiser

    assert conform(torch_optimiser(torch.optim.SGD), "fedavg", checks=PROBES).verdict == "conforms"
    decayed = torch_optimiser(torch.optim.SGD, weight_decay=0.1)
    assert conform(decayed, "fedavg", checks=PROBES, explained=False).verdict == "differs"

    class Proximal(torch.optim.SGD):
        def __init__(self, parameters: Any, lr: float, mu: float) -> None:
            super().__init__(parameters, lr=lr)
            self.mu = mu

        def step(self, closure: Any = None) -> None:
            for parameter, received in zip(self.param_groups[0]["params"], self.received, strict=True):
                parameter.grad.add_(self.mu * (parameter.detach() - received))
            super().step()

    def keep(optimiser: Any, received: Any) -> None:
        optimiser.received = received

    proximal = torch_optimiser(Proximal, received=keep, mu=lambda settings: settings["proximal"])
    assert conform(proximal, "fedprox", checks=PROBES).verdict == "conforms"


@pytest.mark.parametrize(
    ("algorithm", "declared", "written", "words"),
    [
        ("fedavg", {}, {"weighting": "clients"}, "weighting = clients"),
        ("scaffold", {}, {"option": "I"}, "option = I"),
        (
            "scaffold",
            {"option": "I"},
            {"option": "II", "weighting": "samples"},
            "option = II, weighting = samples",
        ),
        ("fedavg", {}, {"server_step_size": 0.5}, "server_step_size = 0.5 (constant)"),
        ("fedadam", {}, {"bias_correction": "adam"}, "bias_correction = adam"),
        ("fedadam", {}, {"v_start": "zero"}, "v_start = zero"),
        ("pfedme", {}, {"theta": "restarts"}, "theta = restarts"),
        ("ifca", {}, {"averaging": "gradient"}, "averaging = gradient"),
        ("fedavg", {}, {"drop_last": True}, "drop_last = True"),
        ("fpfc", {}, {"penalty": "l1"}, "penalty = l1"),
    ],
)
def test_another_admissible_form_is_a_variant(
    algorithm: str, declared: dict[str, str], written: dict[str, Any], words: str
) -> None:
    report = conform(
        lambda task, given: DEFINITIONS[algorithm](task, {**given, **written}), algorithm, settings=declared
    )
    assert (report.verdict, report.status, report.likely) == ("variant", 4, ())
    assert words in report.sentence
    assert report.localised is None


@pytest.mark.parametrize(
    "algorithm",
    ["scaffold", "feddyn", "fedlin", "pfedme", "ifca", "cfl-mgd", "per-fedavg", "fedadam", "fedyogi"],
)
def test_the_papers_equal_weights_conform_without_an_option(algorithm: str) -> None:
    for weighting, verdict in (("clients", "conforms"), ("samples", "variant")):
        # gradient averaging has no weights
        declared = {"averaging": "model"} if algorithm == "cfl-mgd" else {}
        report = conform(
            lambda task, given, form=weighting: DEFINITIONS[algorithm](task, {**given, "weighting": form}),  # type: ignore[misc]
            algorithm,
            settings=declared,
            checks=("one-step", "rounds", "sizes"),
        )
        assert report.verdict == verdict, str(report)


def test_runs_that_cannot_tell_it_from_fedavg_are_undecided() -> None:
    definition = DEFINITIONS["ditto"]

    class WithoutPersonal:
        def __init__(self, task: Any, settings: dict[str, Any]) -> None:
            self.run = definition(task, settings)
            self.round = self.run.round

        @property
        def model(self) -> np.ndarray:
            return self.run.model

    report = conform(WithoutPersonal, "ditto")
    assert (report.verdict, report.status) == ("inconclusive", 3)
    assert report.sentence.endswith("offer run.personal")
    few = conform(DEFINITIONS["fednova"], "fednova", supports=["server-step", "participation"])
    assert few.verdict == "inconclusive"
    assert few.sentence.endswith("support batches")


class DropsLast(numpy_federated.FedAvg):  # type: ignore[misc]
    """FedAvg that leaves out incomplete batches, as a loader with ``drop_last`` does."""

    def steps(self, i: int) -> int:
        size = self.settings["batch_size"] or self.task.samples[i]
        return int(self.settings["local_epochs"] * len(range(size, self.task.samples[i] + 1, size)))


@pytest.mark.parametrize("size", [None, 2, 3, 40])
def test_batches_of_any_size_can_be_dropped_if_incomplete(size: int | None) -> None:
    settings = {"batch_size": size} if size else {}
    report = conform(DropsLast, "fedavg", settings=settings)
    assert (report.verdict, report.changed) == ("variant", {"drop_last": True}), str(report)
    assert conform(DropsLast, "fedavg", settings={**settings, "drop_last": True}).verdict == "conforms"
    for probe in make_probes(DEFINITIONS["fedavg"], settings, SUPPORTS)[0]:
        assert size is None or probe.task.samples.min() >= size
        assert probe.name not in ("sizes", "everything") or len(set(probe.task.samples)) == 4


class Scaffold(numpy_federated.Scaffold):  # type: ignore[misc]
    """SCAFFOLD that hands out the model only; c moves by 1/N of a sum or by the mean over participants."""

    control = controls = None
    over_participants = False

    def after_training(self, clients: list[int], models: Any) -> None:
        before = self.c
        super().after_training(clients, models)
        if self.over_participants:
            self.c = before + self.task.clients / len(clients) * (self.c - before)


@pytest.mark.slow(reason="a second or more")
def test_mistakes_that_the_runs_would_not_show_are_named() -> None:
    name, wrong = (
        "controls-averaged-over-participants",
        type("Wrong", (Scaffold,), {"over_participants": True}),
    )
    assert [one.mistakes for one in conform(wrong, "scaffold").likely] == [(name,)]
    assert conform(Scaffold, "scaffold").unseen == ()
    for start in (Scaffold, wrong):
        report = conform(start, "scaffold", supports=["batches", "server-step"])
        assert report.verdict == "conforms"
        named = [one.mistakes for one in report.unseen]
        assert ("controls-start-as-model",) in named
        assert (name,) in named
        assert ("option-I-at-local-model",) not in named  # it is no mistake of option II
        printed = " ".join(str(report).split())
        assert [str(one) in printed for one in report.unseen] == [True] * 4 + [False] * (len(named) - 4)
        assert f"- {len(named) - 4} more" in printed


@pytest.mark.slow(reason="a second or more")
def test_the_code_of_another_algorithm_is_recognised() -> None:
    def start(task: Any, given: dict[str, Any]) -> Any:
        return DEFINITIONS["scaffold"](task, {**given, "option": "II"})

    report = conform(start, "fedavg", checks=PROBES)
    assert (report.verdict, report.likely) == ("differs", ())
    assert "agrees with another algorithm, scaffold" in report.sentence


@pytest.mark.slow(reason="several seconds")
def test_controls_in_another_unit_are_not_said_to_change_the_model() -> None:
    class Run:
        """Offers the controls times the step size, as some code stores them."""

        def __init__(self, task: Any, settings: dict[str, Any]) -> None:
            self.run, self.step_size = ScaffoldByDifferences(task, settings), settings["step_size"]
            self.round = self.run.round

        @property
        def model(self) -> np.ndarray:
            return self.run.model

        @property
        def controls(self) -> np.ndarray:
            return self.step_size * self.run.controls

    report = conform(Run, "scaffold", checks=PROBES)
    assert (report.verdict, report.likely) == ("differs", ())
    assert "every model agrees" in report.sentence
    assert "leave them out" in report.sentence


@pytest.mark.slow(reason="a second or more")
def test_causes_that_runs_do_not_tell_apart_are_a_list() -> None:
    class Short(numpy_federated.FedAvg):  # type: ignore[misc]
        """FedAvg that ignores sizes, batches and the server's step."""

        def steps(self, i: int) -> Any:
            return self.settings["local_epochs"]

        def weights(self, clients: list[int]) -> Any:
            return np.full(len(clients), 1 / len(clients))

        def aggregate(self, clients: Any, mean: Any) -> None:
            self.model = mean

    report = conform(Short, "fedavg", checks=PROBES)
    assert len(report.likely) > 1
    printed = " ".join(str(report).split())
    assert all(f"- {one}" in printed for one in report.likely)


@dataclass(frozen=True, kw_only=True)
class DrawsClients(Algorithm[State]):
    """FedAvg with equal weights, as a reader writes it: the participants are drawn by a generator's usual methods."""

    name = "draws-clients"
    target = "pooled"

    step_size: float
    local_steps: int = 1
    participation: float = 1.0
    permuted: bool = True

    def model_count(self, task: Any) -> int:
        return 1

    def initialise(self, models: Any, task: Any) -> State:
        return State(models, None, None)

    def step(self, state: State, task: Any, randomness: Randomness) -> State:
        count = max(1, round(self.participation * task.clients))
        if self.permuted:
            clients = np.sort(randomness.participation.permutation(task.clients)[:count])
        else:
            clients = np.sort(randomness.participation.choice(task.clients, count, replace=False))
        points = np.repeat(state.models, count, axis=-2)
        for _ in range(self.local_steps):
            points = points - self.step_size * task.gradients(points, clients, randomness.gradient)
        return State(points.mean(axis=-2, keepdims=True), clients, 0 * clients)


@pytest.mark.parametrize("permuted", [True, False])
def test_an_algorithm_that_draws_its_clients_conforms(permuted: bool) -> None:
    algorithm = DrawsClients(step_size=0.1, permuted=permuted)
    report = conform(algorithm, "fedavg", settings={"weighting": "clients"}, explained=False)
    assert report.verdict == "conforms", str(report)
    assert {"participation"} <= {each.name for each in report.checks if each.outcome == "passed"}
