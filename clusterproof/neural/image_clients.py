"""Clients with images and a network, the base of image tasks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import torch

from clusterproof.algorithms import Task
from clusterproof.algorithms.validation import InvalidArgument, check_choice, check_count
from clusterproof.neural.client_data import ClientData
from clusterproof.neural.data.preprocessing import Preprocessing
from clusterproof.neural.engines import Engine, choose_engine
from clusterproof.neural.engines.chunks import SHARE, Chunk, free_bytes, make_chunks, run_chunks
from clusterproof.neural.networks import NETWORKS, Network
from clusterproof.neural.partitions.base import ClientImages, Partition

Result = TypeVar("Result")

MOST_CHANNELS = 4
"""Most channels of common images: squares in front of a last axis of so few are channels-last (NHWC)."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ImageClients(Task):
    """Clients whose images are on a device, in chunks; arguments and errors are those of ``ImageTask``."""

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
    """The engine in use."""

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
            self.engine,
            self.network,
            kind,
            samples=int(self.partition.train.sizes.max()),
            full_batch=self._full_batch,
            epochs=self.local_unit == "epoch",
            mixed=self.precision == "bf16",
            distorted=self.preprocessing.random,
        )
        object.__setattr__(self, "chosen_engine", engine)
        _ = self._train  # now, not in the first round

    def _check_images(self) -> None:
        for client_images in (self.partition.train, self.partition.test):
            sizes = client_images.pixels.shape[1:]
            images = self.network.convolutional or self.preprocessing.random
            if images and len(sizes) == 3 and sizes[0] == sizes[1] > MOST_CHANNELS >= sizes[2]:
                rule = f"would be {sizes[0]} channels of {sizes[1]} x {sizes[2]} pixels, not channels, height, width"
                raise InvalidArgument("data", sizes, rule, "bring the channels to the front: (n, C, H, W)")
            self.preprocessing.check(client_images.pixels)
            shape = self.preprocessing.shape(client_images.pixels.shape[1:])
            if shape != tuple(self.network.image_shape):
                raise InvalidArgument(
                    "network",
                    self.network.image_shape,
                    f"must take the partition's images, {shape}",
                    "make the network for these images",
                )
            kind = client_images.pixels.dtype
            if kind.kind in "iu" and kind != np.uint8 and type(self.network) in NETWORKS.values():
                raise InvalidArgument(
                    "data",
                    str(kind),
                    f"are codes, which the network {self.network.name!r} does not take",
                    "give bytes, floating numbers, or a user-supplied network",
                )
        if self.network.classes != self.partition.classes:
            raise InvalidArgument(
                "network",
                self.network.classes,
                f"must tell the partition's {self.partition.classes} classes apart",
                "make the network for these classes",
            )

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
        """Number of samples per gradient if it is the same for all clients; otherwise None."""
        counts = np.minimum(self.client_samples, self._batch_size)
        return int(counts[0]) if (counts == counts[0]).all() else None

    @property
    def settings(self) -> dict[str, Any]:
        """Arguments that recreate the task, as plain JSON values, with the engine in use."""
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

    def _run(
        self,
        clients: np.ndarray,
        work: Callable[[Chunk], Result],
        add: Callable[[Chunk, Result], None] = lambda *_: None,
        *,
        data: ClientData | None = None,
        steps: np.ndarray | None = None,
        models: int = 1,
        at_once: int | None = None,
    ) -> None:
        """Call ``work`` on chunks of participants that fit into memory, and ``add`` on the results in order.

        Parameters
        ----------
        clients
            Client indices of the participants, (k,).
        work, add
            See ``run_chunks``.
        data
            Data whose sizes determine the chunks; the training data if None.
        steps
            Gradient steps of each participant, (k,); None if all take equally many.
        models
            Number of models whose scores each participant computes.
        at_once
            Largest number of participants in a chunk; the engine's if None.
        """
        data = self._train if data is None else data
        most = self.chosen_engine.chunk[self._device.type] if at_once is None else at_once
        if self.chunk is not None:
            most = self.chunk if at_once is None and self.chosen_engine.pads else min(most, self.chunk)
        threads = torch.get_num_threads() if self._device.type == "cpu" else 1
        free = SHARE * free_bytes(self._device) / threads

        def limit(width: int) -> int:
            numbers = width * (math.prod(self.network.image_shape) + (1 + models) * self.network.activations)
            client = (numbers + 5 * self.dimension + width**2) * self._type.itemsize
            return max(1, most if self.chunk is not None else min(most, int(free / client)))

        widths = (data.widths if self.chosen_engine.pads else data.sizes)[clients]
        steps = np.zeros_like(widths) if steps is None else steps
        run_chunks(make_chunks(widths, steps, limit), work, add, self._device, self.precision)

    @cached_property
    def _device(self) -> torch.device:
        try:
            device = torch.device(self.device)
        except RuntimeError:
            device = None
        if device is None or device.type not in ("cpu", "cuda"):
            raise InvalidArgument("device", self.device, "must be 'cpu' or 'cuda'", "use 'cpu'")
        if device.type == "cuda" and not torch.cuda.is_available():
            raise InvalidArgument("device", self.device, "is not there, or not for this torch", "use 'cpu'")
        return device

    @property
    def _type(self) -> torch.dtype:
        return torch.float32 if self.dtype == "float32" else torch.float64

    @cached_property
    def _train(self) -> ClientData:
        return self._client_data(self.partition.train)

    @cached_property
    def _test(self) -> ClientData:
        return self._client_data(self.partition.test)

    def _client_data(self, client_images: ClientImages) -> ClientData:
        return ClientData(
            client_images,
            self._device,
            self._type,
            channels_last=self.network.convolutional,
            preprocessing=self.preprocessing,
        )

    @property
    def _batch_size(self) -> int:
        largest = int(self.client_samples.max())
        return largest if self.batch_size is None else min(self.batch_size, largest)

    @property
    def _full_batch(self) -> bool:
        return self._batch_size == int(self.client_samples.max())
