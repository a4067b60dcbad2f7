"""Figures for slides and papers: width, theme, caption, fonts and words, read from the files and the drawn parts."""

import re
import struct
import zlib

import numpy as np
import pytest
from drawings import SEED, drawn

from clusterproof.algorithms import InvalidArgument
from clusterproof.figures import FIGURES, save, style
from clusterproof.figures.appearance import dressed, panels_of
from clusterproof.figures.files import alternative_of

pytestmark = pytest.mark.slow(reason="draws figures in two themes and at many widths")

POINTS = 72 / 2.54  # in a centimetre


@pytest.fixture(scope="module")
def figure():
    made, panels = style.new_figure("Loss of $m = 3$ clients, at -0.5 and 20-80 %. Seed 0. " * 5, panels=2)
    for panel, title in zip(panels, ("a  Left", "b  Right"), strict=True):
        panel.plot([0, 1], [0, -1], color=style.BLACK, marker="o", label=r"rate $\sqrt{\beta}$")
        panel.plot([0, 1], [1, -1], color=style.BLUE, linestyle="--", label="bound")
        style.label_axes(panel, title, "round", r"distance $\|e_0\|$")
    handles, names = panels[0].get_legend_handles_labels()
    made.legend(handles, names, loc="outside upper left", ncols=2, fontsize=8, frameon=False)
    return style.settled(made)


def luminance(colour):
    """Relative luminance of WCAG 2.2."""
    from matplotlib.colors import to_rgb

    channels = np.array(to_rgb(colour))
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def contrast(one, other):
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_a_file_is_as_wide_as_was_asked_in_every_format(figure, tmp_path):
    save(figure, tmp_path / "shown.pdf", width=8.5)
    box = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+) ?\]", (tmp_path / "shown.pdf").read_bytes())
    assert float(box[1]) == pytest.approx(8.5 * POINTS, abs=0.01)
    save(figure, tmp_path / "shown.svg", width=16)
    width = re.search(r'<svg [^>]*?width="([\d.]+)pt"', (tmp_path / "shown.svg").read_text("utf-8"), re.S)
    assert float(width[1]) == pytest.approx(16 * POINTS, abs=0.01)
    save(figure, tmp_path / "shown.png", width=25)
    (pixels,) = struct.unpack(">I", (tmp_path / "shown.png").read_bytes()[16:20])
    assert pixels == pytest.approx(25 / 2.54 * 200, abs=1)


def test_panels_stand_below_each_other_where_it_is_narrow_and_letters_keep_their_size(figure):
    wide, narrow = panels_of(dressed(figure, width=18)), panels_of(dressed(figure, width=8.5))
    assert wide[0].get_position().y0 == pytest.approx(wide[1].get_position().y0)
    assert narrow[0].get_position().y0 > narrow[1].get_position().y1
    for one, other in zip(wide, narrow, strict=True):
        assert one.xaxis.label.get_fontsize() == other.xaxis.label.get_fontsize() == 9
    assert [panel.get_position().bounds for panel in figure.axes] == [
        panel.get_position().bounds for panel in dressed(figure).axes
    ]


def test_nothing_is_cut_off_or_overlaps_in_a_column():
    shown = dressed(drawn("similarity-matrices"), width=8.5)  # three panels with bars of their own
    boxes = [part.get_tightbbox() for part in (*shown.legends, *shown.axes)]
    assert all(box.x0 >= -1 and box.x1 <= shown.bbox.x1 + 1 and box.y0 >= -1 for box in boxes)
    for number, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[number + 1 :])


def test_in_a_column_a_legend_takes_fewer_columns_and_a_title_more_lines():
    made, panels = style.new_figure("Seed 0.", panels=2)
    for panel in panels:
        for number in range(3):
            panel.plot([0, 1], [0, number], label=f"a curve that is called {number}")
        mesh = panel.pcolormesh(np.eye(2), cmap="Greys")
        style.label_axes(panel, "a  A title that is too long for a panel in a column", "round", "loss")
    made.colorbar(mesh, ax=panels)
    handles, names = panels[0].get_legend_handles_labels()
    made.legend(handles, names, loc="outside upper left", ncols=3, fontsize=8, frameon=False)
    shown = dressed(style.settled(made), width=8.5)
    (legend,), (*below, bar) = shown.legends, shown.axes
    assert [text.get_text() for text in legend.get_texts()] == names
    assert legend.get_tightbbox().x1 <= shown.bbox.x1
    for panel in below:
        assert not legend.get_tightbbox().overlaps(panel.get_tightbbox())
        assert not bar.get_tightbbox().overlaps(panel.get_tightbbox())


def test_a_width_into_which_a_figure_does_not_fit_is_refused(figure):
    crowded, (panel,) = style.new_figure("Seed 0.")
    panel.set_xticks(range(8), [f"a long name {number}" for number in range(8)])
    panel.set_xlim(0, 7)
    style.label_axes(panel, "Crowded", "", "")
    with pytest.raises(InvalidArgument, match="too narrow for this figure"):
        dressed(style.settled(crowded), width=8.5)
    for width in (3, 100, float("nan")):
        with pytest.raises(InvalidArgument, match="between 5 and 60 centimetres"):
            dressed(figure, width=width)
    with pytest.raises(InvalidArgument, match="must be one of light, dark"):
        dressed(figure, theme="drak")


def test_in_the_dark_theme_every_line_and_word_stands_out_and_the_figure_itself_stays_light(figure):
    from matplotlib.colors import to_hex
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

    dark = dressed(figure, theme="dark")
    paper = dark.get_facecolor()
    assert luminance(paper) < 0.02
    assert all(panel.get_facecolor() == paper for panel in dark.axes)
    dark.draw_without_rendering()
    words = [text for text in dark.findobj(Text) if text.get_text()]
    assert min(contrast(text.get_color(), paper) for text in words) > 7
    for line in (*dark.axes[0].lines, *dark.legends[0].findobj(Line2D)):
        assert contrast(line.get_color(), paper) > 3
        assert contrast(line.get_markerfacecolor(), paper) > 3
    assert to_hex(dark.axes[0].lines[1].get_color()) == style.BLUE.lower()
    assert figure.get_facecolor() == (1, 1, 1, 1)


def test_dark_maps_turn_only_where_they_have_paper_in_them():
    made, panels = style.new_figure("Seed 0.", panels=2)
    for panel, name in zip(panels, ("Greys", "cividis"), strict=True):
        panel.pcolormesh(np.eye(3), cmap=name)
    turned, same = (panel.collections[0].get_cmap() for panel in dressed(made, theme="dark").axes)
    assert luminance(turned(0.0)) < 0.02
    assert luminance(turned(1.0)) > 0.8
    assert same(0.0) == panels[1].collections[0].get_cmap()(0.0)


def test_a_pdf_holds_its_fonts_as_truetype_and_its_text_as_text(figure, tmp_path):
    save(figure, tmp_path / "shown.pdf", alt="Two lines", width=16)
    content = (tmp_path / "shown.pdf").read_bytes()
    fonts = len(re.findall(rb"/Type /FontDescriptor", content))
    assert fonts >= 2  # upright, and the italics of the formulas
    assert len(re.findall(rb"/FontFile2 \d+ 0 R", content)) == fonts
    assert len(re.findall(rb"/Subtype /CIDFontType2", content)) == fonts
    assert b"/Type3" not in content
    assert content.count(b"/ToUnicode") == fonts
    streams = (
        zlib.decompress(part) for part in re.findall(rb"stream\r?\n(x.*?)\r?\nendstream", content, re.S)
    )
    assert any(b"BT" in stream and b"Tj" in stream for stream in streams)


def test_files_hold_the_alternative_text_for_those_who_do_not_see_them(figure, tmp_path):
    said = "Two lines. The bound falls below the rate."
    for form in ("svg", "png", "pdf"):
        save(figure, tmp_path / f"shown.{form}", alt=said, caption=False)
    assert alternative_of(tmp_path / "shown.svg") == said
    assert f"<title>{said}</title>" in (tmp_path / "shown.svg").read_text(encoding="utf-8")
    assert said.encode() in (tmp_path / "shown.png").read_bytes()
    assert f"/Title ({said})".encode() in (tmp_path / "shown.pdf").read_bytes()


def test_a_hyphen_never_stands_for_a_minus(figure):
    assert "at \N{MINUS SIGN}0.5 and 20-80 %" in style.caption_of(figure)
    assert style.with_minus("-.5 (-3), k-means, 20-80, $a-3$") == (
        "\N{MINUS SIGN}.5 (\N{MINUS SIGN}3), k-means, 20-80, $a-3$"
    )


def test_a_users_own_settings_of_matplotlib_are_obeyed_and_no_figure_depends_on_its_predecessor(tmp_path):
    from matplotlib import rc_context

    figure = FIGURES["momentum-paths"](seed=SEED)
    settings = {"lines.linewidth": 9, "axes.labelsize": 12, "axes.facecolor": "lightyellow"}
    with rc_context({**settings, "figure.constrained_layout.use": False}):
        theirs = figure.plot()
    for panel in theirs.axes:
        assert panel.xaxis.label.get_fontsize() == 12
        assert panel.get_facecolor()[2] < 1
        assert all(line.get_linewidth() == 9 for line in panel.get_lines())
    save(figure.plot(), tmp_path / "after.svg", theme="dark")
    save(drawn("momentum-paths"), tmp_path / "ours.svg", theme="dark")
    assert (tmp_path / "after.svg").read_bytes() == (tmp_path / "ours.svg").read_bytes()
