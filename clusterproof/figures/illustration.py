"""Definition of a figure: name, title, and function that draws it from a seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterproof.figures.style import styled

if TYPE_CHECKING:
    import matplotlib.figure


@dataclass(frozen=True)
class Illustration:
    """A figure that can be drawn.

    Attributes
    ----------
    id
        Name on the command line and of the file.
    title
        Title in one line.
    draw
        Function that computes the data from a seed and draws the figure in the light style; it imports matplotlib.
    claims
        Ids of the claims that it illustrates.
    """

    id: str
    title: str
    draw: Callable[[int], matplotlib.figure.Figure]
    claims: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Draw the figure with the style sheet."""
        object.__setattr__(self, "draw", styled(self.draw))
