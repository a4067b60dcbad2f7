"""Every figure, as it is drawn: its caption, looks and layout, its words in the reader's place, and its files."""

import itertools
import re
import struct

import numpy as np
import pytest
from checkout import ROOT
from drawings import SEED, drawn, entries, figure_of, line, regression
from hypothesis import given
from hypothesis import strategies as st

from clusterproof.algorithms import IFCA
from clusterproof.checker import catalogue
from clusterproof.common import InvalidArgument
from clusterproof.figures import FIGURES, save, style
from clusterproof.figures.files import metadata_of
from clusterproof.running import run

PARAMETERS = r"""
accuracy-cfl-mgd: 2400 clients | 100 images | $P = 4$ | 10 local steps | $\eta = 0.1$ | $\beta = 0.9$ |
   hidden layer of 200 | 300 rounds | cfl-mgd/table-2
contraction-map: step size 1/L | $l = l_p = 0.5$ | 5 eigenvalues | 300 rounds | without the floor
drift: 8 clients | $P = 4$ | $d = 3$ | $\kappa = 5$ | $\Delta = 2$ | $\eta = 0.3$ | $\mu = 1$ |
   $\alpha = 0.5$ | $H = 8$ | $10^{-
error-per-round: 100 clients in 3 clusters of 50, 30 and 20 | d = 20 | n' = 10000 | deviation s = 0.2 | = 1.6 |
   momentum 0.5 | 60 rounds | 40 runs | replicates = 40
fusion-strength: $a = 3.7$ | 80 rounds | $m = 24$ | $P = 3$ | $d = 5$ | $\kappa = 2$ | $\Delta = 10$ |
   spread by 0.1 | $\rho = 1$ | $\nu = 0.1$ | 10 local steps
model-averaging-map: $\lambda = 0.01$ | $\eta = 1$ | $1/L = 1$ | $\beta = 0.9$, $H = 5$ | most local steps = 6
momentum-paths: $\kappa = 20$ | $\eta = 1.9 / L$ | 40 rounds
similarity-matrices: $P = 4$ | $d = 10$ | $m = 60$ | n' = 100 | $s = 0.5$ | $\Delta = 1.5$ | $\eta = 0.5$ |
   200 rounds | $-1/(K - 1)$ = -0.333 | $\lambda = 0.5$ | $\alpha = 0.1$ | after 2 rounds from 0.75
success-map: 6 runs | round 50 | $P = 4$ | $d = 10$ | $m = 60$ | n' = 20. | $\eta = 1$ | $\beta = 0.9$ |
   $\|e_0\| = 1$ | all 60 clients
tightness: Two equal: $P = 2$ | (0.5, 0.5) | n' = 1000, | $T = 12$ | Three wide: $P = 3$ | $d = 100$ | $\kappa = 4$ |
   $m = 60$ | n' = 20000, | n' = 1000000, | $T = 40$ | 40 runs | (0.01, 0.02, 0.02)
training-loss: scikit-learn | 16 clients with 90 images | 10 local steps | $\eta = 0.1$ | $\beta = 0.9$ |
   $P = 4$ | no single model of norm up to | 20 devices | $\alpha = 0.1$ | $\lambda = 0.2$ |
   descent in the true clusters | One random start
u-matrix: 8 x 8 neurons | 20 rounds | 5 local steps | $\eta = 0.2$ | $P = 4$ | $d = 10$ | $m = 60$ |
   n' = 100 | $s = 0.5$ | $\Delta = 2$ | 300 updates | $\sigma_0 = 1.5$
winners-elbow: 5 x 5 map | 20 rounds | 5 local steps | $\eta = 0.2$ | $P = 4$ | $d = 10$ | $m = 60$ |
   n' = 100 | $s = 0.5$ | $\Delta = 2$ | below 0.25
"""
"""What the captions name: the figure, and phrases between bars."""


def overlapping(figure):
    """Return what is cut off, and pairs of legends, panels and the caption that overlap."""
    figure.draw_without_rendering()
    caption = [text for text in figure.texts if text.get_text()]
    boxes = [part.get_tightbbox() for part in (*caption, *figure.legends, *figure.axes)]
    whole = figure.bbox.padded(1)
    cut = [box for box in boxes if not (whole.containsx(box.x0) and whole.containsx(box.x1))]
    return cut + [pair for pair in itertools.combinations(boxes, 2) if pair[0].overlaps(pair[1])]


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("name", FIGURES)
def test_a_caption_has_the_parameters_curves_differ_not_only_in_colour_and_nothing_overlaps(name):
    figure = drawn(name)
    caption = figure.caption.replace("\N{MINUS SIGN}", "-")
    (phrases,) = re.findall(rf"(?m)^{name}: (.*(?:\n   .*)*)", PARAMETERS)
    assert [wanted for wanted in map(str.strip, phrases.split("|")) if wanted not in caption] == []
    assert f"seed {SEED}" in caption.lower()
    for panel in figure.axes:
        assert panel.get_xlabel() or (panel.get_label() == "<colorbar>" and panel.get_ylabel())
        looks = {}
        for each in panel.get_lines():
            if each.get_label().startswith("_") or len(each.get_xdata()) < 2:
                continue
            look = (each.get_linestyle(), each.get_marker())
            assert looks.setdefault(look, each.get_label()) == each.get_label()
    shown = [figure]
    if name != "tightness":  # names of settings take more than a column
        shown.append(drawn(name, 9.0))
        assert shown[1].get_figwidth() == pytest.approx(9.0 / 2.54)
    for figure in shown:
        assert overlapping(figure) == []
        # matplotlib labels minor ticks of a log axis that spans less than a decade
        for axis in (axis for panel in figure.axes for axis in (panel.xaxis, panel.yaxis)):
            sizes = [
                [each.get_fontsize() for each in axis.get_ticklabels(which=which)]
                for which in ("major", "minor")
            ]
            assert max(sizes[1], default=0) <= min(sizes[0], default=100)


def test_every_claim_that_a_figure_illustrates_exists():
    known = {claim.id for claim in catalogue()}
    assert [claim for figure in FIGURES.values() for claim in figure.claims if claim not in known] == []


@style.styled
def two_panels():
    made, panels = style.new_figure("Loss of $m = 3$ clients, at -0.5 and 20-80 %. Seed 0. " * 5, panels=2)
    titles = "a  Left", "b  Right, with a title that is so long that it is wrapped"
    for panel, title in zip(panels, titles, strict=True):
        panel.plot([0, 1], [0, -1], color=style.BLACK, marker="o", label=r"rate $\sqrt{\beta}$")
        panel.plot([0, 1], [1, -1], color=style.BLUE, linestyle="--", label="bound")
        style.label_axes(panel, title, "round", r"distance $\|e_0\|$")
    style.add_legend(panels, 2)
    return made


@pytest.mark.slow(reason="a second or more")
def test_a_file_is_as_wide_as_was_asked_in_every_format_and_has_its_words(tmp_path):
    said = "Two lines. The bound falls below the rate."
    for form, width in (("pdf", 8.5), ("svg", 16), ("png", 25)):
        figure = two_panels(width=width, caption=False)
        save(figure, tmp_path / f"shown.{form}", alt=said)
    content = (tmp_path / "shown.pdf").read_bytes()
    box = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+) ?\]", content)
    assert float(box[1]) == pytest.approx(8.5 / 2.54 * 72, abs=0.01)
    assert f"/Title ({said})".encode() in content
    assert b"/Type3" not in content  # fonts are TrueType
    assert content.count(b"/ToUnicode") == len(re.findall(rb"/Type /FontDescriptor", content)) >= 2
    text = (tmp_path / "shown.svg").read_text("utf-8")
    assert float(re.search(r'<svg [^>]*?width="([\d.]+)pt"', text, re.S)[1]) == pytest.approx(
        16 / 2.54 * 72, abs=0.01
    )
    assert metadata_of(tmp_path / "shown.svg", "title") == said
    assert metadata_of(tmp_path / "shown.svg", "description") == figure.caption
    assert figure.get_supxlabel() == ""
    (pixels,) = struct.unpack(">I", (tmp_path / "shown.png").read_bytes()[16:20])
    assert pixels == pytest.approx(25 / 2.54 * 200, abs=1)


def test_panels_stand_below_each_other_where_it_is_narrow_and_letters_keep_their_size():
    (left, right), (upper, lower) = two_panels(width=18).axes, two_panels(width=8.5).axes
    assert left.get_position().y0 == pytest.approx(right.get_position().y0)
    assert upper.get_position().y0 > lower.get_position().y1
    assert left.xaxis.label.get_fontsize() == upper.xaxis.label.get_fontsize() == 9
    assert "\n" in right.get_title(loc="left")
    assert overlapping(two_panels(width=8.5)) == []


def test_titles_and_labels_are_the_readers():
    figure = two_panels(title="Of slides", labels=["first"], width=12)
    assert entries(figure) == ["first", "bound"]
    (legend,) = figure.legends
    assert legend.get_title().get_text() == "Of slides"
    assert drawn("model-averaging-map").get_suptitle() == ""
    with pytest.raises(InvalidArgument, match="Give at most 2"):
        two_panels(labels=list("abc"))
    with pytest.raises(InvalidArgument, match="no curves with names"):
        figure_of("model-averaging-map").plot(labels=["a"])
    for wrong in (
        {"labels": "abc"},
        {"labels": [1]},
        {"title": 3},
        {"width": 3},
        {"width": 100},
        {"width": float("nan")},
    ):
        with pytest.raises(InvalidArgument, match=next(iter(wrong))):
            two_panels(**wrong)


def test_a_width_that_leaves_too_little_is_refused_and_the_one_that_is_named_is_enough():
    @style.styled
    def crowded():
        figure, (panel,) = style.new_figure("Seed 0.")
        panel.set_yticks(range(2), ["a name that is as long as a column", "b"])
        style.label_axes(panel, "Crowded", "", "")
        return figure

    with pytest.raises(InvalidArgument, match="less than an inch") as refusal:
        crowded(width=7)
    enough = float(refusal.value.remedy.removesuffix(" is enough"))
    assert crowded(width=enough).get_figwidth() == pytest.approx(enough / 2.54)
    with pytest.raises(InvalidArgument):
        crowded(width=enough - 1)


@pytest.mark.slow(reason="a second or more")
def test_a_users_own_settings_of_matplotlib_are_obeyed_and_no_figure_depends_on_its_predecessor(tmp_path):
    from matplotlib import rc_context

    figure = FIGURES["momentum-paths"](seed=SEED)
    settings = {"lines.linewidth": 9, "axes.labelsize": 12, "axes.facecolor": "lightyellow"}
    with rc_context({**settings, "figure.constrained_layout.use": False}):
        theirs = figure.plot()
    for panel in theirs.axes:
        assert panel.xaxis.label.get_fontsize() == 12
        assert panel.get_facecolor()[2] < 1
        assert all(each.get_linewidth() == 9 for each in panel.get_lines())
    save(figure.plot(), tmp_path / "after.svg")
    save(drawn("momentum-paths"), tmp_path / "ours.svg")
    assert (tmp_path / "after.svg").read_bytes() == (tmp_path / "ours.svg").read_bytes()


def test_a_figure_is_a_picture_as_the_last_line_of_a_cell():
    """By the formatter of notebooks, without pyplot, which would register a format of its own."""
    from IPython.core.formatters import DisplayFormatter

    formats, _ = DisplayFormatter().format(drawn("momentum-paths"))
    assert formats["image/png"].startswith(b"\x89PNG")


WORDS = st.sampled_from(["rounds", "of", "Theorem", "B:", "seed", "0,", "400", "a", "GL-CFL"])
FORMULAS = st.sampled_from([r"$\kappa = 10$", "$l_p = 0.5$", r"$(1 - l\mu/8L)^t \|e_0\| + \rho$", "$m = 3$"])


@given(st.lists(st.one_of(WORDS, FORMULAS), min_size=1, max_size=120), st.integers(40, 130))
def test_a_caption_is_broken_between_words_and_never_inside_a_formula(parts, letters):
    lines = style.wrap(" ".join(parts), letters).split("\n")
    assert " ".join(lines) == " ".join(parts)
    assert all(each.count("$") % 2 == 0 for each in lines)
    assert all(style.visible(each) <= letters for each in lines if " " in each)


def test_a_hyphen_never_stands_for_a_minus():
    assert "at \N{MINUS SIGN}0.5 and 20-80 %" in two_panels().caption
    assert style.with_minus("-.5 (-3), k-means, 20-80, $a-3$") == (
        "\N{MINUS SIGN}.5 (\N{MINUS SIGN}3), k-means, 20-80, $a-3$"
    )


def test_a_trace_draws_itself_in_a_width():
    trace = run(IFCA(step_size=0.1), regression(), rounds=3)
    figure = trace.plot(width=8.5)
    assert figure.get_figwidth() == pytest.approx(8.5 / 2.54)
    np.testing.assert_array_equal(line(figure.axes[0], "median 1")[1], trace.errors[:, 1])


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_stored_with_its_title_and_caption(name: str) -> None:
    picture = ROOT / f"docs/stored/figures/{name}.svg"
    write = f"clusterproof figures {name} --no-caption --out docs/stored/figures"
    assert picture.exists(), f"{picture.name} is not stored: write it with `{write}`"
    assert metadata_of(picture, "title").startswith(FIGURES[name].title.rstrip("."))
    assert "Seed 0" in metadata_of(picture, "description") or "seed 0" in metadata_of(picture, "description")
