"""FPFC, GL-CFL, CFL and SoFL from the papers' listings, client by client and pair by pair."""

import itertools
import math
from typing import Any

import numpy as np


class Clients:
    """What the listings call the devices."""

    def __init__(self, task: Any, settings: dict[str, Any]) -> None:
        self.task, self.settings, self.rounds = task, settings, 0
        self.clients = range(task.clients)

    def count(self, i: int) -> int:
        size = self.settings["batch_size"] or int(self.task.samples[i])
        return int(self.settings["local_epochs"] * math.ceil(self.task.samples[i] / size))


def sum_of(vectors: Any) -> np.ndarray:
    return np.sum(list(vectors), axis=0)  # type: ignore[no-any-return]


def norm(vector: np.ndarray) -> float:
    return math.sqrt(math.fsum(float(entry) ** 2 for entry in vector))


def proximal_point(delta: np.ndarray, rho: float, lam: float, a: float, xi: float) -> np.ndarray:
    """Minimise the smoothed SCAD of a length by trying every stationary point of its pieces."""
    length = norm(delta)
    if length == 0:
        return 0 * delta

    def objective(t: float) -> float:
        if t <= xi:
            value = lam * t * t / (2 * xi) + xi * lam / 2
        elif t <= lam:
            value = lam * t
        elif t <= a * lam:
            value = (a * lam * t - (t * t + lam * lam) / 2) / (a - 1)
        else:
            value = lam * lam * (a + 1) / 2
        return value + rho / 2 * (t - length) ** 2

    pieces = (
        (0.0, xi, rho * length / (rho + lam / xi)),
        (xi, lam, length - lam / rho),
        (lam, a * lam, (rho * length - a * lam / (a - 1)) / (rho - 1 / (a - 1))),
        (a * lam, math.inf, length),
    )
    best = min((min(max(root, low), high) for low, high, root in pieces), key=objective)
    return best / length * delta


class FPFC(Clients):
    """Algorithm 1 of Yu et al., with a loop over pairs."""

    def __init__(self, task: Any, settings: dict[str, Any]) -> None:
        super().__init__(task, settings)
        self.w = [np.array(task.start) for _ in self.clients]
        self.theta = dict.fromkeys(itertools.product(self.clients, repeat=2), 0 * task.start)
        self.v = dict.fromkeys(itertools.product(self.clients, repeat=2), 0 * task.start)

    def round(self, participants: list[int]) -> None:
        s, rho, m = self.settings, self.settings["augmentation"], len(self.clients)
        sent = {}
        for i in participants:
            sent[i] = sum_of(self.w[j] + self.theta[i, j] - self.v[i, j] / rho for j in self.clients) / m
        for i in participants:
            for _ in range(self.count(i)):
                pull = rho * (self.w[i] - sent[i])
                self.w[i] = self.w[i] - s["step_size"] * (self.task.gradient(i, self.w[i]) + pull)
        for i in participants:
            for j in self.clients:
                if j > i or (j < i and j not in participants):
                    self.update(i, j, rho)

    def update(self, i: int, j: int, rho: float) -> None:
        s = self.settings
        delta = self.w[i] - self.w[j] + self.v[i, j] / rho
        if s["penalty"] == "l1":
            theta = max(0.0, 1 - s["strength"] / rho / max(norm(delta), 1e-300)) * delta
        else:
            theta = proximal_point(delta, rho, s["strength"], s["concavity"], s["smoothing"])
        self.v[i, j] = self.v[i, j] + rho * (self.w[i] - self.w[j] - theta)
        self.theta[i, j] = theta
        self.theta[j, i], self.v[j, i] = -theta, -self.v[i, j]

    model = property(lambda self: np.array(self.w))
    differences = property(lambda self: self.table(self.theta))
    duals = property(lambda self: self.table(self.v))

    def table(self, pairs: dict[tuple[int, int], np.ndarray]) -> np.ndarray:
        return np.array([[pairs[i, j] for j in self.clients] for i in self.clients])

    @property
    def groups(self) -> np.ndarray:
        label = list(self.clients)
        for i, j in itertools.combinations(self.clients, 2):
            if norm(self.theta[i, j]) <= self.settings["threshold"]:
                old, new = label[j], label[i]
                label = [new if one == old else one for one in label]
        return np.array(label)

    @property
    def group_models(self) -> np.ndarray:
        means = []
        for group in self.groups:
            inside = [i for i in self.clients if self.groups[i] == group]
            total = sum(self.task.samples[i] * self.w[i] for i in inside)
            means.append(total / sum(self.task.samples[i] for i in inside))
        return np.array(means)


class GradientLoss(Clients):
    """Algorithm 1 of Lin et al., with the sign of (3) reversed."""

    def __init__(self, task: Any, settings: dict[str, Any]) -> None:
        super().__init__(task, settings)
        self.w = [np.array(start) for start in task.starts]
        self.previous: list[np.ndarray] | None = None

    def round(self, participants: list[int]) -> None:
        s, weight = self.settings, self.settings["weight"]
        uploaded: dict[int, list[np.ndarray]] = {k: [] for k in range(len(self.w))}
        self.identity = [-1 for _ in self.clients]
        for i in participants:
            best, chosen = -math.inf, -1
            for k, model in enumerate(self.w):
                loss, gradient = self.task.loss(i, model), self.task.gradient(i, model)
                similarity = 0.0
                if self.previous is not None:
                    change = model - self.previous[k]
                    if norm(change) > 0:
                        similarity = -float(gradient @ change) / (norm(gradient) * norm(change))
                score = weight * similarity + (1 - weight) * -loss
                if score > best:
                    best, chosen = score, k
            self.identity[i] = chosen
            gradient = self.task.gradient(i, self.w[chosen])
            uploaded[chosen].append(self.w[chosen] - s["step_size"] * gradient)
        self.previous = list(self.w)
        for k, models in uploaded.items():
            if models:
                self.w[k] = sum_of(models) / len(models)

    model = property(lambda self: np.array(self.w))
    assignments = property(lambda self: np.array(getattr(self, "identity", [-1 for _ in self.clients])))


class CFL(Clients):
    """CFL with all clients, whose cut is the best of all bipartitions, tried one by one."""

    def __init__(self, task: Any, settings: dict[str, Any]) -> None:
        super().__init__(task, settings)
        self.x = [np.array(task.start) for _ in self.clients]
        self.parts = [list(self.clients)]

    def round(self, participants: list[int]) -> None:
        s, moves = self.settings, []
        for i in self.clients:
            y = self.x[i].copy()
            for _ in range(self.count(i)):
                y = y - s["step_size"] * self.task.gradient(i, y)
            moves.append(y - self.x[i])
        parts = []
        for part in self.parts:
            ready = self.mean(part, moves) < s["mean_threshold"]
            ready = ready and max(norm(moves[i]) for i in part) > s["client_threshold"]
            if ready and len(part) > 2 and self.rounds >= s["warm_up"]:
                parts += self.cut(part, moves)
            else:
                parts.append(part)
        self.parts = parts
        for part in self.parts:
            mean = sum(moves[i] for i in part) / len(part)
            for i in part:
                self.x[i] = self.x[i] + mean
        self.rounds += 1

    def mean(self, part: list[int], moves: list[np.ndarray]) -> float:
        return norm(sum_of(moves[i] for i in part) / len(part))

    def cut(self, part: list[int], moves: list[np.ndarray]) -> list[list[int]]:
        def across(side: tuple[int, ...]) -> float:
            others = [j for j in part if j not in side]
            return max(moves[i] @ moves[j] / (norm(moves[i]) * norm(moves[j])) for i in side for j in others)  # type: ignore[no-any-return]

        sides = [one for size in range(1, len(part)) for one in itertools.combinations(part, size)]
        side = min(sides, key=across)
        if math.sqrt((1 - across(side)) / 2) > self.settings["noise_ratio"]:
            return [list(side), [j for j in part if j not in side]]
        return [part]

    model = property(lambda self: np.array(self.x))

    @property
    def groups(self) -> np.ndarray:
        return np.array([next(k for k, part in enumerate(self.parts) if i in part) for i in self.clients])


class SoFL(Clients):
    """SoFL with k-means on the directions of the updates in the place of the map."""

    restless = 0

    def __init__(self, task: Any, settings: dict[str, Any]) -> None:
        super().__init__(task, settings)
        self.x = [np.array(task.start) for _ in self.clients]
        self.groups = np.zeros(task.clients, dtype=int)

    def round(self, participants: list[int]) -> None:
        s, sent = self.settings, {}
        for i in self.clients:
            y = self.x[i].copy()
            for _ in range(self.count(i)):
                y = y - s["step_size"] * self.task.gradient(i, y)
            sent[i] = y
        if self.rounds == s["pretraining"]:
            self.groups = self.cluster([sent[i] - self.x[i] for i in self.clients])
        for group in set(self.groups.tolist()):
            inside = [i for i in self.clients if self.groups[i] == group]
            model = sum_of(sent[i] for i in inside) / len(inside)
            for i in inside:
                self.x[i] = model
        self.rounds += 1

    def cluster(self, updates: list[np.ndarray]) -> np.ndarray:
        directions = [update / norm(update) for update in updates]
        centres = [directions[self.restless % len(directions)]]
        while len(centres) < min(3, len(directions)):
            centres.append(min(directions, key=lambda one: max(float(one @ centre) for centre in centres)))
        return np.array([int(np.argmax([one @ centre for centre in centres])) for one in directions])

    model = property(lambda self: np.array(self.x))


FORMS = [
    *((FPFC, "fpfc", {}), (FPFC, "fpfc", {"penalty": "l1"})),
    *((GradientLoss, "gradient-loss", {}), (CFL, "cfl", {}), (SoFL, "sofl", {})),
]
"""A class, the algorithm that it is, and in which form."""
