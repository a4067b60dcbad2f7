"""GL-CFL's tables: arrivals and percentages by brute force, a run by plain loops, rows from given curves."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from clusterproof.algorithms import InvalidArgument, generator
from clusterproof.algorithms.arrays import to_numpy
from clusterproof.experiments.reproducible_table import Request
from clusterproof.experiments.tables.gradient_loss import figures_4_and_5 as gradient_loss
from clusterproof.experiments.tables.gradient_loss.arrivals import Savings, first_held, first_hit
from clusterproof.experiments.tables.gradient_loss.runs import Arm, Problem, arms, compute, make_unit, starts
from clusterproof.experiments.tables.training_run import image_task

DIGITS = Problem("digits", "MLP")
MNIST = Problem("mnist", "MLP")
# 0.85 is so little below the goal of 0.9 that with 1.0 its mean is above
CURVES = st.lists(st.sampled_from([0.0, 0.5, 0.85, 0.9, 1.0]), max_size=30)


@given(CURVES, st.integers(1, 6))
def test_arrivals_are_those_found_by_looking_at_every_iteration(values: list[float], length: int) -> None:
    hits = [t for t in range(1, len(values) + 1) if values[t - 1] >= 0.9]
    holds = [
        t for t in range(1, len(values) - length + 2) if all(values[t - 1 + k] >= 0.9 for k in range(length))
    ]
    assert first_hit(values, 0.9) == (hits[0] if hits else None)
    assert first_held(values, 0.9, length) == (holds[0] if holds else None)


@given(st.integers(1, 1000), st.integers(1, 1000))
def test_percentages_are_those_of_exact_arithmetic_and_below_the_ceiling(
    baseline: int, proposed: int
) -> None:
    exact = 100 * (1 - Fraction(proposed, baseline))
    savings = Savings((baseline,), (proposed,), 1000)
    assert savings.values == (pytest.approx(float(exact)),)
    later_than_the_common_first = proposed >= min(2, baseline)
    if later_than_the_common_first:
        assert savings.values[0] <= savings.most[0] + 1e-9
    assert savings.most == (pytest.approx(max(0.0, float(100 * (1 - Fraction(2, baseline))))),)


@given(st.lists(st.tuples(*2 * [st.none() | st.integers(1, 50)]), min_size=1, max_size=5))
def test_a_run_that_does_not_arrive_bounds_the_percentage_from_one_side(
    pairs: list[tuple[int | None, int | None]],
) -> None:
    savings = Savings(tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs), 50)
    known = [pair for pair in pairs if pair != (None, None)]
    assert len(savings.values) == len(known)
    for value, (baseline, proposed) in zip(savings.values, known, strict=True):
        for later in (51, 500, 10**6):  # wherever a longer run might have arrived
            truth = float(100 * (1 - Fraction(proposed or later, baseline or later)))
            assert value <= truth + 1e-9 if baseline is None else value >= truth - 1e-9
    assert savings.exact == all(None not in pair for pair in pairs)


def settings_of(arm: Arm, rounds: int, **algorithm: Any) -> dict[str, Any]:
    """Of a unit on all data of each device."""
    unit = make_unit(arm, 0, Request(1, rounds, "small"), "")
    settings: dict[str, Any] = dict(unit.settings)
    settings["task"] = {**settings["task"], "batch_size": None, "dtype": "float64"}
    settings["algorithm"] = {**settings["algorithm"], **algorithm}
    return settings


@pytest.mark.parametrize("sign", ["descent", "as-printed"])
def test_a_run_is_that_of_plain_loops(sign: str) -> None:
    arm = Arm(DIGITS, "apart", 0.5, sign)
    settings = settings_of(arm, 4, empty_cluster="never", step_size=0.5)
    record = compute(replace(make_unit(arm, 3, Request(1, 4, "small"), ""), settings=settings))
    expected = plain_run(settings, 3, 1.0 if sign == "descent" else -1.0)
    for what in ("purity", "accuracy"):
        assert record[what] == pytest.approx(expected[what]), what
    assert len(set(expected["purity"])) > 1


@pytest.mark.slow(reason="trains from several starts")
def test_ifca_may_have_the_best_of_several_starts() -> None:
    """That of the least loss of the devices' best models after ten iterations, which do not count."""
    arm = Arm(DIGITS, "apart", 0.0)
    unit = make_unit(arm, 3, Request(1, 4, "small", {"ifca-restarts": 3}), "")
    settings = settings_of(arm, 4, empty_cluster="never", step_size=0.5) | {
        "restarts": unit.settings["restarts"]
    }
    task, source = image_task(settings, 3), generator(3, "gradient-loss", "start")
    drawn = [task.initial_models(task.clusters, (), source) for _ in range(3)]
    assert torch.equal(drawn[0], starts(task, "apart", 3))
    least = [plain_run(settings | {"rounds": 11}, 3, 1.0, start)["loss"][10] for start in drawn]
    assert np.argmin(least) != 0
    expected = plain_run(settings, 3, 1.0, drawn[int(np.argmin(least))])
    record = compute(replace(unit, settings=settings))
    for what in ("purity", "accuracy"):
        assert record[what] == pytest.approx(expected[what]), what
    others = make_unit(Arm(DIGITS, "apart", 0.2), 3, Request(1, 4, "small", {"ifca-restarts": 3}), "")
    assert others.settings["restarts"] == 1


def plain_run(
    settings: dict[str, Any], seed: int, sign: float, models: torch.Tensor | None = None
) -> dict[str, list[float]]:
    """Return the purity and accuracy of GL-CFL on full batches, device by device, with torch's own layers.

    And the mean of the devices' least losses before each iteration.
    """
    task = image_task(settings, seed)
    models = starts(task, settings["start"], seed).clone() if models is None else models.clone()
    moves = torch.zeros_like(models)
    weight, step_size = settings["algorithm"]["weight"], settings["algorithm"]["step_size"]
    record: dict[str, list[float]] = {"purity": [], "accuracy": [], "loss": []}
    for t in range(settings["rounds"]):
        votes, trained, least = [], [], []
        for device in range(task.clients):
            images, labels = held_by(task.partition.train, device)
            scores, points, losses = [], [], []
            for k in range(task.clusters):
                point = models[k].clone().requires_grad_()
                loss = torch.nn.functional.cross_entropy(perceptron(task, point, images), labels)
                (gradient,) = torch.autograd.grad(loss, point)
                similarity = (
                    0.0 if t == 0 else sign * float(torch.cosine_similarity(-gradient, moves[k], dim=0))
                )
                scores.append(weight * similarity - (1 - weight) * float(loss.detach()))
                points.append(point.detach() - step_size * gradient)
                losses.append(float(loss.detach()))
            least.append(min(losses))
            votes.append(int(np.argmax(scores)))
            trained.append(points[votes[-1]])
        before = models.clone()
        for k in set(votes):
            own = [point for point, vote in zip(trained, votes, strict=True) if vote == k]
            models[k] = torch.stack(own).mean(dim=0)
        moves = models - before
        right = []
        for device, vote in enumerate(votes):
            images, labels = held_by(task.partition.test, device)
            guesses = perceptron(task, models[vote], images).argmax(dim=-1)
            right.append(float((guesses == labels).double().mean()))
        majorities = [
            np.bincount(task.labels[np.array(votes) == k]).max(initial=0) for k in range(task.clusters)
        ]
        record["purity"].append(float(sum(majorities)) / task.clients)
        record["accuracy"].append(float(np.mean(right)))
        record["loss"].append(float(np.mean(least)))
    return record


def held_by(client_images: Any, device: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Images as vectors and labels of a device."""
    size = client_images.sizes[device]
    pixels = client_images.pixels[client_images.indices[device, :size]]
    return torch.tensor(pixels / 255.0).flatten(1), torch.tensor(client_images.targets[device, :size])


def perceptron(task: Any, point: torch.Tensor, images: torch.Tensor) -> torch.Tensor:
    """Scores of the flat vector read as weights and biases, layer by layer."""
    values, offset = images, 0
    widths = [images.shape[1], 64, 32, task.partition.classes]
    for index, (inputs, outputs) in enumerate(pairwise(widths)):
        values = torch.relu(values) if index else values
        weight = point[offset : offset + inputs * outputs].view(outputs, inputs)
        offset += inputs * outputs
        values = values @ weight.T + point[offset : offset + outputs]
        offset += outputs
    return values


def test_models_start_apart_or_at_one_point_the_same_for_every_method() -> None:
    task = image_task(settings_of(Arm(DIGITS, "apart", 0.0), 1), 0)
    apart, together = (to_numpy(starts(task, start, 0)) for start in ("apart", "one point"))
    bound = 1 / np.sqrt(task.network.image_shape[1] * task.network.image_shape[2])
    assert np.abs(apart[0] - apart[1]).max() > bound
    noise = together - together.mean(axis=0)
    # of four rows about their own mean, three quarters of the variance are left
    assert noise.std() == pytest.approx(1e-3 * np.sqrt(0.75), rel=0.05)
    assert together.std() == pytest.approx(apart.std(), rel=0.05)
    np.testing.assert_array_equal(apart, to_numpy(starts(task, "apart", 0)))
    assert not np.array_equal(apart, to_numpy(starts(task, "apart", 1)))


def test_the_first_iteration_is_the_baselines_own() -> None:
    runs = [
        compute(make_unit(Arm(DIGITS, "apart", weight, sign), 1, Request(1, 3, "small"), ""))
        for weight, sign in ((0.0, "descent"), (0.5, "descent"), (0.5, "as-printed"))
    ]
    together = compute(make_unit(Arm(DIGITS, "one point", 0.0), 1, Request(1, 1, "small"), ""))
    assert together["accuracy"] != runs[0]["accuracy"][:1]
    for what in ("purity", "ari", "accuracy"):
        first, *others = (run[what][0] for run in runs)
        assert others == [first, first]
    assert len({run["accuracy"][2] for run in runs}) == 3


def test_units_have_names_of_their_own_and_a_request_without_data_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for scale in ("full", "small"):
        request = Request(2, None, scale)
        made = [
            make_unit(arm, seed, request, "")
            for problem in gradient_loss.ALL
            for arm in arms(problem, scale)
            for seed in range(2)
        ]
        assert len({unit.name for unit in made}) == len(made)
        assert len({(str(sorted(unit.settings.items(), key=str)), unit.seed) for unit in made}) == len(made)
    monkeypatch.setenv("CLUSTERPROOF_DATA", str(tmp_path))
    with pytest.raises(InvalidArgument, match="clusterproof data fetch mnist"):
        gradient_loss.TABLE.units(Request(1))
