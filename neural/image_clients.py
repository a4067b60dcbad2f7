"""Clients with images of their own, and a network: what a task is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from clusterproof.algorithms.validation import InvalidArgument, check_choice, check_count
from clusterproof.neural.data.preprocessing import Preprocessing
from clusterproof.neural.engines import (
    Batch,
    Chunk,
    ClientData,
    Engine,
    Passes,
    Schedule,
    Workspace,
    choose_engine,
)
from clusterproof.neural.engines.data import Ids
from clusterproof.neural.engines.draws.distorted import Distortions, draw_distortions
from clusterproof.neural.engines.draws.padded_schedule import PaddedSchedule
from clusterproof.neural.engines.passes import CLIENTS_AT_A_TIME
from clusterproof.neural.engines.samples import are_mostly_zero
from clusterproof.neural.networks import MLP, NETWORKS, Network
from clusterproof.neural.partitions.partition import Holdings, Partition

Batches: TypeAlias = Callable[[Chunk], Batch]
"""Gives the batches that were drawn for a chunk of clients."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ImageClients:
    """Clients whose images are on a device, and the way to go over them.

    Parameters
    ----------
    partition, network, batch_size, local_unit, device, dtype, engine, chunk, precision, preprocessing
        See ``clusterproof.neural.task.ImageTask``.

    Raises
    ------
    InvalidArgument
        If an argument is out of range, network and partition do not fit, or the device is not there.
    """

    partition: Partition
    network: Network
    batch_size: int | None = None
    local_unit: str = "step"
    device: str = "cpu"
    dtype: str = "float32"
    engine: str = "auto"
    chunk: int | None = None
    precision: str = "highest"
    preprocessing: Preprocessing = field(default_factory=Preprocessing)
    chosen_engine: Engine = field(init=False, repr=False)
    """The engine that answers."""

    def __post_init__(self) -> None:
        """Validate the arguments, choose the engine and bring the images to the device."""
        check_choice("dtype", self.dtype, ("float32", "float64"), remedy="'float32' is common for networks")
        check_choice("local_unit", self.local_unit, ("step", "epoch"), remedy="'step' is one gradient step")
        check_choice("precision", self.precision, ("highest", "tf32", "bf16"), remedy="use 'highest'")
        for argument in ("batch_size", "chunk"):
            if getattr(self, argument) is not None:
                check_count(argument, getattr(self, argument), at_least=1, remedy="leave it out for all")
        kind = self._device.type
        if self.precision != "highest" and (kind != "cuda" or self.dtype != "float32"):
            raise InvalidArgument(
                "precision", self.precision, "asks for a GPU and dtype 'float32'", "use 'highest'"
            )
        self._check_images()
        engine = choose_engine(
            self._engine_name,
            self.network,
            kind,
            samples=int(self.partition.train.sizes.max()),
            full_batch=self._full_batch,
            epochs=self.local_unit == "epoch",
            mixed=self.precision == "bf16",
            uneven=self._uneven,
            mostly_zero=self._mostly_zero,
        )
        object.__setattr__(self, "chosen_engine", engine)
        _ = self._train, self.client_shares  # now, not in the first round

    @property
    def _engine_name(self) -> str:
        """The engine that is asked for: Gram matrices are of samples that stay as they are."""
        if not (self.preprocessing.random and isinstance(self.network, MLP)):
            return self.engine
        if self.engine == "gram":
            rule = "asks for images that every step sees alike, and these are distorted anew"
            raise InvalidArgument("engine", self.engine, rule, "use 'auto', or leave the distortions out")
        return "batched" if self.engine == "auto" else self.engine

    @property
    def _mostly_zero(self) -> bool:
        """Whether a perceptron's first layer is faster without the numbers that are 0."""
        train = self.partition.train
        return (
            isinstance(self.network, MLP)
            and self.preprocessing.nothing
            and are_mostly_zero(train.pixels, hidden=self.network.widths[1], samples=int(train.sizes.max()))
        )

    def _check_images(self) -> None:
        for holdings in (self.partition.train, self.partition.test):
            self.preprocessing.check(holdings.pixels)
            shape = self.preprocessing.shape(holdings.pixels.shape[1:])
            if shape != tuple(self.network.image_shape):
                raise InvalidArgument(
                    "network",
                    self.network.image_shape,
                    f"must take the partition's images, {shape}",
                    "make the network for these images",
                )
            kind = holdings.pixels.dtype
            if kind.kind in "iu" and kind != np.uint8 and type(self.network) in NETWORKS.values():
                raise InvalidArgument(
                    "data",
                    str(kind),
                    f"are codes, which the network {self.network.name!r} does not take",
                    "give bytes, floating numbers, or a network of your own",
                )
        if self.network.classes != self.partition.classes:
            raise InvalidArgument(
                "network",
                self.network.classes,
                f"must tell the partition's {self.partition.classes} classes apart",
                "make the network for these classes",
            )

    @property
    def clients(self) -> int:
        """Number of clients (m)."""
        return len(self.partition.train.sizes)

    @property
    def clusters(self) -> int:
        """Number of true clusters (P)."""
        return self.partition.clusters

    @property
    def dimension(self) -> int:
        """Number of parameters of a model (d)."""
        return self.network.dimension

    @property
    def client_samples(self) -> np.ndarray:
        """Training samples of each client (n_i), (m,)."""
        return self.partition.train.sizes

    @property
    def labels(self) -> np.ndarray:
        """The true cluster of each client, (m,)."""
        return self.partition.train.labels

    @property
    def samples(self) -> int | None:
        """Samples of a gradient, where it is the same number for all clients; None where it is not."""
        counts = np.minimum(self._train.sizes, self._batch_size)
        return int(counts[0]) if (counts == counts[0]).all() else None

    @property
    def settings(self) -> dict[str, Any]:
        """What makes the task again, as plain JSON values; the engine is the one in use."""
        return {
            "task": "image",
            "partition": dict(self.partition.settings),
            **self.network.settings,
            "batch_size": self.batch_size,
            "local_unit": self.local_unit,
            "device": self.device,
            "dtype": self.dtype,
            "engine": self.chosen_engine.name,
            "precision": self.precision,
            **({} if self.preprocessing.nothing else {"preprocessing": self.preprocessing.settings}),
        }

    @cached_property
    def client_shares(self) -> Tensor:
        """Samples of each client over the largest number, where the models are, see ``SharesTask``; (m,)."""
        sizes = np.asarray(self.client_samples, dtype=np.float64)
        return torch.from_numpy(sizes / sizes.max()).to(self._device, self._type)

    def _draw(self, clients: Ids, generator: np.random.Generator) -> Batches:
        """Draw a batch of each of clients (k,), and give what looks up that of a chunk."""
        data = self._train.as_stored if self.preprocessing.random else self._train
        if self._full_batch:

            def batches(chunk: Chunk) -> Batch:
                return data.whole(clients[chunk.rows], chunk.width)

        else:
            drawn = self._independent(clients, 1, generator)
            samples, counts = drawn.batch(np.arange(len(clients)), 0)

            def batches(chunk: Chunk) -> Batch:
                return data.chosen(clients[chunk.rows], samples[chunk.rows], counts[chunk.rows])

        distortions = self._distortions(clients, 1, generator)
        return batches if distortions is None else lambda c: distortions.of(batches(c), c.rows, 0)

    def _distortions(self, clients: Ids, steps: int, generator: np.random.Generator) -> Distortions | None:
        """Draw what distorts the images of clients (k,) in their steps; None where nothing does."""
        if not self.preprocessing.random:
            return None
        who = clients if isinstance(clients, Tensor) else torch.from_numpy(clients).to(self._device)
        return Distortions(
            self.preprocessing,
            draw_distortions(
                self.preprocessing, who, steps, self._batch_size, generator, self._names_in_a_seed(who)
            ),
        )

    def _names_in_a_seed(self, clients: Tensor) -> Tensor:
        """Numbers of clients (k,) in their own seed's run."""
        return clients

    def _independent(
        self, clients: Ids, steps: int, generator: np.random.Generator
    ) -> Schedule | PaddedSchedule:
        """Draw a batch of each of clients (k,) for each step."""
        sizes = self._train.sizes_of(clients)
        if isinstance(sizes, Tensor):
            everybody = self._train.sizes
            return PaddedSchedule.independent(sizes, everybody, self._batch_size, steps, generator)
        return Schedule.independent(sizes, self._batch_size, steps, generator, self._draws_on(clients))

    def _draws_on(self, clients: Ids) -> torch.device | None:
        """Where the samples of steps are put in order: where the clients' numbers are."""
        return self._device if isinstance(clients, Tensor) else None

    def _batch_widths(self, clients: Ids) -> np.ndarray:
        """What the samples that a gradient of clients (k,) uses are padded to, (k,)."""
        if self._full_batch:
            return self._train.widths_of(clients)
        return np.full(len(clients), self._batch_size, dtype=np.int64)

    def _flatten(self, points: Tensor, clients: Tensor, data: ClientData) -> tuple[Tensor, Ids]:
        """Points (..., k, d) and clients (..., k) without replicate axes: (r, d) and (r,)."""
        who = data.ids(clients, tuple(points.shape[:-1]))
        return points.reshape(-1, points.shape[-1]), who.reshape(-1)

    def _spread(self, models: Tensor, clients: Tensor, data: ClientData) -> tuple[tuple[int, ...], Ids, int]:
        """Replicate axes of models (..., P, d) and clients (..., k), clients with all of them, and P."""
        lead = np.broadcast_shapes(tuple(models.shape[:-2]), tuple(clients.shape[:-1]))
        return lead, data.ids(clients, (*lead, clients.shape[-1])), models.shape[-2]

    @cached_property
    def _device(self) -> torch.device:
        try:
            device = torch.device(self.device)
        except RuntimeError:
            device = None
        if device is None or device.type not in CLIENTS_AT_A_TIME:
            raise InvalidArgument("device", self.device, "must be 'cpu' or 'cuda'", "use 'cpu'")
        if device.type == "cuda" and not torch.cuda.is_available():
            raise InvalidArgument("device", self.device, "is not there, or not for this torch", "use 'cpu'")
        return device

    @property
    def _type(self) -> torch.dtype:
        return torch.float32 if self.dtype == "float32" else torch.float64

    @cached_property
    def _train(self) -> ClientData:
        return self._bring(self.partition.train)

    @cached_property
    def _test(self) -> ClientData:
        return self._bring(self.partition.test)

    @cached_property
    def _passes(self) -> Passes:
        return Passes(self.network, self._device, self._type, self.chunk, self.precision)

    @cached_property
    def _memory(self) -> Workspace:
        return Workspace()

    def _bring(self, holdings: Holdings) -> ClientData:
        # where Gram matrices leave clients apart after other numbers of steps, the host must know whose sizes these are
        apart = self.chosen_engine.name == "gram" and self._uneven
        return ClientData(
            holdings,
            self._device,
            self._type,
            channels_last=self.network.convolutional,
            preprocessing=None if self.preprocessing.nothing else self.preprocessing,
            looked_up=apart,
            row=self.chosen_engine.row if self.preprocessing.nothing else None,
            listed=self.chosen_engine.lists,
        )

    @property
    def _uneven(self) -> bool:
        """Whether clients take differently many local steps."""
        batches = -(-self.partition.train.sizes // self._batch_size)
        return self.local_unit == "epoch" and bool((batches != batches[0]).any())

    @property
    def _batch_size(self) -> int:
        largest = int(self.partition.train.sizes.max())
        return largest if self.batch_size is None else min(self.batch_size, largest)

    @property
    def _full_batch(self) -> bool:
        return self._batch_size == int(self.partition.train.sizes.max())
