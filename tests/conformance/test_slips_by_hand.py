"""Slips that are the algorithm with another setting, or another slip, or a few lines of arithmetic."""

from typing import Any

import numpy as np
import pytest

from clusterproof.conformance import DEFINITIONS
from clusterproof.conformance.probes import SUPPORTS, Probe, make_probes, snapshots
from clusterproof.conformance.slips import SLIPS


def probes(algorithm: str) -> tuple[Probe, ...]:
    return tuple(make_probes(DEFINITIONS[algorithm], {}, SUPPORTS)[0])


def models(algorithm: str, probe: Probe, slip: str | None = None, **changed: Any) -> np.ndarray:
    slips = () if slip is None else (SLIPS[algorithm][slip],)
    found = snapshots(DEFINITIONS[algorithm], probe, slips=slips, changed=changed)
    return np.array([state["model"] for state in found])


@pytest.mark.parametrize(
    ("algorithm", "slip", "setting", "factor", "power"),
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
def test_a_slip_is_the_algorithm_with_another_setting(
    algorithm: str, slip: str, setting: str, factor: Any, power: int | None
) -> None:
    moved = 0.0
    for probe in probes(algorithm):
        value = factor if power is None else factor * probe.settings[setting] ** power
        expected = models(algorithm, probe, **{setting: value})
        np.testing.assert_allclose(models(algorithm, probe, slip), expected, rtol=1e-9, atol=1e-9)
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


def test_weights_of_three_participants() -> None:
    for slip, expected in (("last-change-only", [0, 0, 0.5]), ("last-client-only", [0, 0, 1])):
        change: Any = SLIPS["fedavg"][slip].changes["weights"]
        assert change(np.array([0.2, 0.3, 0.5])).tolist() == expected


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
