"""Accuracy of CFL-MGD and its rivals on images, round by round: Figures 3 and 4 of the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clusterproof.figures import style
from clusterproof.figures.illustration import Illustration
from clusterproof.figures.networks.stored_curves import LOOKS, draw_curves, finish, known

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS = {name: name for name in ("CFL-MGD", "IFCA", "FedAvg", "FedBCD")}
MORE = {
    **ROWS,
    "FedAvg, momentum": "FedAvg with momentum",
    "IFCA, effective step": r"IFCA, step $\eta / (1 - \beta)$",
}
MNIST, CIFAR = "cfl-mgd-table-2-mnist", "cfl-mgd-table-2-cifar10-small"


def draw(seed: int) -> Figure:
    """Draw the accuracies on both data sets, and what the paper's Table 2 has at the end."""
    caption = (
        "Test accuracy round by round. a: rotated MNIST, 2400 clients with 100 images each, a tenth takes part, "
        r"$P = 4$, 10 local steps of $\eta = 0.1$, $\beta = 0.9$, one hidden layer of 200. b: rotated CIFAR-10 with "
        "two convolutions, $P = 2$, at a tenth of the paper's rounds and with fewer images: short of any accuracy of "
        "the paper. Stars at the end: the paper's Table 2, after 300 rounds. One run each, stored by "
        f"clusterproof table cfl-mgd/table-2-mnist and table-2-cifar10. Seed {seed} (nothing is drawn anew)."
    )
    figure, panels = style.new_figure(caption, panels=2, height=4.4)
    for panel, name, title in zip(
        panels, (MNIST, CIFAR), ("a  MNIST", "b  CIFAR-10, at small scale"), strict=True
    ):
        draw_curves(panel, name, MORE, "accuracy %")
        end = float(np.asarray(panel.get_lines()[0].get_xdata())[-1])
        for row, (colour, _, _) in zip(ROWS, LOOKS, strict=False):
            panel.plot(
                [end], [known(name, row, "accuracy %", "printed")], color=colour, marker="*", markersize=10,
                linestyle="none", clip_on=False, zorder=5, gid=f"printed {row}",
            )  # fmt: skip
        panel.set_ylim(0, 100)
        panel.set_xticks([0, 100, 200, 300] if name == MNIST else [10, 20, 30])
        style.label_axes(panel, title, "communication round", "test accuracy, %")
    finish(panels, 3)
    return style.settled(figure)


FIGURE = Illustration(
    "accuracy-cfl-mgd", "Accuracy of CFL-MGD and its rivals on images, beside the paper's", draw
)
