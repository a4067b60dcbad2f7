"""Algorithms with a model for each cluster: IFCA and CFL-MGD."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clusterproof.conformance.definitions.averaging import FORMS
from clusterproof.conformance.definitions.base import Definition


class IFCA(Definition):
    """IFCA: clients join the received model of least loss."""

    name = "ifca"
    equation = (
        "j(i) = argmin_j f_i(w_j) at the received models; model averaging: w_j <- sum of its members' p_i y_i; "
        "gradient averaging: w_j <- w_j - (eta/N) sum of its members' g_i(w_j); no member: w_j stays"
    )
    source = "Ghosh et al. 2020, Algorithm 1, where the p_i of a cluster are equal"
    paper_was_read = True
    own_settings = {"averaging": "model", "weighting": "clients"}
    variants = {"averaging": ("model", "gradient"), **FORMS}
    server_step = None
    quantities = ("model", "assignments")
    clusters = 2

    def prepare(self) -> None:
        """Start the models."""
        assert self.task.starts is not None
        self.x = np.array(self.task.starts, dtype=float)
        self.buffers = np.zeros_like(self.x)
        self.assignments = np.full(self.task.clients, -1)

    def round(self, participants: Sequence[int]) -> None:
        """Carry out one round."""
        self.assignments = np.full(self.task.clients, -1)
        for i in participants:
            losses = [self.task.loss(i, model) for model in self.x]
            self.assignments[i] = self.line("choice", int(np.argmin(losses)), client=i, losses=losses)
        if self.line("averaging", self.settings["averaging"]) == "gradient":
            self.average_gradients(participants)
        else:
            self.average_models(participants)

    def average_gradients(self, participants: Sequence[int]) -> None:
        """Move each model along the sum of its members' gradients over N."""
        models = self.x.copy()
        for j in range(len(models)):
            members = [i for i in participants if self.assignments[i] == j]
            total = sum((self.gradient(i, self.x[j]) for i in members), np.zeros(self.task.dimension))
            count = self.line("divisor", self.task.clients, participants=participants, members=members)
            models[j] = models[j] - self.step_size * self.momentum_of(j, total / count)
        self.x = models

    def momentum_of(self, cluster: int, gradient: np.ndarray) -> np.ndarray:
        """Return what a model moves along: the gradient itself."""
        return gradient

    def average_models(self, participants: Sequence[int]) -> None:
        """Replace each model by the weighted mean of its members' local models."""
        models, buffers = self.x.copy(), self.buffers.copy()
        local = {i: self.local_model(i, int(self.assignments[i])) for i in participants}
        for j in range(len(models)):
            members = [i for i in participants if self.assignments[i] == j]
            members = self.line("members", members, cluster=j, participants=participants)
            if not members:
                models[j] = self.line("empty", models[j], cluster=j)
                continue
            weights = self.line(
                "member weights", self.weights(members), members=members, participants=participants
            )
            models[j] = sum(p * local[i][0] for p, i in zip(weights, members, strict=True))
            buffers[j] = sum(p * local[i][1] for p, i in zip(weights, members, strict=True))
        self.x, self.buffers = models, buffers

    def local_model(self, client: int, cluster: int) -> tuple[np.ndarray, np.ndarray]:
        """Return y_i after the local steps from the chosen model, and the momentum, which stays 0."""
        y = self.x[cluster]
        for step in range(self.steps(client)):
            y = y - self.step_size * self.gradient(client, y, step)
        return y, np.zeros_like(y)


class CFLMGD(IFCA):
    """CFL-MGD: IFCA with momentum, on the server (gradient averaging) or in the local steps (model averaging)."""

    name = "cfl-mgd"
    equation = (
        "as IFCA; gradient averaging: u_j <- beta u_j + (1/N) sum of its members' g_i(w_j), w_j <- w_j - eta u_j; "
        "model averaging: K_i times u <- beta u + g_i(y), y <- y - eta u, from the cluster's mean momentum"
    )
    source = "Zhao et al. 2023, Algorithm 1"
    paper_was_read = True
    own_settings = {"averaging": "gradient", "momentum": 0.6, "weighting": "clients"}
    strengths = {"momentum": 0.3}

    def momentum_of(self, cluster: int, gradient: np.ndarray) -> np.ndarray:
        """Return the cluster's momentum after the gradient."""
        beta = self.line("momentum", self.settings["momentum"])
        self.buffers[cluster] = beta * self.line("old v", self.buffers[cluster]) + gradient
        return np.asarray(self.buffers[cluster])

    def local_model(self, client: int, cluster: int) -> tuple[np.ndarray, np.ndarray]:
        """Return y_i and its momentum after the local steps."""
        y, u = self.x[cluster], self.line("old v", self.buffers[cluster])
        for step in range(self.steps(client)):
            u = self.line("momentum", self.settings["momentum"]) * u + self.gradient(client, y, step)
            y = y - self.step_size * u
        return y, u
