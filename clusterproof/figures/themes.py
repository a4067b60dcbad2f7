"""The dark theme of a drawn figure."""

from __future__ import annotations

import colorsys
from typing import Any

import numpy as np

from clusterproof.figures.style import DARK, Figure


def darken(figure: Figure) -> None:
    """Change a figure's colours for the dark style sheet: grey tones and filled areas change their lightness.

    Coloured lines and markers, and colour maps that do not contain white, stay as they are.
    """
    from matplotlib import rc_params_from_file
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, to_rgb, to_rgba_array

    sheet = rc_params_from_file(DARK, use_default_template=False)
    ends = [np.mean(to_rgb(sheet[name])) for name in ("figure.facecolor", "text.color")]

    def turn(colour: np.ndarray) -> Any:
        hue, lightness, saturation = colorsys.rgb_to_hls(*colour[:3])
        return (*colorsys.hls_to_rgb(hue, np.interp(1 - lightness, (0, 1), ends), saturation), colour[3])

    def turn_neutral(colour: np.ndarray) -> Any:
        return turn(colour) if np.ptp(colour[:3]) < 0.05 else tuple(colour)

    lines = ("color", "edgecolor", "markeredgecolor", "markerfacecolor")
    changes = {"facecolor": turn, **dict.fromkeys(lines, turn_neutral)}
    for artist in figure.findobj(lambda part: part is not figure and not isinstance(part, Axes)):
        given = getattr(artist, "colors", None)  # set on contours that are drawn as lines
        if isinstance(artist, ScalarMappable) and artist.get_array() is not None and given is None:
            palette = artist.get_cmap()(np.arange(artist.get_cmap().N))
            if (palette[:, :3].min(axis=1) > 0.95).any():
                artist.set_cmap(ListedColormap([turn(colour) for colour in palette]))
            continue
        old = {name: to_rgba_array(getattr(artist, f"get_{name}", tuple)()) for name in changes}
        new = {name: [changes[name](colour) for colour in palette] for name, palette in old.items()}
        artist.set(
            **{name: palette if len(palette) > 1 else palette[0] for name, palette in new.items() if palette}
        )
    for panel in figure.axes:  # ticks are recreated at every drawing, so set their colour on the axes
        panel.tick_params(which="both", colors=turn(np.array([0.0, 0, 0, 1])))
