"""The task ``ImageTask``: clients train a network on images."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from clusterproof.algorithms import Descent, Task, Trained
from clusterproof.common.arrays import to_numpy
from clusterproof.common.validation import InvalidArgument, check_choice, check_count
from clusterproof.neural.client_data import (
    Batch,
    ClientData,
    Step,
    check_images,
    checked_device,
    draw_steps,
    groups,
)
from clusterproof.neural.data.preprocessing import Preprocessing
from clusterproof.neural.engines import Engine, choose_engine
from clusterproof.neural.engines.base import LocalWork
from clusterproof.neural.networks import Network
from clusterproof.neural.partitions.base import ClientImages, Partition
from clusterproof.neural.precision import BITS, Precision, products_in

TOGETHER = {"cpu": 4096, "cuda": 16384}
"""Number of samples that are evaluated at once with one model, indexed by the type of device."""

CONVOLVED = 64
"""Number of images in one convolution on a CPU.

In a network with two convolutions of 64 channels, 500 images at a time took 1.2 to 1.7 times as long.
"""

exact = torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False)
"""Decorator for convolutions on a GPU, which use full precision and are deterministic."""


@dataclass(frozen=True)
class Scores:
    """The results of every model on the data of every test client.

    Attributes
    ----------
    losses, accuracies
        Mean cross-entropies and shares of correct predictions, (m_test, P).
    """

    losses: Tensor
    accuracies: Tensor


@dataclass(frozen=True, eq=False, kw_only=True)
class ImageTask(Task):
    """Clients that minimise a network's mean cross-entropy on their images.

    Models and points are tensors (P, d) and (k, d), and clients are integer tensors (k,), without replicate axes. All
    other conventions are described in ``algorithms.Task``.

    Parameters
    ----------
    partition
        Images of each client.
    network
        The network to train.
    batch_size
        Number of samples per gradient. If None, or if a client has fewer samples, the gradient uses all samples.
        ``losses`` always uses all samples.
    local_unit
        The unit of a local step. ``"step"`` is one gradient step on the next batch in a random order of the client's
        data; ``"epoch"`` is a whole pass over the client's batches.
    device, dtype
        Device for the computation, and precision, ``"float32"`` or ``"float64"``.
    engine
        ``"vmap"``, ``"serial"`` or ``"auto"``, see ``clusterproof.neural.engines.choose_engine``.
    precision
        ``"tf32"`` or ``"bf16"`` for local steps in lower precision, see ``clusterproof.neural.precision``.
    preprocessing
        Preprocessing of images. Training gradients use distorted images. If an algorithm chooses models by losses on
        the batch of a gradient, these losses also use distorted images.

    Raises
    ------
    InvalidArgument
        If an argument is out of range, network and partition do not match, a client has no samples, or the device is
        missing.

    Notes
    -----
    Random numbers are drawn on the host, client by client, so the minibatches do not depend on the engine or device.
    With another engine, device or number of threads, torch may add numbers in another order, which can change the last
    digits.
    """

    partition: Partition
    network: Network
    batch_size: int | None = None
    local_unit: str = "step"
    device: str = "cpu"
    dtype: str = "float32"
    engine: str = "auto"
    precision: Precision = "full"
    preprocessing: Preprocessing = field(default_factory=Preprocessing)
    chosen_engine: Engine = field(init=False, repr=False)
    """The engine in use."""

    def __post_init__(self) -> None:
        """Check the arguments, choose the engine, and copy the images to the device."""
        check_choice("dtype", self.dtype, ("float32", "float64"), remedy="'float32' is common for networks")
        check_choice("local_unit", self.local_unit, ("step", "epoch"), remedy="'step' is one gradient step")
        check_choice("precision", self.precision, tuple(BITS), remedy="'full' is single precision")
        if self.precision != "full" and self.dtype != "float32":
            rule = "can be used only with dtype = 'float32'"
            raise InvalidArgument("precision", self.precision, rule, "leave out precision or dtype")
        if self.batch_size is not None:
            check_count("batch_size", self.batch_size, at_least=1, remedy="leave it out to use all samples")
        check_images(self.partition, self.network, self.preprocessing)
        engine = choose_engine(self.engine, self.network, self._device.type)
        object.__setattr__(self, "chosen_engine", engine)
        _ = self._train  # copy the images now, so that errors do not wait for the first round

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
        """Number of training samples of each client (n_i), (m,)."""
        return self.partition.train.sizes

    @property
    def labels(self) -> np.ndarray:
        """The true cluster of each client, (m,)."""
        return self.partition.train.labels

    @property
    def samples(self) -> int | None:
        """Number of samples per gradient, or None if the number differs between clients."""
        counts = np.minimum(self.client_samples, self._batch_size)
        return int(counts[0]) if (counts == counts[0]).all() else None

    @property
    def settings(self) -> dict[str, Any]:
        """Arguments that recreate the task, as JSON values; ``engine`` is the engine in use."""
        return {
            "task": "image",
            "partition": dict(self.partition.settings),
            **self.network.settings,
            "batch_size": self.batch_size,
            "local_unit": self.local_unit,
            "device": self.device,
            "dtype": self.dtype,
            "engine": self.chosen_engine.name,
            **({} if self.precision == "full" else {"precision": self.precision}),
            **({} if self.preprocessing.nothing else {"preprocessing": self.preprocessing.settings}),
        }

    def initial_models(self, count: int, shape: tuple[int, ...], generator: np.random.Generator) -> Tensor:
        """Draw independent initial models from PyTorch's default distribution, (count, d).

        Raises
        ------
        InvalidArgument
            If replicates are requested.
        """
        if shape:
            rule = "requests several runs in one call, but networks are trained one run at a time"
            raise InvalidArgument(
                "replicates", shape[0], rule, "leave it out, and call the function once per seed"
            )
        drawn = self.network.initial((count,), generator, np.dtype(self.dtype))
        return torch.from_numpy(drawn).to(self._device)

    @exact
    def losses(self, models: Tensor, clients: Tensor, generator: np.random.Generator) -> Tensor:
        """Return the mean losses (k, P) of models (P, d) on all training data of each client."""
        return self._scores(models, to_numpy(clients), self._train).losses

    @exact
    def scores(self, models: Tensor) -> Scores:
        """Evaluate models (P, d) on the data of every test client."""
        return self._scores(models, np.arange(len(self._test.sizes)), self._test)

    @exact
    def accuracies(self, points: Tensor, clients: Tensor) -> Tensor:
        """Return the share of each client's test data that the client's point (k, d) predicts correctly, (k,).

        Raises
        ------
        InvalidArgument
            If the partition has different clients for training and testing.
        """
        if not self.partition.paired:
            rule = "has different clients for training and testing"
            remedy = "use `scores`, or a paired partition"
            raise InvalidArgument("partition", self.partition.name, rule, remedy)
        pairs = zip(points, to_numpy(clients), strict=True)
        shares = [self._scores(point[None], client[None], self._test).accuracies for point, client in pairs]
        return torch.cat(shares).squeeze(1)

    @exact
    def gradients(self, points: Tensor, clients: Tensor, generator: np.random.Generator) -> Tensor:
        """Return the gradients (k, d) at one point per client, on one batch per client; points have the same shape."""
        gradients = torch.empty_like(points, memory_format=torch.contiguous_format)
        for rows, batch in self._batches(clients, generator):
            gradients[rows], _ = self.chosen_engine.gradients(points[rows], batch)
        return gradients

    @exact
    def losses_and_gradients(
        self, models: Tensor, clients: Tensor, generator: np.random.Generator
    ) -> tuple[Tensor, Tensor]:
        """Return losses (k, P) and gradients (k, P, d) of models (P, d) on one batch per client."""
        losses = models.new_empty(len(clients), len(models))
        gradients = models.new_empty(*losses.shape, self.dimension)
        for rows, batch in self._batches(clients, generator):
            for model, point in enumerate(models):
                results = self.chosen_engine.gradients(point.expand(len(rows), -1), batch)
                gradients[rows, model], losses[rows, model] = results
        return losses, gradients

    @exact
    def hessian_products(
        self, points: Tensor, directions: Tensor, clients: Tensor, generator: np.random.Generator
    ) -> Tensor:
        """Return the products of Hessians at points and directions, all (k, d), on one batch per client."""
        products = torch.empty_like(points, memory_format=torch.contiguous_format)
        for rows, batch in self._batches(clients, generator):
            products[rows] = self.chosen_engine.hessian_products(points[rows], directions[rows], batch)
        return products

    @exact
    def gradient_sums(
        self, models: Tensor, clients: Tensor, assignments: Tensor, generator: np.random.Generator
    ) -> Tensor:
        """Return for each cluster the sum of its participants' gradients at its model, (P, d), on one batch per client.

        All samples of a cluster's participants are combined in one batch, so gradients of single clients are not
        stored.
        """
        indices, chosen = to_numpy(clients), to_numpy(assignments)
        sums = torch.zeros_like(models, memory_format=torch.contiguous_format)
        steps = [plan[0] for plan in self._single_steps(indices, generator)]
        for cluster in np.unique(chosen):
            members = np.flatnonzero(chosen == cluster)
            used = [steps[member] for member in members]
            pairs = zip(indices[members], used, strict=True)
            numbers = np.concatenate([self._train.numbers(client, step.samples) for client, step in pairs])
            drawn = [step.distortions for step in used if step.distortions is not None]
            counts = np.array([len(step.samples) for step in used])
            weights = models.new_tensor(np.repeat(1 / counts, counts))
            for part in self._parts(len(numbers)):
                batch = self._train.take(numbers[part], np.concatenate(drawn)[part] if drawn else None)
                sums[cluster] += self.chosen_engine.gradient_sum(models[cluster], batch, weights[part])
        return sums

    @exact
    def local_steps(
        self,
        points: Tensor,
        clients: Tensor,
        generator: np.random.Generator,
        descent: Descent,
        *,
        buffers: Tensor | None = None,
        anchors: Tensor | None = None,
        corrections: Tensor | None = None,
    ) -> Trained:
        """Take local steps as in ``Task.local_steps``, where each step is one ``local_unit``."""
        trained = points.clone(memory_format=torch.contiguous_format)
        carried = None if buffers is None else buffers.clone(memory_format=torch.contiguous_format)
        if carried is None and descent.momentum:
            carried = torch.zeros_like(trained)
        centres = (points if anchors is None else anchors) if descent.proximal else None
        steps = np.zeros((len(points), 1))
        for rows, work in self._work(to_numpy(clients), descent, generator):
            start, buffer, anchor, correction = (
                None if vectors is None else vectors[rows]
                for vectors in (trained, carried, centres, corrections)
            )
            assert start is not None
            with products_in(self.precision, self._device.type):
                self.chosen_engine.train(start, buffer, anchor, correction, work)
            trained[rows], steps[rows] = start, work.steps
            if carried is not None and buffer is not None:
                carried[rows] = buffer
        return Trained(trained, carried, points.new_tensor(steps))

    @exact
    def local_sums(
        self,
        models: Tensor,
        clients: Tensor,
        assignments: Tensor,
        generator: np.random.Generator,
        descent: Descent,
        *,
        buffers: Tensor | None = None,
        weights: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Train the participants, and sum their models for each cluster; see ``Task.local_sums``."""
        sums = torch.zeros_like(models, memory_format=torch.contiguous_format)
        buffer_sums = None if buffers is None and not descent.momentum else torch.zeros_like(sums)
        for rows, work in self._work(to_numpy(clients), descent, generator):
            factors = None if weights is None else weights[rows]
            with products_in(self.precision, self._device.type):
                self.chosen_engine.train_clusters(
                    models, buffers, assignments[rows], factors, work, (sums, buffer_sums)
                )
        return sums, buffer_sums

    def _work(
        self, clients: np.ndarray, descent: Descent, generator: np.random.Generator
    ) -> Iterator[tuple[slice | np.ndarray, LocalWork]]:
        """Draw the training data of participants (k,), and yield the local training of a few participants at a time."""
        steps = descent.steps if isinstance(descent.steps, int) else to_numpy(descent.steps)[:, 0]
        steps = np.broadcast_to(steps, clients.shape)
        batch_size = 1 if descent.reshuffled else self._batch_size
        if descent.reshuffled or self.local_unit == "epoch":
            steps = steps * -(-self.client_samples[clients] // batch_size)
        plans = self._draw(clients, steps, batch_size, generator)
        for rows in groups(plans, self.chosen_engine.most[self._device.type]):
            work = LocalWork(descent, self._train, clients[rows], [plans[row] for row in rows])
            # a slice returns views, so the clients' points are not copied
            together = rows[-1] - rows[0] == len(rows) - 1
            yield (slice(rows[0], rows[-1] + 1) if together else rows), work

    def _batches(self, clients: Tensor, generator: np.random.Generator) -> Iterator[tuple[np.ndarray, Batch]]:
        """Draw a batch for each participant (k,), and yield positions and batches of a few participants at a time."""
        indices = to_numpy(clients)
        plans = self._single_steps(indices, generator)
        for rows in groups(plans, self.chosen_engine.most[self._device.type]):
            work = LocalWork(Descent(0.0), self._train, indices[rows], [plans[row] for row in rows])
            yield rows, work.batch(0)

    def _single_steps(self, clients: np.ndarray, generator: np.random.Generator) -> list[list[Step]]:
        """Draw the data for one gradient step of each participant (k,), independently of all other steps.

        Raises
        ------
        InvalidArgument
            If a local step is a pass over minibatches.
        """
        if self.local_unit == "epoch" and self._batch_size < self.client_samples.max():
            rule = "is a pass over a client's data, but the algorithm needs single gradients"
            raise InvalidArgument("local_unit", self.local_unit, rule, "use 'step'")
        return self._draw(clients, np.ones(len(clients), dtype=int), self._batch_size, generator)

    def _draw(
        self, clients: np.ndarray, steps: np.ndarray, batch_size: int, generator: np.random.Generator
    ) -> list[list[Step]]:
        return [
            draw_steps(size, count, batch_size, self.preprocessing, generator)
            for size, count in zip(self.client_samples[clients].tolist(), steps.tolist(), strict=True)
        ]

    def _scores(self, models: Tensor, clients: np.ndarray, data: ClientData) -> Scores:
        """Evaluate models (P, d) on all data of clients (k,)."""
        numbers = np.concatenate([data.numbers(client) for client in clients])
        losses, is_right = (models.new_empty(len(numbers), len(models)) for _ in range(2))
        views = [self.network.views(model) for model in models]
        with torch.no_grad():
            for part in self._parts(len(numbers)):
                batch = data.take(numbers[part])
                for place, parameters in enumerate(views):
                    scores = self.network.function(parameters, batch.images)
                    losses[part, place] = cross_entropy(scores, batch.targets, reduction="none")
                    is_right[part, place] = (scores.argmax(-1) == batch.targets).to(models.dtype)
        lengths = torch.from_numpy(data.sizes[clients]).to(models.device)
        means = (torch.segment_reduce(values, "mean", lengths=lengths) for values in (losses, is_right))
        return Scores(*means)

    def _parts(self, count: int) -> Iterator[slice]:
        """Divide ``count`` samples into slices, each small enough for one pass on the device."""
        on_cpu = self._device.type == "cpu"
        size = CONVOLVED if self.network.convolutional and on_cpu else TOGETHER[self._device.type]
        for first in range(0, count, size):
            yield slice(first, first + size)

    @cached_property
    def _device(self) -> torch.device:
        return checked_device(self.device)

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
            getattr(torch, self.dtype),
            channels_last=self.network.convolutional,
            preprocessing=self.preprocessing,
        )

    @property
    def _batch_size(self) -> int:
        largest = int(self.client_samples.max())
        return largest if self.batch_size is None else min(self.batch_size, largest)
