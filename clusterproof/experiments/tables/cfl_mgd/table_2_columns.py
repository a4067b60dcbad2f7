"""The columns of CFL-MGD's Table 2: the paper's methods, additional controls, and printed numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from clusterproof.experiments.comparison import HALF_A_POINT, Printed
from clusterproof.experiments.tables.training_run import served_by_test_loss, served_by_training_data

MOMENTUM = 0.9
PARTICIPATION = 0.1
PENALTY = 0.1
"""FedBCD's mu; the paper prints none."""

EFFECTIVE_STEP = "IFCA, effective step"
"""The control that momentum must beat."""

SERVED = {"test-loss": served_by_test_loss, "train": served_by_training_data}
"""How clients get their model in testing."""


@dataclass(frozen=True)
class Method:
    """A row of the table.

    Attributes
    ----------
    title
        As the paper writes it.
    about
        What distinguishes the row.
    algorithm
        Name and parameters, except for step size, momentum, local steps and participation.
    paper
        Method whose printed number is compared; empty for additional controls.
    effective
        Whether it takes the step that momentum amounts to, eta / (1 - beta), in place of the published one.
    step_size
        In place of the published one.
    local_steps
        In place of the data set's.
    """

    title: str
    about: str
    algorithm: Mapping[str, Any]
    paper: str = ""
    effective: bool = False
    step_size: float | None = None
    local_steps: int | None = None


IFCA = {"algorithm": "ifca", "averaging": "model"}
CFL_MGD = {"algorithm": "cfl-mgd", "averaging": "model"}

COMMON: dict[str, Method] = {
    "FedAvg": Method("FedAvg", "as published", {"algorithm": "fedavg"}, "FedAvg"),
    "IFCA": Method("IFCA", "as published", IFCA, "IFCA"),
    "CFL-MGD": Method("CFL-MGD", "as published", CFL_MGD, "CFL-MGD"),
    "FedBCD": Method(
        "FedBCD",
        "on the network of the others",
        {"algorithm": "fedbcd"},
        "FedBCD",
    ),
    "FedAvg, momentum": Method(
        "FedAvg", "with local momentum: CFL-MGD with one model", {**CFL_MGD, "clusters": 1}
    ),
    EFFECTIVE_STEP: Method("IFCA", "at step eta / (1 - beta)", IFCA, effective=True),
    "CFL-MGD, reset": Method(
        "CFL-MGD", "momentum zero at each round's start", {**CFL_MGD, "reset_momentum": True}
    ),
}
"""Rows on both data sets."""

THREE = 3
THREE_STEPS: dict[str, Method] = {
    f"{name}, H = {THREE}": Method(
        name, f"{THREE} local steps", COMMON[name].algorithm, name, local_steps=THREE
    )
    for name in ("FedAvg", "IFCA", "CFL-MGD")
}
"""The paper does not print H."""

OWN_STEP = {
    "IFCA, its own step": Method("IFCA", "at its authors' step 0.25 for CIFAR-10", IFCA, step_size=0.25)
}


@dataclass(frozen=True)
class PrintedColumn:
    """One column of Table 2.

    Attributes
    ----------
    data, title
        Key of ``clusterproof.neural.data.loading.DATASETS``, and as the paper writes it.
    printed
        Accuracies in percent, with the printed spread, by method.
    clusters, clients, samples
        P, m and n (6.3).
    small
        Clients, images a client and rounds of the small scale.
    network
        Name; widths are not in the paper, and here those of IFCA's and FedAvg's public code.
    step_size, step_size_decay
        As printed; the decay is stated for CIFAR-10 only.
    local_steps, local_unit, batch_size
        H, how it is counted, and the samples of a gradient, all of a client's if None. They are not
        in the paper; these are those of IFCA's code.
    methods
        The rows, by the names of their runs.
    rounds
        As printed ("epoch = 300").
    momentum, participation
        As printed for CIFAR-10.
    test_assignment
        Key of ``SERVED``; the paper does not say.
    fedbcd_penalty
        FedBCD's mu.
    preprocessing
        Preprocessing of images, arguments of ``Preprocessing``.
    least_share, restarts
        How IFCA's and CFL-MGD's starts are drawn, see ``IFCA``.
    """

    data: str
    title: str
    printed: Mapping[str, Printed]
    clusters: int
    clients: int
    samples: int
    small: tuple[int, int, int]
    network: Mapping[str, Any]
    step_size: float
    step_size_decay: float
    local_steps: int
    local_unit: str
    batch_size: int | None
    methods: Mapping[str, Method]
    rounds: int = 300
    momentum: float = MOMENTUM
    participation: float = PARTICIPATION
    test_assignment: str = "test-loss"
    fedbcd_penalty: float = PENALTY
    preprocessing: Mapping[str, Any] = field(default_factory=dict)
    least_share: float | None = None
    restarts: int = 1

    @property
    def task(self) -> dict[str, Any]:
        """Arguments of ``ImageTask`` in addition to data and network."""
        return {"batch_size": self.batch_size, "local_unit": self.local_unit}

    def about(self, method: Method) -> str:
        """What distinguishes a row."""
        steps = self.local_unit == "step" or method.local_steps is None
        return method.about if steps else f"{method.local_steps} local passes"

    def algorithm(self, method: Method) -> dict[str, Any]:
        """All parameters of a row's algorithm."""
        parameters = dict(method.algorithm)
        if parameters["algorithm"] == "cfl-mgd":
            parameters["momentum"] = self.momentum
        if parameters["algorithm"] == "fedbcd":
            parameters["proximal"] = self.fedbcd_penalty
        if parameters["algorithm"] in ("ifca", "cfl-mgd") and "clusters" not in parameters:
            parameters |= {"least_share": self.least_share, "restarts": self.restarts}
        step_size = self.step_size if method.step_size is None else method.step_size
        return {
            **parameters,
            "step_size": step_size * (1 / (1 - self.momentum)) if method.effective else step_size,
            "local_steps": method.local_steps or self.local_steps,
            "participation": self.participation,
        }


def _printed(*numbers: str) -> dict[str, Printed]:
    pairs = [map(float, number.split()) for number in numbers]
    return {
        name: Printed(value, spread, resolution=0.01, negligible=HALF_A_POINT)
        for name, (value, spread) in zip(("CFL-MGD", "IFCA", "FedAvg", "FedBCD"), pairs, strict=True)
    }


MNIST = PrintedColumn(
    data="mnist",
    title="MNIST",
    printed=_printed("96.05 0.12", "92.60 0.27", "89.84 0.32", "70.06 0.92"),
    clusters=4,
    clients=2400,
    samples=100,
    small=(240, 100, 30),
    network={"name": "mlp", "hidden": [200]},
    step_size=0.1,
    step_size_decay=1.0,
    local_steps=10,
    local_unit="step",
    batch_size=None,
    methods={**COMMON, **THREE_STEPS},
)
CIFAR_10 = PrintedColumn(
    data="cifar10",
    title="CIFAR-10",
    printed=_printed("80.43 0.14", "75.53 0.90", "69.52 1.09", "47.31 1.50"),
    clusters=2,
    clients=200,
    samples=500,
    small=(40, 150, 30),
    network={"name": "cnn"},
    step_size=0.01,
    step_size_decay=0.99,
    local_steps=5,
    local_unit="epoch",
    batch_size=50,
    methods={**COMMON, **OWN_STEP},
)
