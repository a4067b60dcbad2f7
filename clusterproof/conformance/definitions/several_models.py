"""Algorithms with a model for each client: Ditto, pFedMe, FedBCD and LOCAL."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clusterproof.conformance.definitions.base import FORMS, STEPS, Definition


class Personal(Definition):
    """What algorithms with personal models share."""

    quantities = ("model", "personal")

    def prepare(self) -> None:
        """Start the personal models at the server's."""
        self.personal = np.array([self.x] * self.task.clients)


class Ditto(Personal):
    """Ditto: FedAvg, and personal models that are pulled to the received one."""

    name = "ditto"
    equation = (
        "x as in FedAvg; each i in S takes personal_epochs * batches steps "
        "v_i <- v_i - eta_p (g_i(v_i) + lambda (v_i - x)), where x is the received model"
    )
    source = (
        "Li et al. 2021, Algorithm 1, restated, where p_i = 1/|S|; as in litian96/ditto at 26d9b29a, "
        "flearn/trainers_MTL/ditto.py, lines 85-169, and fedbase.py, lines 139-149, with one step size there"
    )
    own_settings = {"lam": 0.9, "personal_step_size": 0.08, "personal_epochs": 2, "weighting": "clients"}
    strengths = {"lam": 0.4, "personal_step_size": 0.06}

    def server_model(self, participants: Sequence[int], local: Mapping[int, np.ndarray]) -> np.ndarray:
        """Return the next model, and train the personal models."""
        new = super().server_model(participants, local)
        step = self.line("personal step", self.settings["personal_step_size"])
        for i in participants:
            v = self.line("personal start", self.personal[i])
            anchor = self.line("anchor", self.x, new=new, local=local[i])
            for _ in range(self.line("personal steps", self.settings["personal_epochs"] * self.batches(i))):
                pull = self.line("personal pull", self.settings["lam"] * (v - anchor))
                v = self.moved(v, self.task.gradient(i, v) + pull, step)
            self.personal[i] = v
        return self.line("aggregated", new, participants=participants)


class PFedMe(Personal):
    """PFedMe: outer steps towards an inexact proximal point."""

    name = "pfedme"
    equation = (
        "w, theta <- x; K_i times: inner_steps times theta <- theta - eta (g_i(theta) + lambda (theta - w)), then "
        "w <- w - eta_o lambda (w - theta); x <- (1 - beta) x + beta sum_S p_i w_i"
    )
    source = (
        "T. Dinh et al. 2020, Algorithm 1, restated, where p_i = 1/|S|; as in CharlieDinh/pFedMe at caf24b1f, "
        "FLAlgorithms/users/userpFedMe.py, lines 39-58, and servers/serverbase.py, lines 107-125, with weights n_i "
        "and in optimizers/fedoptimizer.py, line 64, weight decay 0.001"
    )
    own_settings = {
        **{"lam": 0.9, "inner_steps": 4, "outer_step_size": 0.5, "mix": 0.7},
        **{"theta": "continues", "weighting": "clients"},
    }
    strengths = {"lam": 0.4, "mix": 0.4, "outer_step_size": 0.3}
    variants = {"theta": ("continues", "restarts"), **FORMS}
    server_step = None

    def local_model(self, client: int, received: np.ndarray) -> np.ndarray:
        """Return w_i; theta_i is the client's personal model."""
        lam = self.settings["lam"]
        w = self.line("start", received, client=client)
        theta = self.line("theta start", w, kept=self.personal[client])
        for step in range(self.steps(client)):
            if self.line("theta", self.settings["theta"]) == "restarts":
                theta = w
            for _ in range(self.line("inner steps", self.settings["inner_steps"])):
                pull = self.line("inner pull", lam * (theta - w), received=received, theta=theta)
                theta = self.moved(theta, self.gradient(client, theta, step) + pull, self.step_size)
            w = w - self.line("outer step", self.settings["outer_step_size"] * lam * (w - theta))
        self.personal[client] = theta
        return self.line("local model", w, client=client)

    def server_model(self, participants: Sequence[int], local: Mapping[int, np.ndarray]) -> np.ndarray:
        """Return (1 - beta) x + beta sum_S p_i w_i."""
        change = self.change(participants, self.line("sent", local))
        return np.asarray(self.x + self.line("mix", self.settings["mix"]) * change)


class FedBCD(Personal):
    """FedBCD: personal models and a common one by block coordinate descent."""

    name = "fedbcd"
    equation = (
        "penalised: K_i times x_i <- x_i - eta (g_i(x_i) + mu (x_i - z)) for each i in S; separate: K_i times "
        "x_i <- x_i - eta g_i(x_i), then K_i times x_i <- x_i - a (x_i - z); "
        "z <- z - gamma (z - (1/N) sum of all x_i)"
    )
    source = (
        "Wu et al. 2021, restated, with one server; REIYANG/FedBCD at a88f4bc1, experiment II: MNIST-FedBCD-sync.ipynb "
        "(penalised, mean of all devices) and MNIST-FedBCD-I-sync.ipynb (separate; there mean = participants)"
    )
    own_settings = {
        **{"variant": "penalised", "proximal": 0.7, "pull": 0.2, "mean": "all"},
        **{"weighting": "clients"},
    }
    strengths = {"proximal": 0.3, "pull": 0.4}
    variants = {"variant": ("penalised", "separate"), "mean": ("all", "participants"), **STEPS}

    def correction(self, client: int, y: np.ndarray, received: np.ndarray) -> Any:
        """Return the gradient of mu / 2 ||x_i - z||^2, if the loss is penalised."""
        if self.settings["variant"] == "separate":
            return 0.0
        return self.line("pull", self.settings["proximal"] * (y - self.x))

    def exchange(self, participants: Sequence[int]) -> None:
        """Carry out one round."""
        for i in participants:
            y = self.local_model(i, self.line("own start", self.personal[i]))
            if self.settings["variant"] == "separate":
                for _ in range(self.line("pulls", self.steps(i))):
                    y = y - self.line("elastic", self.settings["pull"] * (y - self.x))
            self.personal[i] = y
        averaged = self.personal if self.settings["mean"] == "all" else self.personal[list(participants)]
        mean = self.line("mean of all", averaged.mean(axis=0), participants=participants)
        gamma = self.line("server step", self.settings["server_step_size"])
        self.x = self.x - gamma * (self.x - mean)


class Local(Definition):
    """LOCAL: every client descends on its own, and nothing is sent."""

    name = "local"
    equation = "K_i times x_i <- x_i - eta g_i(x_i), for each i in S"
    source = "the baseline without communication"
    paper_was_read = True
    variants = STEPS
    server_step = None

    def prepare(self) -> None:
        """Start every client's model at the start."""
        self.x = np.array([self.x] * self.task.clients)

    def exchange(self, participants: Sequence[int]) -> None:
        """Carry out one round."""
        for i in participants:
            self.x[i] = self.local_model(i, self.x[i])
