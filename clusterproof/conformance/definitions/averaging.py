"""Algorithms with one model: FedAvg, and those that differ from it in the local step or on the server."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clusterproof.conformance.definitions.base import FORMS, STEPS, Definition


class FedAvg(Definition):
    """FedAvg: local gradient steps, then the weighted mean of the changes."""

    name = "fedavg"
    equation = "y_i <- x; K_i times y_i <- y_i - eta g_i(y_i); x <- x + gamma sum_S p_i (y_i - x)"
    source = "McMahan et al. 2017, Algorithm 1; server step: Karimireddy et al. 2020"
    paper_was_read = True


class FedProx(Definition):
    """FedProx: FedAvg whose local objective has a proximal term, minimised by gradient steps."""

    name = "fedprox"
    equation = (
        "y_i <- x; K_i times y_i <- y_i - eta (g_i(y_i) + mu (y_i - x)); x <- x + gamma sum_S p_i (y_i - x)"
    )
    source = (
        "Li et al. 2020, Algorithm 2, restated, the local problem solved by gradient steps; as in litian96/FedProx at "
        "d2a4501f, flearn/optimizer/pgd.py, line 34, and flearn/trainers/fedbase.py, lines 115-125 (weights n_i)"
    )
    own_settings = {"proximal": 0.7}
    strengths = {"proximal": 0.3}

    def correction(self, client: int, y: np.ndarray, received: np.ndarray) -> Any:
        """Return the gradient of mu / 2 ||y - x||^2."""
        return self.line("pull", self.settings["proximal"] * (y - received), y=y)


class FedNova(Definition):
    """FedNova with plain local gradient steps: changes are divided by the numbers of steps."""

    name = "fednova"
    equation = "d_i = (y_i - x) / K_i; x <- x + gamma tau sum_S p_i d_i, tau = sum_S p_i K_i"
    source = (
        "Wang et al. 2020, restated, with a_i = K_i (plain local gradient steps); as in JYWa/FedNova at 47b4e096, "
        "distoptim/FedNova.py, lines 161-206 (weights n_i)"
    )
    # weights by steps would be FedAvg's own correction a second time
    variants = {**STEPS, "weighting": ("samples", "clients")}

    def change(self, participants: Sequence[int], local: Mapping[int, np.ndarray]) -> np.ndarray:
        """Return tau times the weighted mean of the normalised changes."""
        weights = self.weights(participants)
        counts = np.array([self.line("K", float(self.steps(i)), client=i) for i in participants])
        tau = self.line("tau", weights @ counts, counts=counts)
        normalised = zip(weights, participants, counts, strict=True)
        change = np.asarray(tau * sum(p * (local[i] - self.x) / count for p, i, count in normalised))
        return self.line("change", change, participants=participants, weights=weights, local=local)


class FedLin(Definition):
    """FedLin: every client first sends its gradient at the received model."""

    name = "fedlin"
    equation = (
        "g = sum_S p_i g_i(x); y_i <- x; K_i times y_i <- y_i - eta (g_i(y_i) - g_i(x) + g); "
        "x <- x + gamma sum_S p_i (y_i - x)"
    )
    source = "Mitra et al. 2021, restated, where p_i = 1/|S|"
    own_settings = {"weighting": "clients"}

    def exchange(self, participants: Sequence[int]) -> None:
        """Carry out one round of two exchanges."""
        self.sent = {i: self.task.gradient(i, self.x) for i in participants}
        weights = self.weights(participants)
        self.mean = sum(p * self.sent[i] for p, i in zip(weights, participants, strict=True))
        super().exchange(participants)

    def correction(self, client: int, y: np.ndarray, received: np.ndarray) -> Any:
        """Return what takes the client's drift off, g - g_i(x)."""
        drift = self.line("server part", self.mean) - self.line("client part", self.sent[client])
        return self.line("correction", drift)


class PerFedAvg(Definition):
    """Per-FedAvg with exact Hessians: gradient steps on the loss after one adaptation step."""

    name = "per-fedavg"
    equation = (
        "y_i <- x; K_i times y_i <- y_i - eta (I - a A_i(y_i)) g_i(y_i - a g_i(y_i)), A_i the Hessian; "
        "x <- x + gamma sum_S p_i (y_i - x)"
    )
    source = (
        "Fallah et al. 2020, restated, with Hessians or to first order, where p_i = 1/|S|; the first-order step as in "
        "CharlieDinh/pFedMe at caf24b1f, FLAlgorithms/users/userperavg.py, lines 42-69"
    )
    own_settings = {"inner_step_size": 0.15, "gradient": "second-order", "weighting": "clients"}
    strengths = {"inner_step_size": 0.3}
    variants = {"gradient": ("second-order", "first-order"), **FORMS}

    def gradient(self, client: int, point: np.ndarray, step: int = 0) -> np.ndarray:
        """Return the gradient of f_i(y - a g_i(y)), with or without the Hessian."""
        inner = self.line("inner step", self.settings["inner_step_size"])
        gradient = super().gradient(client, point - inner * super().gradient(client, point, step), step)
        if self.settings["gradient"] == "first-order":
            return gradient
        product = self.task.hessian(client, point) @ gradient
        return np.asarray(gradient - inner * self.line("hessian term", product))


class FedAvgM(Definition):
    """FedAvg with momentum on the server."""

    name = "fedavgm"
    equation = (
        "Delta = x - sum_S p_i y_i; v <- beta v + Delta, v_0 = 0; x <- x - gamma v, or with nesterov "
        "x <- x - gamma (Delta + beta v)"
    )
    source = "Hsu et al. 2019, restated"
    own_settings = {"momentum": 0.6, "nesterov": False}
    strengths = {"momentum": 0.3}
    variants = {"nesterov": (False, True), **FORMS}

    def prepare(self) -> None:
        """Start the momentum at 0."""
        self.v = np.zeros_like(self.x)

    def change(self, participants: Sequence[int], local: Mapping[int, np.ndarray]) -> np.ndarray:
        """Return -v."""
        delta = -super().change(participants, local)
        beta = self.line("momentum", self.settings["momentum"])
        self.v = beta * self.line("old v", self.v) + self.line("delta", delta)
        step = delta + beta * self.v if self.settings["nesterov"] else self.v
        return -self.line("step", step, delta=delta, beta=beta)


class FedAdam(Definition):
    """FedAdam: Adam on the server without bias correction."""

    name = "fedadam"
    equation = (
        "Delta = sum_S p_i y_i - x; m <- beta_1 m + (1 - beta_1) Delta; v <- beta_2 v + (1 - beta_2) Delta^2; "
        "x <- x + eta m / (sqrt(v) + tau), v_0 = tau^2"
    )
    source = (
        "Reddi et al. 2021, Algorithm 2, restated, where p_i = 1/|S|; google-research/federated at 0b7d004f, "
        "optimization/shared/optimizer_utils.py, has Keras' Adam, whose bias correction is the form step-size"
    )
    own_settings = {
        **{"beta1": 0.8, "beta2": 0.9, "tau": 0.05, "eta": 0.2, "weighting": "clients"},
        **{"v_start": "tau-squared", "bias_correction": "none"},
    }
    strengths = {"beta1": 0.5, "tau": 0.2, "beta2": 0.8}
    lengths = "tau"
    variants = {"v_start": ("tau-squared", "zero"), "bias_correction": ("none", "adam", "step-size"), **FORMS}
    server_step = "eta"

    def prepare(self) -> None:
        """Start m at 0 and v at tau^2."""
        self.m = np.zeros_like(self.x)
        start = self.settings["tau"] ** 2 if self.settings["v_start"] == "tau-squared" else 0.0
        self.v = np.full_like(self.x, self.line("v start", start))

    def second_moment(self, delta: np.ndarray, beta2: float) -> np.ndarray:
        """Return the next v."""
        return np.asarray(beta2 * self.v + (1 - beta2) * delta**2)

    def server_model(self, participants: Sequence[int], local: Mapping[int, np.ndarray]) -> np.ndarray:
        """Return x + eta m / (sqrt(v) + tau)."""
        delta, beta2 = self.change(participants, local), self.settings["beta2"]
        beta1 = self.line("beta1", self.settings["beta1"])
        self.m = beta1 * self.m + self.line("damping", 1 - beta1) * delta
        self.v = self.second_moment(self.line("second moment of", delta, m=self.m), beta2)
        m, v, eta = self.m, self.v, self.line("server step", self.settings["eta"])
        form = self.line("bias correction", self.settings["bias_correction"])
        t = self.line("t", self.finished + 1)
        if form == "adam":
            m, v = m / (1 - beta1**t), v / (1 - beta2**t)
        elif (
            form == "step-size"
        ):  # Kingma and Ba 2015, end of section 2: tau is not divided by sqrt(1 - beta2^t)
            eta *= np.sqrt(1 - beta2**t) / (1 - beta1**t)
        scale = self.line("scale", np.sqrt(v) + self.settings["tau"], v=v)
        return np.asarray(self.x + eta * m / scale)


class FedYogi(FedAdam):
    """FedYogi: FedAdam with Yogi's additive second moment."""

    name = "fedyogi"
    equation = (
        "Delta = sum_S p_i y_i - x; m <- beta_1 m + (1 - beta_1) Delta; "
        "v <- v - (1 - beta_2) Delta^2 sign(v - Delta^2); x <- x + eta m / (sqrt(v) + tau), v_0 = tau^2"
    )
    source = (
        "Reddi et al. 2021, Algorithm 2, restated, where p_i = 1/|S|; v as in google-research/federated at 679b03d8, "
        "utils/optimizers/yogi.py, which starts v at a number of its own and has the bias correction step-size"
    )

    def second_moment(self, delta: np.ndarray, beta2: float) -> np.ndarray:
        """Return the next v."""
        sign = self.line("sign", np.sign(self.v - delta**2))
        return self.line("yogi", np.asarray(self.v - (1 - beta2) * delta**2 * sign), delta=delta)
