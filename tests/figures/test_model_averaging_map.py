"""The map of model averaging against runs and matrix powers."""

import numpy as np
import pytest
from drawings import SEED, drawn, figure_of

from clusterproof.algorithms import CFLMGD
from clusterproof.figures.model_averaging_map import ModelAveragingMap
from clusterproof.running import run
from clusterproof.synthetic import QuadraticMixture


def growth(momentum: float, local_steps: int, *, reset: bool) -> float:
    """Return the factor a round of an actual run, over its last rounds."""
    task = QuadraticMixture(
        hessians=np.array([[[0.01]], [[1.0]]]), centers=np.zeros((2, 1)), labels=np.zeros(2, dtype=int)
    )
    algorithm = CFLMGD(
        step_size=1.0, momentum=momentum, averaging="model", local_steps=local_steps, reset_momentum=reset
    )
    models = np.abs(run(algorithm, task, rounds=400, initial=np.array([[1.0]])).models[:, 0, 0])
    return float((models[-60:].max() / models[100:160].max()) ** (1 / 241))


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(("momentum", "local_steps"), [(0.3, 4), (0.9, 5), (0.8, 5), (0.9, 20), (0.95, 6)])
def test_cells_are_the_rates_of_runs(momentum: float, local_steps: int) -> None:
    cells = ModelAveragingMap(most_local_steps=20).cells(np.array([momentum]))
    row = local_steps - 1
    assert cells.rates[row, 0] == pytest.approx(growth(momentum, local_steps, reset=False), abs=0.01)
    assert cells.reset_rates[row, 0] == pytest.approx(growth(momentum, local_steps, reset=True), abs=0.01)


def test_the_line_separates_divergence_and_reset_has_none() -> None:
    figure = drawn("model-averaging-map")
    left, right = figure.axes[:2]
    assert any(artist.get_gid() == "divergence" for artist in left.get_children())
    assert not any(artist.get_gid() == "divergence" for artist in right.get_children())
    cells = np.asarray(left.collections[0].get_array()).reshape(6, 99)[:, ::20]
    momenta = (np.arange(99) + 0.5)[::20] * 0.01
    np.testing.assert_allclose(cells, figure_of("model-averaging-map").cells(momenta).rates, rtol=1e-7)
    caption = figure.get_supxlabel().replace("\n", " ")
    assert "1.3307" in caption
    assert f"Seed {SEED}" in caption
