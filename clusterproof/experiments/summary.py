"""Means and standard deviations over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polars import DataFrame


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
