"""Implementations that cannot be run as they must be: one sentence that says why, and the remedy."""

import sys
import time
import warnings
from typing import Any

import numpy as np
import pytest
from numpy_federated import FedAvg

from clusterproof.common import InvalidArgument
from clusterproof.conformance import DEFINITIONS, ConformanceTask, conform
from clusterproof.conformance.definitions import KNOWN_MISTAKES


def with_model(convert: Any, start: Any = FedAvg) -> type:
    class Converted:
        def __init__(self, task: ConformanceTask, settings: dict[str, Any]) -> None:
            self.run = start(task, settings)

        @property
        def model(self) -> Any:
            return convert(self.run.model)

        def round(self, participants: list[int]) -> None:
            self.run.round(participants)

    return Converted


class Raises(FedAvg):
    def round(self, participants: list[int]) -> None:
        print("about to fail")
        raise KeyError("weights")


class Exits(FedAvg):
    def round(self, participants: list[int]) -> None:
        sys.exit(3)


class IgnoresParticipants(FedAvg):
    def round(self, participants: list[int]) -> None:
        super().round(list(range(self.task.clients)))


class StartsElsewhere(FedAvg):
    def __init__(self, task: ConformanceTask, settings: dict[str, Any]) -> None:
        super().__init__(task, settings)
        self.model = self.model + 1


class StartsAtNaN(FedAvg):
    def __init__(self, task: ConformanceTask, settings: dict[str, Any]) -> None:
        super().__init__(task, settings)
        self.model = np.full_like(self.model, np.nan)


class NeverMoves(FedAvg):
    def round(self, participants: list[int]) -> None:
        pass


class WritesToTheTask(FedAvg):
    def round(self, participants: list[int]) -> None:
        super().round(participants)
        self.task.optima[0] += 1


class Remembers(FedAvg):
    starts = 0

    def __init__(self, task: ConformanceTask, settings: dict[str, Any]) -> None:
        super().__init__(task, settings)
        Remembers.starts += 1
        self.drift = 1e-3 * Remembers.starts

    def round(self, participants: list[int]) -> None:
        super().round(participants)
        self.model = self.model + self.drift


class Hangs(FedAvg):
    def round(self, participants: list[int]) -> None:
        time.sleep(60)


class ModelIsAMethod:
    def __init__(self, task: ConformanceTask, settings: dict[str, Any]) -> None:
        self.start = task.start

    def model(self) -> np.ndarray:
        return self.start

    def round(self, participants: list[int]) -> None:
        pass


class AsksForLr(FedAvg):
    def __init__(self, task: ConformanceTask, settings: dict[str, Any]) -> None:
        super().__init__(task, settings)
        assert settings.get("lr", 0.1) == 0.1
        self.step_size = settings["lr"]


BAD = [
    (3, "start must take (task, settings)"),
    (lambda task: None, "start must take (task, settings)"),
    (Raises, "KeyError"),
    (Raises, "test_bad_implementations.py:"),
    (Raises, "about to fail"),
    (Exits, "SystemExit"),
    (IgnoresParticipants, "ignores its participants"),
    (StartsElsewhere, "not from task.start"),
    (StartsAtNaN, "not finite before the first round"),
    (NeverMoves, "never moves"),
    (WritesToTheTask, "writes to task.optima"),
    pytest.param(Remembers, "a second start", marks=pytest.mark.slow(reason="its cause is looked for")),
    (with_model(lambda model: None), "has no model"),
    (
        with_model(lambda model: model[:2]),
        "shape (2,), not (3,); give the task's 3 parameters, without buffers",
    ),
    (with_model(lambda model: lambda: model), "not an array of numbers"),
    (ModelIsAMethod, "run.model is a method; make it a property"),
    (AsksForLr, "settings has no 'lr'; it has step_size, local_epochs,"),
    (with_model(lambda model: model + 0j), "complex"),
    (with_model(lambda model: (100 * model).astype(int)), "int64"),
    (with_model(lambda model: model.astype(np.float16)), "float16; compute in float32"),
    (with_model(lambda model: "weights"), "not an array of numbers"),
]


@pytest.mark.parametrize(("start", "words"), BAD)
def test_it_is_unusable_and_the_sentence_says_why(start: Any, words: str) -> None:
    report = conform(start, "fedavg")
    assert (report.verdict, report.status) == ("unusable", 2)
    assert words in report.sentence
    assert "\n" not in report.sentence
    assert report.likely == ()


def test_a_run_that_hangs_is_given_up() -> None:
    report = conform(Hangs, "fedavg", timeout=0.2)
    assert report.verdict == "unusable"
    assert "more than 0.2 s" in report.sentence


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        ({"algorithm": "scafold"}, "algorithm"),
        ({"settings": {"optoin": "I"}}, "settings"),
        ({"algorithm": "scaffold", "settings": {"option": "III"}}, "option"),
        ({"settings": {"local_epochs": 0}}, "local_epochs"),
        ({"settings": {"step_size": -1}}, "step_size"),
        ({"supports": ["batch"]}, "supports"),
        ({"dtype": "float16"}, "dtype"),
        ({"checks": ["sise"]}, "checks"),
        ({"timeout": 0}, "timeout"),
    ],
)
def test_a_wrong_call_is_refused(call: dict[str, Any], argument: str) -> None:
    given = {"start": FedAvg, "algorithm": "fedavg", **call}
    with pytest.raises(InvalidArgument) as caught:
        conform(given.pop("start"), given.pop("algorithm"), **given)
    assert caught.value.argument == argument


class TakesASingleModelOver(FedAvg):
    def round(self, participants: list[int]) -> None:
        if len(participants) == 1:
            self.model = self.train(participants[0])
        else:
            super().round(participants)


def test_a_single_participant_is_averaged_by_the_servers_step_too() -> None:
    report = conform(TakesASingleModelOver, "fedavg", explained=False)
    assert (report.verdict, report.localised.probe if report.localised else "") == ("differs", "everything")
    assert conform(TakesASingleModelOver, "fedavg", settings={"server_step_size": 1.0}).verdict == "conforms"


def test_a_model_that_does_not_move_in_a_round_is_not_said_to_ignore_participants() -> None:
    class Late(FedAvg):
        """Moves in the second round only."""

        def aggregate(self, clients: Any, mean: Any) -> None:
            if self.rounds > 1:
                super().aggregate(clients, mean)

    assert conform(Late, "fedavg", explained=False).verdict == "differs"
    few = conform(IgnoresParticipants, "fedavg", supports=("batches", "server-step", "strengths"))
    assert few.verdict == "conforms"  # nobody is absent where absent clients are not supported


def test_one_mutable_array_and_a_tensor_that_needs_gradients_are_right() -> None:
    class Mutable(FedAvg):
        def round(self, participants: list[int]) -> None:
            before = self.model
            super().round(participants)
            before[...] = self.model
            self.model = before

    torch = pytest.importorskip("torch")
    tensor = with_model(lambda model: torch.tensor(model, requires_grad=True))
    for start in (Mutable, tensor, with_model(list)):
        assert conform(start, "fedavg").verdict == "conforms"


def test_what_single_precision_cannot_tell_from_fedavg_is_inconclusive() -> None:
    """The sign of a proximal term of a millionth is below the rounding of float32."""

    def wrong(task: ConformanceTask, settings: dict[str, Any]) -> Any:
        return DEFINITIONS["fedprox"](task, {**settings, "proximal": -settings["proximal"]})

    assert conform(wrong, "fedprox", settings={"proximal": 1e-6}, explained=False).verdict == "inconclusive"
    assert conform(wrong, "fedprox", settings={"proximal": 1e-6}, dtype="float64").verdict == "differs"
    report = conform(wrong, "fedprox", settings={"proximal": 1e-6})  # of which the cause is known
    assert (report.verdict, report.dtype) == ("differs", "float64")
    with pytest.raises(InvalidArgument, match=r"step_size is 0.001, but it must be .* at least 0.01"):
        conform(wrong, "fedprox", settings={"step_size": 1e-3})


@pytest.mark.slow(reason="several seconds")
def test_a_float32_somewhere_is_no_fault_and_a_wrong_declaration_is() -> None:
    single = with_model(lambda model: model.astype(np.float32).astype(float))
    report = conform(single, "fedavg")
    assert report.verdict == "conforms"
    assert "agrees to single precision only" in report.sentence

    class Decayed(FedAvg):
        """Weight decay that single precision does not show, in double precision."""

        def correction(self, i: int, y: np.ndarray) -> Any:
            return 1e-5 * y

    decayed = conform(Decayed, "fedavg")
    assert (decayed.verdict, "weight decay 1e-05" in decayed.sentence) == ("differs", True)
    without_cause = conform(Decayed, "fedavg", explained=False)
    assert "if there is none" in without_cause.sentence

    def doubled(task: ConformanceTask, settings: dict[str, Any]) -> Any:
        return DEFINITIONS["fedprox"](task, settings, [KNOWN_MISTAKES["fedprox"]["prox-doubled"].changes])

    wrong = conform(with_model(lambda model: model.astype(np.float32).astype(float), doubled), "fedprox")
    assert [one.mistakes for one in wrong.likely] == [("prox-doubled",)]
    assert conform(single, "fedavg", dtype="float32").verdict == "conforms"
    assert (
        conform(with_model(lambda model: model.astype(np.float32)), "fedavg", dtype="float64").verdict
        == "unusable"
    )


def test_further_kinds_of_bad_implementations() -> None:
    class BadStart(FedAvg):
        def __init__(self, task: ConformanceTask, settings: dict[str, Any]) -> None:
            raise ValueError("no config")

    class OtherArity(FedAvg):
        def round(self) -> None:  # type: ignore[override]
            pass

    class InnerTypeError(FedAvg):
        def round(self, participants: list[int]) -> None:
            self.model += participants + 1  # type: ignore[operator]

    class Ends(FedAvg):
        def round(self, participants: list[int]) -> None:
            raise BaseException("stop")

    class NoRound:
        def __init__(self, task: ConformanceTask, settings: dict[str, Any]) -> None:
            self.model = task.start

    class Missing(NoRound):
        round = print

        def __init__(self, task: ConformanceTask, settings: dict[str, Any]) -> None:
            pass

    for start, words in (
        (BadStart, "ValueError: no config"),
        (OtherArity, "round a list of clients"),
        (InnerTypeError, "can only concatenate list"),
        (Ends, "BaseException: stop"),
        (NoRound, "no attribute 'round'"),
        (Missing, "has no model"),
        (with_model(lambda model: [model, [1.0]]), "flatten the parameters to one array"),
        (with_model(lambda model: model[:, None]), "flatten"),
    ):
        report = conform(start, "fedavg")
        assert (report.status, words in report.sentence) == (2, True), report.sentence
        assert ("round a list" in report.sentence) == (start is OtherArity)
        assert "\n" not in report.sentence


def test_an_array_of_models_has_a_row_for_each() -> None:
    report = conform(FedAvg, "local")
    assert "shape (3,), not (4, 3); give 4 rows, each with the parameters of one model" in report.sentence


def test_what_a_run_prints_and_warns_is_kept_from_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    class Talks(FedAvg):
        def round(self, participants: list[int]) -> None:
            print("round of", participants)
            warnings.warn("deprecated", stacklevel=1)
            np.log(np.zeros(1))
            super().round(participants)

    assert conform(Talks, "fedavg").verdict == "conforms"
    assert capfd.readouterr() == ("", "")


def test_a_model_on_another_device_is_copied() -> None:
    class Tensor:
        """What a tensor of an accelerator has: no conversion before ``cpu``."""

        def __init__(self, values: np.ndarray, device: str = "cuda") -> None:
            self.values, self.device = values, device

        def detach(self) -> "Tensor":
            return self

        def cpu(self) -> "Tensor":
            return Tensor(self.values, "cpu")

        def numpy(self) -> np.ndarray:
            assert self.device == "cpu"
            return self.values

    assert conform(with_model(Tensor), "fedavg").verdict == "conforms"
