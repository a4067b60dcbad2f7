"""Engines that compute gradients and local training of many clients by autograd, all at once or one by one."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from clusterproof.common.validation import InvalidArgument, check_choice
from clusterproof.neural.client_data import Batch
from clusterproof.neural.engines.base import Engine, LocalWork, descend, leaves
from clusterproof.neural.networks import Network


class VmapEngine(Engine):
    """Engine for any network that ``torch.func.vmap`` accepts, on any device."""

    name: ClassVar[str] = "vmap"
    most: ClassVar[dict[str, int]] = {"cpu": 16, "cuda": 128}

    def tensor_gradients(
        self, parameters: dict[str, Tensor], batch: Batch
    ) -> tuple[Sequence[Tensor], Tensor]:
        """Return gradients and losses, see ``Engine.tensor_gradients``."""
        gradients, losses = torch.func.vmap(torch.func.grad_and_value(self.loss))(
            parameters, batch.images, batch.targets
        )
        return list(gradients.values()), losses

    def hessian_products(self, points: Tensor, directions: Tensor, batch: Batch) -> Tensor:
        """Return products with Hessians, see ``Engine.hessian_products``."""

        def derivative_along(point: Tensor, direction: Tensor, images: Tensor, targets: Tensor) -> Tensor:
            gradient = torch.func.grad(lambda at: self.loss(self.network.views(at), images, targets))(point)
            return torch.dot(gradient, direction)

        # backward twice, because torch still compiles some rules for forward over backward in a deprecated way
        products: Tensor = torch.func.vmap(torch.func.grad(derivative_along))(
            points, directions, batch.images, batch.targets
        )
        return products


class SerialEngine(Engine):
    """Engine for any network that processes one client at a time.

    This engine trains a copy of the network. The parameters of the copy are views of the client's point, which avoids
    ``torch.func.functional_call`` in each step.
    """

    name: ClassVar[str] = "serial"
    most: ClassVar[dict[str, int]] = {"cpu": 1, "cuda": 1}

    def __init__(self, network: Network) -> None:
        super().__init__(network)
        self._module = copy.deepcopy(network)
        names: dict[int, str] = {}
        self._places: dict[str, list[tuple[nn.Module, str]]] = {}
        for name, value in self._module.named_parameters(remove_duplicate=False):
            owner, _, attribute = name.rpartition(".")
            first = names.setdefault(id(value), name)  # several modules may share this parameter
            self._places.setdefault(first, []).append((self._module.get_submodule(owner), attribute))
        self._bound: tuple[Tensor, list[Tensor]] | None = None
        self._own = torch.empty(2, 0)

    def tensor_gradients(
        self, parameters: dict[str, Tensor], batch: Batch
    ) -> tuple[Sequence[Tensor], Tensor]:
        """Return gradients and losses, see ``Engine.tensor_gradients``."""
        held = self._hold({name: value[0] for name, value in parameters.items()})
        self._bound = None
        gradients, loss = self._gradients(held, batch)
        return [gradient[None] for gradient in gradients], loss.detach()[None]

    def train(
        self,
        points: Tensor,
        buffers: Tensor | None,
        anchors: Tensor | None,
        corrections: Tensor | None,
        work: LocalWork,
    ) -> None:
        """Train one client locally, see ``Engine.train``."""
        buffer, anchor, correction = (
            None if each is None else each[0] for each in (buffers, anchors, corrections)
        )
        self._train(points[0], buffer, anchor, correction, work)

    def train_clusters(
        self,
        models: Tensor,
        buffers: Tensor | None,
        assignments: Tensor,
        weights: Tensor | None,
        work: LocalWork,
        sums: tuple[Tensor, Tensor | None],
    ) -> None:
        """Train one client from its cluster's model, see ``Engine.train_clusters``.

        All clients are trained in the same memory, and the parameters of the network's copy are views of this memory.
        """
        cluster, with_buffer = int(assignments), sums[1] is not None
        if (self._own.shape[1], self._own.dtype, self._own.device) != (
            models.shape[1],
            models.dtype,
            models.device,
        ):
            self._own = torch.empty_like(models[:1].expand(2, -1), memory_format=torch.contiguous_format)
            self._point, self._buffer = self._own.unbind()
        self._point.copy_(models[cluster])
        if buffers is not None:
            self._buffer.copy_(buffers[cluster])
        elif with_buffer:
            self._buffer.zero_()
        anchor = models[cluster] if work.descent.proximal else None
        self._train(self._point, self._buffer if with_buffer else None, anchor, None, work)
        factor = 1.0 if weights is None else float(weights)
        sums[0][cluster].add_(self._point, alpha=factor)
        if sums[1] is not None:
            sums[1][cluster].add_(self._buffer, alpha=factor)

    def hessian_products(self, points: Tensor, directions: Tensor, batch: Batch) -> Tensor:
        """Return products with Hessians, see ``Engine.hessian_products``."""
        parameters = leaves(self.network, points[0])
        inputs = list(parameters.values())
        loss = self.loss(parameters, batch.images[0], batch.targets[0])
        gradients = torch.autograd.grad(loss, inputs, create_graph=True)
        products = torch.autograd.grad(gradients, inputs, list(self.network.views(directions[0]).values()))
        return torch.cat([product.flatten() for product in products])[None]

    def _train(
        self,
        point: Tensor,
        buffer: Tensor | None,
        anchor: Tensor | None,
        correction: Tensor | None,
        work: LocalWork,
    ) -> None:
        """Train one client in place; all vectors have the shape (d,)."""
        if self._bound is None or self._bound[0] is not point:
            self._bound = point, self._hold(self.network.views(point))
        held = self._bound[1]
        tensors = [
            [None] * len(held) if vector is None else list(self.network.views(vector).values())
            for vector in (buffer, anchor, correction)
        ]
        states = list(zip([parameter.data for parameter in held], *tensors, strict=True))
        for batch in work.batches():
            gradients, _ = self._gradients(held, batch)
            for (own, momentum, centre, added), gradient in zip(states, gradients, strict=True):
                descend(own, momentum, centre, added, gradient, work.descent)

    def _hold(self, parameters: dict[str, Tensor]) -> list[Tensor]:
        """Replace the copy's parameters by views of the given tensors, and return these parameters."""
        held: list[Tensor] = []
        for name, value in parameters.items():
            held.append(nn.Parameter(value))
            for owner, attribute in self._places[name]:
                setattr(owner, attribute, held[-1])
        for name, value in self.network.constants(held[0]).items():
            for owner, attribute in self._places.get(name, ()):  # skip frozen parameters
                setattr(owner, attribute, nn.Parameter(value, requires_grad=False))
            if name not in self._places:
                place, _, attribute = name.rpartition(".")
                setattr(self._module.get_submodule(place), attribute, value)
        return held

    def _gradients(self, held: Sequence[Tensor], batch: Batch) -> tuple[Sequence[Tensor], Tensor]:
        """Return the gradients of the client's loss with respect to the copy's parameters, and the loss."""
        loss = cross_entropy(self._module(batch.images[0]), batch.targets[0])
        return torch.autograd.grad(loss, held), loss


ENGINES: dict[str, type[Engine]] = {kind.name: kind for kind in (VmapEngine, SerialEngine)}
"""All engines, indexed by their names in configurations.

:meta hide-value:
"""


LARGEST_BATCHED = 50_000
"""With more parameters, a CPU trains faster client by client, because a single model fills the cache."""


def choose_engine(name: str, network: Network, device: str) -> Engine:
    """Create the engine with the given name, or the fastest engine.

    Parameters
    ----------
    name
        One of ``ENGINES``, or ``"auto"``. ``"auto"`` selects ``"serial"`` for networks that ``torch.func.vmap`` does
        not accept. On a CPU, it also selects ``"serial"`` for convolutions and for more than ``LARGEST_BATCHED``
        parameters. Otherwise it selects ``"vmap"``.
    network, device
        The network to train, and ``"cpu"`` or ``"cuda"``.

    Raises
    ------
    InvalidArgument
        If there is no such engine, or the engine does not accept the network.
    """
    check_choice(
        "engine", name, ("auto", *ENGINES), remedy="'auto' selects the engine for network and device"
    )
    if name == "auto":
        on_cpu = device == "cpu" and (network.convolutional or network.dimension > LARGEST_BATCHED)
        name = "serial" if on_cpu or not network.vectorises else "vmap"
    if name == "vmap" and not network.vectorises:
        rule = "needs a network that torch.func.vmap accepts"
        raise InvalidArgument("engine", name, rule, "use 'serial'")
    return ENGINES[name](network)


__all__ = ["ENGINES", "Engine", "SerialEngine", "VmapEngine", "choose_engine"]
