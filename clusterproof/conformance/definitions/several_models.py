"""Algorithms with several models: of the clients (Ditto, pFedMe, FedBCD, LOCAL) or of clusters (IFCA, CFL-MGD)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clusterproof.conformance.definitions.base import FORMS, Definition


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
    source = "Li et al. 2021, Algorithm 1"
    own_settings = {"lam": 0.9, "personal_step_size": 0.08, "personal_epochs": 2}
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
                v = v - step * (self.task.gradient(i, v) + pull)
            self.personal[i] = v
        return self.line("aggregated", new, participants=participants)


class PFedMe(Personal):
    """PFedMe: outer steps towards an inexact proximal point."""

    name = "pfedme"
    equation = (
        "w, theta <- x; K_i times: inner_steps times theta <- theta - eta (g_i(theta) + lambda (theta - w)), then "
        "w <- w - eta_o lambda (w - theta); x <- (1 - beta) x + beta sum_S p_i w_i"
    )
    source = "T. Dinh et al. 2020, Algorithm 1, where p_i = 1/|S|"
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
                theta = theta - self.step_size * (self.gradient(client, theta, step) + pull)
            w = w - self.line("outer step", self.settings["outer_step_size"] * lam * (w - theta))
        self.personal[client] = theta
        return self.line("local model", w, client=client)

    def server_model(self, participants: Sequence[int], local: Mapping[int, np.ndarray]) -> np.ndarray:
        """Return (1 - beta) x + beta sum_S p_i w_i."""
        change = self.change(participants, self.line("sent", local))
        return np.asarray(self.x + self.line("mix", self.settings["mix"]) * change)


class FedBCD(Personal):
    """FedBCD: personal models and a common one by block coordinate descent, the penalised variant."""

    name = "fedbcd"
    equation = (
        "K_i times x_i <- x_i - eta (g_i(x_i) + mu (x_i - z)) for each i in S; "
        "z <- z - gamma (z - (1/N) sum of all x_i)"
    )
    source = "Wu et al. 2021, with one server"
    own_settings = {"proximal": 0.7, "weighting": "clients"}
    strengths = {"proximal": 0.3}
    variants = {"drop_last": (False, True)}

    def correction(self, client: int, y: np.ndarray, received: np.ndarray) -> Any:
        """Return the gradient of mu / 2 ||x_i - z||^2."""
        return self.line("pull", self.settings["proximal"] * (y - self.x))

    def round(self, participants: Sequence[int]) -> None:
        """Carry out one round."""
        for i in participants:
            self.personal[i] = self.local_model(i, self.line("own start", self.personal[i]))
        mean = self.line("mean of all", self.personal.mean(axis=0), participants=participants)
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

    def prepare(self) -> None:
        """Start every client's model at the start."""
        self.x = np.array([self.x] * self.task.clients)

    def round(self, participants: Sequence[int]) -> None:
        """Carry out one round."""
        for i in participants:
            self.x[i] = self.local_model(i, self.x[i])


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
        self.x = np.array(self.task.starts, dtype=float)
        self.momenta = np.zeros_like(self.x)
        self.assignments = np.full(self.task.clients, -1)

    def round(self, participants: Sequence[int]) -> None:
        """Carry out one round."""
        self.assignments = np.full(self.task.clients, -1)
        for i in participants:
            losses = [self.task.loss(i, model) for model in self.x]
            self.assignments[i] = self.line("choice", int(np.argmin(losses)), client=i, losses=losses)
        gradients = self.line("averaging", self.settings["averaging"]) == "gradient"
        average, moved = self.average_gradients if gradients else self.average_models, []
        for j in range(len(self.x)):
            members = [i for i in participants if self.assignments[i] == j]
            moved.append(average(j, members, participants))
        self.x, self.momenta = map(np.array, zip(*moved, strict=True))

    def average_gradients(self, j: int, members: Sequence[int], participants: Sequence[int]) -> Any:
        """Return the model moved along the sum of its members' gradients over N, and its momentum."""
        total = sum((self.gradient(i, self.x[j]) for i in members), np.zeros(self.task.dimension))
        count = self.line("divisor", self.task.clients, participants=participants, members=members)
        u = self.momentum(self.line("old v", self.momenta[j]), total / count)
        return self.x[j] - self.step_size * u, u

    def average_models(self, j: int, members: Sequence[int], participants: Sequence[int]) -> Any:
        """Return the weighted mean of the members' models after their local steps, and of their momenta."""
        members = self.line("members", members, cluster=j, participants=participants)
        if not members:
            return self.line("empty", self.x[j]), self.momenta[j]
        weights = self.weights(members)
        weights = self.line("member weights", weights, members=members, participants=participants)
        mean = np.zeros((2, self.task.dimension))
        for p, i in zip(weights, members, strict=True):
            chosen = self.assignments[i]
            y, u = self.x[chosen], self.line("old v", self.momenta[chosen])
            for step in range(self.steps(i)):
                u = self.momentum(u, self.gradient(i, y, step))
                y = y - self.step_size * u
            mean += p * np.array([y, u])
        return mean

    def momentum(self, u: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Return what a model moves along: the gradient itself."""
        return gradient


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

    def momentum(self, u: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Return beta u + g."""
        return np.asarray(self.line("momentum", self.settings["momentum"]) * u + gradient)
