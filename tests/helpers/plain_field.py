"""SCAFFOLD and its like, client by client: loops that share nothing with the package but the task's data."""

import numpy as np
from plain_loops import gradient


class Plain:
    """A run client by client; subclasses write a round, ``present`` being the participants."""

    def __init__(self, algorithm, task, start):
        self.a, self.task, self.m = algorithm, task, task.clients
        self.x = start.copy()
        self.c = np.zeros_like(start)
        self.ci = {i: np.zeros_like(start) for i in range(self.m)}
        self.vi = {i: start.copy() for i in range(self.m)}

    def g(self, client, point):
        return gradient(self.task, client, point)

    def weights(self, present):
        sized = getattr(self.a, "weighting", "clients") == "samples"
        counts = {i: float(self.task.client_samples[i]) if sized else 1.0 for i in present}
        return {i: count / sum(counts.values()) for i, count in counts.items()}

    def mean(self, values):
        return sum(p * values[i] for i, p in self.weights(list(values)).items())

    def local(self, client, point, shift=0.0):
        for _ in range(self.a.local_steps):
            point = point - self.a.step_size * (self.g(client, point) + shift)
        return point

    def kept(self):
        return {"models": self.x[None]}


class PlainFedAvg(Plain):
    def round(self, present):
        y = {i: self.local(i, self.x) for i in present}
        self.x = self.x + self.a.server_step_size * (self.mean(y) - self.x)


class PlainScaffold(Plain):
    def round(self, present):
        y = {i: self.local(i, self.x, self.c - self.ci[i]) for i in present}
        length = self.a.local_steps * self.a.step_size
        new = {
            i: self.g(i, self.x) if self.a.option == "I" else self.ci[i] - self.c + (self.x - y[i]) / length
            for i in present
        }
        self.x = self.x + self.a.server_step_size * self.mean({i: y[i] - self.x for i in present})
        self.c = self.c + sum(new[i] - self.ci[i] for i in present) / self.m
        self.ci.update(new)

    def kept(self):
        controls = np.stack([self.ci[i] for i in range(self.m)])
        return {"models": self.x[None], "control": self.c[None], "controls": controls}


class PlainFedLin(Plain):
    def round(self, present):
        common = sum(self.g(i, self.x) for i in present) / len(present)
        y = {i: self.local(i, self.x, common - self.g(i, self.x)) for i in present}
        self.x = self.mean(y)


class PlainProxSkip(Plain):
    def round(self, present, coin):
        gamma, p = self.a.step_size, self.a.probability
        ahead = {i: self.vi[i] - gamma * (self.g(i, self.vi[i]) - self.ci[i]) for i in range(self.m)}
        self.x = sum(ahead.values()) / self.m
        for i in range(self.m):
            self.vi[i] = self.x if coin else ahead[i]
            if coin:
                self.ci[i] = self.ci[i] + p / gamma * (self.x - ahead[i])

    def kept(self):
        stacked = (np.stack([values[i] for i in range(self.m)]) for values in (self.vi, self.ci))
        return dict(zip(("personal", "controls"), stacked, strict=True)) | {"models": self.x[None]}
