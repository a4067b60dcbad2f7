"""Base class of objects with a figure: the method ``plot``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike


class Drawable:
    """Base class of objects that can be plotted.

    Attributes
    ----------
    drawn_by
        Name of the function of ``clusterproof.figures`` that draws the figure.
    """

    drawn_by: ClassVar[str]

    def plot(
        self,
        *,
        width: float | None = None,
        theme: Literal["light", "dark"] = "light",
        caption: bool = True,
        title: str | None = None,
        labels: Sequence[str] = (),
    ) -> Figure:
        """Draw a run beside its theorems, the figure of a verdict's claim, or the verdict's numbers.

        Parameters
        ----------
        width, theme, caption, title, labels
            As for ``clusterproof.figures.dressed``.

        Returns
        -------
        matplotlib.figure.Figure
            Displayed by notebooks; ``clusterproof.figures.save`` writes it to a file.

        Raises
        ------
        InvalidArgument
            If there is nothing to draw (a verdict without figure and numbers), matplotlib is
            not installed, or the figure cannot have this width, theme or these labels.
        """
        return self._drawn(width=width, theme=theme, caption=caption, title=title, labels=labels)

    def _drawn(
        self, *others: Any, bounds: Mapping[str, ArrayLike] | None = None, **appearance: Any
    ) -> Figure:
        """Draw this object, with others of its kind and bounds where its figure may show them."""
        import clusterproof  # imported here: only drawing needs matplotlib

        figures = clusterproof.figures
        more = {} if bounds is None else {"bounds": bounds}
        drawn: Figure = getattr(figures, self.drawn_by)(self, *others, **more)
        return figures.dressed(drawn, **appearance)
