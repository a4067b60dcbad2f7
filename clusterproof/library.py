"""The package with the checker's own catalogue of claims, and the folder of their evidence.

Code outside the checker sets the package: the checker itself does not know the subject of the claims.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

_PACKAGES: list[str] = []


def set_library(package: str) -> None:
    """Set the package whose modules state claims; it is imported when a claim is first needed.

    Parameters
    ----------
    package
        Dotted name. Its folder ``evidence`` has one file per paper.

    Raises
    ------
    ValueError
        If another package is already set.
    """
    if _PACKAGES not in ([], [package]):
        raise ValueError(f"the library is {library()}, and is not set again")
    _PACKAGES[:] = [package]


def library() -> str:
    """Return the dotted name of the package, or an empty string if there is none."""
    return "".join(_PACKAGES)


def is_of_library(module: str) -> bool:
    """Return whether a module is the package, or inside it."""
    return bool(_PACKAGES) and f"{module}.".startswith(f"{library()}.")


def is_paper_of_library(paper: str) -> bool:
    """Return whether the library's evidence has a file for a paper."""
    return bool(_PACKAGES) and (library_evidence() / f"{paper}.json").is_file()


def library_evidence() -> Path:
    """Return the folder with the evidence of the package's claims.

    Raises
    ------
    LookupError
        If no package was set.
    """
    found = find_spec(library()) if library() else None
    if found is None or found.submodule_search_locations is None:
        raise LookupError("no package was named whose claims come with the checker")
    return Path(found.submodule_search_locations[0]) / "evidence"
