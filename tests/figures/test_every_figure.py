import itertools
import re
import subprocess
import sys

import pytest
from drawings import SEED, drawn

from clusterproof.algorithms import InvalidArgument
from clusterproof.commands.application import main
from clusterproof.figures import FIGURES, dressed, save
from clusterproof.figures.style import caption_of

PARAMETERS = r"""
accuracy-cfl-mgd: 2400 clients | 100 images | $P = 4$ | 10 local steps | $\eta = 0.1$ | $\beta = 0.9$ |
   hidden layer of 200 | 300 rounds | cfl-mgd/table-2
contraction-map: step size 1/L | $l = l_p = 0.5$ | 5 eigenvalues | 400 rounds | without the floor
drift: 60 clients | $P = 4$ | $d = 3$ | $\kappa = 5$ | $\Delta = 2$ | $\eta = 0.1$ | $\mu = 1$ |
   $\alpha = 0.5$ | $H = 8$ | $10^{-
error-per-round: 3 clusters: 50, 30 and 20 of $m$ = 100 | $d$ = 20 | $n'$ = 10000 | noise 0.2 | $\Delta$ = 1.6 |
   momentum 0.5 | 60 rounds | 40 runs | replicates = 40
fpfc-residual: $m$ = 40 | 4 groups of 10 | $d$ = 5 | $\lambda$ 1 | $\xi$ 0.5 | $\rho$ 10 | 60 rounds | $D_0 = F(w^0)
fusion-strength: $a = 3.7$ | 100 rounds | $m = 24$ | $P = 3$ | $d = 5$ | $\kappa = 2$ | $\Delta = 10$ |
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

LONG = ("fusion-strength", "training-loss", "u-matrix")
DRAWN = [
    pytest.param(name, marks=pytest.mark.slow(reason="takes seconds to draw")) if name in LONG else name
    for name in FIGURES
]


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("figure_id", DRAWN)
def test_the_caption_has_the_parameters_and_curves_differ_in_style_and_not_only_in_colour(figure_id):
    figure = drawn(figure_id)
    caption = caption_of(figure).replace("\N{MINUS SIGN}", "-")
    (phrases,) = re.findall(rf"(?m)^{figure_id}: (.*(?:\n   .*)*)", PARAMETERS)
    assert [wanted for wanted in map(str.strip, phrases.split("|")) if wanted not in caption] == []
    assert f"seed {SEED}" in caption.lower()
    for panel in figure.axes:
        assert panel.get_xlabel() or (panel.get_label() == "<colorbar>" and panel.get_ylabel())
        looks = {}
        for line in panel.get_lines():
            if line.get_label().startswith("_") or len(line.get_xdata()) < 2:
                continue
            look = (line.get_linestyle(), line.get_marker())
            assert looks.setdefault(look, line.get_label()) == line.get_label()


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("figure_id", DRAWN)
def test_in_a_figure_nothing_overlaps(figure_id, tmp_path):
    figure = drawn(figure_id)
    figure.draw_without_rendering()
    (caption,) = [text for text in figure.texts if text.get_text() == figure.get_supxlabel()]
    boxes = [part.get_tightbbox() for part in (caption, *figure.legends, *figure.axes)]
    for box in boxes:
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= figure.bbox.x1
        assert box.y1 <= figure.bbox.y1
    for first, second in itertools.combinations(boxes, 2):
        assert not first.overlaps(second)
    save(figure, tmp_path / "figure.png", theme="dark")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


@pytest.mark.slow(reason="draws a figure in a process of its own")
def test_drawing_needs_neither_a_window_nor_the_state_of_pyplot():
    code = (
        "import sys; from clusterproof.figures import FIGURES; FIGURES['momentum-paths']().plot();"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout == ("False\n")


@pytest.mark.parametrize("figure_id", DRAWN)
def test_too_many_labels_are_refused_before_anything_is_computed(figure_id, monkeypatch):
    most = FIGURES[figure_id].most_names
    if most is None:  # the runs decide
        return
    with pytest.raises(InvalidArgument, match=r"labels.*the figure names"):
        dressed(drawn(figure_id), labels=["a"] * (most + 1))
    assert dressed(drawn(figure_id), labels=["a"] * most)
    monkeypatch.setattr(FIGURES[figure_id], "compute", None)
    with pytest.raises(InvalidArgument, match=r"labels.*the figure names"):
        FIGURES[figure_id]().plot(labels=["a"] * (most + 1))
    arguments = ["figures", figure_id, "--labels", ",".join("a" * (most + 1)), "--out", "never"]
    assert main(arguments) == 2


@pytest.mark.parametrize("figure_id", DRAWN)
def test_minor_tick_labels_are_no_larger_than_major_ones(figure_id):
    """Matplotlib labels minor ticks of a log axis that spans less than a decade."""
    for panel in drawn(figure_id).axes:
        for axis in (panel.xaxis, panel.yaxis):
            major, minor = (
                [label.get_fontsize() for label in axis.get_ticklabels(which=which)]
                for which in ("major", "minor")
            )
            assert max(minor, default=0) <= min(major, default=0) or not minor


@pytest.mark.slow(reason="several seconds")
def test_a_figure_is_a_picture_as_the_last_line_of_a_cell():
    """By the formatter of notebooks, without pyplot, which would register a format of its own."""
    from IPython.core.formatters import DisplayFormatter

    figure = drawn("momentum-paths")
    for shown in (figure, dressed(figure, theme="dark"), dressed(figure, width=9.0)):
        formats, _ = DisplayFormatter().format(shown)
        assert formats["image/png"].startswith(b"\x89PNG")
