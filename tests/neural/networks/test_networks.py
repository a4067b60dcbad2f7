"""Networks against torch.nn: the same function of the same parameters, and the same law at the start."""

import numpy as np
import pytest
import torch
from scipy import stats
from small_images import load, module

from clusterproof.neural.networks import CNN, MLP, NETWORKS, ResNet20, network

CASES = [
    MLP((1, 5, 4), 3, ()),
    MLP((1, 5, 4), 3),
    MLP((2, 5, 4), 7, (6, 5)),
    CNN((1, 28, 28), 10, (6, 16), (120, 84)),
    CNN((3, 17, 20), 4, (3, 5), (8,)),
    CNN((3, 16, 16), 4, (3, 5), ()),
    CNN((1, 28, 28), 10, (6, 16), (), (2, 0)),
    CNN((3, 9, 12), 4, (3, 5), (), (1, 2)),
    ResNet20((3, 9, 8), 10),
    ResNet20((1, 8, 8), 5),
]


def describe(case):
    return f"{case.settings}-{case.image_shape}"


@pytest.mark.parametrize("case", CASES, ids=describe)
def test_scores_are_those_of_torch_modules(case):
    stream = np.random.default_rng(0)
    points = torch.as_tensor(case.initial((2,), stream))
    points += 0.1 * torch.as_tensor(stream.standard_normal(points.shape))
    images = torch.as_tensor(stream.random((2, 3, *case.image_shape)))
    found = torch.func.vmap(case.function)(case.views(points), images)
    assert found.shape == (2, 3, case.classes)
    for model in range(2):
        plain = module(case).double()
        assert sum(p.numel() for p in plain.parameters()) == case.dimension
        load(plain, points[model])
        torch.testing.assert_close(found[model], plain(images[model]), rtol=0, atol=1e-12)
        alone = case.function(case.views(points[model]), images[model])
        torch.testing.assert_close(alone, plain(images[model]), rtol=0, atol=1e-12)


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("case", CASES, ids=describe)
def test_the_start_has_the_law_of_torch_modules(case):
    """Kolmogorov-Smirnov for every tensor, level 1e-4 each; constant tensors exactly; and the bounds."""
    count = 40
    drawn = case.views(torch.as_tensor(case.initial((count,), np.random.default_rng(1))))
    torch.manual_seed(0)
    models = [list(module(case).parameters()) for _ in range(count)]
    assert len(drawn) == len(models[0])
    for place, values in enumerate(drawn.values()):
        peers = torch.stack([model[place] for model in models]).detach().double()
        assert values.shape == peers.shape
        ours, theirs = (sample.flatten()[:20_000].numpy() for sample in (values, peers))
        if np.ptp(theirs) == 0:
            np.testing.assert_array_equal(ours, theirs)
            continue
        assert stats.ks_2samp(ours, theirs).pvalue > 1e-4
        # a uniform law: both reach their common bound to the relative order of one over their number
        reach = float(values.abs().max())
        assert reach <= float(peers.abs().max()) * (1 + 20 / min(values.numel(), peers.numel()) + 1e-6)
        assert reach >= float(peers.abs().max()) * (1 - 20 / min(values.numel(), peers.numel()) - 1e-6)


def test_models_are_drawn_independently_and_from_the_seed_alone():
    case = MLP((1, 5, 5), 4, (7,))
    many = case.initial((3, 2), np.random.default_rng(4))
    assert many.shape == (3, 2, case.dimension)
    np.testing.assert_array_equal(many, case.initial((3, 2), np.random.default_rng(4)))
    np.testing.assert_array_equal(many[0, 0], case.initial((), np.random.default_rng(4)))
    flat = many.reshape(6, -1)
    assert np.abs(np.corrcoef(flat) - np.eye(6)).max() < 0.4
    single = case.initial((3, 2), np.random.default_rng(4), np.float32)
    np.testing.assert_array_equal(single, many.astype(np.float32))


def test_views_share_memory_and_cover_every_entry_once():
    for case in CASES:
        points = torch.zeros(2, case.dimension)
        for view in case.views(points).values():
            view += 1
        assert torch.equal(points, torch.ones_like(points))


def test_published_sizes():
    assert MLP((1, 28, 28), 10).dimension == 784 * 200 + 200 + 200 * 10 + 10
    # FedAvg's network without padding, as PFLlib and others have it, on either kind of images
    assert CNN((1, 28, 28), 10).dimension == 832 + 51_264 + 1024 * 512 + 512 + 5130
    assert CNN((3, 32, 32), 10).dimension == 2432 + 51_264 + 1600 * 512 + 512 + 5130
    # LeNet-5 of PyTorch's tutorial on CIFAR-10
    assert CNN((3, 32, 32), 10, (6, 16), (120, 84)).dimension == 62_006
    # FPFC's: 28 + 4 - 4 = 28, halved 14, 14 - 4 = 10, halved 5
    assert CNN((1, 28, 28), 10, (6, 16), (), (2, 0)).dimension == 156 + 2416 + 400 * 10 + 10
    # He et al. count 0.27 million
    assert ResNet20((3, 32, 32), 10).dimension == 269_722


def test_networks_are_made_by_name():
    assert set(NETWORKS) == {case.name for case in CASES}
    pairs = [
        (network("mlp", (1, 8, 8), 10, hidden=[50, 20]), MLP((1, 8, 8), 10, (50, 20))),
        (network("cnn", (3, 32, 32), 10), CNN((3, 32, 32), 10, (32, 64), (512,))),
        (network("resnet-20", (3, 32, 32), 10), ResNet20((3, 32, 32), 10)),
    ]
    for case in CASES:
        options = {key: value for key, value in case.settings.items() if key != "network"}
        pairs.append((network(case.settings["network"], case.image_shape, case.classes, **options), case))
    for made, case in pairs:
        assert type(made) is type(case)
        assert (made.settings, made.shapes) == (case.settings, case.shapes)
