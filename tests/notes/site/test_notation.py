"""What is spelled on a keyboard, read as print has it."""

import pytest
from docutils import nodes

from notes.site.notation import written


def shown(text: str) -> str:
    """Marks of HTML for what is lowered and raised."""
    marks: dict[type, str] = {nodes.subscript: "sub", nodes.superscript: "sup"}
    parts = []
    for node in written(text):
        mark = marks.get(type(node))
        parts.append(f"<{mark}>{node.astext()}</{mark}>" if mark else node.astext())
    return "".join(parts)


@pytest.mark.parametrize(
    ("plain", "printed"),
    [
        ("||e_(t+1)|| <= (1 - eta mu)^2", "‖e<sub>t+1</sub>‖ ≤ (1 − η μ)<sup>2</sup>"),  # noqa: RUF001 - minus
        ("chi*_p, phi_i^2 and lambda_0", "χ*<sub>p</sub>, φ<sub>i</sub><sup>2</sup> and λ<sub>0</sub>"),
        ("(I - A_i)^-1 and 10^(-9)", "(I − A<sub>i</sub>)<sup>−1</sup> and 10<sup>−9</sup>"),  # noqa: RUF001
        ("sqrt(|C_1 n C*_p|) v", "√(|C<sub>1</sub> ∩ C*<sub>p</sub>|) v"),
        ("sum_(k < t) grad_w L_0; a sum", "∑<sub>k < t</sub> ∇<sub>w</sub> L<sub>0</sub>; a sum"),
        ("grad phi^1(chi_1), r_bar", "∇φ<sup>1</sup>(χ<sub>1</sub>), r\N{COMBINING MACRON}"),
        ("measured 1.421e-14; bound 2e+04", "measured 1.421·10<sup>−14</sup>; bound 2·10<sup>4</sup>"),  # noqa: RUF001
        ("argmax_k T_IFCA -> infinity", "argmax<sub>k</sub> T<sub>IFCA</sub> → infinity"),
        ("at local_steps = 2, contraction_factor 3, cfl-mgd/theorem-beta, k-means", None),
        ("mu-strongly convex, alphabet, a_long_name", "μ-strongly convex, alphabet, a_long_name"),
        ("mu~-strongly convex, 2 ~ 3", "μ\N{COMBINING TILDE}-strongly convex, 2 ~ 3"),
        ("(L_f + mu)-smooth, (a)-b", "(L<sub>f</sub> + μ)-smooth, (a)−b"),  # noqa: RUF001
        ("rho >= 8L_g, seed0_x9y8z", "ρ ≥ 8L<sub>g</sub>, seed0_x9y8z"),  # noqa: RUF001
        ("f''(x*) / sqrt(mu) for n' rows", "f\N{PRIME}\N{PRIME}(x*) / √μ for n\N{PRIME} rows"),
        ("<g_i*, y - x> and 1 < 2, 3 > 2", "⟨g<sub>i</sub>*, y − x⟩ and 1 < 2, 3 > 2"),  # noqa: RUF001
        ("x_0 .. x_K", "x<sub>0</sub>, …, x<sub>K</sub>"),
        ("(5)-(7) and (A23)-(A25), w -+ b, G . v", "(5)–(7) and (A23)–(A25), w ∓ b, G · v"),  # noqa: RUF001
        ("the beta function at root_of_kappa", None),
        ("D_(f_m(i)) and ||.||", "D<sub>fm(i)</sub> and ‖·‖"),
        ("K != 2, a 5 x 5 map", "K ≠ 2, a 5 \N{MULTIPLICATION SIGN} 5 map"),
        ("the clients' option 'I'", None),
        ("y = +-1, r^(2h-2) p^(K-k)", "y = ±1, r<sup>2h−2</sup> p<sup>K−k</sup>"),  # noqa: RUF001
        (
            "x^2 / 2 +- g x, y <~ 1, O~(n / S), u_p . (x)",
            "x<sup>2</sup> / 2 ± g x, y ≲ 1, O\N{COMBINING TILDE}(n / S), u<sub>p</sub> · (x)",
        ),
        (
            "D_(f_m^(pi_m(i)))(x), int_(X_c) f, x_1 + .. + x_n",
            "D<sub>fmπm(i)</sub>(x), ∫<sub>Xc</sub> f, x<sub>1</sub> + … + x<sub>n</sub>",
        ),
        ("4ρL_g²(m - 1)", "4ρL<sub>g</sub>²(m − 1)"),  # noqa: RUF001
    ],
)
def test_signs_letters_and_scripts(plain: str, printed: str | None) -> None:
    assert shown(plain) == (plain if printed is None else printed)


def test_what_is_raised_is_read_as_well() -> None:
    _, raised, _ = written("e^(-eta t)")
    assert raised.astext() == "\N{MINUS SIGN}η t"
    assert isinstance(raised, nodes.superscript)
