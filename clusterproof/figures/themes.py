"""The dark theme of a drawn figure, and one svg for both themes."""

from __future__ import annotations

import colorsys
import re
from typing import Any

import numpy as np

from clusterproof.algorithms import InvalidArgument
from clusterproof.figures.style import DARK, Figure

TAG = re.compile(r"(<[^>]*>)")
NAME = re.compile(r' (?:id|xlink:href)="#?[mp][0-9a-f]{10}"')
"""Id of, or link to, a marker, path or clip; a hash of its content, so that it differs between the themes."""

STYLE = re.compile(r' style="([^"]*)"')
IMAGE = re.compile(r' id="image[0-9a-f]+"')


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


def in_both_themes(light: str, dark: str) -> str:
    """Join the light and the dark svg of a figure; a viewer that knows no themes shows the light one.

    The two may differ in their colours only. The joined svg is the light one with a CSS class on every
    element whose colour changes; of images, such as heat maps, it contains both versions.

    Parameters
    ----------
    light, dark
        Texts of the two svg files.

    Raises
    ------
    InvalidArgument
        If the drawings differ in more than their palette.
    """
    before, after = TAG.split(light), TAG.split(dark)
    rules: dict[str, str] = {}
    try:
        joined = "".join(
            tag if tag == other else _joined(tag, other, rules)
            for tag, other in zip(before, after, strict=True)
        )
    except ValueError as error:
        rule = "is for figures whose light and dark drawings differ in palette alone"
        raise InvalidArgument("theme", "both", rule, "draw it light, and dark, into two files") from error
    shown = "".join(f".{name}{{{change}}}" for change, name in rules.items())
    style = (
        f"<style>.dark{{display:none}}@media (prefers-color-scheme:dark){{.light{{display:none}}"
        f".dark{{display:inline}}{shown}}}</style>\n </defs>"
    )
    return joined.replace("</defs>", style, 1)


def _joined(light: str, dark: str, rules: dict[str, str]) -> str:
    """Join two different tags; raise ValueError if they differ in more than their style."""
    if light.startswith("<image "):  # a viewer without themes shows the one on top
        below = IMAGE.sub("", dark).replace("<image ", '<image class="dark" ', 1)
        return below + light.replace("<image ", '<image class="light" ', 1)
    before, after = _declarations(light), _declarations(dark)
    if STYLE.sub("", NAME.sub("", light)) != STYLE.sub("", NAME.sub("", dark)) or set(before) - set(after):
        raise ValueError("the tags are different")
    change = ";".join(f"{key}:{value}!important" for key, value in after.items() if before.get(key) != value)
    if not change:
        return light
    name = rules.setdefault(change, f"t{len(rules)}")
    return re.sub(r"^<\w+", lambda tag: f'{tag[0]} class="{name}"', light)


def _declarations(tag: str) -> dict[str, str]:
    """Return the CSS declarations in a tag's ``style``."""
    style = STYLE.search(tag)
    parts = [part.partition(":") for part in style[1].split(";")] if style else []
    return {key.strip(): value.strip() for key, _, value in parts}
