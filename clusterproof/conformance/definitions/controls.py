"""Algorithms whose clients keep controls: SCAFFOLD, ProxSkip and FedDyn."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clusterproof.conformance.definitions.base import FORMS, STEPS, Definition


class Scaffold(Definition):
    """SCAFFOLD: local steps corrected by the difference of the server's and the client's control."""

    name = "scaffold"
    equation = (
        "y_i <- x; K_i times y_i <- y_i - eta (g_i(y_i) - c_i + c); "
        "c_i+ = (I) g_i(x), (II) c_i - c + (x - y_i) / (K_i eta); "
        "x <- x + gamma sum_S p_i (y_i - x); c <- c + (1/N) sum_S (c_i+ - c_i)"
    )
    source = "Karimireddy et al. 2020, Algorithm 1, where p_i = 1/|S|"
    paper_was_read = True
    own_settings = {"option": "II", "weighting": "clients"}
    variants = {"option": ("II", "I"), **FORMS}
    quantities = ("model", "control", "controls")

    def prepare(self) -> None:
        """Start the controls at 0."""
        self.control: np.ndarray = self.line("control start", np.zeros_like(self.x))
        self.controls: np.ndarray = np.array([self.control] * self.task.clients)

    def correction(self, client: int, y: np.ndarray, received: np.ndarray) -> Any:
        """Return c - c_i."""
        server = self.line("server part", self.control)
        drift = server - self.line("client part", self.controls[client], client=client)
        return self.line("correction", drift)

    def exchange(self, participants: Sequence[int]) -> None:
        """Carry out one round."""
        local, changes, controls = {}, {}, self.controls.copy()
        for i in participants:
            local[i] = self.local_model(i, self.x)
            if self.line("option", self.settings["option"]) == "I":
                new = self.line("option I", self.task.gradient(i, self.x), client=i, local=local[i])
            else:
                count = self.line("K", self.steps(i), client=i, batches=self.batches(i))
                drift = self.line("drift", (self.x - local[i]) / (count * self.step_size))
                own = self.line("own control", self.controls[i])
                new = own - self.line("subtracted control", self.control) + drift
            changes[i] = self.line("control change", new - self.controls[i], new=new)
            controls[i] = self.line("stored control", new, change=changes[i])
        self.x = self.server_model(participants, local)
        step = sum(changes.values()) / self.task.clients
        step = self.line("control step", step, participants=participants, changes=changes)
        self.control = self.control + step
        self.controls = self.line("controls", controls)


class ProxSkip(Definition):
    """ProxSkip (Scaffnew) whose coin falls after each K-th step: one round is K local steps and an average."""

    name = "proxskip"
    equation = (
        "x_i <- x; K times x_i <- x_i - eta (g_i(x_i) - h_i); x <- (1/N) sum_i x_i; "
        "h_i <- h_i + (p / eta) (x - x_i)"
    )
    source = "Mishchenko et al. 2022; Malinovsky et al. 2022 (Variance Reduced ProxSkip), the coin given"
    paper_was_read = True
    own_settings = {"probability": 0.4, "weighting": "clients"}
    strengths = {"probability": 0.7}
    variants = STEPS
    quantities = ("model", "controls")
    server_step = None
    needs_all_clients = equal_steps = True

    def prepare(self) -> None:
        """Start the controls at 0, so that they add up to 0."""
        self.controls = np.zeros((self.task.clients, self.task.dimension))

    def correction(self, client: int, y: np.ndarray, received: np.ndarray) -> Any:
        """Return -h_i."""
        return -self.line("shift", self.controls[client])

    def server_model(self, participants: Sequence[int], local: Mapping[int, np.ndarray]) -> np.ndarray:
        """Return the mean of the models, and move the controls towards it."""
        x = self.x + self.change(participants, local)
        rate = self.line("rate", self.settings["probability"] / self.step_size)
        for i in participants:
            moved = self.line("shift change", rate * (x - local[i]), rate=rate, local=local[i])
            self.controls[i] = self.line("kept shift", self.controls[i]) + moved
        return np.asarray(x)


class FedDyn(Definition):
    """FedDyn: a linear and a quadratic term in the local objective, and the server's state h."""

    name = "feddyn"
    equation = (
        "y_i <- x; K_i times y_i <- y_i - eta (g_i(y_i) - L_i + alpha (y_i - x)); L_i <- L_i - alpha (y_i - x);"
        " h <- h - (alpha/N) sum_S (y_i - x); x <- sum_S p_i y_i - h / alpha"
    )
    source = (
        "Acar et al. 2021, Algorithm 1, restated, where p_i = 1/|S|; as in alpemreacar/FedDyn at 48a19fac, "
        "utils_methods.py, lines 385-397, and utils_general.py, lines 190-225, but for alpha (over N n_i / n there) "
        "and clipped gradients"
    )
    own_settings = {"alpha": 0.8, "weighting": "clients"}
    strengths = {"alpha": 0.25}
    server_step = None

    def prepare(self) -> None:
        """Start h and L_i at 0."""
        self.h = np.zeros_like(self.x)
        self.linear = np.zeros((self.task.clients, self.task.dimension))

    def correction(self, client: int, y: np.ndarray, received: np.ndarray) -> Any:
        """Return alpha (y - x) - L_i."""
        quadratic = self.line("quadratic", self.settings["alpha"] * (y - received), y=y)
        return self.line("penalty", self.line("linear", -self.linear[client]) + quadratic, client=client)

    def server_model(self, participants: Sequence[int], local: Mapping[int, np.ndarray]) -> np.ndarray:
        """Return the mean of the models with the offset by h, and move L_i and h."""
        alpha = self.settings["alpha"]
        states = self.line("models of states", local, participants=participants)
        for i in participants:
            change = self.line("state change", -alpha * (states[i] - self.x))
            self.linear[i] = self.line("kept state", self.linear[i]) + change
        moved = -(alpha / self.task.clients) * sum(local[i] - self.x for i in participants)
        before = self.h
        self.h = self.h + self.line("h change", moved, participants=participants)
        offset = self.line("offset", -self.h / alpha, before=before)
        return np.asarray(self.x + self.change(participants, local) + offset)
