"""The command that draws figures."""

from pathlib import Path

import pytest
from command_line import refused

from clusterproof.commands.application import main


def test_figures_are_written_whole_and_the_broken_ones_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from matplotlib.figure import Figure

    from clusterproof import figures

    def draw(seed: int) -> Figure:
        figure = Figure(figsize=(1, 1))
        figure.add_subplot().set_xlabel(str(seed))
        return figure

    def broken(seed: int) -> Figure:
        raise RuntimeError(f"seed {seed}")

    for name, function in (("good", draw), ("bad", broken)):
        monkeypatch.setitem(figures.FIGURES, name, figures.Illustration(name, "A test's figure", function))
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
    assert errors == "clusterproof: bad: the figure failed with RuntimeError: seed 0\n"
    assert output.splitlines() == [str(tmp_path / "three" / "good.svg")]
    assert [path.name for path in (tmp_path / "three").iterdir()] == ["good.svg"]


def test_width_theme_and_caption_reach_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from clusterproof import figures
    from clusterproof.figures.style import new_figure

    shown = figures.Illustration(
        "good", "A test's figure", lambda seed: new_figure("What is said.", panels=1)[0]
    )
    monkeypatch.setitem(figures.FIGURES, "good", shown)
    options = {"plain": [], "wide": ["--width", "20"], "dark": ["--theme", "dark"], "bare": ["--no-caption"]}
    written = {}
    for name, words in options.items():
        assert main(["figures", "good", "--out", str(tmp_path / name), "--format", "svg", *words]) == 0
        written[name] = (tmp_path / name / "good.svg").read_text(encoding="utf-8")
    assert f'width="{20 / 2.54 * 72:.6g}' in written["wide"]
    assert len({*written.values()}) == 4
    for width in ("3", "600"):
        assert "--width" in refused(capsys, "figures", "--width", width)


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
