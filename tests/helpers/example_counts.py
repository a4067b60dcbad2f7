"""Numbers of hypothesis examples: all with ``--hypothesis-profile large``, half of them by default."""

from hypothesis import settings

LARGE = 100
"""Examples of a test that asks for no number, in the profile ``large``."""


def examples(count: int) -> int:
    """Scale a number of examples to the profile; at least 5 remain."""
    return max(min(5, count), count * settings.default.max_examples // LARGE)
