"""What ``conform`` compares with, by algorithm: a rule, and what its file in ``algorithms`` says."""

from clusterproof.conformance.changes import FOLDER
from clusterproof.conformance.definitions.base import DECLARED, Definition

DEFINITIONS: dict[str, type[Definition]] = {
    path.stem: type(path.stem, (Definition,), {}, name=path.stem)
    for path in sorted(FOLDER.glob("*.toml"))
    if path.stem != "general"
}
"""Every definition by the name of ``conform --as``."""

__all__ = ["DECLARED", "DEFINITIONS", "Definition"]
