"""The definitions of ``conform``, by algorithm: a rule, and the content of its file in ``algorithms``."""

from clusterproof.conformance.changes import FOLDER
from clusterproof.conformance.definitions.base import DECLARED, Definition

DEFINITIONS: dict[str, type[Definition]] = {
    path.stem: type(path.stem, (Definition,), {}, name=path.stem)
    for path in sorted(FOLDER.glob("*.toml"))
    if path.stem != "general"
}
"""Every definition, by its name for ``conform --as``."""

__all__ = ["DECLARED", "DEFINITIONS", "Definition"]
