"""Choices of CFL-MGD's Table 2: settings that the paper does not specify."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from clusterproof.algorithms import InvalidArgument
from clusterproof.experiments.choices import Choice, count, counts, number, word
from clusterproof.experiments.reproducible_table import Request
from clusterproof.experiments.tables.cfl_mgd.table_2_columns import CIFAR_10, MNIST, SERVED, PrintedColumn
from clusterproof.neural.data.preprocessing import Preprocessing

WIDTHS: dict[str, dict[str, tuple[int, ...]]] = {
    "mlp": {"hidden": (200,)},
    "cnn": {"channels": (32, 64), "hidden": (512,)},
    "tutorial-cnn": {},
}
"""Default widths by network, if ``PrintedColumn.network`` has none."""


SMALLEST = 16
"""Side length of the images of the network ``cnn``."""

YES_OR_NO: dict[str, Any] = {"no": False, "yes": True}
IFCAS = "Not in the paper; IFCA's public code has"


def image_choices() -> list[Choice]:
    """Preprocessing of CIFAR-10's images in IFCA's public code, and its network."""
    return [
        Choice(
            "network",
            "cnn",
            word("cnn", "tutorial-cnn"),
            f"The paper says two convolutions and two linear layers. {IFCAS} tutorial-cnn, TensorFlow's.",
        ),
        Choice(
            "crop", None, count(32, nothing="none"), f"Side of random crops, central in testing. {IFCAS} 24."
        ),
        Choice("flip", "no", word(*YES_OR_NO), f"Whether images are flipped at random. {IFCAS} yes."),
        Choice("contrast", 0.0, number(at_least=0, at_most=1), f"Of random changes. {IFCAS} 0.8."),
        Choice(
            "standardise", "no", word(*YES_OR_NO), f"Whether each image has mean 0, deviation 1. {IFCAS} yes."
        ),
        Choice(
            "augmentation-per",
            "image",
            word("image", "batch"),
            f"What crop and contrast are drawn for. {IFCAS} batch.",
        ),
    ]


def start_choices(experiment: PrintedColumn) -> list[Choice]:
    """Choices on the draw of starts with several models."""
    share = 0.35 if experiment.clusters == 2 else 0.1
    return [
        Choice(
            "least-share",
            None,
            number(above=0, at_most=1 / experiment.clusters, nothing="none"),
            "Starts of IFCA and CFL-MGD are drawn again until each model is the best for that share of the "
            f"participants. {IFCAS} {share:g}.",
        ),
        Choice(
            "restarts",
            1,
            count(100),
            "Starts that IFCA and CFL-MGD try, ten rounds each. Not in the paper; IFCA's paper restarts.",
        ),
    ]


def choices_of(experiment: PrintedColumn) -> tuple[Choice, ...]:
    """Return the settings that the paper does not specify for a data set."""
    widths = WIDTHS[experiment.network["name"]]
    not_printed = "Not in the paper; the default is that of IFCA's public code."
    listed = [
        Choice("local-steps", experiment.local_steps, count(), f"H. {not_printed}"),
        Choice(
            "local-unit",
            experiment.local_unit,
            word("step", "epoch"),
            f"What a local step is: a gradient step, or a pass over the client's data. {not_printed}",
        ),
        Choice("batch-size", experiment.batch_size, count(nothing="all"), not_printed),
        Choice(
            "hidden",
            widths["hidden"],
            counts(),
            "Units of the hidden layer. "
            + ("Not in the paper; the default is FedAvg's network." if "channels" in widths else not_printed),
        ),
        Choice(
            "test-assignment",
            experiment.test_assignment,
            word(*SERVED),
            "How a client gets its model in testing: by the loss on labelled test data, or on its training data, "
            f"and then all test images of its cluster count. {not_printed}",
        ),
        Choice(
            "fedbcd-penalty",
            experiment.fedbcd_penalty,
            number(at_least=0),
            "FedBCD's mu, twice its rho. Not in the paper; the default is that of this software.",
        ),
    ]
    listed += start_choices(experiment)
    if experiment.data == CIFAR_10.data:
        listed += image_choices()
    if "channels" in widths:
        about = "Of the two convolutions. Not in the paper; the default is FedAvg's network."
        listed.append(Choice("channels", widths["channels"], counts(2, 2), about))
    if experiment.data == MNIST.data:
        alone = "In the paper for CIFAR-10 alone; the default is that."
        listed += [
            Choice("participation", experiment.participation, number(above=0, at_most=1), alone),
            Choice("momentum", experiment.momentum, number(at_least=0, below=1), f"beta. {alone}"),
            Choice(
                "step-size-decay",
                experiment.step_size_decay,
                number(above=0, at_most=1),
                "What the step size is multiplied by after each round. In the paper for CIFAR-10 alone; "
                "IFCA's public code has none on MNIST.",
            ),
        ]
    return tuple(listed)


def settled(experiment: PrintedColumn, request: Request) -> PrintedColumn:
    """Return the experiment with the user's choices.

    Raises
    ------
    InvalidArgument
        If widths are chosen for a network without widths, or crops that are too small for the network.
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
    images: dict[str, Any] = {
        each.name: YES_OR_NO.get(str(value), value)
        for each in fields(Preprocessing)
        if (value := request.chosen(each.name.replace("_", "-"), each.default)) != each.default
    }
    preprocessing = Preprocessing(**images)
    return replace(request.settle(experiment), network=network, preprocessing=preprocessing.settings)
