"""The command ``notes``: build the lessons, the catalogue and the reference as a static site."""

from __future__ import annotations

from pathlib import Path

from clusterproof.algorithms import InvalidArgument
from clusterproof.commands import terminal

EXTRA = "install the extra `docs`: pip install 'clusterproof[docs]'"


def notes(*, out: Path, verdicts: Path | None = None) -> int:
    """Build the lessons, the catalogue of claims and the reference as a static site.

    Parameters
    ----------
    out
        Folder for the HTML, which opens without a server; made if it is missing.
    verdicts
        Report of `clusterproof check --all --json` whose verdicts the catalogue shows; the stored one by default.
    """
    try:
        import marimo  # noqa: F401 - the import itself is the test
        import myst_nb  # noqa: F401 - the same

        from clusterproof.notes.results import STORED_VERDICTS, read_verdicts
        from clusterproof.notes.site import build
    except ImportError as error:
        raise InvalidArgument("out", str(out), f"needs the tools that build it ({error})", EXTRA) from error
    read_verdicts(verdicts or STORED_VERDICTS)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        rule = f"must be a folder that can be written ({getattr(error, 'strerror', None) or error})"
        raise InvalidArgument("out", str(out), rule, "choose another place") from error
    warnings = build(out, verdicts=verdicts or STORED_VERDICTS)
    for warning in warnings:
        terminal.complain(warning)
    print(out / "index.html")
    return 1 if warnings else 0
