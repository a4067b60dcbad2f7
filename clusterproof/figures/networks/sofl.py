"""Accuracy of SoFL and its rivals on images, round by round: Figure 9 of the paper."""

from __future__ import annotations

import clusterproof.figures.style as style
from clusterproof.figures.illustration import Illustration
from clusterproof.figures.networks.stored_curves import Panel, draw_panels, known

SHARE = "a group has its share of the images"
ROWS = {f"{name}, {SHARE}": name for name in ("SoFL", "SoFL, guarded", "CFL", "IFCA", "FedAvg", "FedProx")}
MNIST, CIFAR = "sofl-table-3-mnist", "sofl-table-3-cifar10-small"
FEATURES, LABELS = "feature, server's model", "label, server's model"


def draw(seed: int) -> style.Figure:
    """Draw the accuracies under both kinds of skew, and the ceiling of a single model."""
    ceiling = known(MNIST, "FedAvg", LABELS, "ceiling")
    caption = (
        "Test accuracy of the model that the server sends, averaged over 20 clients in $K = 4$ groups. a: images "
        f"turned by quarters; b: labels shifted, so that one model for all is right for at most {ceiling:g} % "
        "(dotted); both: median and range of three seeds. c: as a, with fewer images, 30 rounds and one seed. "
        f"Stored by clusterproof table sofl/table-3-mnist and table-3-cifar10. Seed {seed} (nothing is sampled)."
    )
    rounds, unnamed = (10, 20, 30, 40, 50), ("communication round", "")
    panels = (
        Panel("a  MNIST, features", MNIST, FEATURES, ROWS, ticks=rounds),
        Panel(
            "b  MNIST, labels", MNIST, LABELS, ROWS, names=unnamed, ticks=rounds, level=("ceiling", ceiling)
        ),
        Panel("c  CIFAR-10, small scale", CIFAR, FEATURES, ROWS, names=unnamed, ticks=rounds[:3]),
    )
    return draw_panels(caption, panels, columns=3)[0]


FIGURE = Illustration(
    "accuracy-sofl",
    "Accuracy of SoFL and its rivals on images, below the ceiling of one model",
    draw,
    ("sofl/figure-9-levels",),
)
