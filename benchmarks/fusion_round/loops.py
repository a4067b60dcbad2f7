"""What a round is compared with: the public code's loop in torch, and one in numpy with nothing superfluous."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterproof.algorithms.fpfc import FusionState
from clusterproof.synthetic.softmax import SoftmaxMixture

STRENGTH, CONCAVITY, SMOOTHING, AUGMENTATION = 0.6, 3.7, 1e-3, 1.0
STEP, LOCAL_STEPS, SHARE = 0.1, 10, 0.3


def region_factor(length: float) -> float:
    """Factor of the proximal step, by if and else."""
    lam, a, xi, rho = STRENGTH, CONCAVITY, SMOOTHING, AUGMENTATION
    if length <= xi + lam / rho:
        return xi * rho / (lam + xi * rho)
    if length <= lam + lam / rho:
        return 1 - lam / (rho * length)
    if length <= a * lam:
        return (1 - a * lam / ((a - 1) * rho * length)) / (1 - 1 / ((a - 1) * rho))
    return 1.0


class TorchLoop:
    """The public code's manner."""

    def __init__(self, task: SoftmaxMixture, models: np.ndarray) -> None:
        import torch

        self.torch = torch
        self.models: list[Any] = []
        for model in models.reshape(len(models), 10, 61):
            layer = torch.nn.Linear(60, 10, dtype=torch.float64)
            layer.weight.data, layer.bias.data = (
                torch.tensor(part, dtype=torch.float64) for part in (model[:, :-1], model[:, -1])
            )
            self.models.append(layer)
        shape = (len(models), len(models), 10, 61)
        self.theta = torch.tensor(models[:, None] - models[None, :], dtype=torch.float).reshape(shape)
        self.v = torch.zeros(shape)
        data = [task.training_data(client) for client in range(len(models))]
        self.data = [(torch.tensor(x, dtype=torch.float64), torch.tensor(y)) for x, y in data]

    def anchors(self, active: list[int]) -> dict[int, Any]:
        """Sum over j for each participant, weights and biases apart."""
        zeros, count, result = self.torch.zeros, len(self.models), {}
        weights, biases = zeros((count, 10, 60)), zeros((count, 10, 1))
        for i in range(count):
            weights[i] = self.models[i].weight.data.clone()
            biases[i] = self.models[i].bias.data.clone().reshape(-1, 1)
        for i in active:
            weight, bias = zeros((10, 60)), zeros((10, 1))
            for j in range(count):
                weight += weights[j] + self.theta[i][j][:, :-1] - self.v[i][j][:, :-1] / AUGMENTATION
                bias += (
                    biases[j]
                    + self.theta[i][j][:, -1].reshape(-1, 1)
                    - self.v[i][j][:, -1].reshape(-1, 1) / AUGMENTATION
                )
            result[i] = weight / count, bias / count
        return result

    def train(self, anchors: dict[int, Any]) -> None:
        """Train the participants."""
        loss = self.torch.nn.CrossEntropyLoss()
        for i, (weight, bias) in anchors.items():
            model, (features, targets) = self.models[i], self.data[i]
            for _ in range(LOCAL_STEPS):
                model.zero_grad()
                loss(model(features), targets).backward()
                slopes = model.weight.grad.clone(), model.bias.grad.clone()
                model.weight.data -= STEP * (slopes[0] + AUGMENTATION * (model.weight.data - weight))
                model.bias.data -= STEP * (slopes[1] + AUGMENTATION * (model.bias.data - bias[:, 0]))

    def joined(self, client: int) -> Any:
        """Weights and biases side by side."""
        model = self.models[client]
        return self.torch.cat((model.weight.data, model.bias.data.reshape(-1, 1)), 1)

    def settle(self, active: list[int]) -> None:
        """Update theta and v of the participants' pairs."""
        lam, a, xi, rho = STRENGTH, CONCAVITY, SMOOTHING, AUGMENTATION
        norm = self.torch.norm
        for i in active:
            one = self.joined(i)
            for j in range(len(self.models)):
                other = self.joined(j)
                delta = one.float() - other.float() + 1 / rho * self.v[i][j]
                if norm(delta) <= xi + lam / rho:
                    self.theta[i][j] = xi * rho / (lam + xi * rho) * delta
                elif norm(delta) <= lam + lam / rho:
                    self.theta[i][j] = (1 - lam / (rho * norm(delta))) * delta
                elif norm(delta) <= a * lam:
                    shrunk = (1 - a * lam / ((a - 1) * rho * norm(delta))) * delta
                    self.theta[i][j] = shrunk / (1 - 1 / ((a - 1) * rho))
                else:
                    self.theta[i][j] = delta
                self.theta[j][i] = -self.theta[i][j]
                self.v[i][j] = self.v[i][j] + rho * (one.float() - other.float() - self.theta[i][j])
                self.v[j][i] = -self.v[i][j]


class NumpyLoop:
    """The server's part with nothing superfluous."""

    def __init__(self, models: np.ndarray) -> None:
        self.models = models.copy()
        self.theta = models[:, None] - models[None, :]
        self.v = np.zeros_like(self.theta)

    def anchors(self, active: list[int]) -> dict[int, np.ndarray]:
        """Sum over j for each participant."""
        result = {}
        for i in active:
            total = np.zeros(self.models.shape[1])
            for j in range(len(self.models)):
                total += self.models[j] + self.theta[i, j] - self.v[i, j] / AUGMENTATION
            result[i] = total / len(self.models)
        return result

    def settle(self, active: list[int]) -> None:
        """Update theta and v of the participants' pairs."""
        present = set(active)
        for i in range(len(self.models)):
            for j in range(i + 1, len(self.models)):
                if i not in present and j not in present:
                    continue
                apart = self.models[i] - self.models[j]
                delta = apart + self.v[i, j] / AUGMENTATION
                theta = region_factor(float(np.sqrt(delta @ delta))) * delta
                v = self.v[i, j] + AUGMENTATION * (apart - theta)
                self.theta[i, j], self.theta[j, i] = theta, -theta
                self.v[i, j], self.v[j, i] = v, -v


def fill(loop: Any, state: FusionState, dtype: Any) -> None:
    """Give a loop the models and the dense pair variables of a state."""
    for page, span in state.pairs.spans():
        first, second, factors = (
            part[span] for part in (state.pairs.first, state.pairs.second, state.pairs.factors)
        )
        for i, j, s, delta in zip(first, second, factors, page, strict=True):
            shape = tuple(loop.theta.shape[2:])
            for sign, (p, q) in ((1, (i, j)), (-1, (j, i))):
                loop.theta[p, q] = dtype(sign * s * delta.reshape(shape))
                loop.v[p, q] = dtype(sign * AUGMENTATION * (1 - s) * delta.reshape(shape))
