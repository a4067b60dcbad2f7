"""The image of any task under a change of clients, axes, origin and units."""

import numpy as np

from clusterproof.synthetic.wrapped import WrappedTask


class Moved(WrappedTask):
    """Client i has the loss ``loss`` f_o(i)(R' (x - shift) / length) with R the rotation and o the order.

    The task itself is asked in its own order of clients, so that a task that draws samples draws the same ones.
    """

    def __init__(self, task, *, order=None, rotation=None, shift=0.0, length=1.0, loss=1.0):
        self.task, self.loss, self.length, self.shift = task, loss, length, shift
        self.order = np.arange(task.clients) if order is None else np.asarray(order)
        self.rotation = np.eye(task.dimension) if rotation is None else rotation

    @property
    def labels(self):
        return self.task.labels[self.order]

    @property
    def client_samples(self):
        return np.asarray(self.task.client_samples)[self.order]

    @property
    def samples(self):
        return getattr(self.task, "samples", None)

    def image(self, points):
        return self.length * points @ self.rotation.T + self.shift

    def back(self, points):
        return (points - self.shift) @ self.rotation / self.length

    def asked(self, member, generator, clients, *values):
        """What the task answers to its own clients in ascending order, in the order of ``clients``."""
        own = self.order[clients]
        ascending = np.argsort(own)
        answers = getattr(self.task, member)(*(one[ascending] for one in values), own[ascending], generator)
        return answers[np.argsort(ascending)]

    def of_models(self, member, models, clients, generator):
        own = self.order[clients]
        ascending = np.argsort(own)
        answers = getattr(self.task, member)(self.back(models), own[ascending], generator)
        place = np.argsort(ascending)
        return tuple(one[place] for one in (answers if isinstance(answers, tuple) else (answers,)))

    def losses(self, models, clients, generator):
        return self.loss * self.of_models("losses", models, clients, generator)[0]

    def gradients(self, points, clients, generator):
        answers = self.asked("gradients", generator, clients, self.back(points))
        return self.loss / self.length * answers @ self.rotation.T

    def losses_and_gradients(self, models, clients, generator):
        losses, gradients = self.of_models("losses_and_gradients", models, clients, generator)
        return self.loss * losses, self.loss / self.length * gradients @ self.rotation.T

    def hessian_products(self, points, directions, clients, generator):
        answers = self.asked(
            "hessian_products", generator, clients, self.back(points), directions @ self.rotation
        )
        return self.loss / self.length**2 * answers @ self.rotation.T
