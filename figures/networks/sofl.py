"""Accuracy of SoFL and its rivals on images, round by round: Figure 9 of the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterproof.figures import style
from clusterproof.figures.illustration import Illustration
from clusterproof.figures.networks.stored_curves import draw_curves, finish, known

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHARE = "a group has its share of the images"
ROWS = {f"{name}, {SHARE}": name for name in ("SoFL", "SoFL, guarded", "CFL", "IFCA", "FedAvg", "FedProx")}
PANELS = {
    "a  MNIST, features": ("sofl-table-3-mnist", "feature, server's model"),
    "b  MNIST, labels": ("sofl-table-3-mnist", "label, server's model"),
    "c  CIFAR-10, small scale": ("sofl-table-3-cifar10-small", "feature, server's model"),
}


def draw(seed: int) -> Figure:
    """Draw the accuracies under both kinds of skew, and the ceiling of a single model."""
    ceiling = known("sofl-table-3-mnist", "FedAvg", "label, server's model", "ceiling")
    caption = (
        "Test accuracy of the model that the server sends, averaged over 20 clients in $K = 4$ groups. a: images "
        f"turned by quarters; b: labels shifted, so that one model for all is right for at most {ceiling:g} % "
        "(dotted); both: median and range of three seeds. c: as a, with fewer images, 30 rounds and one seed. "
        f"Stored by clusterproof table sofl/table-3-mnist and table-3-cifar10. Seed {seed} (nothing is drawn anew)."
    )
    figure, panels = style.new_figure(caption, panels=3, height=4.2)
    for panel, (title, (name, column)) in zip(panels, PANELS.items(), strict=True):
        draw_curves(panel, name, ROWS, column)
        if column.startswith("label"):
            panel.axhline(ceiling, color=style.BLACK, linestyle=":", linewidth=1, gid="ceiling")
        panel.set_ylim(0, 100)
        panel.set_xticks([10, 20, 30, 40, 50] if name.endswith("mnist") else [10, 20, 30])
        style.label_axes(
            panel, title, "communication round", "test accuracy, %" if panel is panels[0] else ""
        )
    finish(panels, 3)
    return style.settled(figure)


FIGURE = Illustration(
    "accuracy-sofl", "Accuracy of SoFL and its rivals on images, below the ceiling of one model", draw,
    ("sofl/figure-9-levels",),
)  # fmt: skip
