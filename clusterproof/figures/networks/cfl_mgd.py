"""Accuracy of CFL-MGD and its rivals on images, round by round: Figure 4b of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import clusterproof.experiments.tables
import clusterproof.figures.style as style
from clusterproof.figures.illustration import Illustration

if TYPE_CHECKING:
    import polars

STORED = Path(clusterproof.experiments.tables.__path__[0]) / "results/cfl-mgd-table-2-mnist.parquet"
"""The stored table; the command that writes it is in the README beside it."""

PRINTED = ("CFL-MGD", "IFCA", "FedAvg", "FedBCD")
"""Rows of which the paper's Table 2 has the last accuracy."""

ROWS = {
    **{name: name for name in PRINTED},
    "FedAvg, momentum": "FedAvg with momentum",
    "IFCA, effective step": r"IFCA, step $\eta / (1 - \beta)$",
}
"""Rows of the table, with their names in the legend."""


@dataclass(frozen=True, kw_only=True)
class AccuracyCFLMGD(Illustration):
    """Accuracies of stored runs; the figure has no parameters."""

    name: ClassVar[str] = "accuracy-cfl-mgd"
    title: ClassVar[str] = "Accuracy of CFL-MGD and its rivals on images, with the paper's"
    alt: ClassVar[str] = (
        "Test accuracy on rotated MNIST by round: the clustered algorithms end above FedAvg and FedBCD. Stars at the "
        "end are the accuracies that the paper prints."
    )

    def compute(self) -> polars.DataFrame:
        """Read the stored accuracies."""
        import polars

        return polars.read_parquet(STORED).filter(column="accuracy %")

    def draw(self, data: polars.DataFrame) -> style.Figure:
        """Draw the accuracies on MNIST, and the numbers of the paper's Table 2 at the end."""
        words = (
            "Test accuracy round by round on rotated MNIST, 2400 clients with 100 images each, a tenth takes part, "
            r"$P = 4$, 10 local steps of $\eta = 0.1$, $\beta = 0.9$, one hidden layer of 200. "
            "Stars at the end: the paper's Table 2, after 300 rounds. One run each, stored by "
            "clusterproof table cfl-mgd/table-2-mnist."
        )
        figure, (panel,) = style.new_figure(self.caption(words, random=False), height=4.4)
        for (row, label), look in zip(ROWS.items(), style.LOOKS, strict=False):
            curve = data.filter(part="curve", row=row).sort("at")
            panel.plot(curve["at"], curve["value"], **look, markevery=len(curve) // 10, label=label, gid=row)
        for row, look in zip(PRINTED, style.LOOKS, strict=False):
            star: style.Look = {
                "color": look["color"],
                "marker": "*",
                "markersize": 10,
                "clip_on": False,
                "zorder": 5,
            }
            (printed, *_) = data.filter(part="row", row=row)["printed"].drop_nulls()
            panel.plot([300], [printed], **star, gid=f"printed {row}")
        panel.set_ylim(0, 100)
        style.label_axes(panel, "MNIST", "communication round", "test accuracy, %")
        style.set_ticks(panel, x=[0, 100, 200, 300])
        style.add_legend([panel], 3)
        return figure
