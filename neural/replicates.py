"""Several seeds of a task in one batch: each has clients, models and draws of its own."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from clusterproof.algorithms.validation import InvalidArgument
from clusterproof.neural.engines import ClientData
from clusterproof.neural.engines.data import Ids
from clusterproof.neural.partitions.partition import Holdings, Partition
from clusterproof.neural.task import ImageTask, Scores


@dataclass(frozen=True, eq=False, kw_only=True)
class ImageReplicates(ImageTask):
    """R seeds of an ``ImageTask``, whose models are (R, P, d) and whose replicate r has the data of seed r.

    A GPU trains them in as many launches as one seed, as long as their participants fit into a chunk; where they
    choose models of a convolutional network, some copies come in once a round. Clients are numbered from 0 in
    every replicate. With streams that ``engines.draws.seed_streams.side_by_side`` has put together,
    each replicate has the numbers of its seed run alone, see the notes; it starts from models of ``seed(r)``.

    Parameters
    ----------
    partition
        All clients of all seeds, see ``joined``; the other arguments are those of ``ImageTask``.
    partitions
        Of each seed.
    places
        Which of the seeds the replicates are.

    Raises
    ------
    InvalidArgument
        If the seeds differ in the sizes of their clients or in their true clusters, or the host has to know who
        takes part: on a CPU, or with Gram matrices by name and epochs of clients of unequal sizes.

    Notes
    -----
    Every algorithm runs so, and tests hold each to runs of its seeds alone, within 1e-12 in float64:

    - FedAvg, FedProx, local training, IFCA and CFL-MGD, all participants of all seeds in one pass; restarts and
      redrawn starts of IFCA's are made for one seed after the other, before the seeds go together.
    - FedBCD and FPFC, whose servers keep a model of every client.
    - Per-FedAvg, tested with its second order on perceptrons alone.
    - GL-CFL, whose R k P gradients are there at once; where memory lacks for them, run the seeds one by one.
    - CFL: a seed that asks its absent clients, as one of its clusters may be cut, draws for that by itself, and the
      other seeds' streams stay where they were.
    - SoFL: each seed's map is made on the host, from its own stream.

    Alone and in a batch, a seed has the same bits on the same device as long as a batched product gives each of its
    matrices what it gives fewer of them, as it does on the pretended device, in float64. Gram matrices are the
    exception, as a seed alone adds up its clients in another order: 3e-16 after five rounds. From the CPU's own
    engines, which multiply in other shapes, a seed was 4e-15 away. Which kernels a real GPU takes for how many
    matrices is its library's choice.
    """

    partitions: tuple[Partition, ...]
    places: tuple[int, ...]

    @classmethod
    def of(cls, partitions: Sequence[Partition], **options: Any) -> ImageReplicates:
        """Make the task of seeds with these partitions; ``options`` as of ``ImageTask``."""
        own = tuple(partitions)
        return cls(partition=joined(own), partitions=own, places=tuple(range(len(own))), **options)

    def __post_init__(self) -> None:
        """Validate the arguments and bring the images to the device."""
        super().__post_init__()
        if not self._train.stays:
            rule = "trains one seed after the other with this engine and these clients"
            raise InvalidArgument("device", self.device, rule, "run the seeds one by one")
        _ = self._first

    def at(self, places: Sequence[int]) -> ImageReplicates:
        """The same of some of the seeds; nothing is copied."""
        chosen = copy.copy(self)
        chosen.__dict__.pop("_first", None)
        object.__setattr__(chosen, "places", tuple(places))
        return chosen

    def seed(self, place: int) -> ImageTask:
        """The task of one seed, as if it were alone; its data are those that are here."""
        return _SeedTask(
            partition=self.partitions[place],
            network=self.network,
            batch_size=self.batch_size,
            local_unit=self.local_unit,
            device=self.device,
            dtype=self.dtype,
            engine=self.engine,
            chunk=self.chunk,
            precision=self.precision,
            preprocessing=self.preprocessing,
            whole=self,
            place=place,
        )

    @property
    def clients(self) -> int:
        """Number of clients of a replicate (m)."""
        return len(self.client_samples)

    @property
    def client_samples(self) -> np.ndarray:
        """Training samples of each client, the same in all replicates, (m,)."""
        return self.partitions[0].train.sizes

    @property
    def labels(self) -> np.ndarray:
        """The true cluster of each client, the same in all replicates, (m,)."""
        return self.partitions[0].train.labels

    def scores(self, models: Tensor) -> Scores:
        """Score models (R, P, d) on every test holder of their replicate."""
        holders = torch.arange(len(self.partitions[0].test.sizes), device=self._device)
        return Scores(*self._evaluate(models, holders, self._test))

    def losses_and_gradients(
        self, models: Tensor, clients: Tensor, generator: np.random.Generator
    ) -> tuple[Tensor, Tensor]:
        """Losses (R, k, P) and gradients (R, k, P, d) of models (R, P, d) on one batch a client, of all at once."""
        _, who, count = self._spread(models, clients, self._train)
        losses = models.new_empty(*who.shape, count)
        slopes = models.new_empty(*losses.shape, self.dimension)
        self._of_every_model(models, who, generator, losses, slopes)
        return losses, slopes

    def _flatten(self, points: Tensor, clients: Tensor, data: ClientData) -> tuple[Tensor, Ids]:
        return super()._flatten(points, self._numbered(clients, data), data)

    def _spread(self, models: Tensor, clients: Tensor, data: ClientData) -> tuple[tuple[int, ...], Ids, int]:
        return super()._spread(models, self._numbered(clients, data), data)

    def _numbered(self, clients: Tensor, data: ClientData) -> Tensor:
        """Numbers among all seeds' clients, (R, k), of clients (k,) or (R, k) of each."""
        return clients + self._first * (len(data.sizes) // len(self.partitions))

    def _names_in_a_seed(self, clients: Tensor) -> Tensor:
        return clients % (len(self._train.sizes) // len(self.partitions))

    @cached_property
    def _first(self) -> Tensor:
        """The seeds' places, (R, 1)."""
        return torch.asarray(self.places, device=self._device)[:, None]


@dataclass(frozen=True, eq=False, kw_only=True)
class _SeedTask(ImageTask):
    """A seed of replicates, whose data it uses."""

    whole: ImageReplicates
    place: int

    @cached_property
    def client_shares(self) -> Tensor:
        """The same for all seeds."""
        return self.whole.client_shares

    def _bring(self, holdings: Holdings) -> ClientData:
        data = self.whole._train if holdings is self.partition.train else self.whole._test
        count = len(holdings.sizes)
        return data.part(slice(self.place * count, (self.place + 1) * count))


def joined(partitions: Sequence[Partition]) -> Partition:
    """Put the clients of seeds' partitions one after the other; pixels that all have alike are there once.

    Raises
    ------
    InvalidArgument
        If sizes or true clusters of clients, or the classes, differ between them.
    """
    first = partitions[0]
    for other in partitions[1:]:
        pairs = ((first.train, other.train), (first.test, other.test))
        same = all(
            np.array_equal(one.sizes, two.sizes) and np.array_equal(one.labels, two.labels)
            for one, two in pairs
        )
        if not same or (first.clusters, first.classes) != (other.clusters, other.classes):
            rule = "must have clients of the same sizes and true clusters for every seed"
            raise InvalidArgument("partitions", other.name, rule, "run the seeds one by one")
    return Partition(
        first.name,
        {"replicates": [dict(one.settings) for one in partitions]},
        first.clusters,
        first.classes,
        _joined([one.train for one in partitions]),
        _joined([one.test for one in partitions]),
        first.paired,
    )


def _joined(parts: list[Holdings]) -> Holdings:
    alike = all(np.array_equal(one.pixels, parts[0].pixels) for one in parts[1:])
    starts = np.cumsum([0, *(0 if alike else len(one.pixels) for one in parts[:-1])])
    return Holdings(
        pixels=parts[0].pixels if alike else np.concatenate([one.pixels for one in parts]),
        indices=np.concatenate([one.indices + start for one, start in zip(parts, starts, strict=True)]),
        targets=np.concatenate([one.targets for one in parts]),
        sizes=np.concatenate([one.sizes for one in parts]),
        labels=np.concatenate([one.labels for one in parts]),
    )
