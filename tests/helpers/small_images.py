"""Small random partitions, and networks and local training written again with modules of torch.nn and autograd."""

import copy
import math
from itertools import pairwise

import numpy as np
import torch
from torch import nn

from clusterproof.neural.custom.module_network import ModuleNetwork
from clusterproof.neural.networks import CNN, MLP
from clusterproof.neural.partitions.base import ClientImages, Partition


def random_images(stream, *, sizes, image_shape, classes, labels=None):
    sizes = np.asarray(sizes)
    rows = int(sizes.sum()) + 3
    real = np.arange(sizes.max()) < sizes[:, None]
    return ClientImages(
        pixels=stream.integers(0, 256, (rows, *image_shape), dtype=np.uint8),
        indices=np.where(real, stream.integers(0, rows, real.shape), 0),
        targets=np.where(real, stream.integers(0, classes, real.shape), 0),
        sizes=sizes,
        labels=np.arange(len(sizes)) % 2 if labels is None else labels,
    )


def random_partition(sizes, *, image_shape=(1, 4, 4), classes=3, test_sizes=None, seed=0, paired=True):
    stream = np.random.default_rng(seed)
    shape = {"image_shape": image_shape, "classes": classes}
    train = random_images(stream, sizes=sizes, **shape)
    test = random_images(stream, sizes=sizes if test_sizes is None else test_sizes, **shape)
    return Partition("random", {"data": "random", "seed": seed}, 2, classes, train, test, paired)


def module(network):
    """The same network in torch.nn, with parameters in the same order."""
    if isinstance(network, ModuleNetwork):
        return copy.deepcopy(network.module)
    if isinstance(network, MLP):
        return _perceptron(network)
    return _Convolutional(network) if isinstance(network, CNN) else _Residual(network)


def _perceptron(network):
    layers = [nn.Flatten()]
    for inputs, outputs in pairwise((math.prod(network.image_shape), *network.hidden, network.classes)):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class _Convolutional(nn.Module):
    def __init__(self, network):
        super().__init__()
        first, second = network.channels
        self.first = nn.Conv2d(network.image_shape[0], first, 5, padding=network.padding[0])
        self.second = nn.Conv2d(first, second, 5, padding=network.padding[1])
        self.pool = nn.MaxPool2d(2)
        with torch.no_grad():
            features = self._features(torch.zeros(1, *network.image_shape)).shape[1]
        widths = (features, *network.hidden, network.classes)
        self.linear = nn.ModuleList(nn.Linear(inputs, outputs) for inputs, outputs in pairwise(widths))

    def _features(self, images):
        values = self.pool(torch.relu(self.first(images)))
        return torch.flatten(self.pool(torch.relu(self.second(values))), 1)

    def forward(self, images):
        values = self.linear[0](self._features(images))
        for layer in self.linear[1:]:
            values = layer(torch.relu(values))
        return values


class _Block(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.stride = 1 if inputs == outputs else 2
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride=self.stride, padding=1, bias=False)
        self.norm1 = nn.GroupNorm(outputs // 8, outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.norm2 = nn.GroupNorm(outputs // 8, outputs)

    def forward(self, images):
        values = self.norm2(self.conv2(torch.relu(self.norm1(self.conv1(images)))))
        passed = images[:, :, :: self.stride, :: self.stride]
        missing = torch.zeros(len(passed), values.shape[1] - passed.shape[1], *passed.shape[2:]).to(passed)
        return torch.relu(values + torch.cat([passed, missing], dim=1))


class _Residual(nn.Module):
    def __init__(self, network):
        super().__init__()
        self.conv = nn.Conv2d(network.image_shape[0], 16, 3, padding=1, bias=False)
        self.norm = nn.GroupNorm(2, 16)
        pairs = [(16, 16)] * 3 + [(16, 32)] + [(32, 32)] * 2 + [(32, 64)] + [(64, 64)] * 2
        self.blocks = nn.Sequential(*(_Block(inputs, outputs) for inputs, outputs in pairs))
        self.head = nn.Linear(64, network.classes)

    def forward(self, images):
        values = self.blocks(torch.relu(self.norm(self.conv(images))))
        return self.head(values.mean(dim=(2, 3)))


def load(model, point):
    """Copy a flat vector into a module."""
    nn.utils.vector_to_parameters(point.clone(), model.parameters())


def flat(model):
    return nn.utils.parameters_to_vector(model.parameters()).detach()


def plain_gradient(network, point, images, targets, along=None):
    """Mean cross-entropy at a model (d,), and its gradient, or its Hessian times a direction, by torch's autograd."""
    model = module(network).to(point.dtype)
    load(model, point)
    parameters = list(model.parameters())
    loss = nn.functional.cross_entropy(model(images), targets)
    found = torch.autograd.grad(loss, parameters, create_graph=along is not None)
    if along is not None:
        found = torch.autograd.grad(nn.utils.parameters_to_vector(found) @ along, parameters)
    return loss.detach(), torch.cat([one.detach().flatten() for one in found])


def client_data(client_images, client, dtype):
    """Images and classes of one client, scaled to [0, 1]."""
    where = client_images.indices[client, : client_images.sizes[client]]
    images = torch.tensor(client_images.pixels[where] / 255.0, dtype=dtype)
    return images, torch.tensor(client_images.targets[client, : client_images.sizes[client]])


def plain_batches(size, steps, batch_size, generator):
    """Samples of each step, as the documentation says: through random orders of the data, whose last batch is rest."""
    left, batches = [], []
    for _ in range(steps):
        if not left:
            left = list(range(size)) if size <= batch_size else generator.permutation(size).tolist()
        batches.append(left[:batch_size])
        left = left[batch_size:]
    return batches


def drawn_batches(task, clients, generator, local_steps, reshuffled=False):
    """The batches of each client's steps, drawn client by client."""
    sizes = task.partition.train.sizes
    batch_size = 1 if reshuffled else task.batch_size or int(sizes.max())
    drawn = []
    for client in clients:
        size = int(sizes[client])
        passes = reshuffled or task.local_unit == "epoch"
        steps = local_steps * (-(-size // batch_size) if passes else 1)
        drawn.append(plain_batches(size, steps, batch_size, generator))
    return drawn


def plain_training(task, points, buffers, anchors, clients, generator, options):
    """What the documentation says, by modules and autograd, one client after the other."""
    dtype = points.dtype
    ended, kept = [], []
    batches = drawn_batches(
        task, clients, generator, options["local_steps"], options.get("reshuffled", False)
    )
    for row, client in enumerate(clients):
        images, targets = client_data(task.partition.train, client, dtype)
        model = module(task.network).to(dtype)
        load(model, points[row])
        buffer = torch.zeros(task.dimension, dtype=dtype) if buffers is None else buffers[row].clone()
        for chosen in batches[row]:
            model.zero_grad()
            torch.nn.functional.cross_entropy(model(images[chosen]), targets[chosen]).backward()
            gradient = torch.cat([p.grad.flatten() for p in model.parameters()])
            if options.get("corrections") is not None:
                gradient = gradient + options["corrections"][row]
            if options["proximal"]:
                gradient = gradient + options["proximal"] * (flat(model) - anchors[row])
            printed = options.get("update_order") == "as-printed"
            before, buffer = buffer, options["momentum"] * buffer + gradient
            load(model, flat(model) - options["step_size"] * (before if printed else buffer))
        ended.append(flat(model))
        kept.append(buffer)
    return torch.stack(ended), torch.stack(kept)
