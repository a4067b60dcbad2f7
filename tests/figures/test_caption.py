from hypothesis import given
from hypothesis import strategies as st

from clusterproof.figures.style import CAPTION_LETTERS, caption_of, new_figure

WORDS = st.sampled_from(["rounds", "of", "Theorem", "B:", "seed", "0,", "400", "a"])
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
