"""Rounds of every algorithm on the pretended device: what each line asks of it, round by round."""

import linecache
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import torch
from pretended_device import ROOTS, pretended_device
from small_images import random_partition

from clusterproof.algorithms import ALGORITHMS, Randomness
from clusterproof.algorithms.parts.finiteness import one_look
from clusterproof.neural.networks import CNN, MLP
from clusterproof.neural.task import ImageTask

SETTINGS = {
    "perceptron": (MLP((1, 16, 16), 3, (6,)), None),
    "deep perceptron": (MLP((1, 16, 16), 3, (6, 5)), None),
    "perceptron, mini-batches": (MLP((1, 16, 16), 3, (6,)), 4),
    "convolutions, mini-batches": (CNN((1, 16, 16), 3, (2, 3), (5,)), 4),
}

TRAINING = [
    ("cfl-mgd", {"momentum": 0.7, "averaging": "model"}),
    ("cfl-mgd", {"momentum": 0.7, "averaging": "model", "participation": 0.5, "reset_momentum": True}),
    ("ifca", {"averaging": "model"}),
    ("fedavg", {}),
    ("fedprox", {"proximal": 0.3}),
    ("fedbcd", {"proximal": 0.4}),
    ("fedbcd", {"variant": "separate"}),
    ("local", {"participation": 0.5}),
    ("per-fedavg", {}),
    ("cfl", {"warm_up": 1}),
    ("sofl", {"pretraining": 9}),
    ("fpfc", {"strength": 2.0, "participation": 0.67, "threshold": 0.3}),
]
"""Algorithms whose clients take local steps."""


@dataclass(frozen=True)
class Asked:
    """What a round asked of the device, by line: kernels, copies, and how often the host waited; and its clusters."""

    launches: Counter
    copies: Counter
    looks: Counter
    clusters: int

    @property
    def kernels(self):
        """All launches."""
        return sum(self.launches.values())


def rounds(network, batch_size, name, options, *, device, count, clients=6, **how):
    """Models and assignments after each of so many rounds, and what each asked, its end included."""
    partition = random_partition((8,) * clients, image_shape=network.image_shape)
    with pretended_device() as counts:
        task = ImageTask(
            partition=partition, network=network, batch_size=batch_size, device=device, dtype="float64", **how
        )
        algorithm = ALGORITHMS[name](step_size=0.1, **options)
        randomness = Randomness.from_seed(0, "test")
        models = task.initial_models(algorithm.model_count(task), (), randomness.initialisation)
        state = algorithm.initialise(models, task)
        found = []
        for _ in range(count):
            with one_look():
                counts.clear()
                state = algorithm.step(state, task, randomness)
            models, chosen = (getattr(one, "data_here", one) for one in (state.models, state.assignments))
            seen = (counts.launches, counts.transfers, counts.synchronisations)
            found.append((models, chosen, Asked(*seen, len(torch.as_tensor(chosen).unique()))))
        return found


def same_rounds(network, batch_size, name, options, **given):
    """What each round on the device asked, once its models and assignments are those of the CPU."""
    ours = rounds(network, batch_size, name, options, device="cuda", **given)
    theirs = rounds(network, batch_size, name, options, device="cpu", **given)
    for (models, assignments, _), (expected, clusters, _) in zip(ours, theirs, strict=True):
        torch.testing.assert_close(models, expected, rtol=0, atol=1e-12)
        assert torch.equal(torch.as_tensor(assignments), torch.as_tensor(clusters))
    return [asked for *_, asked in ours]


def by_source(found):
    """Counts by the text of each line, and its file."""
    texts = Counter()
    for place, count in found.items():
        texts[_source(place)] += count
    return texts


def most(found, lines=12):
    """The lines with the largest counts, one below the other, for a failure's message."""
    told = [f"{sum(found.values())} in all:"]
    told += [f"{count:6} {place}  {_source(place)[1]}" for place, count in found.most_common(lines)]
    return "\n".join(told)


def _source(place):
    """File and text of a line, named as ``pretended_device`` names it."""
    name, _, number = place.partition(":")
    paths = [Path(root).parent / name for root in ROOTS]
    path = next((str(path) for path in paths if path.exists()), name)
    return Path(name).name, linecache.getline(path, int(number or 0)).strip()
