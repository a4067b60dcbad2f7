"""The command that draws figures."""

from pathlib import Path

import pytest

from clusterproof.commands.application import main


def test_figures_are_written_whole_and_the_broken_ones_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from matplotlib.figure import Figure

    from clusterproof import figures

    def draw(seed: int) -> Figure:
        figure = Figure(figsize=(1, 1))
        figure.text(0.1, 0.5, str(seed))
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
