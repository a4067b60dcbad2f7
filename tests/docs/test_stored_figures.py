"""The stored figures: one of each, with its words."""

import pytest
from checkout import ROOT

from clusterproof.figures import FIGURES
from clusterproof.figures.files import metadata_of


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_stored_with_its_title_and_caption(name: str) -> None:
    picture = ROOT / f"docs/stored/figures/{name}.svg"
    write = f"clusterproof figures {name} --no-caption --out docs/stored/figures"
    assert picture.exists(), f"{picture.name} is not stored: write it with `{write}`"
    assert metadata_of(picture, "title").startswith(FIGURES[name].title.rstrip("."))
    assert "Seed 0" in metadata_of(picture, "description") or "seed 0" in metadata_of(picture, "description")
