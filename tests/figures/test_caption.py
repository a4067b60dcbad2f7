import re

from hypothesis import given
from hypothesis import strategies as st

from clusterproof.figures.files import description_of, save
from clusterproof.figures.style import CAPTION_LETTERS, CAPTION_SIZE, caption_of, new_figure

WORDS = st.sampled_from(["rounds", "of", "Theorem", "B:", "seed", "0,", "400", "a", "GL-CFL"])
FORMULAS = st.sampled_from([r"$\kappa = 10$", "$l_p = 0.5$", r"$(1 - l\mu/8L)^t \|e_0\| + \rho$", "$m = 3$"])


@given(st.lists(st.one_of(WORDS, FORMULAS), min_size=1, max_size=120))
def test_a_caption_is_broken_between_words_and_never_inside_a_formula(parts):
    caption = " ".join(parts)
    figure, _ = new_figure(caption)
    lines = figure.get_supxlabel().split("\n")
    assert caption_of(figure) == caption
    assert all(line.count("$") % 2 == 0 for line in lines)
    plain = [line for line in lines if "$" not in line]
    assert all(len(line) <= CAPTION_LETTERS for line in plain)


def test_formulas_count_as_what_is_seen_of_them():
    figure, _ = new_figure(" ".join([r"$\alpha$"] * 60))
    assert "\n" not in figure.get_supxlabel()


def test_without_caption_the_panels_take_its_place_and_the_file_still_has_the_words(tmp_path):
    figure, (panel,) = new_figure("Error of $m = 3$ clients, seed 0. " * 6)
    panel.plot([0, 1], [0, -1], gid="line")
    with_caption, bare = tmp_path / "with.svg", tmp_path / "bare.svg"
    save(figure, with_caption)
    save(figure, bare, caption=False)
    assert description_of(bare) == description_of(with_caption) == caption_of(figure)
    assert figure.get_supxlabel() != ""  # the figure itself is as it was
    below, above = (lowest_point(path) for path in (bare, with_caption))
    assert (
        below > above + 2 * CAPTION_SIZE
    )  # points from the top: the panel gains the two lines of the caption
    assert "\N{MINUS SIGN}" in panel.yaxis.get_major_formatter().format_ticks([-1.0])[0]


def lowest_point(picture):
    """Return the distance of the lower end of the line from the top."""
    path = re.search(r'<g id="line">\s*<path d="([^"]*)"', picture.read_text(encoding="utf-8"))[1]
    return max(float(y) for _, y in re.findall(r"[ML] ([\d.]+) ([\d.]+)", path))
