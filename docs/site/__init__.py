"""The static site: lessons, catalogue, gallery and reference, written by Sphinx from what the package holds."""
