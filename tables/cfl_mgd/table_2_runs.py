"""CFL-MGD's experiment: the paper's methods, the controls that it lacks, and one run of either."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from clusterproof.algorithms import InvalidArgument
from clusterproof.neural.data.preprocessing import Preprocessing
from clusterproof.tables.machine.choices import Choice, Count, Counts, Number, Word
from clusterproof.tables.machine.comparison import Printed
from clusterproof.tables.machine.reproducible_table import Request
from clusterproof.tables.machine.store import Unit
from clusterproof.tables.training_run import (
    image_task,
    make_algorithm,
    served_by_test_loss,
    served_by_training_data,
    train,
)

MOMENTUM = 0.9
PARTICIPATION = 0.1
PENALTY = 0.1
"""FedBCD's mu; the paper prints none."""

EARLY = "first rounds of "
"""Begins the names of the short runs that only ask whether every cluster has found a model."""

EARLY_ROUNDS = 12
"""Rounds after which a lost cluster is counted; one that is lost then stays lost."""

EARLY_SEEDS = {"full": 20, "small": 6}
"""Least number of seeds of these short runs, by scale."""

EFFECTIVE_STEP = "IFCA, effective step"
"""The control that momentum must beat."""

WITH_EARLY = ("IFCA", "CFL-MGD", EFFECTIVE_STEP)
"""Methods whose lost clusters are counted over many seeds."""

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
        Name and parameters, beside step size, momentum, local steps and participation.
    paper
        Whose printed number stands beside it; empty for a control that the paper does not have.
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
    "FedBCD": Method("FedBCD", "on the network of the others", {"algorithm": "fedbcd"}, "FedBCD"),
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
    step_size, decay
        As printed; the decay is stated for CIFAR-10 only.
    local_steps, local_unit, batch_size
        H, how it is counted, and the samples of a gradient, all of a client's where None; none of them is in
        the paper, and these are those of IFCA's code.
    methods
        The rows, by the names of their runs.
    rounds
        As printed ("epoch = 300").
    momentum, participation
        As printed for CIFAR-10.
    test_assignment
        Key of ``SERVED``; the paper does not say.
    penalty
        FedBCD's.
    preprocessing
        What is done to images, of ``Preprocessing``.
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
    decay: float
    local_steps: int
    local_unit: str
    batch_size: int | None
    methods: Mapping[str, Method]
    rounds: int = 300
    momentum: float = MOMENTUM
    participation: float = PARTICIPATION
    test_assignment: str = "test-loss"
    penalty: float = PENALTY
    preprocessing: Mapping[str, Any] = field(default_factory=dict)
    least_share: float | None = None
    restarts: int = 1

    @property
    def task(self) -> dict[str, Any]:
        """What is given to ``ImageTask`` beside data and network; what it has by itself is left out."""
        task: dict[str, Any] = {} if self.batch_size is None else {"batch_size": self.batch_size}
        return task if self.local_unit == "step" else {**task, "local_unit": self.local_unit}

    def about(self, method: Method) -> str:
        """What distinguishes a row."""
        steps = self.local_unit == "step" or method.local_steps is None
        return method.about if steps else f"{method.local_steps} local passes"

    def algorithm(self, method: Method) -> dict[str, Any]:
        """All parameters of a row's algorithm."""
        parameters = dict(method.algorithm)
        if parameters["algorithm"] == "cfl-mgd":
            parameters["momentum"] = self.momentum
        if parameters["algorithm"] == "fedbcd" and self.penalty != PENALTY:
            parameters["proximal"] = self.penalty
        if parameters["algorithm"] in ("ifca", "cfl-mgd") and "clusters" not in parameters:
            starts = {"least_share": (self.least_share, None), "restarts": (self.restarts, 1)}
            parameters |= {key: value for key, (value, default) in starts.items() if value != default}
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
        name: Printed(value, spread, resolution=0.01)
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
    decay=1.0,
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
    decay=0.99,
    local_steps=5,
    local_unit="epoch",
    batch_size=50,
    methods={**COMMON, **OWN_STEP},
)
WIDTHS: dict[str, dict[str, tuple[int, ...]]] = {
    "mlp": {"hidden": (200,)},
    "cnn": {"channels": (32, 64), "hidden": (512,)},
    "tutorial-cnn": {},
}
"""By network, those that it has where ``PrintedColumn.network`` does not say."""


SMALLEST = 16
"""Side of the images that the network ``cnn`` takes."""

YES_OR_NO = Word(("no", "yes"))
IFCAS = "Not in the paper; IFCA's public code has"


def image_choices() -> list[Choice]:
    """What IFCA's public code does to the images of CIFAR-10, and with which network."""
    return [
        Choice(
            "network",
            "cnn",
            Word(("cnn", "tutorial-cnn")),
            f"The paper says two convolutions and two linear layers. {IFCAS} tutorial-cnn, TensorFlow's.",
        ),
        Choice(
            "crop", None, Count(32, nothing="none"), f"Side of random crops, central in testing. {IFCAS} 24."
        ),
        Choice("flip", "no", YES_OR_NO, f"Whether images are flipped at random. {IFCAS} yes."),
        Choice("contrast", 0.0, Number(at_least=0, at_most=1), f"Of random changes. {IFCAS} 0.8."),
        Choice("standardise", "no", YES_OR_NO, f"Whether each image has mean 0, deviation 1. {IFCAS} yes."),
        Choice(
            "augmentation-per",
            "image",
            Word(("image", "batch")),
            f"What crop and contrast are drawn for. {IFCAS} batch.",
        ),
    ]


def start_choices(experiment: PrintedColumn) -> list[Choice]:
    """How starts with several models are drawn."""
    share = 0.35 if experiment.clusters == 2 else 0.1
    return [
        Choice(
            "least-share",
            None,
            Number(above=0, at_most=1 / experiment.clusters, nothing="none"),
            "Starts of IFCA and CFL-MGD are drawn again until each model is the best for that share of the "
            f"participants. {IFCAS} {share:g}.",
        ),
        Choice(
            "restarts",
            1,
            Count(100),
            "Starts that IFCA and CFL-MGD try, ten rounds each. Not in the paper; IFCA's paper restarts.",
        ),
    ]


def choices_of(experiment: PrintedColumn) -> tuple[Choice, ...]:
    """What the paper leaves unsaid on a data set."""
    widths = WIDTHS[experiment.network["name"]]
    not_printed = "Not in the paper; the default is that of IFCA's public code."
    listed = [
        Choice("local-steps", experiment.local_steps, Count(), f"H. {not_printed}"),
        Choice(
            "local-unit",
            experiment.local_unit,
            Word(("step", "epoch")),
            f"What a local step is: a gradient step, or a pass over the client's data. {not_printed}",
        ),
        Choice("batch-size", experiment.batch_size, Count(nothing="all"), not_printed),
        Choice(
            "hidden",
            widths["hidden"],
            Counts(),
            "Units of the hidden layer. "
            + ("Not in the paper; the default is FedAvg's network." if "channels" in widths else not_printed),
        ),
        Choice(
            "test-assignment",
            experiment.test_assignment,
            Word(tuple(SERVED)),
            "How a client gets its model in testing: by the loss on labelled test data, or on its training data, "
            f"and then all test images of its cluster count. {not_printed}",
        ),
        Choice(
            "fedbcd-penalty",
            experiment.penalty,
            Number(at_least=0),
            "FedBCD's mu, twice its rho. Not in the paper; the default is that of this software.",
        ),
    ]
    listed += start_choices(experiment)
    if experiment.data == CIFAR_10.data:
        listed += image_choices()
    if "channels" in widths:
        about = "Of the two convolutions. Not in the paper; the default is FedAvg's network."
        listed.append(Choice("channels", widths["channels"], Counts(2, 2), about))
    if experiment.data == MNIST.data:
        alone = "In the paper for CIFAR-10 alone; the default is that."
        listed += [
            Choice("participation", experiment.participation, Number(above=0, at_most=1), alone),
            Choice("momentum", experiment.momentum, Number(at_least=0, below=1), f"beta. {alone}"),
            Choice(
                "step-size-decay",
                experiment.decay,
                Number(above=0, at_most=1),
                "What the step size is multiplied by after each round. In the paper for CIFAR-10 alone; "
                "IFCA's public code has none on MNIST.",
            ),
        ]
    return tuple(listed)


def settled(experiment: PrintedColumn, request: Request) -> PrintedColumn:
    """Give the experiment with what was chosen.

    Raises
    ------
    InvalidArgument
        If widths are chosen of a network that has none to choose, or crops that are too small for it.
    """
    published = WIDTHS[experiment.network["name"]]
    network = {**experiment.network, "name": request.chosen("network", experiment.network["name"])}
    for part in ("channels", "hidden"):
        chosen = request.chosen(part, None)
        if chosen is not None and chosen != published[part]:
            if part not in WIDTHS[network["name"]]:
                written = f"{part}={','.join(map(str, chosen))}"
                raise InvalidArgument("choose", written, f"is not of {network['name']}", "leave one out")
            network[part] = list(chosen)
    crop = request.chosen("crop", None)
    if crop is not None and network["name"] == "cnn" and crop < SMALLEST:
        rule = f"must be at least {SMALLEST}, or nothing is left after two convolutions"
        raise InvalidArgument("choose", f"crop={crop}", rule, "raise it, or choose network=tutorial-cnn")
    images = {
        "crop": crop,
        "flip": request.chosen("flip", "no") == "yes",
        "contrast": request.chosen("contrast", 0.0),
        "standardise": request.chosen("standardise", "no") == "yes",
        "augmentation_per": request.chosen("augmentation-per", "image"),
    }
    return replace(
        experiment,
        network=network,
        decay=request.chosen("step-size-decay", experiment.decay),
        local_steps=request.chosen("local-steps", experiment.local_steps),
        local_unit=request.chosen("local-unit", experiment.local_unit),
        batch_size=request.chosen("batch-size", experiment.batch_size),
        momentum=request.chosen("momentum", experiment.momentum),
        participation=request.chosen("participation", experiment.participation),
        test_assignment=request.chosen("test-assignment", experiment.test_assignment),
        penalty=request.chosen("fedbcd-penalty", experiment.penalty),
        preprocessing=Preprocessing(**images).settings,
        least_share=request.chosen("least-share", experiment.least_share),
        restarts=request.chosen("restarts", experiment.restarts),
    )


def early_seeds(request: Request) -> int:
    """Number of seeds of the short runs."""
    return max(EARLY_SEEDS[request.scale], request.seeds)


def sizes(experiment: PrintedColumn, request: Request) -> tuple[int, int, int]:
    """Clients, images a client and rounds that a request means."""
    clients, samples, rounds = (
        experiment.small
        if request.scale == "small"
        else (experiment.clients, experiment.samples, experiment.rounds)
    )
    return clients, samples, request.rounds or rounds


def make_units(experiment: PrintedColumn, request: Request) -> list[Unit]:
    """All runs of a request."""
    experiment = settled(experiment, request)
    clients, samples, rounds = sizes(experiment, request)
    units = []
    for name, method in experiment.methods.items():
        settings = {
            "data": experiment.data,
            "partition": {
                "name": "rotations",
                "clusters": experiment.clusters,
                "clients": clients,
                "samples": samples,
            },
            "network": dict(experiment.network),
            "task": experiment.task,
            "gpu": experiment.data == CIFAR_10.data,
            "algorithm": experiment.algorithm(method),
            "decay": experiment.decay,
        }
        if experiment.preprocessing:
            settings["preprocessing"] = dict(experiment.preprocessing)
        if experiment.test_assignment != "test-loss":
            settings["test_assignment"] = experiment.test_assignment
        run = {**settings, "rounds": rounds, "every": 10}
        units += [Unit(name, seed, run, float(rounds)) for seed in range(request.seeds)]
        if name in WITH_EARLY:
            short = {**settings, "rounds": EARLY_ROUNDS, "every": EARLY_ROUNDS}
            units += [
                Unit(EARLY + name, seed, short, float(EARLY_ROUNDS)) for seed in range(early_seeds(request))
            ]
    return units


def compute(unit: Unit) -> Mapping[str, Any]:
    """Train and measure; see ``served_by_test_loss`` and ``served_by_training_data``."""
    settings = unit.settings
    task = image_task(settings, unit.seed)
    curve = train(
        make_algorithm(settings["algorithm"]),
        task,
        rounds=settings["rounds"],
        seed=unit.seed,
        measure=SERVED[settings.get("test_assignment", "test-loss")],
        every=settings["every"],
        decay=settings["decay"],
    )
    return {"curve": curve, "device": str(task.device), "engine": task.settings["engine"]}
