"""Cost notes of the tables, compared with constructed networks and calculations by hand."""

import pytest

from clusterproof.algorithms import IFCA, FedAvg
from clusterproof.experiments.cost_notes import Shape, cost_in_passes, cost_notes, parameters_of
from clusterproof.experiments.tables.fpfc import figure_1_runs
from clusterproof.experiments.tables.sofl.runs import CIFAR_10, MNIST
from clusterproof.neural.networks import network

NETWORKS = [
    (MNIST.network, MNIST.image_shape),
    (CIFAR_10.network, CIFAR_10.image_shape),
    *((scale.network, (1, 28, 28)) for scale in figure_1_runs.SCALES.values()),
    ({"name": "cnn", "channels": [5, 7], "hidden": [11], "padding": [1, 2]}, (3, 20, 24)),
    ({"name": "mlp", "hidden": []}, (1, 8, 8)),
]


@pytest.mark.parametrize(("settings", "image_shape"), NETWORKS)
def test_parameters_are_those_of_the_network(
    settings: dict[str, object], image_shape: tuple[int, ...]
) -> None:
    options = {key: value for key, value in settings.items() if key != "name"}
    made = network(str(settings["name"]), image_shape=image_shape, classes=10, **options)
    assert parameters_of(settings, image_shape, 10) == made.dimension


def test_methods_of_one_cost_share_a_sentence() -> None:
    shape = Shape(clients=8, clusters=3, dimension=1000)
    one = cost_in_passes(FedAvg(step_size=0.1, local_steps=2, participation=0.5), shape)
    other = cost_in_passes(IFCA(step_size=0.1, local_steps=2, averaging="model"), shape)
    head, first, second = cost_notes(
        {"A": (one, 10), "B": (other, 10), "C": (one, 10)}, 1000, itemsize=8, where="here"
    )
    assert head.startswith("Cost account, here: a model is 1,000 numbers of 8 bytes.")
    assert first == (
        "Cost of A; C: 10 rounds of 4; 2 forward and 2 backward passes, worth 6; 8,000 bytes down, 8,000 up; "
        "server 4. In all 240 passes and 640,000 bytes."
    )
    # three models looked at, two passes in mini-batches; three models down and one up
    assert second == (
        "Cost of B: 10 rounds of 8; 5 forward and 2 backward passes, worth 9; 24,000 bytes down, 8,000 up; "
        "server 8. In all 720 passes and 2,560,000 bytes."
    )
