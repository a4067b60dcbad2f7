"""What every package uses: validated arguments, random generators, arrays, files that are written whole."""

from clusterproof.common.randomness import Randomness, generator
from clusterproof.common.validation import InvalidArgument

__all__ = ["InvalidArgument", "Randomness", "generator"]
