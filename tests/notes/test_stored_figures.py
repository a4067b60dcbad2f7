"""The stored figures: one of each, and the command in the notes that draws them."""

import re
import shlex
from pathlib import Path

import pytest
from checkout import ROOT

from clusterproof.commands.application import main
from clusterproof.figures import FIGURES
from clusterproof.figures.files import alternative_of
from notes.site.gallery import STORED_FIGURES


def is_figure(path: Path, title: str) -> bool:
    """Return whether a file has a figure's title in words and both themes."""
    in_both_themes = "prefers-color-scheme:dark" in path.read_text(encoding="utf-8")
    return in_both_themes and alternative_of(path).startswith(title.rstrip("."))


def test_every_figure_is_stored_with_its_title_and_for_both_themes() -> None:
    for name, figure in FIGURES.items():
        assert is_figure(STORED_FIGURES / f"{name}.svg", figure.title), name


@pytest.mark.slow(reason="draws figures by the command line")
def test_the_quoted_command_draws_such_files(tmp_path: Path) -> None:
    (line,) = re.findall(r"(?m)^\$ clusterproof (figures .*)$", (ROOT / "notes/README.md").read_text("utf-8"))
    words = shlex.split(line)
    place = words.index("--out") + 1
    assert ROOT / words[place] == STORED_FIGURES.resolve()
    words[place] = str(tmp_path)
    assert main([*words, "momentum-paths"]) == 0
    assert is_figure(tmp_path / "momentum-paths.svg", FIGURES["momentum-paths"].title)
