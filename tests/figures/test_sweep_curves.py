"""A sweep as curves: medians and ranges over seeds, one curve for each combination of the other swept settings."""

import numpy as np
import polars

from clusterproof.experiments.sweep import Sweep
from clusterproof.figures.curves import draw_sweep


def test_a_curve_has_medians_over_seeds_and_one_without_a_measurement_is_only_named() -> None:
    plan = Sweep(
        measure=("final_error",), seeds=3, grid={"momentum": [0.0, 0.5], "algorithm": ["ifca", "cfl"]}
    )
    rows = [
        {
            "algorithm": algorithm,
            "momentum": momentum,
            "seed": seed,
            "replicate": 0,
            "round": 9,
            "final_error": (1 + momentum) * 2.0**seed if algorithm == "ifca" else None,
        }
        for algorithm in ("ifca", "cfl")
        for momentum in (0.0, 0.5)
        for seed in range(3)
    ]
    panel = draw_sweep(polars.DataFrame(rows), plan).axes[0]
    curves = {line.get_label(): line.get_xydata() for line in panel.lines}
    np.testing.assert_allclose(curves["algorithm ifca"], [[0, 2], [0.5, 3]])
    assert len(curves["algorithm cfl"]) == 0
    (path,) = [path for band in panel.collections for path in band.get_paths()]
    assert {tuple(point) for point in path.vertices} == {(0, 1), (0, 4), (0.5, 1.5), (0.5, 6)}
