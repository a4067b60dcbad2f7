"""Helpers for every package: validation of arguments, random generators, arrays, and atomic writes of files."""

from clusterproof.common.randomness import Randomness, generator
from clusterproof.common.validation import InvalidArgument

__all__ = ["InvalidArgument", "Randomness", "generator"]
