"""A task that counts what it is asked for."""

import numpy as np

from clusterproof.algorithms import Task
from clusterproof.synthetic import QuadraticMixture


class Counting(Task):
    """A quadratic mixture that writes down at which points each client was asked for what.

    Parameters
    ----------
    clusters
        P.
    """

    def __init__(self, *, clusters=3):
        self.task = QuadraticMixture.random(
            clusters=clusters, clients=8, dimension=3, condition_number=3, spread=0.2, seed=1
        )
        self.clusters, self.dimension, self.labels = clusters, 3, self.task.labels
        self.forward, self.backward, self.bent = set(), set(), []

    @property
    def settings(self):
        return self.task.settings

    def initial_models(self, count, shape, generator):
        return self.task.initial_models(count, shape, generator)

    def note(self, kinds, points, clients):
        for client, point in zip(clients, points, strict=True):
            for kind in kinds:
                kind.add((int(client), np.asarray(point).tobytes()))

    def each(self, kinds, models, clients):
        for model in models:
            self.note(kinds, np.broadcast_to(model, (len(clients), 3)), clients)

    def losses(self, models, clients, generator):
        self.each([self.forward], models, clients)
        return self.task.losses(models, clients, generator)

    def gradients(self, points, clients, generator):
        self.note([self.forward, self.backward], points, clients)
        return self.task.gradients(points, clients, generator)

    def gradient_sums(self, models, clients, assignments, generator):
        self.note([self.forward, self.backward], models[assignments], clients)
        return self.task.gradient_sums(models, clients, assignments, generator)

    def losses_and_gradients(self, models, clients, generator):
        self.each([self.forward, self.backward], models, clients)
        return self.task.losses_and_gradients(models, clients, generator)

    def hessian_products(self, points, directions, clients, generator):
        self.bent += list(clients)
        return self.task.hessian_products(points, directions, clients, generator)
