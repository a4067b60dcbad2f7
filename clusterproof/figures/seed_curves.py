"""Metrics of training runs with several seeds, round by round: means and bands of one standard deviation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import clusterproof.figures.style as style

if TYPE_CHECKING:
    from polars import DataFrame

RANGES = {"accuracy": (0, 1), "training_loss": (0, None), "adjusted_rand_index": (-0.5, 1)}
"""Least and largest values of the metrics, beyond which no band is drawn."""

PANELS = {
    "accuracy": "test accuracy",
    "training_loss": "training loss",
    "adjusted_rand_index": "adjusted Rand index",
}
"""Columns of the metrics, one panel each, and the names of their axes."""


@style.styled
def draw(frame: DataFrame, title: str) -> style.Figure:
    """Draw the mean over seeds and the band of one standard deviation (n - 1 in the denominator) around it.

    Parameters
    ----------
    frame
        Columns ``seed``, ``round`` and the metrics, as ``commands.train_seeds.read_seeds`` returns them.
    title
        Description of the runs for the caption.
    """
    import polars

    shown = [name for name in PANELS if frame[name].drop_nulls().len()]
    seeds = sorted(frame["seed"].unique().to_list())
    listed = ", ".join(map(str, seeds)) if len(seeds) <= 10 else f"{seeds[0]} to {seeds[-1]}"
    band = "shaded: one standard deviation on either side, within the range of the metric"
    said = f"Mean over {len(seeds)} seeds ({listed}); {band}" if len(seeds) > 1 else f"Seed {listed}"
    caption = f"{title}. {said}."
    figure, panels = style.new_figure(caption, panels=len(shown), height=3.2)
    for panel, name, look, letter in zip(panels, shown, style.LOOKS, "abc", strict=False):
        rows = frame.group_by("round").agg(
            polars.col(name).mean().alias("mean"), polars.col(name).std().fill_null(0).alias("deviation")
        )
        rows = rows.drop_nulls("mean").sort("round")
        rounds, mean, deviation = (rows[column].to_numpy() for column in ("round", "mean", "deviation"))
        panel.fill_between(
            rounds,
            *np.clip([mean - deviation, mean + deviation], *RANGES[name]),
            color=look["color"],
            alpha=0.2,
            linewidth=0,
            gid=f"band {name}",
        )
        panel.plot(rounds, mean, **look, markevery=max(1, len(rounds) // 8), gid=name)
        style.label_axes(
            panel,
            f"{letter}  {PANELS[name][0].upper()}{PANELS[name][1:]}",
            "communication round",
            PANELS[name],
        )
    return figure
