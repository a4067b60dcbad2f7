"""Accuracy of CFL-MGD and its rivals on images, round by round: Figures 3 and 4 of the paper."""

from __future__ import annotations

import clusterproof.figures.style as style
from clusterproof.figures.illustration import Illustration
from clusterproof.figures.networks.stored_curves import Panel, draw_panels, known

PRINTED = ("CFL-MGD", "IFCA", "FedAvg", "FedBCD")
"""Rows of which the paper's Table 2 has the last accuracy."""

ROWS = {
    **{name: name for name in PRINTED},
    "FedAvg, momentum": "FedAvg with momentum",
    "IFCA, effective step": r"IFCA, step $\eta / (1 - \beta)$",
}
MNIST, CIFAR = "cfl-mgd-table-2-mnist", "cfl-mgd-table-2-cifar10-small"
PANELS = (
    Panel("a  MNIST", MNIST, "accuracy %", ROWS, ticks=(0, 100, 200, 300)),
    Panel("b  CIFAR-10, at small scale", CIFAR, "accuracy %", ROWS, ticks=(10, 20, 30)),
)


def draw(seed: int) -> style.Figure:
    """Draw the accuracies on both data sets, and the numbers of the paper's Table 2 at the end."""
    caption = (
        "Test accuracy round by round. a: rotated MNIST, 2400 clients with 100 images each, a tenth takes part, "
        r"$P = 4$, 10 local steps of $\eta = 0.1$, $\beta = 0.9$, one hidden layer of 200. b: rotated CIFAR-10 with "
        "two convolutions, $P = 2$, at a tenth of the paper's rounds and with fewer images: short of any accuracy of "
        "the paper. Stars at the end: the paper's Table 2, after 300 rounds. One run each, stored by "
        f"clusterproof table cfl-mgd/table-2-mnist and table-2-cifar10. Seed {seed} (nothing is sampled)."
    )
    figure, panels = draw_panels(caption, PANELS, columns=3, height=4.4)
    for panel, content in zip(panels, PANELS, strict=True):
        for row, look in zip(PRINTED, style.LOOKS, strict=False):
            star: style.Look = {
                "color": look["color"],
                "marker": "*",
                "markersize": 10,
                "clip_on": False,
                "zorder": 5,
            }
            accuracy = known(content.table, row, content.column, "printed")
            panel.plot([content.ticks[-1]], [accuracy], **star, gid=f"printed {row}")
    return figure


FIGURE = Illustration(
    "accuracy-cfl-mgd", "Accuracy of CFL-MGD and its rivals on images, with the paper's", draw
)
