"""One svg for both themes: the light drawing, and the dark one's colours where the reader's screen is dark."""

from __future__ import annotations

import re

from clusterproof.algorithms import InvalidArgument

TAG = re.compile(r"(<[^>]*>)")
NAME = re.compile(r' (?:id|xlink:href)="#?[mp][0-9a-f]{10}"')
"""Of a marker, a path or a clip: matplotlib makes it from what is named, colours included."""

STYLE = re.compile(r' style="([^"]*)"')
IMAGE = re.compile(r' id="image[0-9a-f]+"')


def in_both_themes(light: str, dark: str) -> str:
    """Join the light and the dark svg of a figure: what shows no colours by theme, such as paper, is the light one.

    The two differ in colours alone, so that the one is the other with a class on every part that changes. Of a map
    it holds both pictures.

    Parameters
    ----------
    light, dark
        Texts of the two svg files.

    Raises
    ------
    InvalidArgument
        If the drawings differ in more than their colours.
    """
    pairs = list(zip(TAG.split(light), TAG.split(dark), strict=False))
    if len(TAG.split(light)) != len(TAG.split(dark)):
        raise _different()
    rules: dict[str, str] = {}
    joined = "".join(one if one == other else _joined(one, other, rules) for one, other in pairs)
    shown = "".join(f".{name}{{{change}}}" for change, name in rules.items())
    style = (
        f"<style>.dark{{display:none}}@media (prefers-color-scheme:dark){{.light{{display:none}}"
        f".dark{{display:inline}}{shown}}}</style>\n </defs>"
    )
    return joined.replace("</defs>", style, 1)


def _joined(light: str, dark: str, rules: dict[str, str]) -> str:
    """Join two tags that differ."""
    if light.startswith("<image "):  # what knows of no themes shows the upper one
        below = IMAGE.sub("", dark).replace("<image ", '<image class="dark" ', 1)
        return below + light.replace("<image ", '<image class="light" ', 1)
    if STYLE.sub("", NAME.sub("", light)) != STYLE.sub("", NAME.sub("", dark)):
        raise _different()
    before, after = _declarations(light), _declarations(dark)
    if set(before) - set(after):
        raise _different()
    change = ";".join(f"{key}:{value}!important" for key, value in after.items() if before.get(key) != value)
    if not change:
        return light
    name = rules.setdefault(change, f"t{len(rules)}")
    return re.sub(r"^<\w+", lambda tag: f'{tag[0]} class="{name}"', light)


def _declarations(tag: str) -> dict[str, str]:
    """Read a tag's style."""
    found = STYLE.search(tag)
    parts = [part.partition(":") for part in found[1].split(";")] if found else []
    return {key.strip(): value.strip() for key, _, value in parts}


def _different() -> InvalidArgument:
    """Say that two drawings are not one."""
    rule = "is for figures whose light and dark drawings differ in colours alone"
    return InvalidArgument("theme", "both", rule, "draw it light, and dark, into two files")
