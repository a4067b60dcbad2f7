"""Public code, restated: the loops of IFCA's and FPFC's authors, and mistakes of SCAFFOLD that issues report."""

from types import MappingProxyType
from typing import Any

import numpy as np
import numpy_federated
import published_scaffold_mistakes as published
import pytest

from clusterproof.conformance import conform


class ModelIFCA(numpy_federated.IFCA):  # type: ignore[misc]
    """jichan3751/ifca at 61e44b8, mnist/train_cluster_mnist.py, lines 256-333: all clients, equal weights.

    The clusters of a round are chosen where the round before is evaluated.
    """

    conform_options = MappingProxyType({"supports": ()})

    def prepare(self) -> None:
        super().prepare()
        self.evaluated = [super(ModelIFCA, self).choose(i) for i in range(self.task.clients)]

    def choose(self, i: int) -> int:
        return self.evaluated[i]

    def round(self, clients: list[int]) -> None:
        super().round(clients)
        self.evaluated = [super(ModelIFCA, self).choose(i) for i in range(self.task.clients)]


class FPFC:
    """xueyu-ubc/FPFC at c8ff103, Synthetic/FLAlgorithms/FPFC.py, lines 36-107 and 150-173, where rho is 1.

    The loop over pairs has each participant i with every j, so that it comes to two participants twice. Clients are
    grouped after the last round only, which is not compared here.
    """

    conform_options = MappingProxyType({"supports": ("participation", "strengths")})
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
        (ModelIFCA, "ifca", {}, {}),
        (FPFCWithPairs, "fpfc", {"pair_rule": "either-twice"}, {"augmentation": 1.0}),
    ],
)
def test_a_form_is_found_and_conforms_once_it_is_declared(
    start: type, algorithm: str, form: dict[str, Any], declared: dict[str, Any]
) -> None:
    report = conform(start, algorithm, settings=declared, checks=("rounds", "sizes"))
    assert (report.verdict, report.changed) == ("variant" if form else "conforms", form), str(report)
    report = conform(start, algorithm, settings={**declared, **form}, explained=False)
    assert report.verdict == "conforms", str(report)


NAMED = {
    "Plato382": ("new-control-sent-for-change",),
    "NIIDBench8": (),  # the code hands no controls out, and no step of a round is wrong
    "NIIDBench12": ("controls-averaged-over-participants",),
    "Fedbiomed734": ("correction-sign", "drift-sign"),  # each gives the same runs as the other
    "PFLlib160": ("K-counts-batches",),
    "KarhouTam1": ("change-always-zero",),
    "KiLjl1": ("K-counts-epochs",),
}
QUICK = ("one-step", "rounds", "batches", "participation", "everything")


def test_the_code_without_a_mistake_conforms() -> None:
    assert conform(published.Scaffold, "scaffold", checks=QUICK, explained=False).verdict == "conforms"


@pytest.mark.parametrize("name", NAMED)
def test_a_published_mistake_is_found(name: str) -> None:
    report = conform(getattr(published, name), "scaffold", checks=QUICK, explained=bool(NAMED[name]))
    assert report.verdict == "differs"
    assert {one for each in report.likely for one in each.mistakes} == set(NAMED[name]), str(report)
