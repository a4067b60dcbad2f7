"""The picture of a run: its curves by another route, and labels that cover nothing."""

import re
from functools import cache

import numpy as np
import pytest
from drawings import entries, from_one_start, line, regression
from fusion_loops import DenseFPFC

from clusterproof import theory
from clusterproof.algorithms import CFLMGD, FPFC, IFCA, FedAvg
from clusterproof.running import run
from clusterproof.synthetic import QuadraticMixture

REGRESSION = regression(clients=100)
QUADRATIC = QuadraticMixture.random(
    clusters=4, clients=12, dimension=3, condition_number=4.0, separation=4.0, spread=0.05, seed=0
)


DEFAULT = CFLMGD(step_size=1.0, momentum=0.5)


@cache
def trace_of(algorithm=DEFAULT, rounds=60, runs=40):
    return from_one_start(algorithm, REGRESSION, rounds=rounds, replicates=runs)


def fusion(local_steps=10, **options):
    return FPFC(
        step_size=1 / 21,
        local_steps=local_steps,
        strength=1.0,
        smoothing=0.5,
        augmentation=10.0,
        threshold=0.5,
        **options,
    )


@cache
def fusion_trace(rounds=60, local_steps=10, runs=None, **options):
    return run(fusion(local_steps, **options), QUADRATIC, rounds=rounds, seed=0, replicates=runs)


def picture_of(trace, task):
    return theory.compare(task, trace).plot()


@cache
def default_picture():
    return picture_of(trace_of(), REGRESSION)


def test_median_and_band_are_those_of_the_sorted_largest_errors():
    (panel,) = default_picture().axes
    largest = np.linalg.norm(trace_of().models - REGRESSION.optima, axis=-1).max(axis=-1)
    ordered = np.sort(largest, axis=1)
    np.testing.assert_allclose(line(panel, "run")[1], (ordered[:, 19] + ordered[:, 20]) / 2, rtol=1e-12)
    (band,) = panel.collections
    edges = band.get_paths()[0].vertices
    for number in range(61):
        heights = edges[edges[:, 0] == number, 1]
        # 0.975 of 39 gaps between 40 runs: between the 39th and the 40th
        assert ordered[number, 0] <= heights.min() <= ordered[number, 1]
        assert ordered[number, 38] <= heights.max() <= ordered[number, 39]


def test_bounds_are_those_of_the_theory():
    (panel,) = default_picture().axes
    bound = theory.bound("cfl-mgd/theorem-d", REGRESSION, trace_of(), failure_probability=0.05)
    rounds, drawn = line(panel, "repaired")
    np.testing.assert_allclose(drawn[:-1], bound.bound.reshape(61, -1).max(axis=1)[:-1], rtol=1e-12)
    at, last = line(panel, "last repaired")
    assert at == 60
    assert last == np.max(bound.last)
    assert last < drawn[-2]
    # rho >= 16 kappa c_4 = 4 kappa, whatever the data; the factor is 1 - l mu / 8L with l = 1/5
    printed = line(panel, "printed")[1]
    assert np.ptp(printed) == 0
    assert printed[0] > 16
    start = trace_of().errors[0].max()
    np.testing.assert_allclose(line(panel, "printed factor")[1], start * (1 - 1 / 160) ** rounds, rtol=1e-12)
    np.testing.assert_allclose(line(panel, "start")[1], start, rtol=1e-12)


def test_the_path_without_noise_is_a_run_with_exact_losses():
    from dataclasses import replace

    exact = replace(REGRESSION, data="population")
    trace = run(DEFAULT, exact, rounds=60, initial=trace_of().models[0, 0])
    (panel,) = default_picture().axes
    np.testing.assert_allclose(line(panel, "without noise")[1], trace.errors.max(axis=-1), rtol=1e-7)


@pytest.mark.parametrize("local_steps", [10, 3])
def test_residuals_are_those_of_loops_over_the_pairs(local_steps):
    trace = fusion_trace(rounds=20, local_steps=local_steps)
    loops, alone = DenseFPFC(fusion(local_steps), QUADRATIC, trace.models[0][:1]), []
    for _ in range(20):
        loops.round(list(range(12)))
        alone.append(loops.residuals()[0] ** 2)
    left, right = picture_of(trace, QUADRATIC).axes
    np.testing.assert_allclose(line(left, "round alone")[1], alone, rtol=1e-6)
    means = [sum(alone[: count + 1]) / (count + 1) for count in range(20)]
    np.testing.assert_allclose(line(left, "run")[1], means, rtol=1e-6)
    counts, repaired = line(left, "repaired")
    np.testing.assert_allclose(repaired * counts, repaired[0], rtol=1e-12)
    names = [each.get_gid() for each in left.get_lines()]
    if local_steps == 10:
        ratio = line(left, "printed")[1][-1] / means[-1]
        (shown,) = [
            name for name in left.get_legend_handles_labels()[1] if name.startswith("bound as printed")
        ]
        assert float(re.search(r", ([\d.]+)\$\\times", shown)[1]) == pytest.approx(ratio, rel=0.05)
    else:
        assert "printed" not in names  # C_1 < 0: no mean square is below its bound
    groups = [len(set(labels.tolist())) for labels in trace.assignments]
    assert line(right, "groups")[1].tolist() == groups[: len(line(right, "groups")[1])]
    assert line(right, "true number")[1].tolist() == [4, 4]
    assert "true number of groups" in right.get_legend_handles_labels()[1]


CASES = {
    "default": lambda: (REGRESSION, trace_of()),
    "momentum 0": lambda: (REGRESSION, trace_of(CFLMGD(step_size=1.0, momentum=0.0))),
    "momentum .9": lambda: (REGRESSION, trace_of(CFLMGD(step_size=1.0, momentum=0.9))),
    "ifca": lambda: (REGRESSION, trace_of(IFCA(step_size=1.0), rounds=120)),
    "one run": lambda: (REGRESSION, trace_of(runs=None)),
    "short": lambda: (REGRESSION, trace_of(rounds=3, runs=20)),
    "no rounds": lambda: (REGRESSION, trace_of(rounds=0, runs=20)),
    "fpfc": lambda: (QUADRATIC, fusion_trace()),
    "fpfc, C_1 < 0": lambda: (QUADRATIC, fusion_trace(local_steps=3)),
    "fpfc, short": lambda: (QUADRATIC, fusion_trace(rounds=2)),
    "fpfc, some clients": lambda: (QUADRATIC, fusion_trace(rounds=10, runs=3, participation=0.5)),
    "fedavg": lambda: (REGRESSION, run(FedAvg(step_size=0.1), REGRESSION, rounds=20, replicates=3)),
}


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("case", CASES)
def test_every_curve_has_its_entry_in_the_legend(case):
    task, trace = CASES[case]()
    compared = theory.compare(task, trace)
    figure = compared.plot()
    named = [name for panel in figure.axes for name in panel.get_legend_handles_labels()[1]]
    assert entries(figure) == list(dict.fromkeys(named))
    assert len(set(named)) >= len(compared.picture.curves)
    runs = 1 if trace.models.ndim == 3 else trace.models.shape[1]
    assert re.search(rf"\b{runs} runs?\b", figure.caption)
    assert "seed" in figure.caption
    assert ("Diamond" in figure.caption) == any(curve.last is not None for curve in compared.picture.curves)


def test_several_runs_are_named_by_what_differs():
    traces = [trace_of(CFLMGD(step_size=1.0, momentum=beta), rounds=10, runs=20) for beta in (0.0, 0.5, 0.9)]
    (panel,) = traces[0].plot(*traces[1:]).axes
    assert entries(panel.figure) == ["momentum 0", "momentum 0.5", "momentum 0.9"]
    for number, trace in enumerate(traces):
        middle = np.median(trace.errors.max(axis=-1), axis=1)
        np.testing.assert_array_equal(line(panel, f"median {number}")[1], middle)
    other = trace_of(IFCA(step_size=1.0), rounds=20, runs=20)
    assert entries(traces[0].plot(other, other)) == [
        "cfl-mgd, rounds 10",
        "ifca, rounds 20, run 2",
        "ifca, rounds 20, run 3",
    ]
