"""The stored figures are those that the command in the notes draws."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from checkout import ROOT

from clusterproof.commands.application import main
from clusterproof.figures import FIGURES
from clusterproof.figures.files import alternative_of
from clusterproof.notes.results import STORED_FIGURES

QUICK = (
    "accuracy-cfl-mgd", "accuracy-fpfc", "accuracy-sofl", "contraction-map", "fpfc-residual", "local-data",
    "model-averaging-map", "momentum-paths", "purity-on-networks", "similarity-matrices", "u-matrix",
)  # fmt: skip
"""Those that take a second or two; the others take up to twelve each."""

UNLIKE = re.compile(r'base64,[^"]*|Matplotlib v[^<]*|(?<=[#"])[mp][0-9a-f]{10}|image[0-9a-f]{10}')
"""Pictures of maps, the version, and names that are made from what is drawn."""

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def command() -> list[str]:
    """The words that the notes quote."""
    (line,) = re.findall(r"(?m)^\$ clusterproof (figures .*)$", (ROOT / "notes/README.md").read_text("utf-8"))
    return shlex.split(line)


def read(path: Path) -> tuple[str, np.ndarray]:
    """A drawing without its numbers, and its numbers."""
    text = UNLIKE.sub("", path.read_text(encoding="utf-8"))
    return NUMBER.sub("#", text), np.array(NUMBER.findall(text), dtype=float)


def test_every_figure_is_stored_with_its_title_and_for_both_themes() -> None:
    assert {path.stem for path in STORED_FIGURES.iterdir()} == set(FIGURES)
    for name, figure in FIGURES.items():
        assert alternative_of(STORED_FIGURES / f"{name}.svg").startswith(figure.title.rstrip(".")), name
        assert "prefers-color-scheme:dark" in (STORED_FIGURES / f"{name}.svg").read_text("utf-8"), name


@pytest.mark.parametrize("name", QUICK)
def test_a_stored_figure_is_what_the_quoted_command_draws(name: str, tmp_path: Path) -> None:
    words = command()
    assert words[words.index("--out") + 1] == STORED_FIGURES.relative_to(ROOT).as_posix()
    words[words.index("--out") + 1] = str(tmp_path)
    assert main([*words, name]) == 0
    (drawn, places), (stored, expected) = read(tmp_path / f"{name}.svg"), read(STORED_FIGURES / f"{name}.svg")
    assert drawn == stored
    np.testing.assert_allclose(places, expected, rtol=1e-3, atol=0.05)
