"""Cost notes of the tables, compared with constructed networks and calculations by hand."""

import pytest

from clusterproof.algorithms import IFCA, FedAvg
from clusterproof.experiments.cost_notes import Shape, cost_in_passes, cost_notes, parameters_of
from clusterproof.experiments.tables.fpfc.figure_1_runs import SCALES
from clusterproof.experiments.tables.sofl.runs import CIFAR_10, MNIST


@pytest.mark.parametrize(
    ("settings", "image_shape", "expected"),
    [
        (MNIST.network, MNIST.image_shape, 785 * 100 + 101 * 10),
        # LeNet-5 on three channels of 32 x 32: 5 x 5 of 16 channels are left
        (CIFAR_10.network, CIFAR_10.image_shape, 76 * 6 + 151 * 16 + 401 * 120 + 121 * 84 + 85 * 10),
        (SCALES["small"].network, (1, 28, 28), 785 * 32 + 33 * 10),
        # padded by two: 14 x 14 of six channels, then 5 x 5 of sixteen
        (SCALES["full"].network, (1, 28, 28), 26 * 6 + 151 * 16 + 401 * 10),
    ],
)
def test_parameters_are_those_of_the_network(
    settings: dict[str, object], image_shape: tuple[int, ...], expected: int
) -> None:
    assert parameters_of(settings, image_shape, 10) == expected


def test_methods_of_one_cost_share_a_sentence() -> None:
    shape = Shape(clients=8, clusters=3, dimension=1000)
    one = cost_in_passes(FedAvg(step_size=0.1, local_steps=2, participation=0.5), shape)
    other = cost_in_passes(IFCA(step_size=0.1, local_steps=2, averaging="model"), shape)
    head, first, second = cost_notes({"A": (one, 10), "B": (other, 10), "C": (one, 10)}, 1000, where="here")
    assert head.startswith("Cost account, here: a model is 1,000 numbers of 4 bytes.")
    assert first == (
        "Cost of A; C: 10 rounds of 4; 2 forward and 2 backward passes, worth 6; 4,000 bytes down, 4,000 up; "
        "server 4. In all 240 passes and 320,000 bytes."
    )
    # three models looked at, two passes in mini-batches; three models down and one up
    assert second == (
        "Cost of B: 10 rounds of 8; 5 forward and 2 backward passes, worth 9; 12,000 bytes down, 4,000 up; "
        "server 8. In all 720 passes and 1,280,000 bytes."
    )
