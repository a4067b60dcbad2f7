"""Base class of objects with a figure: the method ``plot``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
    ) -> Figure:
        """Draw a run beside its theorems, the figure of a verdict's claim, or the verdict's numbers.

        Parameters
        ----------
        width
            Width in centimetres. If None, the width of a page. The font size does not change.
        theme
            Colours for a light or a dark background.
        caption
            Whether the caption is drawn.

        Returns
        -------
        matplotlib.figure.Figure
            Displayed by notebooks; ``clusterproof.figures.save`` writes it to a file.

        Raises
        ------
        InvalidArgument
            If there is nothing to draw (a verdict without figure and numbers), matplotlib is
            not installed, the width or the theme is invalid, or the figure does not fit into the width.
        """
        return self._drawn(width=width, theme=theme, caption=caption)

    def _drawn(self, *others: Any, **appearance: Any) -> Figure:
        """Draw this object, with others of its kind where its figure may show several."""
        import clusterproof  # imported here: only drawing needs matplotlib

        figures = clusterproof.figures
        drawn: Figure = getattr(figures, self.drawn_by)(self, *others)
        return figures.dressed(drawn, **appearance)
