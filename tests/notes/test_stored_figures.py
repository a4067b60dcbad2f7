"""The stored figures: one of each, and what draws them."""

from pathlib import Path

import pytest

from clusterproof.figures import FIGURES
from clusterproof.figures.files import alternative_of
from notes.site import gallery
from notes.site.gallery import STORED_FIGURES


def is_figure(path: Path, title: str) -> bool:
    """Return whether a file has a figure's title in words and both themes."""
    in_both_themes = "prefers-color-scheme:dark" in path.read_text(encoding="utf-8")
    return in_both_themes and alternative_of(path).startswith(title.rstrip("."))


def test_every_figure_is_stored_with_its_title_and_for_both_themes() -> None:
    for name, figure in FIGURES.items():
        assert is_figure(STORED_FIGURES / f"{name}.svg", figure.title), name


@pytest.mark.slow(reason="several seconds")
def test_a_figure_is_drawn_into_such_files(tmp_path: Path) -> None:
    gallery.draw("momentum-paths", tmp_path)
    assert is_figure(tmp_path / "momentum-paths.svg", FIGURES["momentum-paths"].title)
    assert is_figure(tmp_path / "narrow/momentum-paths.svg", FIGURES["momentum-paths"].title)
    assert (tmp_path / "momentum-paths.pdf").read_bytes().startswith(b"%PDF")
