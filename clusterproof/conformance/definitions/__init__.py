"""The definitions for ``conform``. Each one combines a rule with the content of a file in ``algorithms``."""

from clusterproof.conformance.changes import FOLDER
from clusterproof.conformance.definitions.base import DECLARED, Definition

DEFINITIONS: dict[str, type[Definition]] = {
    path.stem: type(path.stem, (Definition,), {}, name=path.stem)
    for path in sorted(FOLDER.glob("*.toml"))
    if path.stem != "general"
}
"""Every definition, indexed by the name to give to ``conform --as``."""

__all__ = ["DECLARED", "DEFINITIONS", "Definition"]
