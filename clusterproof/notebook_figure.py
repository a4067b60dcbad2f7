"""Base class of figures. This class needs matplotlib; ``clusterproof.figures`` must import without matplotlib."""

import io

from matplotlib.figure import Figure


class NotebookFigure(Figure):
    """A figure that a notebook shows as a picture if it is the last line of a cell, with or without pyplot.

    Attributes
    ----------
    caption
        The caption in one line, even if it is not drawn.
    """

    caption = ""

    def _repr_png_(self) -> bytes:
        """Return the figure as the bytes of a PNG file."""
        file = io.BytesIO()
        self.savefig(file, format="png")
        return file.getvalue()
