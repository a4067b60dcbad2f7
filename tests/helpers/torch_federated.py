"""Federated algorithms as people write them: PyTorch, float32, shuffled loaders. Mutants of this text are found."""

import copy

import numpy as np
import torch
from torch import nn

from clusterproof.conformance.adapters.torch_side import flat, loader, module

DTYPE = torch.float32


class Client:
    def __init__(self, task, index, settings, model):
        self.settings = settings
        self.samples = int(task.samples[index])
        self.loader = loader(task, index, settings["batch_size"], dtype=DTYPE)
        self.criterion = nn.MSELoss()
        self.personal = copy.deepcopy(model)
        self.control = [torch.zeros_like(p) for p in model.parameters()]
        self.lagrange = torch.zeros(task.dimension, dtype=DTYPE)

    def batches(self):
        for _epoch in range(self.settings["local_epochs"]):
            for x, y in self.loader:
                yield x, y

    def train(self, model):
        optimizer = torch.optim.SGD(model.parameters(), lr=self.settings["step_size"])
        steps = 0
        for x, y in self.batches():
            optimizer.zero_grad()
            self.criterion(model(x), y).backward()
            optimizer.step()
            steps += 1
        return steps


class FedAvg:
    def __init__(self, task, settings):
        self.settings = settings
        self.net = module(task, DTYPE)
        self.clients = [Client(task, i, settings, self.net) for i in range(task.clients)]

    @property
    def model(self):
        return flat(self.net)

    def weights(self, selected):
        sizes = [c.samples if self.settings["weighting"] == "samples" else 1 for c in selected]
        return [size / sum(sizes) for size in sizes]

    def aggregate(self, models, weights):
        gamma = self.settings["server_step_size"]
        with torch.no_grad():
            for name, p in self.net.named_parameters():
                delta = torch.zeros_like(p)
                for model, weight in zip(models, weights):
                    delta += weight * (dict(model.named_parameters())[name] - p)
                p.add_(gamma * delta)

    def round(self, participants):
        selected = [self.clients[i] for i in participants]
        models = []
        for client in selected:
            model = copy.deepcopy(self.net)
            client.train(model)
            models.append(model)
        self.aggregate(models, self.weights(selected))


class FedProxClient(Client):
    def train(self, model):
        optimizer = torch.optim.SGD(model.parameters(), lr=self.settings["step_size"])
        received = [p.detach().clone() for p in model.parameters()]
        for x, y in self.batches():
            optimizer.zero_grad()
            loss = self.criterion(model(x), y)
            proximal = 0.0
            for p, q in zip(model.parameters(), received):
                proximal += ((p - q) ** 2).sum()
            loss = loss + self.settings["proximal"] / 2 * proximal
            loss.backward()
            optimizer.step()


class FedProx(FedAvg):
    def __init__(self, task, settings):
        super().__init__(task, settings)
        self.clients = [FedProxClient(task, i, settings, self.net) for i in range(task.clients)]


class Scaffold(FedAvg):
    def __init__(self, task, settings):
        super().__init__(task, settings)
        self.c = [torch.zeros_like(p) for p in self.net.parameters()]

    def local(self, client, model):
        eta = self.settings["step_size"]
        received = [p.detach().clone() for p in self.net.parameters()]
        steps = 0
        for x, y in client.batches():
            model.zero_grad()
            client.criterion(model(x), y).backward()
            with torch.no_grad():
                for p, c, ci in zip(model.parameters(), self.c, client.control):
                    p -= eta * (p.grad - ci + c)
            steps += 1
        with torch.no_grad():
            if self.settings["option"] == "II":
                new = [
                    ci - c + (q - p) / (steps * eta)
                    for p, q, c, ci in zip(model.parameters(), received, self.c, client.control)
                ]
            else:
                self.net.zero_grad()
                x, y = next(iter(client.loader))
                with torch.enable_grad():
                    client.criterion(self.net(x), y).backward()
                new = [p.grad.clone() for p in self.net.parameters()]
        change = [n - ci for n, ci in zip(new, client.control)]
        client.control = new
        return change

    def round(self, participants):
        selected = [self.clients[i] for i in participants]
        models, changes = [], []
        for client in selected:
            model = copy.deepcopy(self.net)
            changes.append(self.local(client, model))
            models.append(model)
        self.aggregate(models, self.weights(selected))
        for change in changes:
            self.c = [c + d / len(self.clients) for c, d in zip(self.c, change)]


class FedNova(FedAvg):
    def round(self, participants):
        selected = [self.clients[i] for i in participants]
        weights = self.weights(selected)
        x = torch.tensor(self.model)
        total, tau = torch.zeros_like(x), 0.0
        for client, weight in zip(selected, weights):
            model = copy.deepcopy(self.net)
            steps = client.train(model)
            total += weight * (torch.tensor(flat(model)) - x) / steps
            tau += weight * steps
        new = x + self.settings["server_step_size"] * tau * total
        nn.utils.vector_to_parameters(new, self.net.parameters())


class FedDyn(FedAvg):
    def __init__(self, task, settings):
        super().__init__(task, settings)
        self.h = torch.zeros(task.dimension, dtype=DTYPE)

    def round(self, participants):
        alpha = self.settings["alpha"]
        selected = [self.clients[i] for i in participants]
        x = torch.tensor(self.model)
        models = []
        for client in selected:
            model = copy.deepcopy(self.net)
            optimizer = torch.optim.SGD(model.parameters(), lr=self.settings["step_size"])
            for rows, y in client.batches():
                optimizer.zero_grad()
                theta = nn.utils.parameters_to_vector(model.parameters())
                loss = client.criterion(model(rows), y)
                loss = loss - torch.dot(client.lagrange, theta)
                loss = loss + alpha / 2 * torch.sum((theta - x) ** 2)
                loss.backward()
                optimizer.step()
            local = torch.tensor(flat(model))
            client.lagrange = client.lagrange - alpha * (local - x)
            models.append(local)
        self.h = self.h - alpha / len(self.clients) * sum(m - x for m in models)
        mean = sum(w * m for w, m in zip(self.weights(selected), models))
        nn.utils.vector_to_parameters(mean - self.h / alpha, self.net.parameters())


class Ditto(FedAvg):
    def round(self, participants):
        received = [p.detach().clone() for p in self.net.parameters()]
        super().round(participants)
        for i in participants:
            client = self.clients[i]
            optimizer = torch.optim.SGD(client.personal.parameters(), lr=self.settings["personal_step_size"])
            for _ in range(self.settings["personal_epochs"]):
                for x, y in client.loader:
                    optimizer.zero_grad()
                    client.criterion(client.personal(x), y).backward()
                    for p, q in zip(client.personal.parameters(), received):
                        p.grad.add_(self.settings["lam"] * (p.detach() - q))
                    optimizer.step()

    @property
    def personal(self):
        return np.array([flat(client.personal) for client in self.clients])


class FedAvgM(FedAvg):
    def __init__(self, task, settings):
        super().__init__(task, settings)
        self.v = torch.zeros(task.dimension, dtype=DTYPE)

    def aggregate(self, models, weights):
        x = torch.tensor(self.model)
        delta = x - sum(w * torch.tensor(flat(m)) for w, m in zip(weights, models))
        self.v = self.settings["momentum"] * self.v + delta
        new = x - self.settings["server_step_size"] * self.v
        nn.utils.vector_to_parameters(new, self.net.parameters())


class FedAdam(FedAvg):
    def __init__(self, task, settings):
        super().__init__(task, settings)
        self.m = torch.zeros(task.dimension, dtype=DTYPE)
        self.v = torch.full((task.dimension,), settings["tau"] ** 2, dtype=DTYPE)

    def aggregate(self, models, weights):
        s = self.settings
        x = torch.tensor(self.model)
        delta = sum(w * torch.tensor(flat(m)) for w, m in zip(weights, models)) - x
        self.m = s["beta1"] * self.m + (1 - s["beta1"]) * delta
        self.v = s["beta2"] * self.v + (1 - s["beta2"]) * delta**2
        new = x + s["eta"] * self.m / (torch.sqrt(self.v) + s["tau"])
        nn.utils.vector_to_parameters(new, self.net.parameters())


class ServerAdam(FedAvg):
    """FedAdam as it is usually written: PyTorch's Adam gets the change of the mean model as a gradient."""

    def __init__(self, task, settings):
        super().__init__(task, settings)
        self.x = nn.Parameter(torch.tensor(self.model, dtype=DTYPE))
        self.server = torch.optim.Adam(
            [self.x], settings["eta"], betas=(settings["beta1"], settings["beta2"]), eps=settings["tau"]
        )

    def aggregate(self, models, weights):
        self.x.grad = self.x.detach() - sum(w * torch.tensor(flat(m)) for w, m in zip(weights, models))
        self.server.step()
        nn.utils.vector_to_parameters(self.x.detach().clone(), self.net.parameters())


class PerFedAvg(FedAvg):
    def round(self, participants):
        selected = [self.clients[i] for i in participants]
        models = []
        for client in selected:
            model = copy.deepcopy(self.net)
            parameters = dict(model.named_parameters())
            for x, y in client.batches():
                inner = torch.autograd.grad(
                    client.criterion(model(x), y), list(parameters.values()), create_graph=True
                )
                fast = {
                    name: p - self.settings["inner_step_size"] * g
                    for (name, p), g in zip(parameters.items(), inner)
                }
                outer = client.criterion(torch.func.functional_call(model, fast, (x,)), y)
                outer = torch.autograd.grad(outer, list(parameters.values()))
                with torch.no_grad():
                    for p, g in zip(parameters.values(), outer):
                        p.copy_(p - self.settings["step_size"] * g)
            models.append(model)
        self.aggregate(models, self.weights(selected))


class PFedMe(FedAvg):
    def round(self, participants):
        s = self.settings
        selected = [self.clients[i] for i in participants]
        x = torch.tensor(self.model)
        results = []
        for client in selected:
            theta, w = copy.deepcopy(self.net), x.clone()
            for rows, y in client.batches():
                for _ in range(s["inner_steps"]):
                    theta.zero_grad()
                    v = nn.utils.parameters_to_vector(theta.parameters())
                    loss = client.criterion(theta(rows), y) + s["lam"] / 2 * ((v - w) ** 2).sum()
                    loss.backward()
                    with torch.no_grad():
                        for p in theta.parameters():
                            p -= s["step_size"] * p.grad
                w = w - s["outer_step_size"] * s["lam"] * (w - torch.tensor(flat(theta)))
            results.append(w)
        mean = sum(weight * w for weight, w in zip(self.weights(selected), results))
        new = (1 - s["mix"]) * x + s["mix"] * mean
        nn.utils.vector_to_parameters(new, self.net.parameters())


class IFCA:
    def __init__(self, task, settings):
        self.settings = settings
        self.nets = []
        for start in task.starts:
            net = module(task, DTYPE)
            nn.utils.vector_to_parameters(torch.tensor(start, dtype=DTYPE), net.parameters())
            self.nets.append(net)
        self.clients = [Client(task, i, settings, self.nets[0]) for i in range(task.clients)]

    @property
    def model(self):
        return np.array([flat(net) for net in self.nets])

    def choose(self, client):
        x, y = next(iter(client.loader))
        with torch.no_grad():
            losses = [client.criterion(net(x), y).item() for net in self.nets]
        return int(np.argmin(losses))

    def round(self, participants):
        chosen = {i: self.choose(self.clients[i]) for i in participants}
        results = {}
        for i in participants:
            model = copy.deepcopy(self.nets[chosen[i]])
            self.clients[i].train(model)
            results[i] = torch.tensor(flat(model))
        for j, net in enumerate(self.nets):
            members = [i for i in participants if chosen[i] == j]
            if members:
                total = sum(self.clients[i].samples for i in members)
                new = sum(self.clients[i].samples / total * results[i] for i in members)
                nn.utils.vector_to_parameters(new, net.parameters())
