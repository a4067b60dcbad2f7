"""A digest of the source that a unit runs: what is computed by other source is another result."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import metadata, util
from pathlib import Path

LIBRARIES = ("numpy", "scipy")
"""Whose versions decide on the bits, too."""


@cache
def source_digest(packages: tuple[str, ...]) -> str:
    """Digest modules and packages with all that is in them, and the versions of numpy and scipy.

    Parameters
    ----------
    packages
        Dotted names; of a package every module below it counts, imported or not, because what is added to a
        folder is found there.

    Returns
    -------
    str
        Sixteen hexadecimal digits. Where it lies, and when it was written, play no part.
    """
    total = hashlib.sha256()
    for library in LIBRARIES:
        total.update(f"{library} {metadata.version(library)}\n".encode())
    for name in sorted(packages):
        for relative, path in _modules(name):
            content = path.read_bytes()
            total.update(f"{name} {relative} {len(content)}\n".encode() + content)
    return total.hexdigest()[:16]


def _modules(name: str) -> list[tuple[str, Path]]:
    """Files of a module, or of a package, with their places in it, in a fixed order."""
    found = util.find_spec(name)
    if found is None or found.origin is None:
        raise ImportError(f"no source of {name}")
    origin = Path(found.origin)
    if origin.name != "__init__.py":
        return [(origin.name, origin)]
    root = origin.parent
    return sorted((path.relative_to(root).as_posix(), path) for path in root.rglob("*.py"))
