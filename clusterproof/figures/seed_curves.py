"""Metrics of training runs with several seeds, round by round: means and bands of one standard deviation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import clusterproof.figures.style as style

if TYPE_CHECKING:
    from polars import DataFrame

PANELS = {
    "accuracy": ("Test accuracy", (0, 1)),
    "training_loss": ("Training loss", (0, None)),
    "adjusted_rand_index": ("Adjusted Rand index", (-0.5, 1)),
}
"""Title of the panel of a metric, and its least and largest values, beyond which no band is drawn."""


@style.styled
def draw(frame: DataFrame, title: str) -> style.Figure:
    """Draw the mean over seeds and the band of one standard deviation (n - 1 in the denominator) around it.

    Parameters
    ----------
    frame
        Columns ``seed``, ``round`` and the metrics, a row an evaluated round of a seed.
    title
        Description of the runs for the caption.
    """
    import polars

    shown = [name for name in PANELS if frame[name].drop_nulls().len()]
    seeds = sorted(frame["seed"].unique().to_list())
    listed = ", ".join(map(str, seeds)) if len(seeds) <= 10 else f"{seeds[0]} to {seeds[-1]}"
    shaded = "shaded: one standard deviation on either side, within the range of the metric"
    said = f"Mean over {len(seeds)} seeds ({listed}); {shaded}" if len(seeds) > 1 else f"Seed {listed}"
    figure, panels = style.new_figure(f"{title}. {said}.", panels=len(shown), height=3.2)
    for panel, name, look, letter in zip(panels, shown, style.LOOKS, "abc", strict=False):
        words, limits = PANELS[name]
        metric = polars.col(name)
        means = frame.group_by("round").agg(metric.mean(), metric.std().fill_null(0).alias("deviation"))
        rounds, mean, deviation = (
            means.drop_nulls(name).sort("round").select("round", name, "deviation").to_numpy().T
        )
        band = np.clip([mean - deviation, mean + deviation], *limits)
        style.draw_curve(panel, rounds, mean, look, "_", gid=name, band=band)
        style.label_axes(panel, f"{letter}  {words}", "communication round", words.lower())
    return figure
