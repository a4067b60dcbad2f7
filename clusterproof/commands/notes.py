"""The command ``notes``: build the lessons, the catalogue and the reference as a static site."""

from __future__ import annotations

from pathlib import Path

from clusterproof.algorithms.atomic import naming_folder
from clusterproof.algorithms.validation import require
from clusterproof.commands import terminal


def notes(*, out: Path, verdicts: Path | None = None) -> int:
    """Build the lessons, the catalogue of claims and the reference as a static site.

    Parameters
    ----------
    out
        Folder for the HTML, which opens without a web server; created if it is missing.
    verdicts
        Report of `clusterproof check --all --json` with the catalogue's verdicts; the stored report by default.
    """
    for module in ("marimo", "sphinx", "furo", "myst_nb", "latex2mathml"):
        require("out", str(out), module, "docs")
    from clusterproof.notes.results import STORED_VERDICTS, read_verdicts
    from clusterproof.notes.site.build import build

    read_verdicts(verdicts or STORED_VERDICTS)
    with naming_folder("out", out):
        out.mkdir(parents=True, exist_ok=True)
    from clusterproof.commands.application import app  # imported here: it imports this module

    help_pages = app.generate_docs(output_format="markdown")
    warnings = build(out, command_line=help_pages, verdicts=verdicts or STORED_VERDICTS)
    for warning in warnings:
        terminal.complain(warning)
    print(out / "index.html")
    return 1 if warnings else 0
