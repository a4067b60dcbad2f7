"""Purity of GL-CFL and IFCA on images, iteration by iteration: Figures 4 and 5 of the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterproof.figures import style
from clusterproof.figures.illustration import Illustration
from clusterproof.figures.networks.stored_curves import draw_curves, finish

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GOAL = 0.9
NETWORK = "MLP 64-32, step 0.1, models start"
STARTS = {"apart": "start apart", "at one point": "start at one point"}
PANELS = {
    "a  MNIST": ("gradient-loss-mnist-mlp", "mnist"),
    "b  Fashion-MNIST": ("gradient-loss-fashion-mnist-mlp", "fashion-mnist"),
    "c  CIFAR-10, small": ("gradient-loss-iterations-small", "cifar10"),
    "d  EMNIST, small": ("gradient-loss-iterations-small", "emnist"),
}


def draw(seed: int) -> Figure:
    """Draw the purity of both methods from both kinds of start."""
    caption = (
        r"Purity of the clusters of 80 devices ($P = 4$; EMNIST: $P = 8$) whose classes overlap, a network with hidden "
        r"layers of 64 and 32, step 0.1, GL-CFL with $\lambda = 0.2$ and the sign of the descent. a, b: median and "
        "range of three seeds; c, d: one seed, fewer devices, 30 iterations. Dotted: the paper's goal of "
        f"{GOAL}; 1 is the truth, and 0.75 has two clusters in one. Stored by clusterproof table "
        "gradient-loss/mnist-mlp, fashion-mnist-mlp and iterations. "
        f"Seed {seed} (nothing is drawn anew)."
    )
    figure, panels = style.new_figure(caption, panels=4, height=3.9)
    for panel, (title, (name, data)) in zip(panels, PANELS.items(), strict=True):
        rows = {
            f"Purity of {method}: {data}, {NETWORK} {start}": f"{method.partition(' ')[0]}, {said}"
            for start, said in STARTS.items()
            for method in ("GL-CFL 0.2", "IFCA")
        }
        draw_curves(panel, name, rows, "purity")
        panel.axhline(GOAL, color=style.BLACK, linestyle=":", linewidth=1, gid="goal")
        panel.set_xscale("log")
        ends = (1, 10, 150) if name.endswith("mlp") else (1, 5, 30)
        panel.set_xticks(ends, [str(end) for end in ends])
        panel.minorticks_off()
        panel.set_ylim(0.15, 1.04)
        style.label_axes(panel, title, "iteration", "purity" if panel is panels[0] else "")
    finish(panels, 4)
    return style.settled(figure)


FIGURE = Illustration(
    "purity-on-networks", "Purity of GL-CFL and IFCA on images, iteration by iteration", draw,
    ("gradient-loss/sooner", "gradient-loss/reduction-99", "gradient-loss/reduction-up-to"),
)  # fmt: skip
