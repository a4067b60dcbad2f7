"""Accuracy and clusters of FPFC and its rivals on images: Figure 1 of the paper."""

from __future__ import annotations

import clusterproof.figures.style as style
from clusterproof.figures.illustration import Illustration
from clusterproof.figures.networks.stored_curves import Panel, draw_panels, known

TABLE = "fpfc-figure-1-small"
CLUSTERS = 4
METHODS = ("FPFC", "FPFC-l1", "LOCAL", "FedAvg", "Per-FedAvg", "IFCA", "CFL")


def draw(seed: int) -> style.Figure:
    """Draw the accuracies below the ceiling of one model, and the number of clusters next to the truth."""
    ceiling = known(TABLE, "FedAvg", "accuracy %", "ceiling")
    caption = (
        "FPFC and its rivals at small scale: 20 clients in 4 clusters that swap labels, 40 rounds, one seed. a, b: "
        f"test accuracy; dotted: about {ceiling:.0f} %, the most that one model for all can reach on these labels. "
        f"c: number of clusters on MNIST (dotted: {CLUSTERS}, the truth). So few rounds leave FPFC's clients apart. "
        f"Stored by clusterproof table fpfc/figure-1 --scale small. Seed {seed} (nothing is sampled)."
    )
    mnist, fashion = (
        {f"{name}: {data}": name.replace("l1", r"$\ell_1$") for name in METHODS}
        for data in ("mnist", "fashion-mnist")
    )
    panels = (
        Panel("a  MNIST", TABLE, "accuracy %", mnist, level=("ceiling", ceiling)),
        Panel("b  Fashion-MNIST", TABLE, "accuracy %", fashion, level=("ceiling", ceiling)),
        Panel(
            "c  Clusters on MNIST",
            TABLE,
            "clusters",
            mnist,
            names=("communication round", "number of clusters"),
            limits=(0, 21),
            level=("truth", CLUSTERS),
        ),
    )
    figure, (*_, clusters) = draw_panels(caption, panels, columns=4)
    style.set_ticks(clusters, y=[1, CLUSTERS, 10, 15, 20])
    return figure


FIGURE = Illustration(
    "accuracy-fpfc", "Accuracy and clusters of FPFC and its rivals on images, with ceiling and truth", draw
)
