"""Algorithms whose clients keep controls: SCAFFOLD, ProxSkip and FedDyn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clusterproof.conformance.definitions.averaging import FORMS, FedAvg


class Scaffold(FedAvg):
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

    def direction(self, client: int, y: np.ndarray, received: np.ndarray, step: int) -> np.ndarray:
        """Return g_i(y) - c_i + c."""
        correction = self.line("server part", self.control) - self.line("client part", self.controls[client])
        return np.asarray(self.gradient(client, y, step) + self.line("correction", correction))

    def round(self, participants: Sequence[int]) -> None:
        """Carry out one round."""
        received = self.line("received", self.x)
        local, changes = {}, {}
        controls = self.controls.copy()
        for i in participants:
            local[i] = self.local_model(i, received)
            new = self.new_control(i, received, local[i])
            changes[i] = self.line("control change", new - self.controls[i], new=new)
            controls[i] = self.line("stored control", new, change=changes[i])
        self.x = self.server_model(participants, local)
        step = sum(changes.values()) / self.task.clients
        self.control = self.control + self.line(
            "control step", step, participants=participants, changes=changes
        )
        self.controls = self.line("controls", controls, participants=participants)

    def new_control(self, client: int, received: np.ndarray, local: np.ndarray) -> np.ndarray:
        """Return c_i+ of the option."""
        if self.line("option", self.settings["option"]) == "I":
            return np.asarray(
                self.line("option I", self.task.gradient(client, received), client=client, local=local)
            )
        count = self.line("K", float(self.steps(client)), client=client)
        drift = self.line("drift", (received - local) / (count * self.step_size))
        return np.asarray(
            self.line("own control", self.controls[client])
            - self.line("subtracted control", self.control)
            + drift
        )


class ProxSkip(FedAvg):
    """ProxSkip (Scaffnew) whose coin falls after each K-th step: one round is K local steps and an average."""

    name = "proxskip"
    equation = (
        "x_i <- x; K times x_i <- x_i - eta (g_i(x_i) - h_i); x <- (1/N) sum x_i; "
        "h_i <- h_i + (p / eta) (x - x_i)"
    )
    source = "Mishchenko et al. 2022; Malinovsky et al. 2022 (Variance Reduced ProxSkip), the coin given"
    paper_was_read = True
    own_settings = {"probability": 0.4, "weighting": "clients"}
    strengths = {"probability": 0.7}
    variants = {"drop_last": (False, True)}
    quantities = ("model", "controls")
    server_step = None
    needs_all_clients = True

    def prepare(self) -> None:
        """Start the controls at 0, so that they add up to 0."""
        self.controls = np.zeros((self.task.clients, self.task.dimension))

    def direction(self, client: int, y: np.ndarray, received: np.ndarray, step: int) -> np.ndarray:
        """Return g_i(x_i) - h_i."""
        shift = self.line("shift", self.controls[client])
        return np.asarray(self.gradient(client, y, step) - shift)

    def round(self, participants: Sequence[int]) -> None:
        """Carry out the local steps up to a communication, and that."""
        received = self.line("received", self.x)
        local = {i: self.local_model(i, received) for i in participants}
        self.x = self.x + self.change(participants, local)
        rate = self.line("rate", self.settings["probability"] / self.step_size)
        moved = {i: rate * (self.x - local[i]) for i in participants}
        self.controls = self.controls.copy()
        for i in participants:
            self.controls[i] = self.line("kept shift", self.controls[i]) + self.line("shift change", moved[i])


class FedDyn(FedAvg):
    """FedDyn: a linear and a quadratic term in the local objective, and the server's state h."""

    name = "feddyn"
    equation = (
        "y_i <- x; K_i times y_i <- y_i - eta (g_i(y_i) - L_i + alpha (y_i - x)); L_i <- L_i - alpha (y_i - x);"
        " h <- h - (alpha/N) sum_S (y_i - x); x <- sum_S p_i y_i - h / alpha"
    )
    source = "Acar et al. 2021, Algorithm 1, where p_i = 1/|S|"
    paper_was_read = False
    own_settings = {"alpha": 0.8, "weighting": "clients"}
    strengths = {"alpha": 0.25}
    server_step = None

    def prepare(self) -> None:
        """Start h and L_i at 0."""
        self.h = np.zeros_like(self.x)
        self.linear = np.zeros((self.task.clients, self.task.dimension))

    def direction(self, client: int, y: np.ndarray, received: np.ndarray, step: int) -> np.ndarray:
        """Return g_i(y) - L_i + alpha (y - x)."""
        quadratic = self.settings["alpha"] * (y - received)
        terms = self.line("linear", -self.linear[client]) + self.line("quadratic", quadratic, y=y)
        return np.asarray(self.gradient(client, y, step) + self.line("penalty", terms))

    def round(self, participants: Sequence[int]) -> None:
        """Carry out one round."""
        received, alpha = self.line("received", self.x), self.settings["alpha"]
        local = {i: self.local_model(i, received) for i in participants}
        linear = self.linear.copy()
        for i in participants:
            change = self.line("state change", -alpha * (local[i] - received))
            linear[i] = self.line("kept state", linear[i]) + change
        self.linear = self.line("stored states", linear)
        moved = -(alpha / self.task.clients) * sum(local[i] - received for i in participants)
        before = self.h
        self.h = self.h + self.line("h change", moved, participants=participants, received=received)
        offset = self.line("offset", -self.h / alpha, before=before)
        self.x = self.x + self.change(participants, local) + offset
