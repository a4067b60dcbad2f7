"""What a GPU gets by hand, many clients at once, against torch's own gradients of one client after the other."""

import numpy as np
import pytest
import torch
from small_images import load, module

from clusterproof.neural.engines import Batch, choose_engine
from clusterproof.neural.networks import CNN, MLP, NETWORKS, ResNet20, TutorialCNN

CASES = [
    MLP((1, 4, 4), 3, ()),
    MLP((2, 3, 4), 3, (5, 4)),
    CNN((1, 16, 16), 3, (2, 3), (5,)),
    CNN((3, 19, 17), 4, (2, 3), (), padding=(2, 1)),
    CNN((2, 17, 20), 4, (3, 2), (6, 5), padding=(0, 2)),
    TutorialCNN((1, 12, 12), 3),
    TutorialCNN((3, 9, 14), 4),
    ResNet20((1, 4, 4), 3),
    ResNet20((3, 9, 8), 4),
]
CLIENTS, SAMPLES = 3, 4


def engine_for_a_gpu(network):
    return choose_engine("batched", network, "cuda", samples=9, full_batch=False)


def drawn(network, dtype):
    """Models of three clients near the start, and a batch: some samples are padding, and half of an image is black."""
    stream = np.random.default_rng(0)
    points = torch.as_tensor(network.initial((CLIENTS,), stream))
    points += 0.05 * torch.as_tensor(stream.standard_normal(points.shape))
    channels, height, width = network.image_shape
    # colours next to each other, as they are stored
    images = torch.as_tensor(stream.random((CLIENTS, SAMPLES, height, width, channels)))
    images[:, 1, height // 2 :] = 0
    images[:, 2] -= 0.5
    targets = torch.as_tensor(stream.integers(0, network.classes, (CLIENTS, SAMPLES)))
    weights = torch.as_tensor(stream.random((CLIENTS, SAMPLES)))
    weights[1, 2:] = 0
    batch = Batch(images.permute(0, 1, 4, 2, 3).to(dtype), targets, weights.to(dtype))
    return points.to(dtype), batch


def of_torch(network, points, batch):
    """Losses (k,) and gradients (k, d) in double precision, client by client."""
    losses, slopes = [], []
    for row, point in enumerate(points.double()):
        model = module(network).double()
        load(model, point)
        scores = model(batch.images[row].double().contiguous())
        each = torch.nn.functional.cross_entropy(scores, batch.targets[row], reduction="none")
        loss = (each * batch.weights[row].double()).sum()
        loss.backward()
        losses.append(loss.detach())
        slopes.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]))
    return torch.stack(losses), torch.stack(slopes)


def check(engine, points, batch, tolerance):
    """In single precision, of a gradient's length: a normalisation of few numbers amplifies rounding."""
    network, before = engine.network, points.clone()
    expected_losses, expected = of_torch(network, points, batch)
    found = torch.full_like(points, torch.nan)
    losses = points.new_full((CLIENTS,), torch.nan)
    engine.gradients(points, batch, found, losses)
    torch.testing.assert_close(losses.double(), expected_losses, rtol=tolerance, atol=0)
    lengths = expected.norm(dim=1)
    assert (lengths > 0.05).all()
    assert ((found.double() - expected).norm(dim=1) <= tolerance * lengths).all()
    for name, own in network.views(found.double()).items():  # a small tensor hides behind no large one
        known = network.views(expected)[name]
        torch.testing.assert_close(own, known, rtol=0, atol=tolerance * float(known.abs().max()), msg=name)
    assert torch.equal(points, before)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 2e-3)], ids=str)
@pytest.mark.parametrize("network", CASES, ids=lambda one: f"{one.settings}-{one.image_shape}")
def test_losses_and_gradients_are_those_of_torch_client_by_client(network, dtype, tolerance):
    check(engine_for_a_gpu(network), *drawn(network, dtype), tolerance)


@pytest.mark.parametrize("hidden", [(), (5,), (5, 4), (6, 5, 4)], ids=str)
def test_hessian_products_are_those_of_torch_client_by_client(hidden):
    """Backward twice, of one model at a time; a large layer hides no small one."""
    network = MLP((2, 3, 4), 3, hidden)
    points, batch = drawn(network, torch.float64)
    directions = torch.as_tensor(np.random.default_rng(1).standard_normal(points.shape))
    found = engine_for_a_gpu(network).hessian_products(points, directions, batch)
    for row, point in enumerate(points):
        model = module(network).double()
        load(model, point)
        parameters, scores = list(model.parameters()), model(batch.images[row])
        each = torch.nn.functional.cross_entropy(scores, batch.targets[row], reduction="none")
        slopes = torch.autograd.grad((each * batch.weights[row]).sum(), parameters, create_graph=True)
        along = torch.cat([slope.flatten() for slope in slopes]) @ directions[row]
        own = network.views(found[row])
        for slope, (name, known) in zip(torch.autograd.grad(along, parameters), own.items(), strict=True):
            assert slope.abs().max() > 0.01
            torch.testing.assert_close(known, slope, rtol=0, atol=1e-12, msg=name)


def test_response_normalisation_counts_where_it_does_not_show_near_the_start():
    """There its way back is 1e-3 of a gradient; of large values it is most of it."""
    network = TutorialCNN((1, 12, 12), 3)
    points, batch = drawn(network, torch.float64)
    network.views(points)["convolutions.0.weight"].mul_(100)
    check(engine_for_a_gpu(network), points, batch, 1e-12)


@pytest.mark.parametrize(
    "network", [one for one in CASES if not isinstance(one, ResNet20)], ids=lambda one: f"{one.image_shape}"
)
def test_certain_mistakes_have_finite_losses(network):
    """The logarithm of a probability that float32 cannot hold."""
    points = torch.zeros(1, network.dimension)
    points[0, -network.classes] = 500.0
    batch = Batch(torch.zeros(1, 1, *network.image_shape), torch.tensor([[1]]), torch.ones(1, 1))
    slopes, losses = torch.empty_like(points), torch.empty(1)
    engine_for_a_gpu(network).gradients(points, batch, slopes, losses)
    assert losses.item() == 500.0
    assert slopes[0, -network.classes :][:3].tolist() == [1.0, -1.0, 0.0]


def test_every_network_has_an_engine_of_its_own_on_a_gpu_and_none_on_a_cpu():
    """Products in bfloat16 are PyTorch's to decide."""

    def chosen(network, device, mixed=False):
        return choose_engine("batched", network, device, samples=9, full_batch=False, mixed=mixed)

    assert {type(network) for network in CASES} == set(NETWORKS.values())
    own = {type(network): type(chosen(network, "cuda")) for network in CASES}
    assert len(set(own.values())) == len(NETWORKS)
    for network in CASES:
        assert type(chosen(network, "cpu")) is not own[type(network)]
        assert type(chosen(network, "cuda", mixed=True)) is type(chosen(network, "cpu", mixed=True))


@pytest.mark.parametrize("network", [CNN((1, 16, 16), 3, (2, 3), ()), MLP((1, 4, 4), 3)], ids=str)
@pytest.mark.parametrize("name", ["serial", "batched"])
def test_scores_do_not_hang_on_how_many_images_are_convolved_at_a_time(network, name):
    """Two clients with 150 images each, two models."""
    stream = np.random.default_rng(3)
    models = torch.as_tensor(network.initial((2,), stream))
    images = torch.as_tensor(stream.random((2, 150, *network.image_shape)))
    engine = choose_engine(name, network, "cpu", samples=150, full_batch=True)
    found = engine.scores_of_all(models, images)
    for index, model in enumerate(models):
        plain = module(network).double()
        load(plain, model)
        for client, own in enumerate(images):
            torch.testing.assert_close(found[client, index].mT, plain(own), rtol=0, atol=1e-12)
