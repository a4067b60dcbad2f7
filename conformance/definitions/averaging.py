"""FedAvg, and the algorithms that differ from it in the local step or in one line of the server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from clusterproof.conformance.definitions.base import Definition

FORMS = {"weighting": ("samples", "clients", "steps"), "drop_last": (False, True)}
"""Settings of every algorithm with a weighted mean whose every value is an admissible form."""


class FedAvg(Definition):
    """FedAvg: local gradient steps, then the weighted mean of the changes."""

    name = "fedavg"
    equation = "y_i <- x; K_i times y_i <- y_i - eta g_i(y_i); x <- x + gamma sum_S p_i (y_i - x)"
    source = "McMahan et al. 2017, Algorithm 1; server step: Karimireddy et al. 2020"
    paper_was_read = True
    variants = FORMS

    def round(self, participants: Sequence[int]) -> None:
        """Carry out one round."""
        received = self.line("received", self.x)
        local = {i: self.local_model(i, received) for i in participants}
        self.x = self.server_model(participants, local)

    def local_model(self, client: int, received: np.ndarray) -> np.ndarray:
        """Return y_i after K_i local steps from the received model."""
        y = self.line("start", received, client=client)
        for step in range(self.steps(client)):
            direction = self.direction(client, y, received, step)
            y = y - self.step_size * self.line("direction", direction, client=client, y=y, step=step)
        return self.line("local model", y, client=client)

    def direction(self, client: int, y: np.ndarray, received: np.ndarray, step: int) -> np.ndarray:
        """Return what a local step is taken along: the gradient."""
        return self.gradient(client, y, step)

    def change(self, participants: Sequence[int], local: Mapping[int, np.ndarray]) -> np.ndarray:
        """Return the weighted mean of the changes, sum_S p_i (y_i - x)."""
        weights = self.weights(participants)
        change = sum(p * (local[i] - self.x) for p, i in zip(weights, participants, strict=True))
        return np.asarray(
            self.line("change", change, participants=participants, weights=weights, local=local)
        )

    def server_model(self, participants: Sequence[int], local: Mapping[int, np.ndarray]) -> np.ndarray:
        """Return the next model, x + gamma times the mean change."""
        change = self.change(participants, local)
        gamma = self.line("server step", self.settings["server_step_size"])
        return self.line("new model", self.x + gamma * change, change=change, gamma=gamma)


class FedProx(FedAvg):
    """FedProx: FedAvg whose local objective has a proximal term, minimised by gradient steps."""

    name = "fedprox"
    equation = (
        "y_i <- x; K_i times y_i <- y_i - eta (g_i(y_i) + mu (y_i - x)); x <- x + gamma sum_S p_i (y_i - x)"
    )
    source = "Li et al. 2020, Algorithm 2, the local problem solved by gradient steps"
    paper_was_read = False
    own_settings = {"proximal": 0.7}
    strengths = {"proximal": 0.3}

    def direction(self, client: int, y: np.ndarray, received: np.ndarray, step: int) -> np.ndarray:
        """Return the gradient of f_i + mu / 2 ||y - x||^2."""
        pull = self.settings["proximal"] * (y - received)
        return np.asarray(self.gradient(client, y, step) + self.line("pull", pull, y=y, received=received))


class FedNova(FedAvg):
    """FedNova with plain local gradient steps: changes are divided by the numbers of steps."""

    name = "fednova"
    equation = "d_i = (y_i - x) / K_i; x <- x + gamma tau sum_S p_i d_i, tau = sum_S p_i K_i"
    source = "Wang et al. 2020, with a_i = K_i (plain local gradient steps)"
    paper_was_read = False
    # weights by steps would be FedAvg's own correction a second time
    variants = {**FORMS, "weighting": ("samples", "clients")}

    def change(self, participants: Sequence[int], local: Mapping[int, np.ndarray]) -> np.ndarray:
        """Return tau times the weighted mean of the normalised changes."""
        weights = self.weights(participants)
        counts = np.array([self.line("K", float(self.steps(i)), client=i) for i in participants])
        divisors = self.line("normaliser", counts, participants=participants)
        tau = self.line("tau", weights @ counts, counts=counts)
        change = sum(
            p * (local[i] - self.x) / divisor
            for p, i, divisor in zip(weights, participants, divisors, strict=True)
        )
        return np.asarray(
            self.line("change", tau * change, participants=participants, weights=weights, local=local)
        )


class FedLin(FedAvg):
    """FedLin: every client first sends its gradient at the received model."""

    name = "fedlin"
    equation = (
        "g = sum_S p_i g_i(x); y_i <- x; K_i times y_i <- y_i - eta (g_i(y_i) - g_i(x) + g); "
        "x <- x + gamma sum_S p_i (y_i - x)"
    )
    source = "Mitra et al. 2021, where p_i = 1/|S|"
    paper_was_read = False
    own_settings = {"weighting": "clients"}

    def round(self, participants: Sequence[int]) -> None:
        """Carry out one round of two exchanges."""
        self.sent = {i: self.task.gradient(i, self.x) for i in participants}
        weights = self.weights(participants)
        self.mean = sum(p * self.sent[i] for p, i in zip(weights, participants, strict=True))
        super().round(participants)

    def direction(self, client: int, y: np.ndarray, received: np.ndarray, step: int) -> np.ndarray:
        """Return the gradient with the client's drift taken off."""
        correction = self.line("server part", self.mean) - self.line("client part", self.sent[client])
        return np.asarray(self.gradient(client, y, step) + self.line("correction", correction))
