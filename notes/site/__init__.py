"""The static site: lessons, catalogue, gallery and reference, written by Sphinx from what the package holds."""

from clusterproof.notes.results import STORED_FIGURES, STORED_VERDICTS
from clusterproof.notes.site.build import build

__all__ = ["STORED_FIGURES", "STORED_VERDICTS", "build"]
