"""Convolutions by matrix products, with gradients by hand, against PyTorch's own."""

import pytest
import torch

from clusterproof.neural.engines import Batch, choose_engine
from clusterproof.neural.engines.batched import VmapEngine
from clusterproof.neural.engines.convolutions import ConvolutionEngine
from clusterproof.neural.networks import CNN

NETWORKS = [
    CNN((1, 16, 16), 3, (2, 3), (5,)),
    CNN((3, 19, 17), 4, (2, 3), (), padding=(2, 1)),
    CNN((2, 17, 20), 4, (3, 2), (6, 5), padding=(0, 2)),
]


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-13), (torch.float32, 1e-4)])
@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_losses_and_gradients_are_those_of_autograd(network, dtype, tolerance):
    """Of three clients with models of their own, where some samples are padding."""
    clients, samples = 3, 4
    stream = torch.Generator().manual_seed(0)
    points = 0.3 * torch.randn(clients, network.dimension, dtype=dtype, generator=stream)
    channels, height, width = network.image_shape
    images = torch.rand(clients, samples, height, width, channels, dtype=dtype, generator=stream)
    targets = torch.randint(0, network.classes, (clients, samples), generator=stream)
    weights = torch.rand(clients, samples, dtype=dtype, generator=stream)
    weights[1, 2:] = 0
    batch = Batch(images.permute(0, 1, 4, 2, 3), targets, weights)
    found, expected = torch.full_like(points, torch.nan), torch.empty_like(points)
    losses, known = (points.new_full((len(points),), torch.nan) for _ in range(2))
    ConvolutionEngine(network).gradients(points, batch, found, losses)
    VmapEngine(network).gradients(points, batch, expected, known)
    torch.testing.assert_close(losses, known, rtol=0, atol=tolerance)
    torch.testing.assert_close(found, expected, rtol=0, atol=10 * tolerance)
    assert expected.abs().max() > 0.1


def test_certain_mistakes_have_finite_losses():
    """The logarithm of a probability that float32 cannot hold."""
    network = NETWORKS[0]
    points = torch.zeros(1, network.dimension)
    points[0, -3:] = torch.tensor([500.0, 0.0, 0.0])
    batch = Batch(torch.zeros(1, 1, 1, 16, 16), torch.tensor([[1]]), torch.ones(1, 1))
    slopes, losses = torch.empty_like(points), torch.empty(1)
    ConvolutionEngine(network).gradients(points, batch, slopes, losses)
    assert losses.item() == 500.0
    assert slopes[0, -3:].tolist() == [1.0, -1.0, 0.0]


def test_a_gpu_gets_them_and_a_cpu_does_not():
    def chosen(device, mixed=False):
        engine = choose_engine("batched", NETWORKS[0], device, samples=9, full_batch=True, mixed=mixed)
        return type(engine)

    assert chosen("cuda") is ConvolutionEngine
    assert chosen("cpu") is VmapEngine
    assert chosen("cuda", mixed=True) is VmapEngine
