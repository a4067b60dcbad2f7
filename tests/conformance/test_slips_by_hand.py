"""Slips that are the algorithm with another setting, or another slip, or a few lines of arithmetic."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from clusterproof.conformance import DEFINITIONS
from clusterproof.conformance.probes import SUPPORTS, Probe, make_probes, snapshots
from clusterproof.conformance.slips import SLIPS

Settings = dict[str, Any]


def probes(algorithm: str) -> tuple[Probe, ...]:
    return tuple(make_probes(DEFINITIONS[algorithm], {}, SUPPORTS)[0])


def models(
    algorithm: str, probe: Probe, slip: str | None = None, changed: Settings | None = None
) -> np.ndarray:
    slips = () if slip is None else (SLIPS[algorithm][slip],)
    return np.array(
        [state["model"] for state in snapshots(DEFINITIONS[algorithm], probe, slips=slips, changed=changed)]
    )


@pytest.mark.parametrize(
    ("algorithm", "slip", "setting", "value"),
    [
        ("fedprox", "prox-doubled", "proximal", lambda given: 2 * given["proximal"]),
        ("fedprox", "prox-halved", "proximal", lambda given: given["proximal"] / 2),
        ("fedprox", "prox-sign", "proximal", lambda given: -given["proximal"]),
        ("fedprox", "prox-zero", "proximal", lambda given: 0.0),
        ("fedprox", "mu-taken-as-one", "proximal", lambda given: 1.0),
        ("fedprox", "mu-squared", "proximal", lambda given: given["proximal"] ** 2),
        ("fedprox", "prox-times-step", "proximal", lambda given: given["proximal"] * given["step_size"]),
        ("fedavg", "epochs-ignored", "local_epochs", lambda given: 1),
        ("fedavg", "one-epoch-more", "local_epochs", lambda given: given["local_epochs"] + 1),
        ("fedavg", "server-step-ignored", "server_step_size", lambda given: 1.0),
        ("fedavg", "server-step-twice", "server_step_size", lambda given: given["server_step_size"] ** 2),
        ("fedavg", "other-weights", "weighting", lambda given: "clients"),
        ("fedavgm", "momentum-sign", "momentum", lambda given: -given["momentum"]),
        ("fedavgm", "momentum-reset", "momentum", lambda given: 0.0),
        ("fedavgm", "momentum-applied-twice", "momentum", lambda given: given["momentum"] ** 2),
        ("per-fedavg", "no-inner-step", "inner_step_size", lambda given: 0.0),
        ("per-fedavg", "inner-step-sign", "inner_step_size", lambda given: -given["inner_step_size"]),
        ("per-fedavg", "hessian-missing", "gradient", lambda given: "first-order"),
    ],
)
def test_a_slip_is_the_algorithm_with_another_setting(
    algorithm: str, slip: str, setting: str, value: Callable[[Settings], Any]
) -> None:
    moved = 0.0
    for probe in probes(algorithm):
        expected = models(algorithm, probe, changed={setting: value(dict(probe.settings))})
        np.testing.assert_allclose(models(algorithm, probe, slip), expected, rtol=1e-9, atol=1e-9)
        moved = max(moved, np.abs(expected - models(algorithm, probe)).max())
    assert moved > 1e-3


@pytest.mark.parametrize(
    ("algorithm", "one", "other"),
    [
        ("scaffold", "correction-sign", "drift-sign"),
        ("feddyn", "linear-sign", "state-sign"),
        ("proxskip", "shift-sign", "shift-change-sign"),
        ("fedavgm", "momentum-damped", "momentum-scales-model-step"),
    ],
)
def test_two_slips_move_the_model_alike(algorithm: str, one: str, other: str) -> None:
    """Controls with the opposite sign and their use with it; a momentum that is damped, or its step."""
    for probe in probes(algorithm):
        expected = models(algorithm, probe, other)
        np.testing.assert_allclose(models(algorithm, probe, one), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("slip", "expected"),
    [
        ("first-counted-twice", [0.4, 0.3, 0.5]),
        ("sum-for-mean", [1, 1, 1]),
        ("last-change-only", [0, 0, 0.5]),
        ("last-client-only", [0, 0, 1]),
    ],
)
def test_weights_of_three_participants(slip: str, expected: list[float]) -> None:
    change: Any = SLIPS["fedavg"][slip].changes["weights"]
    assert change(np.array([0.2, 0.3, 0.5])).tolist() == pytest.approx(expected)


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
