"""Convolutional networks of many clients by matrix products, with gradients written by hand.

A convolution of each client by kernels of its own is one batched product of its windows, laid out as rows, with
its kernels. ``vmap`` makes a grouped convolution of it instead, and twice as many kernels for a GPU to launch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import fold, log_softmax, max_pool2d, pad, softmax

from clusterproof.neural.engines.batched import VmapEngine
from clusterproof.neural.engines.data import Batch
from clusterproof.neural.networks import CNN
from clusterproof.neural.networks.cnn import KERNEL


class Convolved(NamedTuple):
    """What the way back through a convolution needs.

    Attributes
    ----------
    windows
        (k, b L, 25 C), L of them in each image.
    values
        Before pooling, (k b, O, H', W'), colours next to each other.
    indices
        Which of them pooling has kept.
    kept
        After pooling and ReLU, (k b, O, H'', W'').
    """

    windows: Tensor
    values: Tensor
    indices: Tensor
    kept: Tensor


@dataclass(frozen=True)
class ConvolutionEngine(VmapEngine):
    """The papers' convolutional networks on a GPU."""

    network: CNN

    def gradients(self, points: Tensor, batch: Batch, out: Tensor, losses: Tensor | None = None) -> None:
        """Gradients of the losses, see ``Engine.gradients``."""
        views = self.network.views(points)
        clients, samples = batch.targets.shape
        values, passed = batch.images.flatten(0, 1), []
        for index, padding in enumerate(self.network.padding):
            kernels, bias = (views[f"convolutions.{index}.{part}"] for part in ("weight", "bias"))
            passed.append(_convolve(values, kernels, bias, padding))
            values = passed[-1].kept
        inputs = [values.reshape(clients, samples, -1)]
        layers = range(len(self.network.widths) - 1)
        for index in layers:
            weight, bias = (views[f"layers.{index}.{part}"] for part in ("weight", "bias"))
            if index:
                inputs[-1].clamp_min_(0)
            inputs.append(torch.baddbmm(bias[:, None], inputs[-1], weight.mT))
        scores, targets = inputs.pop(), batch.targets[..., None]
        if losses is not None:
            logarithms = log_softmax(scores, -1)
            losses.copy_(-(logarithms.gather(2, targets)[..., 0] * batch.weights).sum(1))
        errors = softmax(scores, -1).scatter_(2, targets, -1.0, reduce="add").mul_(batch.weights[..., None])
        slopes = []
        for index in reversed(layers):
            slopes += [errors.sum(1), errors.mT @ inputs[index]]
            errors = errors @ views[f"layers.{index}.weight"]
            if index:
                errors = _behind_relu(errors, inputs[index])
        errors = errors.view_as(values)
        for index in (1, 0):
            errors = _behind_relu(errors, passed[index].kept)
            flat = _unpool(errors, passed[index]).permute(0, 2, 3, 1).reshape(clients, -1, errors.shape[1])
            slopes += [flat.sum(1), flat.mT @ passed[index].windows]
            if index:
                kernels = views[f"convolutions.{index}.weight"].flatten(2)
                errors = self._to_images(flat @ kernels, passed[0].kept, self.network.padding[index])
        torch.cat([slope.flatten(1) for slope in reversed(slopes)], dim=1, out=out)

    @staticmethod
    def _to_images(windows: Tensor, like: Tensor, padding: int) -> Tensor:
        """Add windows (k, b L, 25 C) up where they come from, (k b, C, H, W)."""
        columns = windows.view(len(like), -1, windows.shape[2]).mT
        return fold(columns, like.shape[2:], KERNEL, padding=padding)


def _convolve(images: Tensor, kernels: Tensor, bias: Tensor, padding: int) -> Convolved:
    """Convolve, pool and cut off: images (k b, C, H, W) by kernels (k, O, C, 5, 5) and biases (k, O)."""
    clients, outputs = bias.shape
    padded = pad(images, (padding,) * 4) if padding else images
    windows = padded.unfold(2, KERNEL, 1).unfold(3, KERNEL, 1).permute(0, 2, 3, 1, 4, 5)
    height, width = windows.shape[1:3]
    rows = windows.reshape(clients, -1, windows.shape[3] * KERNEL**2)
    values = torch.baddbmm(bias[:, None], rows, kernels.flatten(2).mT)
    values = values.view(-1, height, width, outputs).permute(0, 3, 1, 2)
    kept, indices = max_pool2d(values, 2, return_indices=True)
    return Convolved(rows, values, indices, kept.clamp_min_(0))


def _unpool(errors: Tensor, passed: Convolved) -> Tensor:
    """Errors before pooling, (k b, O, H', W')."""
    back: Tensor = torch.ops.aten.max_pool2d_with_indices_backward(
        errors, passed.values, [2, 2], [2, 2], [0, 0], [1, 1], False, passed.indices
    )
    return back


def _behind_relu(errors: Tensor, values: Tensor) -> Tensor:
    through: Tensor = torch.ops.aten.threshold_backward(errors, values, 0)
    return through
