"""Algorithms with a model for each cluster, which a client chooses: IFCA, CFL-MGD and GL-CFL."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clusterproof.conformance.definitions.base import MEMBERS, Definition


class IFCA(Definition):
    """IFCA: clients join the received model of least loss."""

    name = "ifca"
    equation = (
        "j(i) = argmin_j f_i(w_j) at the received models; model averaging: w_j <- sum of its members' p_i y_i; "
        "gradient averaging: w_j <- w_j - (eta/N) sum of its members' g_i(w_j); no member: w_j stays"
    )
    source = (
        "Ghosh et al. 2020, Algorithm 1, where the p_i of a cluster are equal; gradient averaging as in "
        "jichan3751/ifca at 97db9d1a, synthetic/train_cluster.py (train, gradient_update)"
    )
    paper_was_read = True
    own_settings = {"averaging": "model", "weighting": "clients"}
    variants = {"averaging": ("model", "gradient"), **MEMBERS}
    server_step = None
    quantities = ("model", "assignments")
    clusters = 2

    def prepare(self) -> None:
        """Start the models."""
        self.x = np.array(self.task.starts, dtype=float)
        self.momenta = np.zeros_like(self.x)
        self.assignments = np.full(self.task.clients, -1)

    def exchange(self, participants: Sequence[int]) -> None:
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
        count = self.divisor(members, participants)
        count = self.line("divisor", count, participants=participants, members=members)
        u = self.momentum(self.line("old v", self.momenta[j]), total / count)
        return self.x[j] - self.step_size * u, u

    def divisor(self, members: Sequence[int], participants: Sequence[int]) -> int:
        """Return what a cluster's sum of gradients is divided by, N."""
        return self.task.clients

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
            mean += p * np.array(self.descend(i, y, u))
        return mean

    def descend(self, client: int, y: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return a member's model and momentum after its local steps from those of its cluster."""
        for step in range(self.steps(client)):
            u = self.momentum(u, self.gradient(client, y, step) + self.declared("weight_decay") * y)
            y = y - self.step_size * u
        return y, u

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
    source = "Zhao et al. 2023, Algorithm 1 and (3)-(10)"
    paper_was_read = True
    own_settings = {
        **{"averaging": "gradient", "momentum": 0.6, "weighting": "clients", "normalisation": "clients"},
        **{"momentum_owner": "server", "update_order": "momentum-first"},
        **{"reset_momentum": False, "empty_cluster": "coast"},
    }
    strengths = {"momentum": 0.3}
    variants = {
        **IFCA.variants,
        "normalisation": ("clients", "participants", "cluster"),
        "empty_cluster": ("coast", "freeze"),
    }
    choices = {
        "momentum_owner": ("server", "client"),
        "update_order": ("momentum-first", "as-printed"),
        "reset_momentum": (False, True),
    }

    def prepare(self) -> None:
        """Start the momenta of clusters and clients, and the delayed gradients, at 0."""
        super().prepare()
        self.pending = np.zeros_like(self.x)
        self.client_momenta = np.zeros((self.task.clients, self.task.dimension))
        self.client_pending = np.zeros_like(self.client_momenta)

    def momentum(self, u: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Return beta u + g."""
        return np.asarray(self.line("momentum", self.settings["momentum"]) * u + gradient)

    def divisor(self, members: Sequence[int], participants: Sequence[int]) -> int:
        """Return m of (5) and (9): N as printed, |S|, or the number of the cluster's members."""
        counts = {"clients": self.task.clients, "participants": len(participants), "cluster": len(members)}
        return max(1, counts[self.settings["normalisation"]])

    def average_gradients(self, j: int, members: Sequence[int], participants: Sequence[int]) -> Any:
        """Return the cluster's model and momentum after (9), with one momentum a cluster or one a client."""
        delayed = self.settings["update_order"] == "as-printed"
        if self.settings["momentum_owner"] == "client":
            return self._average_momenta(j, members, participants, delayed)
        if not members and self.settings["empty_cluster"] == "freeze":
            self.pending[j] = 0
            return self.x[j], self.momenta[j]
        if not delayed:
            return super().average_gradients(j, members, participants)
        u = self.momentum(self.momenta[j], self.pending[j])
        total = sum((self.gradient(i, self.x[j]) for i in members), np.zeros(self.task.dimension))
        self.pending[j] = total / self.divisor(members, participants)
        return self.x[j] - self.step_size * u, u

    def _average_momenta(
        self, j: int, members: Sequence[int], participants: Sequence[int], delayed: bool
    ) -> Any:
        """Lines 7 to 9 and 15 of Algorithm 1: u_i <- beta u_i + g_i, and members then take the mean of their u_i."""
        momenta = []
        for i in members:
            gradient = self.gradient(i, self.x[j])
            used, self.client_pending[i] = self.client_pending[i].copy() if delayed else gradient, gradient
            momenta.append(self.momentum(self.client_momenta[i], used))
        for i in members:
            self.client_momenta[i] = np.mean(momenta, axis=0)
        total = sum(momenta, np.zeros(self.task.dimension))
        return self.x[j] - self.step_size * total / self.divisor(members, participants), self.momenta[j]

    def descend(self, client: int, y: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return a member's model and momentum after the steps of (4); as printed, y moves by the u of before."""
        if self.settings["reset_momentum"]:
            u = 0 * u
        if self.settings["update_order"] == "momentum-first":
            return super().descend(client, y, u)
        for step in range(self.steps(client)):
            gradient = self.gradient(client, y, step) + self.declared("weight_decay") * y
            y, u = y - self.step_size * u, self.momentum(u, gradient)
        return y, u


class GradientLoss(Definition):
    """GL-CFL: clients choose a model by its loss and by the angle of their gradient and the model's last change."""

    name = "gradient-loss"
    equation = (
        "D_k = w_k - the w_k of the round before; s_i = argmax_k lambda S_ik - (1 - lambda) f_i(w_k), "
        "S_ik = cos(-g_i(w_k), D_k), 0 in the first round; w_k <- mean of its members' w_k - eta g_i(w_k); "
        "no member: w_k stays"
    )
    source = "Lin et al. 2023 (arXiv 2311.13665), (1)-(7) and Algorithm 1, with the sign of (3) reversed, mean losses"
    paper_was_read = True
    without = ("local_epochs", "server_step_size", "drop_last", "reshuffle")
    own_settings = {
        **{
            "step_size": 0.2,
            "weight": 0.8,
            "similarity": "cosine",
            "sign": "descent",
            "loss_reduction": "mean",
        },
        **{"empty_cluster": "never", "weighting": "clients"},
    }
    strengths = {"weight": 0.5}
    variants = {
        "similarity": ("cosine", "euclidean"),
        "sign": ("descent", "as-printed"),
        "loss_reduction": ("mean", "sum"),
        "empty_cluster": ("never", "when-empty", "always"),
        "weighting": ("samples", "clients"),
    }
    lengths = "weight"
    server_step = None
    quantities = ("model", "assignments")
    clusters = 2

    @classmethod
    def least_participants(cls, settings: Mapping[str, Any]) -> int:
        """Return K if one participant is assigned to each cluster."""
        return 1 if settings["empty_cluster"] == "never" else cls.clusters

    @classmethod
    def order_matters(cls, settings: Mapping[str, Any]) -> bool:
        """Return whether the first participants are assigned to clusters."""
        return bool(settings["empty_cluster"] != "never")

    def prepare(self) -> None:
        """Start the models."""
        self.x = np.array(self.task.starts, dtype=float)
        self.changes = np.zeros_like(self.x)
        self.assignments = np.full(self.task.clients, -1)

    def exchange(self, participants: Sequence[int]) -> None:
        """Carry out lines 3 to 14 of Algorithm 1."""
        self.assignments = np.full(self.task.clients, -1)
        for i in participants:
            scores = np.array([self.score(i, k) for k in range(len(self.x))])
            self.assignments[i] = self.line("choice", int(np.argmax(scores)), client=i, scores=scores)
        trained = self._pinned(participants)
        models = self.x.copy()
        for k in range(len(models)):
            members = [i for i in participants if trained[i] == k]
            members = self.line("members", members, cluster=k, participants=participants)
            if not members:
                models[k] = self.line("empty", models[k])
                continue
            weights = self.weights(members)
            weights = self.line("member weights", weights, members=members, participants=participants)
            # (5) and (7)
            local = [self.moved(self.x[k], self.gradient(i, self.x[k]), self.step_size) for i in members]
            models[k] = weights @ np.array(local)
        self.changes = self.line("change", models - self.x, new=models)  # (2)
        self.x = models

    def score(self, client: int, k: int) -> float:
        """Return lambda S_ik - (1 - lambda) L_ik, the argument of the maximum in (4)."""
        weight = self.line("weight", self.settings["weight"])
        loss = self.line("loss", self.task.loss(client, self.x[k]))
        if self.settings["loss_reduction"] == "sum":  # (1)
            loss = self.samples_of_batch(client) * loss
        similarity = self.line("similarity", self.similarity(client, k)) if self.finished else 0.0
        return float(weight * similarity - self.line("weight of loss", 1 - self.settings["weight"]) * loss)

    def similarity(self, client: int, k: int) -> float:
        """Return S_ik: (3), or the distance below it; the printed sign has the gradient, not its negative."""
        gradient = self.line("gradient in S", self.task.gradient(client, self.x[k]), client=client)
        change = self.changes[k]
        descent = self.settings["sign"] == "descent"
        if self.settings["similarity"] == "euclidean":
            if descent:
                return -float(np.linalg.norm(gradient + change / self.step_size))
            count = self.samples_of_batch(client) if self.settings["loss_reduction"] == "sum" else 1
            return -float(np.linalg.norm(count * gradient - change))
        lengths = float(np.linalg.norm(gradient) * np.linalg.norm(change))
        product = float(gradient @ change)
        cosine = self.line("cosine", product / lengths if lengths else 0.0, product=product)
        return -cosine if descent else cosine

    def samples_of_batch(self, client: int) -> int:
        """Return the number of samples in a client's mini-batch."""
        samples = int(self.task.samples[client])
        return min(samples, self.settings["batch_size"] or samples)

    def _pinned(self, participants: Sequence[int]) -> np.ndarray:
        """Return the clusters that are trained: after II-C one each by the first K participants, not by random ones."""
        trained, count = self.assignments.copy(), len(self.x)
        chosen = self.assignments[list(participants)]
        empty = len(np.unique(chosen)) < count
        rule = self.settings["empty_cluster"]
        if rule == "always" or (rule == "when-empty" and empty):
            pinned = list(participants)[:count]
            trained[pinned] = np.arange(len(pinned))
        return trained
