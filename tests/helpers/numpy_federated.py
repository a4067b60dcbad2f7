"""Federated algorithms in plain numpy, as people write them: what definitions are compared with, and mutated."""

import numpy as np


class FedAvg:
    def __init__(self, task, settings):
        self.task, self.settings = task, settings
        self.model = task.start.copy()
        self.rounds = 0
        self.prepare()

    def prepare(self):
        pass

    def steps(self, i):
        size = self.settings["batch_size"] or self.task.samples[i]
        return self.settings["local_epochs"] * -(-self.task.samples[i] // size)

    def weights(self, clients):
        sizes = (
            self.task.samples[clients] if self.settings["weighting"] == "samples" else np.ones(len(clients))
        )
        return sizes / sizes.sum()

    def gradient(self, i, y):
        return self.task.gradient(i, y)

    def correction(self, i, y):
        return 0.0

    def train(self, i):
        y = self.model.copy()
        for _ in range(self.steps(i)):
            y = y - self.settings["step_size"] * (self.gradient(i, y) + self.correction(i, y))
        return y

    def round(self, clients):
        self.rounds += 1
        models = np.array([self.train(i) for i in clients])
        self.after_training(clients, models)
        mean = self.weights(clients) @ models
        self.aggregate(clients, mean)

    def after_training(self, clients, models):
        pass

    def aggregate(self, clients, mean):
        self.model = self.model + self.settings["server_step_size"] * (mean - self.model)


class FedProx(FedAvg):
    def correction(self, i, y):
        return self.settings["proximal"] * (y - self.model)


class Scaffold(FedAvg):
    def prepare(self):
        self.c = np.zeros(self.task.dimension)
        self.ci = np.zeros((self.task.clients, self.task.dimension))

    def correction(self, i, y):
        return self.c - self.ci[i]

    def after_training(self, clients, models):
        total = np.zeros(self.task.dimension)
        for i, y in zip(clients, models, strict=False):
            new = self.ci[i] - self.c + (self.model - y) / (self.steps(i) * self.settings["step_size"])
            total += new - self.ci[i]
            self.ci[i] = new
        self.c = self.c + total / self.task.clients

    control = property(lambda self: self.c.copy())
    controls = property(lambda self: self.ci.copy())


class ScaffoldI(Scaffold):
    def after_training(self, clients, models):
        before = self.ci.copy()
        self.ci[clients] = [self.task.gradient(i, self.model) for i in clients]
        self.c = self.c + (self.ci - before).sum(axis=0) / self.task.clients


class ProxSkip(FedAvg):
    def prepare(self):
        self.h = np.zeros((self.task.clients, self.task.dimension))

    def correction(self, i, y):
        return -self.h[i]

    def round(self, clients):
        ends = np.array([self.train(i) for i in clients])
        self.model = ends.mean(axis=0)
        self.h = self.h + self.settings["probability"] / self.settings["step_size"] * (self.model - ends)

    controls = property(lambda self: self.h.copy())


class FedDyn(FedAvg):
    def prepare(self):
        self.h = np.zeros(self.task.dimension)
        self.linear = np.zeros((self.task.clients, self.task.dimension))

    def correction(self, i, y):
        return self.settings["alpha"] * (y - self.model) - self.linear[i]

    def after_training(self, clients, models):
        alpha = self.settings["alpha"]
        for i, y in zip(clients, models, strict=False):
            self.linear[i] = self.linear[i] - alpha * (y - self.model)
        self.h = self.h - alpha / self.task.clients * (models - self.model).sum(axis=0)

    def aggregate(self, clients, mean):
        self.model = mean - self.h / self.settings["alpha"]


class FedLin(FedAvg):
    def round(self, clients):
        self.sent = {i: self.gradient(i, self.model) for i in clients}
        self.mean = self.weights(clients) @ np.array(list(self.sent.values()))
        super().round(clients)

    def correction(self, i, y):
        return self.mean - self.sent[i]


class FedAvgM(FedAvg):
    def prepare(self):
        self.v = np.zeros(self.task.dimension)

    def aggregate(self, clients, mean):
        self.v = self.settings["momentum"] * self.v + (self.model - mean)
        self.model = self.model - self.settings["server_step_size"] * self.v


class NesterovFedAvgM(FedAvgM):
    def aggregate(self, clients, mean):
        beta, before = self.settings["momentum"], self.model
        super().aggregate(clients, mean)
        self.model = before - self.settings["server_step_size"] * (before - mean + beta * self.v)


class FedAdam(FedAvg):
    def prepare(self):
        self.m = np.zeros(self.task.dimension)
        self.v = np.full(self.task.dimension, self.settings["tau"] ** 2)

    def second(self, delta):
        return self.settings["beta2"] * self.v + (1 - self.settings["beta2"]) * delta**2

    def aggregate(self, clients, mean):
        s, delta = self.settings, mean - self.model
        self.m = s["beta1"] * self.m + (1 - s["beta1"]) * delta
        self.v = self.second(delta)
        self.model = self.model + s["eta"] * self.m / (np.sqrt(self.v) + s["tau"])


class FedYogi(FedAdam):
    def second(self, delta):
        return self.v - (1 - self.settings["beta2"]) * delta**2 * np.sign(self.v - delta**2)


class Ditto(FedAvg):
    def prepare(self):
        self.v = np.array([self.model] * self.task.clients)

    def after_training(self, clients, models):
        s = self.settings
        for i in clients:
            for _ in range(s["personal_epochs"] * self.steps(i) // s["local_epochs"]):
                pull = s["lam"] * (self.v[i] - self.model)
                self.v[i] = self.v[i] - s["personal_step_size"] * (self.gradient(i, self.v[i]) + pull)

    personal = property(lambda self: self.v.copy())


class PFedMe(FedAvg):
    def prepare(self):
        self.theta = np.array([self.model] * self.task.clients)

    def train(self, i):
        s, w, theta = self.settings, self.model, self.model
        for _ in range(self.steps(i)):
            for _ in range(s["inner_steps"]):
                theta = theta - s["step_size"] * (self.gradient(i, theta) + s["lam"] * (theta - w))
            w = w - s["outer_step_size"] * s["lam"] * (w - theta)
        self.theta[i] = theta
        return w

    def aggregate(self, clients, mean):
        self.model = (1 - self.settings["mix"]) * self.model + self.settings["mix"] * mean

    personal = property(lambda self: self.theta.copy())


class PerFedAvg(FedAvg):
    def gradient(self, i, y):
        r = self.settings["inner_step_size"]
        outer = self.task.gradient(i, y - r * self.task.gradient(i, y))
        return outer - r * self.task.hessian(i, y) @ outer


class FedNova(FedAvg):
    def round(self, clients):
        s, weights = self.settings, self.weights(clients)
        counts = np.array([self.steps(i) for i in clients])
        changes = np.array(
            [(self.train(i) - self.model) / count for i, count in zip(clients, counts, strict=False)]
        )
        self.model = self.model + s["server_step_size"] * (weights @ counts) * (weights @ changes)


class IFCA(FedAvg):
    def prepare(self):
        self.model = self.task.starts.copy()
        self.assignments = np.full(self.task.clients, -1)

    def choose(self, i):
        return int(np.argmin([self.task.loss(i, w) for w in self.model]))

    def train_from(self, i, w):
        y = w.copy()
        for _ in range(self.steps(i)):
            y = y - self.settings["step_size"] * self.gradient(i, y)
        return y

    def round(self, clients):
        self.rounds += 1
        self.assignments = np.full(self.task.clients, -1)
        for i in clients:
            self.assignments[i] = self.choose(i)
        new = self.model.copy()
        for j in range(len(new)):
            members = [i for i in clients if self.assignments[i] == j]
            if members:
                new[j] = self.weights(members) @ [self.train_from(i, self.model[j]) for i in members]
        self.model = new


class GradientIFCA(IFCA):
    def round(self, clients):
        self.assignments = np.full(self.task.clients, -1)
        self.assignments[clients] = [self.choose(i) for i in clients]
        total = np.zeros_like(self.model)
        for i in clients:
            total[self.assignments[i]] += self.gradient(i, self.model[self.assignments[i]])
        members = np.array([[sum(self.assignments == j)] for j in range(len(total))])
        divisors = {"participants": len(clients), "cluster": np.maximum(members, 1)}
        kept = self.model.copy(), getattr(self, "u", self.model).copy()
        self.step(total / divisors.get(self.settings.get("normalisation"), self.task.clients))
        if self.settings.get("empty_cluster") == "freeze":
            self.model, self.u = (
                np.where(members, new, old) for new, old in zip((self.model, self.u), kept, strict=True)
            )

    def step(self, direction):
        self.model = self.model - self.settings["step_size"] * direction


class CFLMGD(GradientIFCA):
    def prepare(self):
        super().prepare()
        self.u = np.zeros_like(self.model)

    def step(self, direction):
        self.u = self.settings["momentum"] * self.u + direction
        super().step(self.u)


class DelayedCFLMGD(CFLMGD):
    def prepare(self):
        super().prepare()
        self.late = np.zeros_like(self.model)

    def step(self, direction):
        late, self.late = self.late, direction
        super().step(late)


class ClientCFLMGD(CFLMGD):
    def prepare(self):
        super().prepare()
        self.own = np.zeros((self.task.clients, self.model.shape[1]))
        self.late = self.own.copy()

    def gradient(self, i, w):
        found, before = super().gradient(i, w), self.late[i].copy()
        self.late[i] = found
        used = before if self.settings["update_order"] == "as-printed" else found
        self.own[i] = self.settings["momentum"] * self.own[i] + used
        return self.own[i]

    def round(self, clients):
        super().round(clients)
        for j in range(len(self.model)):
            members = [i for i in clients if self.assignments[i] == j]
            if members:
                self.own[members] = self.own[members].mean(axis=0)

    def step(self, direction):
        self.model = self.model - self.settings["step_size"] * direction


class ModelCFLMGD(IFCA):
    def prepare(self):
        super().prepare()
        self.u = np.zeros_like(self.model)

    def round(self, clients):
        self.assignments = np.full(self.task.clients, -1)
        self.assignments[clients] = [self.choose(i) for i in clients]
        model, u = self.model.copy(), self.u.copy()
        for j in range(len(model)):
            members = [i for i in clients if self.assignments[i] == j]
            if members:
                start = 0 * self.u[j] if self.settings["reset_momentum"] else self.u[j]
                ends = [self.train_with_momentum(i, self.model[j], start) for i in members]
                model[j], u[j] = np.tensordot(self.weights(members), ends, axes=1)
        self.model, self.u = model, u

    def train_with_momentum(self, i, y, u):
        for _ in range(self.steps(i)):
            u = self.settings["momentum"] * u + self.gradient(i, y)
            y = y - self.settings["step_size"] * u
        return y, u


class FedBCD(FedAvg):
    def prepare(self):
        self.own = np.array([self.model] * self.task.clients)

    def round(self, clients):
        s = self.settings
        for i in clients:
            for _ in range(self.steps(i)):
                pull = s["proximal"] * (self.own[i] - self.model) if s["variant"] == "penalised" else 0
                self.own[i] = self.own[i] - s["step_size"] * (self.gradient(i, self.own[i]) + pull)
            for _ in range(self.steps(i) if s["variant"] == "separate" else 0):
                self.own[i] = self.own[i] - s["pull"] * (self.own[i] - self.model)
        self.model = self.model - s["server_step_size"] * (self.model - self.own.mean(axis=0))

    personal = property(lambda self: self.own.copy())


class Local(FedAvg):
    def prepare(self):
        self.model = np.array([self.model] * self.task.clients)

    def round(self, clients):
        for i in clients:
            for _ in range(self.steps(i)):
                self.model[i] = self.model[i] - self.settings["step_size"] * self.gradient(i, self.model[i])


FORMS = [
    *((FedAvg, "fedavg", {}), (FedProx, "fedprox", {}), (Scaffold, "scaffold", {}), (FedNova, "fednova", {})),
    *((ScaffoldI, "scaffold", {"option": "I"}), (ProxSkip, "proxskip", {}), (FedDyn, "feddyn", {})),
    *((FedLin, "fedlin", {}), (FedAvgM, "fedavgm", {}), (FedAdam, "fedadam", {}), (FedYogi, "fedyogi", {})),
    (NesterovFedAvgM, "fedavgm", {"nesterov": True}),
    *((Ditto, "ditto", {}), (PFedMe, "pfedme", {}), (PerFedAvg, "per-fedavg", {}), (Local, "local", {})),
    *((FedBCD, "fedbcd", {}), (FedBCD, "fedbcd", {"variant": "separate"})),
    *(
        (IFCA, "ifca", {}),
        (IFCA, "ifca", {"weighting": "samples"}),
        (GradientIFCA, "ifca", {"averaging": "gradient"}),
    ),
    *((CFLMGD, "cfl-mgd", {}), (ModelCFLMGD, "cfl-mgd", {"averaging": "model"})),
    (ModelCFLMGD, "cfl-mgd", {"averaging": "model", "reset_momentum": True}),
    (CFLMGD, "cfl-mgd", {"normalisation": "participants"}),
    (CFLMGD, "cfl-mgd", {"normalisation": "cluster", "empty_cluster": "freeze"}),
    (DelayedCFLMGD, "cfl-mgd", {"update_order": "as-printed"}),
    (ClientCFLMGD, "cfl-mgd", {"momentum_owner": "client"}),
    (ClientCFLMGD, "cfl-mgd", {"momentum_owner": "client", "update_order": "as-printed"}),
]
"""A class, the algorithm that it is, and in which form."""
