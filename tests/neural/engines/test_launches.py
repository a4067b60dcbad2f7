"""How many kernels a local step launches, for every algorithm and network, whatever the number of clients."""

from collections import Counter

import pytest
import torch
from device_rounds import TRAINING, most, rounds
from small_images import module
from torch.utils._python_dispatch import TorchDispatchMode

from clusterproof.algorithms import ALGORITHMS
from clusterproof.neural.networks import CNN, MLP, NETWORKS, ResNet20, TutorialCNN

pytestmark = pytest.mark.slow(reason="an engine that only a device would use")

WAYS = {
    "deep perceptron": (MLP((1, 16, 16), 3, (6, 5, 4)), None, 40, 40),
    "perceptron, mini-batches": (MLP((1, 16, 16), 3, (6,)), 4, 40, 40),
    "deep perceptron, mini-batches": (MLP((1, 16, 16), 3, (6, 5, 4)), 4, 40, 40),
    "convolutions, mini-batches": (CNN((1, 20, 20), 3, (2, 3), (5,)), 4, 60, 60),
    "padded LeNet": (CNN((1, 20, 20), 3, (2, 3), (6, 5), padding=(2, 2)), None, 30, 57),
    "padded LeNet, mini-batches": (CNN((1, 20, 20), 3, (2, 3), (6, 5), padding=(2, 2)), 4, 60, 60),
    "tutorial network, mini-batches": (TutorialCNN((3, 12, 12), 3), 4, 60, 108),
    "ResNet-20, mini-batches": (ResNet20((3, 4, 4), 3), 2, 300, 600),
}
"""Networks, samples of a batch, and launches that a local step may take, and may take with Per-FedAvg's two gradients.

A hidden layer more takes 5 for each gradient, padding before the first convolution 1: a perceptron's two gradients stay
at 40 with three hidden layers, those of two convolutions at 60 with two hidden layers behind them. How many images are
looked up at a time is counted in: 4 steps' here, with 2 launches. Full batches are looked up and laid out once a round.

What the other two networks need at least, ``least`` counts: 60 launches are not enough for the two gradients of either,
nor for one of ResNet-20. A gradient of the tutorial network takes 53: 14 products of its 5 layers, 8 for their ReLUs, 9
for each of the 2 normalisations, 3 for each of the 2 poolings, 2 for the errors in the scores, and 5 to put windows and
colours in order.

60 is out of reach of ResNet-20 one kernel at a time, even if its normalisations cost nothing: 19 convolutions with
three products each, but for the images' errors, are 56, and 19 ReLUs both ways 38. Its 19 normalisations take 8 of
PyTorch's own kernels each, 152, the 9 sums with what passes by one each way, 18, and the two shortcuts to more channels
16; the head, the batch, the order of the parameters and the step are what is left of 298.
"""

SECOND_ORDER = [((), 18, 11), ((6,), 36, 29), ((6, 5), 54, 47), ((6, 5, 4), 72, 65)]
"""Hidden layers, what a local step of Per-FedAvg's second-order form may take, and what it needs at least.

That is what the two gradients and the Hessian product take of ``NEEDED``, if the product takes no way there and back
of its own: a hidden layer more takes 18.
"""

SLOW = {"tutorial network, mini-batches", "ResNet-20, mini-batches"}
"""Networks that take long here: of them fewer clients are counted, and not those of all algorithms."""

KINDS = [one for one in TRAINING if one[0] in ("cfl-mgd", "per-fedavg", "fpfc")][1:]
"""One algorithm of each kind of round: sums over clusters, two gradients a step, and models of one's own."""


def counted(way, name, options, clients, steps):
    network, batch_size, *_ = WAYS[way]
    given = {**options, "local_steps": steps}
    (*_, asked), *_ = rounds(network, batch_size, name, given, device="cuda", count=1, clients=clients)
    assert asked.looks.total() == asked.copies.total() <= 1, most(asked.looks + asked.copies)
    return asked


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("name", "options"), TRAINING, ids=str)
def test_a_local_step_is_a_few_launches_whatever_the_number_of_clients(way, name, options):
    """The mean of a second and a third step, as images may be looked up for two steps at once.

    A round of FPFC's has three launches more where the number of clients passes 2^n + 1, for its groups.
    """
    slow, before = way in SLOW, torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        one, three = (counted(way, name, options, 4 if slow else 6, steps) for steps in (1, 3))
        if not slow or (name, options) in KINDS:
            more = counted(way, name, options, 5 if slow else 9, 1).launches - one.launches
            assert not more, f"more clients launch, by line: {most(more)}"
    finally:
        torch.set_num_threads(before)
    steps = three.launches - one.launches
    limit = WAYS[way][3 if name == "per-fedavg" else 2]
    assert 0 < steps.total() <= 2 * limit, f"two local steps launch, by line: {most(steps)}"


class Operations(TorchDispatchMode):
    """Counts what PyTorch's own gradient of one model takes."""

    def __init__(self):
        super().__init__()
        self.counts = Counter()

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        packet = function.overloadpacket
        backward = packet is torch.ops.aten.convolution_backward
        # errors in the images and the gradient of the kernels are products, that of the bias is a sum
        self.counts[packet.__name__] += sum(arguments[-1][:2]) if backward else 1
        return function(*arguments, **keywords or {})


NEEDED = ["convolution", "convolution_backward", "addmm", "mm", "relu", "threshold_backward"]
NEEDED += ["_log_softmax", "_log_softmax_backward_data"]
NEEDED += ["max_pool2d_with_indices", "max_pool2d_with_indices_backward", "avg_pool3d", "avg_pool3d_backward"]
"""Products, ReLUs, softmax, poolings, and sums over a response normalisation's neighbours: a kernel each at least."""


def least(network):
    """How many kernels these are in a gradient of the network as a plain module."""
    model = module(network).double()
    images = torch.rand(2, *network.image_shape, dtype=torch.float64)
    with Operations() as seen:
        torch.nn.functional.cross_entropy(model(images), torch.tensor([0, 1])).backward()
    return sum(seen.counts[name] for name in NEEDED)


def test_why_two_gradients_of_deep_networks_take_more_than_60():
    """What these operations alone need passes it; the other networks' needs do not reach their limits."""
    assert least(WAYS["tutorial network, mini-batches"][0]) == 32
    assert least(WAYS["ResNet-20, mini-batches"][0]) == 99
    assert least(WAYS["padded LeNet, mini-batches"][0]) == 28
    assert least(WAYS["deep perceptron, mini-batches"][0]) == 19
    for way, (network, _, _, limit) in WAYS.items():
        assert 2 * least(network) < limit
        assert (2 * least(network) > 60) == (way in SLOW), way


def least_of_a_hessian(network):
    """How many of them PyTorch's own way back through that gradient takes, the gradient itself not counted."""
    model = module(network).double()
    images, parameters = torch.rand(2, *network.image_shape, dtype=torch.float64), list(model.parameters())
    loss = torch.nn.functional.cross_entropy(model(images), torch.tensor([0, 1]))
    slopes = torch.autograd.grad(loss, parameters, create_graph=True)
    with Operations() as seen:
        torch.autograd.grad(slopes, parameters, [torch.ones_like(slope) for slope in slopes])
    return sum(seen.counts[name] for name in NEEDED)


@pytest.mark.parametrize("batch_size", [None, 4])
@pytest.mark.parametrize(("hidden", "limit", "floor"), SECOND_ORDER)
def test_the_second_order_form_of_per_fedavg(hidden, limit, floor, batch_size):
    """With one hidden layer it stays within 40; with more of them what it needs at least is beyond."""
    network = MLP((1, 16, 16), 3, hidden)
    assert 2 * least(network) + least_of_a_hessian(network) == floor
    assert (floor > 40) == (len(hidden) > 1)
    options, found = {"gradient": "second-order"}, []
    for clients, steps in ((6, 1), (6, 3), (9, 1)):
        given = {**options, "local_steps": steps}
        (*_, asked), *_ = rounds(
            network, batch_size, "per-fedavg", given, device="cuda", count=1, clients=clients
        )
        found.append(asked)
    one, three, more = found
    assert more.kernels == one.kernels, most(more.launches - one.launches)
    steps = three.launches - one.launches
    assert floor <= steps.total() / 2 <= limit, f"two local steps launch, by line: {most(steps)}"


@pytest.mark.parametrize(
    ("way", "floor"),
    [
        ("convolutions, mini-batches", 76),
        ("padded LeNet, mini-batches", 94),
        ("tutorial network, mini-batches", 106),
        ("ResNet-20, mini-batches", 354),
    ],
)
def test_why_the_second_order_form_of_networks_with_convolutions_has_no_limit(way, floor):
    """60 launches are not enough for two gradients and a Hessian product of any; that product is PyTorch's own."""
    network = WAYS[way][0]
    assert 2 * least(network) + least_of_a_hessian(network) == floor > 60


def test_every_algorithm_with_local_steps_and_every_network_is_here():
    assert {name for name, _ in TRAINING} == {
        name for name, kind in ALGORITHMS.items() if "local_steps" in kind.__dataclass_fields__
    }
    assert {type(network) for network, *_ in WAYS.values()} == set(NETWORKS.values())


def test_a_failure_names_the_lines():
    found = counted("deep perceptron", "fedavg", {}, 4, 1)
    told = most(found.launches, lines=2).splitlines()
    assert told[0] == f"{found.kernels} in all:"
    assert len(told) == 3
    place, count = found.launches.most_common(1)[0]
    assert told[1].split()[:2] == [str(count), place]
    assert "=" in told[1] or "return" in told[1], "the line's text"
