"""Runs of FPFC's definition, and what the paper's theorems say of their states: loops over clients and pairs."""

from copy import copy

import numpy as np

from clusterproof.conformance import DEFINITIONS, ConformanceTask


class DenseFPFC:
    """One run. ``theta`` and ``v`` are (m, m, d), antisymmetric."""

    def __init__(self, algorithm, task, start):
        self.algorithm, self.task = algorithm, task
        definition, sizes = DEFINITIONS["fpfc"], np.ones(task.clients, dtype=int)
        given = {name: value for name, value in vars(algorithm).items() if value is not None}
        settings = {**definition.defaults(), "concavity": 3.7, "smoothing": 1e-3, **given}
        settings["local_epochs"] = algorithm.local_steps
        clients = {"curvatures": task.hessians, "optima": task.centers, "samples": sizes}
        self.run = definition(ConformanceTask(**clients, start=start[0], starts=start), settings)
        self.strength, self.rho = algorithm.strength, algorithm.augmentation
        self.concavity, self.smoothing = settings["concavity"], settings["smoothing"]

    w = property(lambda self: self.run.model)
    theta = property(lambda self: self.run.differences)
    v = property(lambda self: self.run.duals)
    round = property(lambda self: self.run.round)

    def zeta(self, i):
        """The mean over j of w_j + theta_ij - v_ij / rho."""
        return np.mean(self.w + self.theta[i] - self.v[i] / self.rho, axis=0)

    def residuals(self):
        """||grad_w L_0||, the distance of v from grad g(theta) over ordered pairs, ||grad_v L_0||."""
        m, lam, a = self.task.clients, self.strength, self.concavity
        models = differences = duals = 0.0
        for i in range(m):
            gradient = self.task.hessians[i] @ (self.w[i] - self.task.centers[i])
            models += np.sum((gradient + self.v[i].sum(axis=0) / m) ** 2)
            for j in range(m):
                if i == j:
                    continue
                theta, v = self.theta[i, j], self.v[i, j]
                duals += np.sum((self.w[i] - self.w[j] - theta) ** 2)
                t = np.linalg.norm(theta)
                if self.algorithm.penalty == "l1":
                    outside = max(0.0, np.linalg.norm(v) - lam)
                    differences += outside**2 if t == 0 else np.sum((v - lam * theta / t) ** 2)
                    continue
                if t <= self.smoothing:
                    factor = lam / self.smoothing
                elif t <= lam:
                    factor = lam / t
                else:
                    factor = max(0.0, a * lam - t) / ((a - 1) * t)
                differences += np.sum((v - factor * theta) ** 2)
        return np.sqrt(models), np.sqrt(differences), np.sqrt(duals) / (2 * m)

    def scad(self, t):
        """The penalty at a length, not smoothed."""
        lam, a = self.strength, self.concavity
        if t <= lam:
            return lam * t
        return (
            (2 * a * lam * t - t * t - lam * lam) / (2 * (a - 1)) if t <= a * lam else lam * lam * (a + 1) / 2
        )

    def losses(self):
        """The sum of f_i(w_i)."""
        away = self.w - self.task.centers
        return sum(0.5 * float(e @ h @ e) for e, h in zip(away, self.task.hessians, strict=True))

    def objective(self):
        """F: the losses, and the penalty of all ordered pairs over 2 m."""
        lengths = np.linalg.norm(self.w[:, None] - self.w, axis=-1)
        return self.losses() + sum(map(self.scad, lengths.flat)) / (2 * self.task.clients)

    def lagrangian(self):
        """L_rho with the smoothed penalty lam t^2 / (2 xi) + xi lam / 2 up to t = xi, also of i = j."""
        xi, m, total = self.smoothing, self.task.clients, 0.0
        for i in range(m):
            for j in range(m):
                t, gap = np.linalg.norm(self.theta[i, j]), self.w[i] - self.w[j] - self.theta[i, j]
                total += self.strength * (t * t / xi + xi) / 2 if t <= xi else self.scad(t)
                total += self.v[i, j] @ gap + self.rho / 2 * gap @ gap
        return self.losses() + total / (2 * m)

    def unit_prox(self, z):
        """argmin over t >= 0 of SCAD(t) + (t - z)^2 / 2: the best of all stationary points and kinks."""
        lam, a = self.strength, self.concavity
        points = [min(max(0.0, z - lam), lam), lam, a * lam, max(z, a * lam)]
        if a != 2 and lam <= ((a - 1) * z - a * lam) / (a - 2) <= a * lam:
            points.append(((a - 1) * z - a * lam) / (a - 2))
        return min(points, key=lambda t: self.scad(t) + (t - z) ** 2 / 2)

    def squared_mapping(self):
        """||G||^2 over ordered pairs, theta and v parallel."""
        lengths, duals = (np.linalg.norm(each, axis=-1).flat for each in (self.theta, self.v))
        return sum((t - self.unit_prox(t + v)) ** 2 for t, v in zip(lengths, duals, strict=True))

    def __copy__(self):
        other = DenseFPFC(self.algorithm, self.task, self.w)
        other.run = copy(self.run)  # a round makes new arrays
        return other


def dense_paths(algorithm, task, start, rounds):
    """The states before and after every round, one path for each replicate's participants, rounds (R, k)."""
    paths = []
    for drawn in np.swapaxes(np.array(rounds, dtype=int), 0, 1).tolist():
        one = DenseFPFC(algorithm, task, start)
        path = [copy(one)]
        for active in drawn:
            one.round(active)
            path.append(copy(one))
        paths.append(path)
    return paths


def mean_squares(path):
    """Means over the rounds of a path of ||grad_w L_0||^2 and ||grad_v L_0||^2."""
    squares = np.array([one.residuals() for one in path[1:]]) ** 2
    return squares[:, 0].mean(), squares[:, 2].mean()
