"""One svg that follows the theme of the page that contains it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from clusterproof.algorithms import InvalidArgument
from clusterproof.figures.files import file_content
from clusterproof.figures.style import Figure

TAG = re.compile(r"(<[^>]*>)")
NAME = re.compile(r' (?:id|xlink:href)="#?[mp][0-9a-f]{10}"')
"""Id of, or link to, a marker, path or clip; a hash of its content, so that it differs between the themes."""

STYLE = re.compile(r' style="([^"]*)"')
IMAGE = re.compile(r' id="image[0-9a-f]+"')


def save_in_both_themes(figure: Figure, path: Path, **options: Any) -> None:
    """Write a figure as an svg that is light or dark as the page is; the options are those of ``figures.save``."""
    light, dark = (
        file_content(figure, "svg", theme=theme, **options).decode() for theme in ("light", "dark")
    )
    path.write_text(in_both_themes(light, dark), encoding="utf-8")


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
        raise InvalidArgument("figure", "...", rule, "draw it light, and dark, into two files") from error
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
