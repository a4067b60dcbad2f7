"""Accuracy of CFL-MGD and its rivals on rotated MNIST from the stored Table 2, beside the paper's numbers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import clusterproof.figures.style as style
from clusterproof.experiments.paper_table import RESULTS
from clusterproof.experiments.tables import TABLES
from clusterproof.figures.illustration import Illustration
from clusterproof.figures.table_curves import draw_column

if TYPE_CHECKING:
    import polars

STORED = RESULTS / "cfl-mgd-table-2-mnist.parquet"
"""The stored table; the README beside it has the command that writes it."""


class AccuracyCFLMGD(Illustration):
    """Accuracies of stored runs, without parameters."""

    name = "accuracy-cfl-mgd"
    title = "Accuracy of CFL-MGD and its rivals on images, with the paper's"
    alt = (
        "Test accuracy on rotated MNIST by round: the clustered algorithms end above FedAvg and FedBCD. Stars at the "
        "end are the accuracies that the paper prints."
    )

    def compute(self) -> polars.DataFrame:
        """Read the stored accuracies."""
        import polars

        return polars.read_parquet(STORED).filter(column="accuracy %")

    def draw(self, data: polars.DataFrame) -> style.Figure:
        """Draw the accuracies on MNIST, with the numbers of the paper's Table 2 at the end."""
        seeds = data["seed"].n_unique()
        runs = "One run" if seeds == 1 else f"Means of {seeds} runs"
        words = (
            "Test accuracy round by round on rotated MNIST, 2400 clients with 100 images each, a tenth takes part, "
            r"$P = 4$, 10 local steps of $\eta = 0.1$, $\beta = 0.9$, one hidden layer of 200. "
            f"Stars at the end: the paper's Table 2, after 300 rounds; its FedBCD has three layers, so it has no star. "
            f"{runs} each, stored by clusterproof table cfl-mgd/table-2."
        )
        figure, (panel,) = style.new_figure(self.caption(words, random=False), height=4.4)
        table = TABLES["cfl-mgd/table-2"].from_values(json.loads(data["settings"][0]))
        draw_column(panel, data, table, "accuracy %")
        axes: style.Look = {"ylim": (0, 100), "x_ticks": [0, 100, 200, 300]}
        style.label_axes(panel, "MNIST", "communication round", "test accuracy, %", **axes)
        style.add_legend([panel], 3)
        return figure
