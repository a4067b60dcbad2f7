"""Accuracy and clusters of FPFC and its rivals on images: Figure 1 of the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterproof.figures import style
from clusterproof.figures.illustration import Illustration
from clusterproof.figures.networks.stored_curves import draw_curves, finish, known

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TABLE = "fpfc-figure-1-small"
CLUSTERS = 4
METHODS = ("FPFC", "FPFC-l1", "LOCAL", "FedAvg", "Per-FedAvg", "IFCA", "CFL")
NAMES = {"FPFC-l1": r"FPFC-$\ell_1$"}


def draw(seed: int) -> Figure:
    """Draw the accuracies below the ceiling of one model, and the number of clusters beside the truth."""
    ceiling = known(TABLE, "FedAvg", "accuracy %", "ceiling")
    caption = (
        "FPFC and its rivals at small scale: 20 clients in 4 clusters that swap labels, 40 rounds, one seed. a, b: "
        f"test accuracy; dotted: about {ceiling:.0f} %, the most that one model for all can reach on these labels. "
        f"c: number of clusters on MNIST (dotted: {CLUSTERS}, the truth). So few rounds leave FPFC's clients apart. "
        f"Stored by clusterproof table fpfc/figure-1 --scale small. Seed {seed} (nothing is drawn anew)."
    )
    figure, panels = style.new_figure(caption, panels=3, height=4.2)
    for panel, data, title in zip(
        panels, ("mnist", "fashion-mnist"), ("a  MNIST", "b  Fashion-MNIST"), strict=False
    ):
        rows = {f"{name}: {data}": NAMES.get(name, name) for name in METHODS}
        draw_curves(panel, TABLE, rows, "accuracy %")
        panel.axhline(ceiling, color=style.BLACK, linestyle=":", linewidth=1, gid="ceiling")
        panel.set_ylim(0, 100)
        style.label_axes(panel, title, "communication round", "test accuracy, %")
    # a method that makes no clusters has none stored, and is skipped; the others keep their colours
    rows = {f"{name}: mnist": NAMES.get(name, name) for name in METHODS}
    draw_curves(panels[2], TABLE, rows, "clusters")
    panels[2].axhline(CLUSTERS, color=style.BLACK, linestyle=":", linewidth=1, gid="truth")
    panels[2].set_ylim(0, 21)
    panels[2].set_yticks([1, CLUSTERS, 10, 15, 20])
    style.label_axes(panels[2], "c  Clusters on MNIST", "communication round", "number of clusters")
    finish(panels, 4)
    return style.settled(figure)


FIGURE = Illustration(
    "accuracy-fpfc", "Accuracy and clusters of FPFC and its rivals on images, with ceiling and truth", draw
)
