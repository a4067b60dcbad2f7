"""How many images of each digit the clients hold under quantity skew: the counterpart of SoFL's Figure 5."""

from __future__ import annotations

import numpy as np

import clusterproof.figures.style as style
from clusterproof.figures.illustration import Illustration

CONCENTRATIONS = (0.5, 1.0, 10.0)
"""The paper's phi; the first is that of its figure."""

GROUPS, SIZE = 4, 5
"""Groups of clients, and clients of a group."""

DRAWS = 10
"""Number of divisions whose sizes are compared with their law."""


def held(seed: int, concentration: float) -> np.ndarray:
    """Count the images of each digit at every client, for training and testing, (clients, digits)."""
    from clusterproof.neural.data.loading import load
    from clusterproof.neural.partitions.by_name import partition

    divided = partition("quantity", load("digits"), seed=seed, concentration=concentration)
    shifts = np.array(divided.settings["shifts"])[divided.train.labels]
    counts = np.zeros((len(shifts), divided.classes), dtype=int)
    for half in (divided.train, divided.test):
        for client, size in enumerate(half.sizes):
            digits = (half.targets[client, :size] - shifts[client]) % divided.classes
            counts[client] += np.bincount(digits, minlength=divided.classes)
    return counts


def shares(seed: int, concentration: float) -> np.ndarray:
    """Return the clients' shares of their groups' images, ascending, over ``DRAWS`` divisions."""
    shares = []
    for number in range(DRAWS):
        sizes = held(seed + number, concentration).sum(axis=1).reshape(GROUPS, SIZE)
        shares.append(sizes / sizes.sum(axis=1, keepdims=True))
    return np.sort(np.ravel(shares))


def draw(seed: int) -> style.Figure:
    """Draw the clients' images by digit, and the shares of many clients with their law."""
    from matplotlib import colormaps
    from scipy import stats

    caption = (
        rf"a: images of each digit that {GROUPS * SIZE} clients hold, $\varphi = {CONCENTRATIONS[0]:g}$; 1440 images "
        "of scikit-learn's digits in the place of MNIST; each group of five clients has as many as the others. Dotted: "
        rf"an equal share. b: the clients' shares of their groups over {DRAWS} divisions, and the quantiles of the "
        rf"Dirichlet law's share, Beta$(\varphi, 4\varphi)$, dotted; nobody gets less than a tenth of an equal share, "
        f"which bends the lowest marks upwards. Seed {seed}."
    )
    figure, (left, right) = style.new_figure(caption, panels=2, height=4.3)
    counts = held(seed, CONCENTRATIONS[0])
    below = np.zeros(len(counts))
    for digit, images in enumerate(counts.T):
        bar: style.Look = {
            "width": 0.85,
            "color": colormaps["cividis"](digit / 9),
            "edgecolor": "white",
            "linewidth": 0.3,
        }
        left.bar(np.arange(len(counts)), images, bottom=below, **bar, label=f"{digit}", gid=f"digit {digit}")
        below += images
    left.axhline(counts.sum() / len(counts), **style.LEVEL, gid="equal")
    left.set_xticks(range(0, len(counts), SIZE))
    style.label_axes(left, "a  Images of each digit", "client", "images")
    for concentration, look in zip(CONCENTRATIONS, style.LOOKS, strict=False):
        values = shares(seed, concentration)
        ranks = (np.arange(len(values)) + 0.5) / len(values)
        marks: style.Look = {**look, "markersize": 2.5, "linestyle": "none"}
        name = f"{concentration:g}"
        right.plot(ranks, values, **marks, label=rf"$\varphi = {name}$", gid=f"shares {name}")
        law = stats.beta(concentration, (SIZE - 1) * concentration).ppf(ranks)
        right.plot(ranks, law, color=look["color"], linestyle=":", gid=f"law {name}")
    right.legend(loc="upper left")
    style.label_axes(right, "b  Shares beside their law", "quantile", "share of the group's images")
    style.add_legend([left], 10, handlelength=1, columnspacing=1)
    return figure


FIGURE = Illustration(
    "local-data", "Images of each digit at clients of unequal size, and the law of their shares", draw
)
