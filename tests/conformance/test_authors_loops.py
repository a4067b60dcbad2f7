"""The loops of IFCA's and FPFC's authors, restated on the kit's tasks: which form of the definition each of them is."""

from typing import Any

import numpy as np
import pytest

from clusterproof.conformance import conform


class GradientIFCA:
    """jichan3751/ifca at 61e44b8, synthetic/train_cluster.py, lines 158-206 and 306-313: gradients, all clients."""

    supports: tuple[str, ...] = ()

    def __init__(self, task: Any, settings: dict[str, Any]) -> None:
        self.task, self.settings, self.model = task, settings, np.array(task.starts)
        self.assignments = np.full(task.clients, -1)

    def choose(self, i: int) -> int:
        return int(np.argmin([self.task.loss(i, model) for model in self.model]))

    def round(self, participants: list[int]) -> None:
        self.assignments = np.array([self.choose(i) for i in range(self.task.clients)])
        sums = np.zeros_like(self.model)
        for i, j in enumerate(self.assignments):
            sums[j] += self.task.gradient(i, self.model[j])
        self.model = self.model - self.settings["step_size"] * sums / self.task.clients


class ModelIFCA(GradientIFCA):
    """The same at mnist/train_cluster_mnist.py, lines 256-333: full-batch local steps, equal weights, all clients.

    The clusters of a round are chosen where the round before is evaluated.
    """

    def __init__(self, task: Any, settings: dict[str, Any]) -> None:
        super().__init__(task, settings)
        self.evaluated = [self.choose(i) for i in range(task.clients)]

    def round(self, participants: list[int]) -> None:
        self.assignments = np.array(self.evaluated)
        self.average(range(self.task.clients), np.ones(self.task.clients))
        self.evaluated = [self.choose(i) for i in range(self.task.clients)]

    def average(self, participants: Any, weights: np.ndarray) -> None:
        models = self.model.copy()
        for j in range(len(models)):
            members = [i for i in participants if self.assignments[i] == j]
            if members:
                models[j] = np.average([self.train(i) for i in members], axis=0, weights=weights[members])
        self.model = models

    def train(self, i: int) -> Any:
        y, size = self.model[self.assignments[i]].copy(), self.settings["batch_size"] or self.task.samples[i]
        for _ in range(self.settings["local_epochs"]):
            for _ in range(0, self.task.samples[i], size):
                y -= self.settings["step_size"] * self.task.gradient(i, y)
        return y


class SampledIFCA(ModelIFCA):
    """The same at femnist/ifca/models/server.py, lines 63-137: batches, some clients, weights n_i."""

    supports = ("batches", "participation")

    def round(self, participants: list[int]) -> None:
        self.assignments = np.full(self.task.clients, -1)
        for i in participants:
            self.assignments[i] = self.choose(i)
        self.average(participants, self.task.samples)


class FPFC:
    """xueyu-ubc/FPFC at c8ff103, Synthetic/FLAlgorithms/FPFC.py, lines 36-107 and 150-173, where rho is 1.

    The loop over pairs has each participant i with every j, so that it comes to two participants twice. Clients are
    grouped after the last round only, which is not compared here.
    """

    supports = ("participation", "strengths")
    rho = 1.0

    def __init__(self, task: Any, settings: dict[str, Any]) -> None:
        self.task, self.settings = task, settings
        self.model = np.array([task.start] * task.clients)
        self.theta = self.model[:, None] - self.model
        self.v = 0 * self.theta

    def round(self, participants: list[int]) -> None:
        anchors = (self.model + self.theta - self.v / self.rho).mean(axis=1)
        for i in participants:
            for _ in range(self.settings["local_epochs"]):
                pull = self.rho * (self.model[i] - anchors[i])
                self.model[i] -= self.settings["step_size"] * (self.task.gradient(i, self.model[i]) + pull)
        for i in participants:
            for j in range(self.task.clients):
                between = self.model[i] - self.model[j]
                theta = self.shrunk(between + self.v[i, j] / self.rho)
                self.v[i, j] += self.rho * (between - theta)
                self.theta[i, j], self.theta[j, i] = theta, -theta
                self.v[j, i] = -self.v[i, j]

    def shrunk(self, delta: np.ndarray) -> Any:
        lam, a, xi = (self.settings[name] for name in ("strength", "concavity", "smoothing"))
        length = np.linalg.norm(delta)
        if length <= xi + lam / self.rho:
            return xi * self.rho / (lam + xi * self.rho) * delta
        if length <= lam + lam / self.rho:
            return (1 - lam / (self.rho * length)) * delta
        if length <= a * lam:
            bend = 1 / ((a - 1) * self.rho)
            return (1 - a * lam * bend / length) / (1 - bend) * delta
        return delta


class FPFCWithPairs(FPFC):
    differences = property(lambda self: self.theta)
    duals = property(lambda self: self.v)


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(
    ("start", "algorithm", "form", "declared"),
    [
        (GradientIFCA, "ifca", {"averaging": "gradient"}, {}),
        (ModelIFCA, "ifca", {}, {}),
        (SampledIFCA, "ifca", {"weighting": "samples"}, {}),
        (FPFCWithPairs, "fpfc", {"pair_rule": "either-twice"}, {"augmentation": 1.0}),
    ],
)
def test_a_form_is_found_and_conforms_once_it_is_declared(
    start: type, algorithm: str, form: dict[str, Any], declared: dict[str, Any]
) -> None:
    report = conform(start, algorithm, settings=declared, checks=("rounds", "sizes"))
    assert (report.verdict, report.changed) == ("variant" if form else "conforms", form), str(report)
    report = conform(start, algorithm, settings={**declared, **form})
    assert report.verdict == "conforms", str(report)
