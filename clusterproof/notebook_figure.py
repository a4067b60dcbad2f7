"""The class of all figures: not in ``clusterproof.figures``, whose modules are imported without matplotlib, too."""

import io

from matplotlib.figure import Figure


class NotebookFigure(Figure):
    """A figure that is a picture as the last line of a notebook's cell, whether pyplot is in use or not.

    Attributes
    ----------
    caption
        In one line, whether it is drawn or not.
    """

    caption = ""

    def _repr_png_(self) -> bytes:
        """Return the figure as a png."""
        file = io.BytesIO()
        self.savefig(file, format="png")
        return file.getvalue()
