"""What draws itself: one ``plot`` for everything that has a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Drawable:
    """Something with a figure.

    Attributes
    ----------
    drawn_by
        Name of the function of ``clusterproof.figures`` that draws it.
    """

    drawn_by: ClassVar[str]

    def plot(
        self,
        *,
        width: float | None = None,
        theme: Literal["light", "dark"] = "light",
        caption: bool = True,
    ) -> Figure:
        """Draw it: a run's errors round by round, the figure of a verdict's claim or its numbers.

        Parameters
        ----------
        width
            In centimetres; that of a page where None. Letters keep their size in points.
        theme
            Dark on light, or light on dark.
        caption
            Whether the caption is drawn.

        Returns
        -------
        matplotlib.figure.Figure
            A notebook shows it; ``clusterproof.figures.save`` writes it.

        Raises
        ------
        InvalidArgument
            If there is nothing to draw (a run without errors, a verdict without figure and numbers), or matplotlib is
            not installed, or the width or the theme is none, or the figure does not fit into the width.
        """
        import clusterproof  # the facade finds the figures when they are asked for; this folder knows none

        figures = clusterproof.figures
        drawn: Figure = getattr(figures, self.drawn_by)(self)
        return figures.dressed(drawn, width=width, theme=theme, caption=caption)
