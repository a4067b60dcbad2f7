"""Algorithms with a model of its own for every client: Ditto, pFedMe, LOCAL; and Per-FedAvg."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from clusterproof.conformance.definitions.averaging import FORMS, FedAvg
from clusterproof.conformance.definitions.base import Definition
from clusterproof.conformance.tasks import ConformanceTask


class Personal(FedAvg):
    """What algorithms with personal models share."""

    quantities = ("model", "personal")

    def prepare(self) -> None:
        """Start the personal models at the server's."""
        self.personal = np.array([self.x] * self.task.clients)


class Ditto(Personal):
    """Ditto: FedAvg, and personal models that are pulled to the received one."""

    name = "ditto"
    equation = (
        "x as in FedAvg; each i in S: personal_epochs x batches times v_i <- v_i - eta_p (g_i(v_i) + lam (v_i - x)), "
        "x as received"
    )
    source = "Li et al. 2021, Algorithm 1"
    paper_was_read = False
    own_settings = {"lam": 0.9, "personal_step_size": 0.08, "personal_epochs": 2}
    strengths = {"lam": 0.4, "personal_step_size": 0.06}

    def round(self, participants: Sequence[int]) -> None:
        """Carry out one round."""
        received = self.line("received", self.x)
        local = {i: self.local_model(i, received) for i in participants}
        new = self.server_model(participants, local)
        self.personal = self.personal.copy()
        for i in participants:
            self.personal[i] = self.personal_model(i, received, new, local[i])
        self.x = self.line("aggregated", new, participants=participants)

    def personal_model(
        self, client: int, received: np.ndarray, new: np.ndarray, local: np.ndarray
    ) -> np.ndarray:
        """Return v_i after the client's personal steps."""
        v = self.line("personal start", self.personal[client], received=received)
        anchor = self.line("anchor", received, new=new, local=local)
        count = self.settings["personal_epochs"] * self.batches(client)
        for _ in range(int(self.line("personal steps", count, client=client))):
            pull = self.line("personal pull", self.settings["lam"] * (v - anchor))
            gradient = self.line("personal gradient", self.task.gradient(client, v))
            v = v - self.line("personal step", self.settings["personal_step_size"]) * (gradient + pull)
        return np.asarray(v)


class PFedMe(Personal):
    """PFedMe: outer steps towards an inexact proximal point."""

    name = "pfedme"
    equation = (
        "w, theta <- x; K_i times: inner_steps times theta <- theta - eta (g_i(theta) + lam (theta - w)), then "
        "w <- w - eta_o lam (w - theta); x <- (1 - beta) x + beta sum_S p_i w_i"
    )
    source = "T. Dinh et al. 2020, Algorithm 1, where p_i = 1/|S|"
    paper_was_read = False
    own_settings = {
        "lam": 0.9,
        "inner_steps": 4,
        "outer_step_size": 0.5,
        "mix": 0.7,
        "theta": "continues",
        "weighting": "clients",
    }
    strengths = {"lam": 0.4, "mix": 0.4, "outer_step_size": 0.3}
    variants = {"theta": ("continues", "restarts"), **FORMS}
    server_step = None

    def local_model(self, client: int, received: np.ndarray) -> np.ndarray:
        """Return w_i; theta_i is the client's personal model."""
        lam = self.settings["lam"]
        w = self.line("start", received, client=client)
        theta = self.line("theta start", w, client=client)
        for step in range(self.steps(client)):
            if self.line("theta", self.settings["theta"]) == "restarts":
                theta = w
            for _ in range(int(self.line("inner steps", self.settings["inner_steps"]))):
                pull = self.line("inner pull", lam * (theta - w), received=received, theta=theta, w=w)
                theta = theta - self.step_size * (self.gradient(client, theta, step) + pull)
            w = w - self.line("outer step", self.settings["outer_step_size"] * lam * (w - theta))
        self.personal = self.personal.copy()
        self.personal[client] = theta
        return self.line("local model", w, client=client)

    def server_model(self, participants: Sequence[int], local: Mapping[int, np.ndarray]) -> np.ndarray:
        """Return (1 - beta) x + beta sum_S p_i w_i."""
        sent = self.line("sent", local)
        change = self.change(participants, sent)
        return np.asarray(self.x + self.line("mix", self.settings["mix"]) * change)


class FedBCD(Personal):
    """FedBCD: personal models and a common one by block coordinate descent, the penalised variant."""

    name = "fedbcd"
    equation = (
        "K_i times x_i <- x_i - eta (g_i(x_i) + mu (x_i - z)) for each i in S; "
        "z <- z - gamma (z - (1/N) sum of all x_i)"
    )
    source = "Wu et al. 2021, with one server"
    paper_was_read = False
    own_settings = {"proximal": 0.7, "weighting": "clients"}
    strengths = {"proximal": 0.3}
    variants = {"drop_last": (False, True)}

    def direction(self, client: int, y: np.ndarray, received: np.ndarray, step: int) -> np.ndarray:
        """Return the gradient of f_i + mu / 2 ||x_i - z||^2."""
        pull = self.line("pull", self.settings["proximal"] * (y - self.x), y=y, received=self.x)
        return np.asarray(self.gradient(client, y, step) + pull)

    def round(self, participants: Sequence[int]) -> None:
        """Carry out one round."""
        personal = self.personal.copy()
        for i in participants:
            personal[i] = self.local_model(i, self.line("own start", self.personal[i]))
        self.personal = personal
        mean = self.line("mean of all", personal.mean(axis=0), participants=participants)
        gamma = self.line("server step", self.settings["server_step_size"])
        self.x = self.x - gamma * (self.x - mean)


class Local(Definition):
    """LOCAL: every client descends on its own, and nothing is sent."""

    name = "local"
    equation = "K_i times x_i <- x_i - eta g_i(x_i), for each i in S"
    source = "the baseline without communication"
    paper_was_read = True
    variants = {"drop_last": (False, True)}
    server_step = None

    @classmethod
    def shapes(cls, task: ConformanceTask) -> dict[str, tuple[int, ...]]:
        """Return the shape of the clients' models."""
        return {"model": task.optima.shape}

    def prepare(self) -> None:
        """Start every client's model at the start."""
        self.x = np.array([self.x] * self.task.clients)

    def round(self, participants: Sequence[int]) -> None:
        """Carry out one round."""
        self.x = self.x.copy()
        for i in participants:
            for step in range(self.steps(i)):
                self.x[i] = self.x[i] - self.step_size * self.gradient(i, self.x[i], step)


class PerFedAvg(FedAvg):
    """Per-FedAvg with exact Hessians: gradient steps on the loss after one adaptation step."""

    name = "per-fedavg"
    equation = (
        "y_i <- x; K_i times y_i <- y_i - eta (I - a A_i(y_i)) g_i(y_i - a g_i(y_i)), A_i the Hessian; "
        "x <- x + gamma sum_S p_i (y_i - x)"
    )
    source = "Fallah et al. 2020, with Hessians or to first order, where p_i = 1/|S|"
    paper_was_read = False
    own_settings = {"inner_step_size": 0.15, "gradient": "second-order", "weighting": "clients"}
    strengths = {"inner_step_size": 0.3}
    variants = {"gradient": ("second-order", "first-order"), **FORMS}

    def direction(self, client: int, y: np.ndarray, received: np.ndarray, step: int) -> np.ndarray:
        """Return the gradient of f_i(y - a g_i(y)), with or without the Hessian."""
        inner = self.line("inner step", self.settings["inner_step_size"])
        gradient = self.gradient(client, y - inner * self.gradient(client, y, step), step)
        if self.settings["gradient"] == "first-order":
            return gradient
        product = self.task.hessian(client, y) @ gradient
        return np.asarray(gradient - inner * self.line("hessian term", product))
