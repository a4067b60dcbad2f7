"""A file for both themes is the light drawing where the page is light, and the dark one where it is dark."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from clusterproof.algorithms import InvalidArgument
from clusterproof.figures import save, style
from notes.site.both_themes import in_both_themes, save_in_both_themes

RULE = re.compile(r"\.(\w+)\{([^{}]*)\}")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A figure with lines, words, a filled area, level lines and a map with white in it, as light, dark and both."""
    made, (left, right) = style.new_figure("Seed 0.", panels=2)
    left.plot([0, 1], [0, 1], color=style.BLACK, marker="o", label="black")
    left.plot([0, 1], [1, 0], color=style.BLUE, linestyle="--", label="blue")
    left.axvspan(0.2, 0.4, color=style.YELLOW, alpha=0.45, linewidth=0)
    left.contour(np.arange(9).reshape(3, 3), levels=[3], colors=style.BLACK)
    right.pcolormesh(np.eye(3), cmap="Greys", rasterized=True)
    for panel in (left, right):
        style.label_axes(panel, "A panel", "round", "loss")
    left.legend()
    style.settled(made)
    folder = tmp_path_factory.mktemp("themes")
    for theme in ("light", "dark"):
        save(made, folder / f"{theme}.svg", theme=theme)
    save_in_both_themes(made, folder / "both.svg")
    return {theme: (folder / f"{theme}.svg").read_text("utf-8") for theme in ("light", "dark", "both")}


def declarations(text):
    return dict(part.split(":", 1) for part in text.replace(" ", "").split(";") if part)


def parts(text, theme):
    """The style of every part that a browser draws in a theme, and the data of every picture."""
    css = re.search(r"<style>(.*)</style>", text)
    always, dark = css[1].split("@media (prefers-color-scheme:dark)") if css else ("", "")
    rules = {name: declarations(rule.replace("!important", "")) for name, rule in RULE.findall(always)}
    if theme == "dark":
        for name, rule in RULE.findall(dark.removeprefix("{")):
            rules[name] = {**rules.get(name, {}), **declarations(rule.replace("!important", ""))}
    found = []
    for element in ElementTree.fromstring(text).iter():
        rule = rules.get(element.get("class"), {})
        shown = {**declarations(element.get("style", "")), **rule}
        if shown.pop("display", "inline") == "none" or element.tag.endswith("}style"):
            continue
        data = next(
            (value for key, value in element.items() if "base64" in value and key.endswith("href")), None
        )
        found.append((element.tag, shown, data))
    return found


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_shows_what_the_file_of_that_theme_shows(files, theme):
    assert "<image" in files["both"]
    assert parts(files["both"], theme) == parts(files[theme], theme)
    assert parts(files["both"], theme) != parts(files["light" if theme == "dark" else "dark"], theme)


def test_a_viewer_without_style_sheets_shows_the_light_one(files):
    pictures = re.findall(r'<image class="(\w+)"', files["both"])
    assert pictures == ["dark", "light"]  # the later one is on top
    assert "stroke: #000000" in files["both"]


def test_it_is_for_drawings_that_differ_in_palette_alone(files):
    moved = re.sub(r'x="[\d.]+"', 'x="1"', files["dark"], count=1)
    for other in (moved, files["dark"].replace("</svg>", "<g></g></svg>")):
        with pytest.raises(InvalidArgument, match="differ in palette alone"):
            in_both_themes(files["light"], other)
