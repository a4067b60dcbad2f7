"""Means and standard deviations over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from clusterproof.neural.runs.metrics_file import COLUMNS, read_columns
from clusterproof.neural.runs.storage.run_folder import METRICS

if TYPE_CHECKING:
    from polars import DataFrame

ROUNDS_SHOWN = 4
"""Largest number of rounds in the table of ``train --seeds``: evenly spaced, the last one included."""


def read_metrics(folders: Mapping[int, Path]) -> DataFrame:
    """Read the metrics of finished runs, one row per evaluated round and seed.

    Parameters
    ----------
    folders
        Folder of the run of each seed.

    Raises
    ------
    InvalidArgument
        If the metrics of a run cannot be read.
    """
    import polars

    frames = [
        read_columns(
            "out", folder / METRICS, COLUMNS, f"`clusterproof train --resume {folder}` writes it again"
        ).select(polars.lit(seed).alias("seed"), *COLUMNS)
        for seed, folder in folders.items()
    ]
    return polars.concat(frames).filter(polars.col("accuracy").is_not_null())


def select_rounds(frame: DataFrame) -> list[int]:
    """Return the rounds that the table shows, of those in which every seed was evaluated."""
    seeds = frame["seed"].n_unique()
    counted = frame.group_by("round").len()
    rounds = sorted(counted.filter(counted["len"] == seeds)["round"].to_list())
    shown = min(ROUNDS_SHOWN, len(rounds))
    return [rounds[len(rounds) * place // shown - 1] for place in range(1, shown + 1)]


def summarise(frame: DataFrame, by: Sequence[str], measures: Sequence[str]) -> DataFrame:
    """Return the mean and the standard deviation (n - 1 in the denominator) of measures as text.

    Parameters
    ----------
    frame
        One row per observation, such as a seed.
    by
        Columns whose values make a row of the result, in order of appearance.
    measures
        Columns of numbers; null is not counted.

    Returns
    -------
    polars.DataFrame
        Columns ``by`` and ``measures``; the latter as ``"0.912 ± 0.004"``, without a deviation for a single number,
        and ``"-"`` if nothing was measured.
    """
    import polars

    def words(part: tuple[float | None, float | None]) -> str:
        mean, deviation = part
        if mean is None:
            return "-"
        return f"{mean:.4g}" if deviation is None else f"{mean:.4g} ± {deviation:.2g}"

    parts = [
        (getattr(polars.col(name), kind)().alias(f"{name} {kind}"))
        for name in measures
        for kind in ("mean", "std")
    ]
    found = frame.group_by(by, maintain_order=True).agg(parts)
    texts = {
        name: [words(part) for part in zip(found[f"{name} mean"], found[f"{name} std"], strict=True)]
        for name in measures
    }
    return found.select(by).with_columns(polars.Series(name, column) for name, column in texts.items())
