"""The static site: lessons, catalogue, gallery and reference, written by Sphinx from what the package holds."""

from clusterproof.notes.site.build import build
from clusterproof.notes.site.results import STORED_FIGURES, STORED_VERDICTS

__all__ = ["STORED_FIGURES", "STORED_VERDICTS", "build"]
