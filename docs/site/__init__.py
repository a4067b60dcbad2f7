"""The static site: lessons, catalogue, gallery and reference, built by Sphinx from the package."""
