"""Alternative text of a figure: its panels, axes and curves."""

from __future__ import annotations

import re

from clusterproof.figures.appearance import panels_of
from clusterproof.figures.line_labels import LABEL
from clusterproof.figures.style import MINUS, Axes, Figure

NAMES = "alpha beta chi Delta delta eta kappa lambda mu nu rho sigma varphi xi nabla sqrt ell times cdot leq geq pm |"
SIGNS = dict(zip(NAMES.split(), "αβχΔδηκλμνρσφξ∇√ℓ×·≤≥±‖", strict=True))  # noqa: RUF001 - Greek is meant
"""Texts of the commands in formulas; a command without an entry has its name as text."""


def words_of(figure: Figure) -> str:
    """Return one or two sentences on a figure: its panels, axes and the names of its curves.

    Parameters
    ----------
    figure
        Figure returned by ``draw`` or ``plot``.
    """
    said = [_panel(panel) for panel in panels_of(figure)]
    names = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    if names:
        said.append(f"Shown: {'; '.join(dict.fromkeys(map(plain, names)))}")
    return ". ".join(said) + "."


def _panel(panel: Axes) -> str:
    """Describe a panel."""
    title = plain(panel.get_title(loc="left") or panel.get_title())
    over = " over ".join(filter(None, (plain(panel.get_ylabel()), plain(panel.get_xlabel()))))
    legend = panel.get_legend()
    names = [plain(text.get_text()) for text in legend.get_texts()] if legend else []
    names += [plain(text.get_text()) for text in panel.texts if str(text.get_gid()).startswith(LABEL)]
    curves = f" ({'; '.join(dict.fromkeys(names))})" if names else ""
    return ": ".join(filter(None, (title, over))) + curves


def plain(text: str) -> str:
    """Return a text without the markup of its formulas."""

    def read(formula: re.Match[str]) -> str:
        inner = re.sub(r"\\([a-zA-Z]+|\|) ?", lambda sign: SIGNS.get(sign[1], sign[1]), formula[1])
        return re.sub(r"[{}]", "", inner).replace("-", MINUS)

    return " ".join(re.sub(r"\$([^$]*)\$", read, text).split())
