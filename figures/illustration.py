"""What a figure is: a name, a title, and how it is drawn from a seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
        One line.
    draw
        Computes what is shown from a seed and draws it; matplotlib is imported only then.
    claims
        Ids of the claims that it illustrates.
    """

    id: str
    title: str
    draw: Callable[[int], matplotlib.figure.Figure]
    claims: tuple[str, ...] = ()
