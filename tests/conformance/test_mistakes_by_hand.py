"""Mistakes that are the algorithm with another setting, or another mistake, or a few lines of arithmetic."""

from typing import Any

import numpy as np
import numpy_federated
import pytest

from clusterproof.conformance import DEFINITIONS, conform
from clusterproof.conformance.changes import changed
from clusterproof.conformance.definitions import KNOWN_MISTAKES
from clusterproof.conformance.probes import SUPPORTS, Probe, make_probes, snapshots


def probes(algorithm: str) -> tuple[Probe, ...]:
    return tuple(make_probes(DEFINITIONS[algorithm], {}, SUPPORTS)[0])


def models(algorithm: str, probe: Probe, mistake: str | None = None, **changed: Any) -> np.ndarray:
    mistakes = () if mistake is None else (KNOWN_MISTAKES[algorithm][mistake],)
    found = snapshots(DEFINITIONS[algorithm], probe, mistakes=mistakes, changed=changed)
    return np.array([state["model"] for state in found])


@pytest.mark.parametrize(
    ("algorithm", "mistake", "setting", "factor", "power"),
    [
        ("fedprox", "prox-doubled", "proximal", 2.0, 1),
        ("fedprox", "prox-halved", "proximal", 0.5, 1),
        ("fedprox", "prox-sign", "proximal", -1.0, 1),
        ("fedprox", "mu-taken-as-one", "proximal", 1.0, 0),
        ("fedprox", "mu-squared", "proximal", 1.0, 2),
        ("fedavg", "epochs-ignored", "local_epochs", 1, 0),
        ("fedavg", "server-step-twice", "server_step_size", 1.0, 2),
        ("fedavgm", "momentum-sign", "momentum", -1.0, 1),
        ("fedavgm", "momentum-applied-twice", "momentum", 1.0, 2),
        ("per-fedavg", "no-inner-step", "inner_step_size", 0.0, 1),
        ("per-fedavg", "inner-step-sign", "inner_step_size", -1.0, 1),
        ("per-fedavg", "hessian-missing", "gradient", "first-order", None),
        ("fedavg", "other-weights", "weighting", "clients", None),
    ],
)
def test_a_mistake_is_the_algorithm_with_another_setting(
    algorithm: str, mistake: str, setting: str, factor: Any, power: int | None
) -> None:
    moved = 0.0
    for probe in probes(algorithm):
        value = factor if power is None else factor * probe.settings[setting] ** power
        expected = models(algorithm, probe, **{setting: value})
        np.testing.assert_allclose(models(algorithm, probe, mistake), expected, rtol=1e-9, atol=1e-9)
        moved = max(moved, np.abs(expected - models(algorithm, probe)).max())
    assert moved > 1e-3


@pytest.mark.parametrize(
    ("algorithm", "one", "other"),
    [
        ("scaffold", "correction-sign", "drift-sign"),
        ("feddyn", "linear-sign", "state-sign"),
        ("proxskip", "shift-sign", "shift-change-sign"),
    ],
)
def test_controls_with_the_opposite_sign_are_their_use_with_it(algorithm: str, one: str, other: str) -> None:
    for probe in probes(algorithm):
        expected = models(algorithm, probe, other)
        np.testing.assert_allclose(models(algorithm, probe, one), expected, rtol=1e-9, atol=1e-9)


class ModelFirst:
    """What clients keep is computed after the server's model has moved."""

    def after_training(self, clients: Any, models: Any) -> None:
        self.models = models

    def aggregate(self, clients: Any, mean: Any) -> None:
        super().aggregate(clients, mean)  # type: ignore[misc]
        super().after_training(clients, self.models)  # type: ignore[misc]


class ScaffoldModelFirst(ModelFirst, numpy_federated.Scaffold): ...


class FedDynModelFirst(ModelFirst, numpy_federated.FedDyn):
    def aggregate(self, clients: Any, mean: Any) -> None:
        alpha, before = self.settings["alpha"], self.model
        self.h = self.h - alpha / self.task.clients * (self.models - before).sum(axis=0)
        self.model = mean - self.h / alpha
        for i, y in zip(clients, self.models, strict=True):
            self.linear[i] = self.linear[i] - alpha * (y - self.model)


class ControlsFirst(numpy_federated.Scaffold):
    """c_i, or also c, is computed before the local steps."""

    together = False

    def round(self, clients: Any) -> None:
        before = self.ci.copy()
        self.ci[clients] = [self.gradient(i, self.model) for i in clients]
        self.step = (self.ci - before).sum(axis=0) / self.task.clients
        self.c = self.c + self.together * self.step
        super().round(clients)

    def after_training(self, clients: Any, models: Any) -> None:
        self.c = self.c + (not self.together) * self.step


class AllControlsFirst(ControlsFirst):
    together = True


class WrongSign(numpy_federated.Scaffold):
    def correction(self, i: int, y: Any) -> Any:
        return -self.c - self.ci[i]


class WrongSignInUpdate(numpy_federated.Scaffold):
    def after_training(self, clients: Any, models: Any) -> None:
        c = self.c
        self.c = -c
        super().after_training(clients, models)
        self.c = self.c + 2 * c


class NoCopy(numpy_federated.FedAvg):
    """The client writes into the server's array."""

    def train(self, i: int) -> Any:
        y = self.model
        for _ in range(self.steps(i)):
            y -= self.settings["step_size"] * self.gradient(i, y)
        return y


class CopyAfterwards(NoCopy):
    def train(self, i: int) -> Any:
        return super().train(i).copy()


@pytest.mark.parametrize(
    ("start", "algorithm", "mistake"),
    [
        (ControlsFirst, "scaffold", "controls-refreshed-first"),
        (AllControlsFirst, "scaffold", "all-controls-refreshed-first"),
        (ScaffoldModelFirst, "scaffold", "controls-from-moved-model"),
        (FedDynModelFirst, "feddyn", "states-from-moved-model"),
        (WrongSign, "scaffold", "server-part-sign"),
        (WrongSignInUpdate, "scaffold", "subtracted-control-sign"),
        (NoCopy, "fedavg", "server-model-trained-in-place"),
        (CopyAfterwards, "fedavg", "server-model-trained-in-place-and-averaged"),
    ],
)
def test_a_mistake_of_order_sign_or_copy_is_named(start: Any, algorithm: str, mistake: str) -> None:
    report = conform(start, algorithm)
    assert (report.verdict, [one.mistakes for one in report.likely]) == ("differs", [(mistake,)]), str(report)
    assert "no fault" not in str(report)


def test_weights_of_three_participants() -> None:
    for mistake, expected in (("last-change-only", [0, 0, 0.5]), ("last-client-only", [0, 0, 1])):
        found = changed(
            None, KNOWN_MISTAKES["fedavg"][mistake].changes["weights"], [0.2, 0.3, 0.5], {"participants": []}
        )
        assert found.tolist() == expected


def test_a_step_from_the_adapted_model() -> None:
    """z = y - a g(y), and y <- z - eta (I - a A(y)) g(z) in place of y - eta (...)."""
    probe = next(probe for probe in probes("per-fedavg") if probe.name == "local-epochs")
    task, given, (participants, *_) = probe.task, probe.settings, probe.schedule
    ends = []
    for client in participants:
        y, inner = task.start.copy(), given["inner_step_size"]
        for _ in range(given["local_epochs"]):
            adapted = y - inner * task.gradient(client, y)
            gradient = task.gradient(client, adapted)
            gradient = gradient - inner * task.hessian(client, y) @ gradient
            y = adapted - given["step_size"] * gradient
        ends.append(y)
    found = models("per-fedavg", probe, "steps-from-adapted-model")[1]
    np.testing.assert_allclose(found, np.mean(ends, axis=0), rtol=1e-9)
