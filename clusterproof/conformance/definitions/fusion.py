"""FPFC: a model for each client, fused by a penalty on the differences of all pairs."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clusterproof.conformance.definitions.base import STEPS, Definition


class FPFC(Definition):
    """FPFC: inexact ADMM on the sum of the losses and 1 / (2 N) times the penalty over ordered pairs."""

    name = "fpfc"
    equation = (
        "zeta_i = (1/N) sum_j (w_j + theta_ij - v_ij / rho); each i in S: K_i times "
        "w_i <- w_i - eta (g_i(w_i) + rho (w_i - zeta_i)); each pair with i or j in S: d = w_i - w_j + v_ij / rho, "
        "theta_ij <- argmin g(||theta||) + rho/2 ||d - theta||^2, v_ij <- v_ij + rho (w_i - w_j - theta_ij); "
        "groups: components of ||theta_ij|| <= nu"
    )
    source = (
        "Yu et al. 2023, Algorithm 1; pairs with one participant: xueyu-ubc/FPFC at c8ff1033, "
        "Synthetic/FLAlgorithms/FPFC.py, lines 74-107, where pairs of two participants are updated twice"
    )
    paper_was_read = True
    without = ("server_step_size", "weighting")
    own_settings = {
        **{"penalty": "scad", "strength": 0.25, "concavity": 3.2, "smoothing": 0.03, "augmentation": 1.4},
        **{"threshold": 0.42, "pair_rule": "either", "start": "common"},
    }
    strengths = {
        **{"strength": 0.18, "concavity": 4.1, "smoothing": 0.05, "augmentation": 0.9},
        **{"threshold": 0.07},
    }
    variants = {
        "pair_rule": ("either", "either-twice", "both", "all"),
        "penalty": ("scad", "l1"),
        **STEPS,
    }
    choices = {"start": ("common", "own")}
    lengths = "lambda, xi and nu"
    server_step = None
    quantities = ("model", "groups", "differences", "duals", "group_models")

    @classmethod
    def starts(cls, settings: Mapping[str, Any], clients: int) -> int:
        """Return N if every client has a start of its own."""
        return clients if settings["start"] == "own" else 0

    def prepare(self) -> None:
        """Start theta_ij at w_i - w_j, which is 0 for a common start, and v_ij at 0."""
        own = self.settings["start"] == "own"
        self.x = np.array(self.task.starts if own else [self.x] * self.task.clients, dtype=float)
        self.differences = self.x[:, None] - self.x[None]
        self.duals = np.zeros_like(self.differences)

    def exchange(self, participants: Sequence[int]) -> None:
        """Carry out steps 2 to 5 of Algorithm 1."""
        rho = self.line("rho", self.settings["augmentation"])
        dual = self.line("dual in zeta", self.duals / rho)
        # the last line of step 5, which step 2 sends
        anchors = self.line("zeta", self.x[None] + self.differences - dual).mean(axis=1)
        before, models = self.x, self.x.copy()
        for i in participants:
            self.anchor = self.line("anchor", anchors[i], client=i)
            models[i] = self.local_model(i, self.line("own start", self.x[i], anchor=anchors[i]))
        self.x = models
        for pairs in self.pairs(participants):
            self.update(pairs, rho, before)

    def correction(self, client: int, y: np.ndarray, received: np.ndarray) -> Any:
        """Return rho (w_i - zeta_i), step 3."""
        return self.line("pull", self.settings["augmentation"] * (y - self.anchor), y=y)

    def pairs(self, participants: Sequence[int]) -> list[np.ndarray]:
        """Return which pairs are updated, booleans (N, N), one after the other."""
        active = np.isin(np.arange(self.task.clients), participants)
        both, either = np.logical_and.outer(active, active), np.logical_or.outer(active, active)
        rules = {"either": [either], "both": [both], "all": [either | True], "either-twice": [either, both]}
        return list(self.line("pairs", rules[self.settings["pair_rule"]], active=active))

    def update(self, pairs: np.ndarray, rho: float, before: np.ndarray) -> None:
        """Carry out step 5 for the given pairs."""
        apart = self.line("apart", self.x[:, None] - self.x[None], before=before)
        delta = apart + self.line("dual in delta", self.duals / rho)
        lengths = np.linalg.norm(delta, axis=-1)
        factors = self.line("factors", self.shrinkage(lengths, rho), lengths=lengths)
        theta = self.line("theta", factors[..., None] * delta, apart=apart)
        duals = self.line("old v", self.duals) + self.line("residual", rho * (apart - theta))
        chosen = pairs[..., None]
        self.differences = np.where(chosen, theta, self.line("absent theta", self.differences))
        self.duals = np.where(chosen, duals, self.line("absent v", self.duals))

    def shrinkage(self, lengths: np.ndarray, rho: float) -> np.ndarray:
        """Return the factors s with theta = s delta, in closed form, of lengths ||delta||."""
        strength = self.line("lambda", self.settings["strength"])
        safe = np.where(lengths > 0, lengths, 1.0)
        soft = np.maximum(0.0, 1 - strength / (rho * safe))
        if self.settings["penalty"] == "l1":
            return np.asarray(soft)
        a, xi = self.settings["concavity"], self.line("xi", self.settings["smoothing"])
        parabola = xi * rho / (strength + xi * rho)
        ratio = 1 / ((a - 1) * rho)
        middle = np.maximum(0.0, 1 - a * strength * ratio / safe) / (1 - ratio)
        middle = self.line("middle branch", middle, safe=safe, ratio=ratio)
        ends = [xi + strength / rho, strength + strength / rho, a * strength]
        inside = [lengths <= end for end in self.line("ends", ends, rho=rho)]
        return np.asarray(np.select(inside, [np.full_like(lengths, parabola), soft, middle], 1.0))

    @property
    def groups(self) -> np.ndarray:
        """The connected components of the pairs with ||theta_ij|| <= nu, (N,)."""
        threshold = self.line("nu", self.settings["threshold"])
        lengths = self.line("lengths", np.linalg.norm(self.differences, axis=-1))
        near, count = (lengths <= threshold) | np.eye(self.task.clients, dtype=bool), self.task.clients
        # the powers of the adjacency matrix reach every client of a component
        reached = np.linalg.matrix_power(near.astype(float), count) > 0
        return np.asarray(self.line("components", reached, near=near).argmax(axis=1))

    @property
    def group_models(self) -> np.ndarray:
        """The mean of the models of each client's group with weights n_i, (N, d)."""
        together = (self.groups[:, None] == self.groups[None]).astype(float)
        weights = together * self.line("weights in groups", self.task.samples.astype(float))
        return np.asarray(weights @ self.x / weights.sum(axis=1, keepdims=True))
