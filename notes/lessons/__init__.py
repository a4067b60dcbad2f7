"""The lessons: marimo notebooks, plain modules that can be run, imported and opened with ``marimo``."""
