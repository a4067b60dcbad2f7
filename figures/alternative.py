"""Words for a reader who does not see a figure: its panels, axes and curves."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clusterproof.figures.appearance import panels_of
from clusterproof.figures.style import MINUS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIGNS = {
    "alpha": "α", "beta": "β", "chi": "χ", "Delta": "Δ", "delta": "δ", "eta": "η",  # noqa: RUF001 - Greek is meant
    "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "rho": "ρ", "sigma": "σ",  # noqa: RUF001
    "varphi": "φ", "xi": "ξ", "nabla": "∇", "sqrt": "√", "ell": "ℓ", "times": "×", "cdot": "·",  # noqa: RUF001
    "leq": "≤", "geq": "≥", "pm": "±", "|": "‖",
}  # fmt: skip
"""What a command of a formula is read as; one that is missing goes by its name."""


def words_of(figure: Figure) -> str:
    """Say in a sentence or two what a figure shows: its panels, what is drawn over what, and the curves' names.

    Parameters
    ----------
    figure
        What ``draw`` or ``plot`` gave.
    """
    said = [_panel(panel) for panel in panels_of(figure)]
    names = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    if names:
        said.append(f"Shown: {'; '.join(dict.fromkeys(map(plain, names)))}")
    return ". ".join(said) + "."


def _panel(panel: Axes) -> str:
    """Say what a panel shows."""
    title = plain(panel.get_title(loc="left") or panel.get_title())
    over = " over ".join(filter(None, (plain(panel.get_ylabel()), plain(panel.get_xlabel()))))
    legend = panel.get_legend()
    names = [plain(text.get_text()) for text in legend.get_texts()] if legend else []
    curves = f" ({'; '.join(dict.fromkeys(names))})" if names else ""
    return ": ".join(filter(None, (title, over))) + curves


def plain(text: str) -> str:
    """Write a text without the marks of its formulas."""

    def read(formula: re.Match[str]) -> str:
        inner = re.sub(r"\\([a-zA-Z]+|\|) ?", lambda sign: SIGNS.get(sign[1], sign[1]), formula[1])
        return re.sub(r"[{}]", "", inner).replace("-", MINUS)

    return " ".join(re.sub(r"\$([^$]*)\$", read, text).split())
