"""FPFC once more: two nested loops over the clients, dense theta and v, straight from Algorithm 1.

Nothing here is shared with the package. Quadratic losses; regions of the proximal step as in the paper.
"""

from copy import deepcopy

import numpy as np


class DenseFPFC:
    """One run. ``theta`` and ``v`` are (m, m, d), antisymmetric."""

    def __init__(self, algorithm, task, start):
        self.algorithm, self.task = algorithm, task
        self.w = np.array(np.broadcast_to(start, (task.clients, task.dimension)))
        self.theta = self.w[:, None, :] - self.w[None, :, :]
        self.v = np.zeros_like(self.theta)
        self.regions = set()

    def proximal(self, delta):
        """argmin over theta of g(||theta||) + rho / 2 ||delta - theta||^2."""
        one = self.algorithm
        lam, rho, d = one.strength, one.augmentation, np.linalg.norm(delta)
        if one.penalty == "l1":
            return max(0.0, 1 - lam / (rho * d)) * delta if d > 0 else delta
        a = 3.7 if one.concavity is None else one.concavity
        xi = 1e-3 if one.smoothing is None else one.smoothing
        if d <= xi + lam / rho:
            self.regions.add(1)
            return xi * rho / (lam + xi * rho) * delta
        if d <= lam + lam / rho:
            self.regions.add(2)
            return (1 - lam / (rho * d)) * delta
        if d <= a * lam:
            self.regions.add(3)
            return max(0.0, 1 - a * lam / ((a - 1) * rho * d)) / (1 - 1 / ((a - 1) * rho)) * delta
        self.regions.add(4)
        return delta

    def zeta(self, i):
        """The mean over j of w_j + theta_ij - v_ij / rho."""
        total = np.zeros(self.task.dimension)
        for j in range(self.task.clients):
            total += self.w[j] + self.theta[i, j] - self.v[i, j] / self.algorithm.augmentation
        return total / self.task.clients

    def round(self, active):
        """One round with the clients ``active``."""
        one, m = self.algorithm, self.task.clients
        anchors = {i: self.zeta(i) for i in active}
        for i in active:
            point = self.w[i].copy()
            for _ in range(one.local_steps):
                gradient = self.task.hessians[i] @ (point - self.task.centers[i])
                point = point - one.step_size * (gradient + one.augmentation * (point - anchors[i]))
            self.w[i] = point
        for i in range(m):
            for j in range(i + 1, m):
                count = (i in active) + (j in active)
                if count < {"either": 1, "both": 2, "all": 0}[one.pair_rule]:
                    continue
                delta = self.w[i] - self.w[j] + self.v[i, j] / one.augmentation
                self.theta[i, j] = self.proximal(delta)
                self.v[i, j] += one.augmentation * (self.w[i] - self.w[j] - self.theta[i, j])
                self.theta[j, i], self.v[j, i] = -self.theta[i, j], -self.v[i, j]

    def groups(self):
        """Chains of pairs with short theta, numbered by first appearance."""
        labels = [-1] * self.task.clients
        count = 0
        for i in range(self.task.clients):
            if labels[i] >= 0:
                continue
            reached = [i]
            for one in reached:
                labels[one] = count
                for j in range(self.task.clients):
                    close = np.linalg.norm(self.theta[one, j]) <= self.algorithm.threshold
                    if close and labels[j] < 0 and j not in reached:
                        reached.append(j)
            count += 1
        return labels

    def residuals(self):
        """||grad_w L_0||, the distance of v from grad g(theta) over ordered pairs, ||grad_v L_0||."""
        one, m = self.algorithm, self.task.clients
        lam, a = one.strength, one.concavity or 3.7
        xi = one.smoothing or 1e-3
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
                if one.penalty == "l1":
                    outside = max(0.0, np.linalg.norm(v) - lam)
                    differences += outside**2 if t == 0 else np.sum((v - lam * theta / t) ** 2)
                    continue
                if t <= xi:
                    factor = lam / xi
                elif t <= lam:
                    factor = lam / t
                else:
                    factor = max(0.0, a * lam - t) / ((a - 1) * t)
                differences += np.sum((v - factor * theta) ** 2)
        return np.sqrt(models), np.sqrt(differences), np.sqrt(duals) / (2 * m)

    def scad(self, t):
        """The penalty at a length, not smoothed."""
        lam, a = self.algorithm.strength, self.algorithm.concavity or 3.7
        if t <= lam:
            return lam * t
        return (
            (2 * a * lam * t - t * t - lam * lam) / (2 * (a - 1)) if t <= a * lam else lam * lam * (a + 1) / 2
        )

    def __deepcopy__(self, memo):
        copy = DenseFPFC(self.algorithm, self.task, self.w)
        copy.theta, copy.v = self.theta.copy(), self.v.copy()
        return copy

    def losses(self):
        """The sum of f_i(w_i)."""
        away = self.w - self.task.centers
        return sum(0.5 * float(e @ h @ e) for e, h in zip(away, self.task.hessians, strict=True))

    def objective(self):
        """F: the losses, and the penalty of all ordered pairs over 2 m."""
        m = self.task.clients
        lengths = [np.linalg.norm(self.w[i] - self.w[j]) for i in range(m) for j in range(m)]
        return self.losses() + sum(map(self.scad, lengths)) / (2 * m)

    def lagrangian(self):
        """L_rho with the smoothed penalty lam t^2 / (2 xi) + xi lam / 2 up to t = xi, also of i = j."""
        one, m, total = self.algorithm, self.task.clients, 0.0
        for i in range(m):
            for j in range(m):
                t, gap = np.linalg.norm(self.theta[i, j]), self.w[i] - self.w[j] - self.theta[i, j]
                parabola = one.strength * (t * t / one.smoothing + one.smoothing) / 2
                total += parabola if t <= one.smoothing else self.scad(t)
                total += self.v[i, j] @ gap + one.augmentation / 2 * gap @ gap
        return self.losses() + total / (2 * m)

    def unit_prox(self, z):
        """argmin over t >= 0 of SCAD(t) + (t - z)^2 / 2: the best of all stationary points and kinks."""
        lam, a = self.algorithm.strength, self.algorithm.concavity or 3.7
        inner, outer = max(0.0, z - lam), max(z, a * lam)
        points = [min(inner, lam), lam, a * lam, outer]
        if a != 2 and lam <= ((a - 1) * z - a * lam) / (a - 2) <= a * lam:
            points.append(((a - 1) * z - a * lam) / (a - 2))
        return min(points, key=lambda t: self.scad(t) + (t - z) ** 2 / 2)

    def squared_mapping(self):
        """||G||^2 over ordered pairs, theta and v parallel."""
        total, m = 0.0, self.task.clients
        for i in range(m):
            for j in range(m):
                t = np.linalg.norm(self.theta[i, j])
                total += (t - self.unit_prox(t + np.linalg.norm(self.v[i, j]))) ** 2
        return total


def dense_paths(algorithm, task, start, rounds):
    """The states before and after every round, one path for each replicate's participants, rounds (R, k)."""
    paths = []
    for drawn in np.swapaxes(np.array(rounds, dtype=int), 0, 1).tolist():
        one = DenseFPFC(algorithm, task, start)
        path = [deepcopy(one)]
        for active in drawn:
            one.round(active)
            path.append(deepcopy(one))
        paths.append(path)
    return paths


def mean_squares(path):
    """Means over the rounds of a path of ||grad_w L_0||^2 and ||grad_v L_0||^2."""
    squares = np.array([one.residuals() for one in path[1:]]) ** 2
    return squares[:, 0].mean(), squares[:, 2].mean()


def dense_pairs(algorithm, state):
    """Theta and v of a state of one run without replicates, (m, m, d) each."""
    m, d = state.models.shape
    theta, v = np.zeros((2, m, m, d))
    rows = iter(zip(state.pairs.factor, state.pairs.delta, strict=True))
    for i in range(m):
        for j in range(i + 1, m):
            s, delta = next(rows)
            theta[i, j], v[i, j] = s * delta, algorithm.augmentation * (1 - s) * delta
            theta[j, i], v[j, i] = -theta[i, j], -v[i, j]
    assert next(rows, None) is None
    return theta, v
