"""The command that draws figures."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pytest
from command_line import refused
from matplotlib.figure import Figure
from msgspec import Meta

from clusterproof import InvalidArgument
from clusterproof.commands.application import main
from clusterproof.figures import FIGURES, Illustration
from clusterproof.figures.files import metadata_of
from clusterproof.figures.style import new_figure


class Good(Illustration):
    """A test's figure.

    Parameters
    ----------
    kappa
        Condition number.
    """

    name: ClassVar[str] = "good"
    title: ClassVar[str] = "A test's figure"
    alt: ClassVar[str] = "One line."

    kappa: Annotated[float, Meta(ge=1)] = 4.0

    def compute(self) -> list[float]:
        return [self.kappa, self.seed]

    def draw(self, data: Any) -> Figure:
        figure, (panel,) = new_figure(self.caption("What is said."))
        panel.plot(data, gid="line")
        return figure


class Bad(Good):
    """A test's broken figure."""

    def compute(self) -> list[float]:
        raise RuntimeError(f"seed {self.seed}")


@pytest.fixture(autouse=True)
def two_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FIGURES, "good", Good)
    monkeypatch.setitem(FIGURES, "bad", Bad)


@pytest.mark.slow(reason="several seconds")
def test_figures_are_written_whole_and_the_broken_ones_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for form, start in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")):
        for folder in ("one", "two"):
            arguments = ["figures", "good", "--out", str(tmp_path / folder), "--format", form, "--seed", "3"]
            assert main(arguments) == 0
        written = (tmp_path / "one" / f"good.{form}").read_bytes()
        assert written.startswith(start)
        assert written == (tmp_path / "two" / f"good.{form}").read_bytes()
    assert (tmp_path / "one").joinpath("good.svg").exists()
    capsys.readouterr()
    assert main(["figures", "bad", "good", "--out", str(tmp_path / "three")]) == 1
    output, errors = capsys.readouterr()
    assert errors == "error: bad: the figure failed with RuntimeError: seed 0\n"
    assert output.splitlines() == [str(tmp_path / "three" / "good.svg")]
    assert [path.name for path in (tmp_path / "three").iterdir()] == ["good.svg"]


def test_parameters_reach_the_figure_and_its_caption(tmp_path: Path) -> None:
    assert main(["figures", "good", "--out", str(tmp_path)]) == 0
    picture = tmp_path / "good.svg"
    assert metadata_of(picture, "description") == "What is said. Seed 0."
    assert metadata_of(picture, "title") == "A test's figure. One line."
    before = picture.read_bytes()
    assert main(["figures", "good", "--set", "kappa=100", "--seed", "2", "--out", str(tmp_path)]) == 0
    assert (
        metadata_of(picture, "description") == "What is said. Changed from the defaults: kappa = 100. Seed 2."
    )
    assert metadata_of(picture, "title") == (
        "A test's figure. Changed from the defaults: kappa = 100. With the defaults: One line."
    )
    assert picture.read_bytes() != before
    assert main(["figures", "good", "--set", "seed=3", "--width", "20", "--out", str(tmp_path)]) == 0
    assert metadata_of(picture, "description") == "What is said. Seed 3."
    assert f'width="{20 / 2.54 * 72:.6g}' in picture.read_text(encoding="utf-8")


@pytest.mark.slow(reason="draws a figure six times")
def test_words_and_style_are_the_readers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import matplotlib

    def drawn(*options: str) -> str:
        assert main(["figures", "good", "--out", str(tmp_path), *options]) == 0
        return (tmp_path / "good.svg").read_text(encoding="utf-8")

    before = drawn()
    assert drawn("--no-caption") != before
    assert metadata_of(tmp_path / "good.svg", "description") == "What is said. Seed 0."
    assert "Of slides" in drawn("--title", "Of slides")
    sheet = tmp_path / "slides.mplstyle"
    sheet.write_text("axes.spines.top: True\nlines.linewidth: 7\n", encoding="utf-8")
    styled = drawn("--style", str(sheet))
    assert "stroke-width: 7" in styled
    assert styled.count('id="patch_') == before.count('id="patch_') + 1  # the spine, matplotlib's default
    assert drawn() == before
    with matplotlib.rc_context({"lines.linewidth": 7}):
        assert "stroke-width: 7" in drawn()
    assert "--labels" in refused(capsys, "figures", "good", "--out", str(tmp_path), "--labels", "a,b")


@pytest.mark.parametrize("name", FIGURES)
def test_help_lists_every_parameter_with_default_and_meaning(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["figures", name, "--help"]) == 0
    rows = [re.split(" {2,}", line, maxsplit=2) for line in capsys.readouterr().out.splitlines()]
    listed = {row[0]: row[1:] for row in rows if len(row) == 3}
    listed.pop("parameter")
    assert list(listed) == [field.name for field in fields(FIGURES[name])]
    for default, meaning in listed.values():
        assert default
        assert re.fullmatch(r"[A-Z].*\.", meaning)


def test_a_figure_that_is_made_in_python_is_checked_as_one_of_the_command_line() -> None:
    for kind in FIGURES.values():
        kind(seed=1)
    for values in ({"kappa": 0.5}, {"kappa": "4"}, {"seed": -1}):
        with pytest.raises(InvalidArgument):
            Good(**values)


def test_a_path_is_printed_when_its_figure_is_written(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    printed: list[str] = []

    def render(name: str, *_: object, **__: object) -> bytes:
        printed.append(capsys.readouterr().out)
        return b"figure"

    monkeypatch.setattr("clusterproof.commands.figures._render", render)
    first, second = (tmp_path / f"{name}.svg" for name in ("contraction-map", "momentum-paths"))
    assert main(["figures", "contraction-map", "momentum-paths", "--out", str(tmp_path)]) == 0
    assert [*printed, capsys.readouterr().out] == ["", f"{first}\n", f"{second}\n"]
