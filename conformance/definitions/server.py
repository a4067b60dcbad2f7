"""Server optimisers on the mean change: FedAvgM, FedAdam and FedYogi."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from clusterproof.conformance.definitions.averaging import FORMS, FedAvg


class FedAvgM(FedAvg):
    """FedAvg with momentum on the server."""

    name = "fedavgm"
    equation = "Delta = x - sum_S p_i y_i; v <- beta v + Delta, v_0 = 0; x <- x - gamma v"
    source = "Hsu et al. 2019"
    paper_was_read = False
    own_settings = {"momentum": 0.6}
    strengths = {"momentum": 0.3}

    def prepare(self) -> None:
        """Start the momentum at 0."""
        self.v = np.zeros_like(self.x)

    def server_model(self, participants: Sequence[int], local: Mapping[int, np.ndarray]) -> np.ndarray:
        """Return x - gamma v."""
        delta = -self.change(participants, local)
        beta = self.line("momentum", self.settings["momentum"])
        self.v = beta * self.line("old v", self.v) + self.line("delta", delta)
        gamma = self.line("server step", self.settings["server_step_size"])
        step = self.line("step", self.v, delta=delta, beta=beta)
        return self.line("new model", self.x - gamma * step, change=-step, gamma=gamma)


class FedAdam(FedAvg):
    """FedAdam: Adam on the server without bias correction."""

    name = "fedadam"
    equation = (
        "Delta = sum_S p_i y_i - x; m <- beta1 m + (1 - beta1) Delta; v <- beta2 v + (1 - beta2) Delta^2; "
        "x <- x + eta m / (sqrt(v) + tau), v_0 = tau^2"
    )
    source = "Reddi et al. 2021, Algorithm 2, where p_i = 1/|S|"
    paper_was_read = False
    own_settings = {
        "beta1": 0.8,
        "beta2": 0.9,
        "tau": 0.05,
        "eta": 0.2,
        "v_start": "tau-squared",
        "bias_correction": "none",
        "weighting": "clients",
    }
    strengths = {"beta1": 0.5, "tau": 0.2, "beta2": 0.8}
    variants = {
        "v_start": ("tau-squared", "zero"),
        "bias_correction": ("none", "adam"),
        **FORMS,
    }
    server_step = "eta"

    def prepare(self) -> None:
        """Start m at 0 and v at tau^2."""
        self.m = np.zeros_like(self.x)
        start = self.settings["tau"] ** 2 if self.settings["v_start"] == "tau-squared" else 0.0
        self.v = np.full_like(self.x, self.line("v start", start))
        self.rounds = 0

    def second_moment(self, delta: np.ndarray) -> np.ndarray:
        """Return the next v."""
        beta2 = self.line("beta2", self.settings["beta2"])
        return np.asarray(beta2 * self.v + (1 - beta2) * delta**2)

    def server_model(self, participants: Sequence[int], local: Mapping[int, np.ndarray]) -> np.ndarray:
        """Return x + eta m / (sqrt(v) + tau)."""
        settings = self.settings
        delta = self.change(participants, local)
        beta1 = self.line("beta1", settings["beta1"])
        self.m = beta1 * self.m + self.line("damping", 1 - beta1) * delta
        self.v = self.second_moment(delta)
        self.rounds += 1
        m, v = self.m, self.v
        if self.line("bias correction", settings["bias_correction"]) == "adam":
            m, v = m / (1 - beta1**self.rounds), v / (1 - settings["beta2"] ** self.rounds)
        tau = settings["tau"]
        scale = self.line("scale", np.sqrt(v) + tau, v=v, tau=tau)
        return np.asarray(self.x + self.line("server step", settings["eta"]) * m / scale)


class FedYogi(FedAdam):
    """FedYogi: FedAdam with Yogi's additive second moment."""

    name = "fedyogi"
    equation = (
        "Delta = sum_S p_i y_i - x; m <- beta1 m + (1 - beta1) Delta; v <- v - (1 - beta2) Delta^2 sign(v - Delta^2); "
        "x <- x + eta m / (sqrt(v) + tau), v_0 = tau^2"
    )

    def second_moment(self, delta: np.ndarray) -> np.ndarray:
        """Return the next v."""
        beta2 = self.line("beta2", self.settings["beta2"])
        sign = self.line("sign", np.sign(self.v - delta**2))
        moment: np.ndarray = self.v - (1 - beta2) * delta**2 * sign
        return self.line("yogi", moment, delta=delta, beta2=beta2)
