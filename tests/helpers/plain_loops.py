"""The algorithms once more, one client at a time, straight from the papers' lines.

Nothing here is shared with the package: losses, gradients and Hessians are written out for quadratics
and for the logistic population, or are those of a task's ``derivatives``. Every round is a loop over
clients.
"""

import numpy as np

from clusterproof.algorithms import (
    CFLMGD,
    IFCA,
    FedAvg,
    FedBCD,
    FedProx,
    GradientLoss,
    Local,
    PerFedAvg,
)
from clusterproof.synthetic import LogisticMixture

NEAR_TIE = 1e-9


def logistic_rows(task, client):
    """Return the rows y x of a client's law, (N, d)."""
    cluster = task.labels[client]
    return task.targets[cluster][:, None] * task.features[cluster]


def loss(task, client, model):
    if hasattr(task, "derivatives"):
        return task.derivatives.loss(client, model)
    if isinstance(task, LogisticMixture):
        losses = [np.log(1 + np.exp(-(row @ model))) for row in logistic_rows(task, client)]
        return sum(losses) / len(losses) + task.ridge / 2 * float(model @ model)
    displacement = model - task.centers[client]
    return 0.5 * float(displacement @ task.hessians[client] @ displacement)


def gradient(task, client, model):
    if hasattr(task, "derivatives"):
        return task.derivatives.gradient(client, model)
    if isinstance(task, LogisticMixture):
        gradients = [-row / (1 + np.exp(row @ model)) for row in logistic_rows(task, client)]
        return sum(gradients) / len(gradients) + task.ridge * model
    return task.hessians[client] @ (model - task.centers[client])


def hessian(task, client, model):
    if hasattr(task, "derivatives"):
        return task.derivatives.hessian(client, model)
    if isinstance(task, LogisticMixture):
        likely = [1 / (1 + np.exp(row @ model)) for row in logistic_rows(task, client)]
        rows = zip(likely, logistic_rows(task, client), strict=True)
        curvatures = [p * (1 - p) * np.outer(row, row) for p, row in rows]
        return sum(curvatures) / len(curvatures) + task.ridge * np.eye(len(model))
    return task.hessians[client]


def choose(task, client, models, recorded):
    """Line 4: the first model of smallest loss; only a tie to rounding follows the record."""
    losses = [loss(task, client, model) for model in models]
    best = losses.index(min(losses))
    near = losses[recorded] - losses[best] <= NEAR_TIE * (1 + losses[best])
    return recorded if near and losses[recorded] != losses[best] else best


def cluster_sum(vectors, choices, cluster, dimension):
    total = np.zeros(dimension)
    for client, chosen in choices.items():
        if chosen == cluster:
            total = total + vectors[client]
    return total


def members(choices, cluster):
    return [client for client, chosen in choices.items() if chosen == cluster]


def weighted_mean(algorithm, task, points):
    """The mean of the clients' points, with n_i / n or 1 / k."""
    sizes = {i: task.client_samples[i] if algorithm.weighting == "samples" else 1 for i in points}
    return sum(sizes[i] * point for i, point in points.items()) / sum(sizes.values())


def divisor(algorithm, task, choices, cluster):
    return {
        "clients": task.clients,
        "participants": len(choices),
        "cluster": max(1, len(members(choices, cluster))),
    }[algorithm.normalisation]


def comes_back(choices, clusters):
    """Return whether some cluster had members, then none, then some again, in choices (rounds, k)."""
    for p in range(clusters):
        occupied = "".join("x" if (chosen == p).any() else " " for chosen in choices)
        if " " in occupied.strip():
            return True
    return False


class OptionOneServer:
    """(32), second line: w_p = beta w_p + G_p, chi_p = chi_p - eta w_p."""

    def __init__(self, algorithm, task, models):
        self.buffers = [np.zeros(task.dimension) for _ in models]
        self.last = [np.zeros(task.dimension) for _ in models]

    def round(self, algorithm, task, models, choices):
        gradients = {i: gradient(task, i, models[p]) for i, p in choices.items()}
        moved = []
        for p, model in enumerate(models):
            fresh = cluster_sum(gradients, choices, p, task.dimension) / divisor(algorithm, task, choices, p)
            used = fresh if algorithm.update_order == "momentum-first" else self.last[p]
            self.last[p] = fresh
            if algorithm.empty_cluster == "freeze" and not members(choices, p):
                moved.append(model)
                continue
            self.buffers[p] = algorithm.momentum * self.buffers[p] + used
            moved.append(model - algorithm.step_size * self.buffers[p])
        return moved


class OptionOneClient:
    """Lines 7, 8 and 15: every client has u_i and then receives its cluster's mean."""

    def __init__(self, algorithm, task, models):
        self.buffers = {i: np.zeros(task.dimension) for i in range(task.clients)}
        self.last = {i: np.zeros(task.dimension) for i in range(task.clients)}

    def round(self, algorithm, task, models, choices):
        for i, p in choices.items():
            fresh = gradient(task, i, models[p])
            used = fresh if algorithm.update_order == "momentum-first" else self.last[i]
            self.last[i] = fresh
            self.buffers[i] = algorithm.momentum * self.buffers[i] + used
        moved = []
        for p, model in enumerate(models):
            total = cluster_sum(self.buffers, choices, p, task.dimension)
            moved.append(model - algorithm.step_size * total / divisor(algorithm, task, choices, p))
            for i in members(choices, p):
                self.last_mean = total / len(members(choices, p))
                self.buffers = {**self.buffers, i: self.last_mean}
        return moved


class OptionTwo:
    """Lines 11, 16 and 19-22; a cluster without participants keeps model and momentum."""

    def __init__(self, algorithm, task, models):
        self.buffers = [np.zeros(task.dimension) for _ in models]

    def round(self, algorithm, task, models, choices):
        points, momenta = {}, {}
        for i, p in choices.items():
            point = models[p]
            momentum = np.zeros(task.dimension) if algorithm.reset_momentum else self.buffers[p]
            for _ in range(algorithm.local_steps):
                client_gradient = gradient(task, i, point)
                if algorithm.update_order == "momentum-first":
                    momentum = algorithm.momentum * momentum + client_gradient
                    point = point - algorithm.step_size * momentum
                else:
                    point = point - algorithm.step_size * momentum
                    momentum = algorithm.momentum * momentum + client_gradient
            points[i], momenta[i] = point, momentum
        moved = []
        for p, model in enumerate(models):
            count = len(members(choices, p))
            if not count:
                moved.append(model)
                continue
            moved.append(cluster_sum(points, choices, p, task.dimension) / count)
            self.buffers[p] = cluster_sum(momenta, choices, p, task.dimension) / count
        return moved


class PlainDescent:
    """IFCA's two kinds of averaging, FedAvg and LOCAL: no momentum anywhere."""

    def __init__(self, algorithm, task, models):
        self.averages_gradients = isinstance(algorithm, IFCA) and algorithm.averaging == "gradient"

    def round(self, algorithm, task, models, choices):
        moved = []
        for p, model in enumerate(models):
            own = members(choices, p)
            if self.averages_gradients:
                step = sum((gradient(task, i, model) for i in own), np.zeros(task.dimension))
                moved.append(model - algorithm.step_size * step / task.clients)
                continue
            ends = {}
            for i in own:
                point = model
                for _ in range(algorithm.local_steps):
                    point = point - algorithm.step_size * gradient(task, i, point)
                ends[i] = point
            if isinstance(algorithm, FedAvg):
                moved.append(weighted_mean(algorithm, task, ends))
            else:
                moved.append(sum(ends.values()) / len(ends) if ends else model)
        return moved


class Proximal:
    """FedProx: H steps on the loss plus mu/2 ||w - w^t||^2, then the mean."""

    def __init__(self, algorithm, task, models):
        pass

    def round(self, algorithm, task, models, choices):
        ends = {}
        for i in choices:
            point = models[0]
            for _ in range(algorithm.local_steps):
                pulled = gradient(task, i, point) + algorithm.proximal * (point - models[0])
                point = point - algorithm.step_size * pulled
            ends[i] = point
        return [weighted_mean(algorithm, task, ends)]


class BlockCoordinate:
    """FedBCD: x_i kept between rounds; rho = mu/2 has the gradient 2 rho (x - z)."""

    def __init__(self, algorithm, task, models):
        self.personal = [np.array(models[0]) for _ in range(task.clients)]

    def round(self, algorithm, task, models, choices):
        rho = 0.0 if algorithm.variant == "separate" else (algorithm.proximal or 0.1) / 2
        for i in choices:
            for _ in range(algorithm.local_steps):
                client_gradient = gradient(task, i, self.personal[i]) + 2 * rho * (
                    self.personal[i] - models[0]
                )
                self.personal[i] = self.personal[i] - algorithm.step_size * client_gradient
            for _ in range(algorithm.local_steps if algorithm.variant == "separate" else 0):
                self.personal[i] = self.personal[i] - (algorithm.pull or 0.2) * (self.personal[i] - models[0])
        mean = sum(self.personal) / task.clients
        return [models[0] - algorithm.server_step_size * (models[0] - mean)]


class Meta:
    """Per-FedAvg: descent on F(w - a grad F(w)), whose gradient has the factor I - a H(w) in second order."""

    def __init__(self, algorithm, task, models):
        pass

    def round(self, algorithm, task, models, choices):
        inner = algorithm.inner_step_size or algorithm.step_size / 2
        ends = {}
        for i in choices:
            point = models[0]
            for _ in range(algorithm.local_steps):
                ahead = gradient(task, i, point - inner * gradient(task, i, point))
                if algorithm.gradient == "second-order":
                    ahead = ahead - inner * hessian(task, i, point) @ ahead
                point = point - algorithm.step_size * ahead
            ends[i] = point
        return [weighted_mean(algorithm, task, ends)]


class GradientsAndLosses:
    """GL-CFL: (2)-(7), with S = 0 in the first round and where a vector is zero, and the rule of section II-C."""

    def __init__(self, algorithm, task, models):
        self.moves = None
        self.samples = task.samples if algorithm.loss_reduction == "sum" else 1

    def choose(self, algorithm, task, models, client, recorded):
        scores = []
        for k, model in enumerate(models):
            similarity = 0.0
            if self.moves is not None:
                g, d = gradient(task, client, model), self.moves[k]
                if algorithm.similarity == "euclidean":
                    descent = algorithm.sign == "descent"
                    away = g + d / algorithm.step_size if descent else self.samples * g - d
                    similarity = -np.linalg.norm(away)
                elif g.any() and d.any():
                    similarity = g @ d / (np.linalg.norm(g) * np.linalg.norm(d))
                    similarity = -similarity if algorithm.sign == "descent" else similarity
            cost = self.samples * loss(task, client, model)
            scores.append(algorithm.weight * similarity - (1 - algorithm.weight) * cost)
        best = scores.index(max(scores))
        # a move at rounding level has no direction: its cosine, and so the vote, is anything
        rough = [0.0 if self.moves is None else np.finfo(float).eps * np.abs(m).max() for m in models]
        lost = self.moves is not None and any(
            0 < np.abs(d).max() < 1e4 * r for d, r in zip(self.moves, rough, strict=True)
        )
        near = scores[best] - scores[recorded] <= NEAR_TIE * (1 + abs(scores[best]))
        return recorded if lost or near else best

    def round(self, algorithm, task, models, choices, order):
        """``order`` is the round's random order of the participants, the first K of whom are pinned."""
        deserted = any(not members(choices, p) for p in range(len(models)))
        if algorithm.empty_cluster == "always" or (algorithm.empty_cluster == "when-empty" and deserted):
            participants = list(choices)
            pinned = {participants[order[p]]: p for p in range(len(models))}
            choices = {**choices, **pinned}
        moved = []
        for p, model in enumerate(models):
            ends = [model - algorithm.step_size * gradient(task, i, model) for i in members(choices, p)]
            moved.append(sum(ends) / len(ends) if ends else model)
        self.moves = [new - old for new, old in zip(moved, models, strict=True)]
        return moved


SERVERS = {GradientLoss: GradientsAndLosses, FedProx: Proximal, FedBCD: BlockCoordinate, PerFedAvg: Meta}


def server_of(algorithm, task, models):
    if type(algorithm) in SERVERS:
        return SERVERS[type(algorithm)](algorithm, task, models)
    if not isinstance(algorithm, CFLMGD):
        return PlainDescent(algorithm, task, models)
    if algorithm.averaging == "model":
        return OptionTwo(algorithm, task, models)
    owner = OptionOneClient if algorithm.momentum_owner == "client" else OptionOneServer
    return owner(algorithm, task, models)


def replay(algorithm, task, initial, recorded, orders):
    """Models (rounds + 1, P, d) and choices (rounds, m) with the recorded participants and GL-CFL's orders."""
    models = list(initial)
    server = server_of(algorithm, task, models)
    history, chosen = [np.array(models)], []
    for record, order in zip(recorded, orders, strict=True):
        choices = {}
        for i in range(task.clients):
            if record[i] < 0:
                continue
            if algorithm.target == "pooled":
                choices[i] = 0
            elif isinstance(algorithm, Local):
                choices[i] = i
            elif isinstance(algorithm, GradientLoss):
                choices[i] = server.choose(algorithm, task, models, i, record[i])
            else:
                choices[i] = choose(task, i, models, record[i])
        drawn = [order] if isinstance(algorithm, GradientLoss) else []
        models = server.round(algorithm, task, models, choices, *drawn)
        history.append(np.array(models))
        chosen.append([choices.get(i, -1) for i in range(task.clients)])
    return np.array(history), np.array(chosen).reshape(len(recorded), task.clients)
