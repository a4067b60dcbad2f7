"""The static site: lessons, catalogue, gallery and reference, written by Sphinx from what the package holds."""

from clusterproof.notes.site.build import build

__all__ = ["build"]
