"""The files and library versions on which the search of a claim depends if the kernel cannot read the claim.

A claim in the kernel's language depends only on its text. Any other claim depends on all files that its module imports,
directly or indirectly, at the top of a file or inside a function. These are the user's own files and the files of this
package outside the checker. The checker and installed libraries are identified by their versions instead of their
files.
"""

from __future__ import annotations

import ast
import hashlib
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from importlib import metadata, util
from pathlib import Path
from types import ModuleType
from typing import Any

from clusterproof.checker.claims.claim import Claim
from clusterproof.opened_files import has_read
from clusterproof.user_files import file_of

LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
"""Folders of installed libraries."""
OWN, CHECKER = "clusterproof", "clusterproof.checker."
PURE = {
    *("__future__", "abc", "bisect", "cmath", "collections", "contextlib", "copy", "dataclasses", "decimal"),
    *("enum", "fractions", "functools", "graphlib", "heapq", "itertools", "math", "numbers", "operator"),
    *("random", "re", "statistics", "textwrap", "types", "typing"),
}
"""Modules of the standard library that neither read files nor execute strings. All other modules may do so."""
LIBRARIES_WITHOUT_FILES = {OWN, "numpy", "scipy"}
"""Libraries that read files only through functions whose names are listed below. Other libraries may read any file."""
UNKNOWN = {
    *("eval", "exec", "compile", "globals", "__import__", "__builtins__", "__loader__", "__spec__"),
    *("builtins", "importlib", "io", "os", "_os", "posix", "pathlib", "sys", "_sys", "environ", "getenv"),
    *("getattr", "vars", "attrgetter", "methodcaller", "format", "format_map"),
    *("CodeType", "FunctionType", "ForwardRef", "get_type_hints", "singledispatch", "singledispatchmethod"),
    *(
        "config_context",
        "get_config",
        "fromfile",
        "fromregex",
        "genfromtxt",
        "memmap",
        "DataSource",
        "datasets",
        "ctypeslib",
    ),
}
"""Names with which a user's file can execute other code, read other files, or read the environment."""
PLAIN = {
    "__doc__",
    "__init__",
    "__name__",
    "__post_init__",
    "__qualname__",
    "__version__",
}
"""Attributes with two underscores that lead to no other object; any other such attribute may."""
READS = ("fetch", "load", "open", "read")
"""Prefixes of all other names with which a user's file can read files."""


def key_of(claim: Claim[..., Any]) -> str | None:
    """Return the SHA-256 hash of everything on which the search of a claim depends, or None if this is unknown.

    The dependencies are unknown if a user's file executes strings, or reads files or the environment. The function
    looks for such calls in the source, and for such events in this process.
    """
    if has_read(claim.module):
        return None
    found: dict[str, str] = {}
    versions: set[str] = set()
    waiting = [claim.module]
    seen: set[str] = set()
    libraries: dict[str, bool] = {}
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        top = name.partition(".")[0]
        if top not in libraries:
            libraries[top] = (
                top != OWN and file_of(top) is None and _is_installed(_file_of(top, sys.modules.get(top)))
            )
        if libraries[top]:  # libraries need not be loaded
            versions.add(_version(top))
            continue
        module = sys.modules.get(name)
        file = _file_of(name, module)
        if file is None or name.startswith(CHECKER):
            continue
        content = _parsed(str(file), file.stat().st_mtime_ns)
        if content is None or (top != OWN and (content.unknown or any(map(_may_read, content.libraries)))):
            return None
        found[_plain(name)] = content.digest
        waiting += _imported(name, module, content.imports)
    written = sorted(f"{name} {digest}" for name, digest in found.items()) + sorted(versions)
    return hashlib.sha256("\n".join(written).encode()).hexdigest()


class _File:
    """The digest and the imports of a source file."""

    def __init__(self, content: bytes) -> None:
        self.digest = hashlib.sha256(content).hexdigest()
        self.imports: list[tuple[int, str, tuple[str, ...]]] = []
        self.content = content
        for node in _statements(ast.parse(content)):
            if isinstance(node, ast.ImportFrom):
                self.imports.append((node.level, node.module or "", tuple(each.name for each in node.names)))
            elif isinstance(node, ast.Import):
                self.imports += [(0, each.name, ()) for each in node.names]

    @cached_property
    def libraries(self) -> set[str]:
        """Top-level packages of the imported modules."""
        return {said.partition(".")[0] for level, said, _ in self.imports if not level}

    @cached_property
    def unknown(self) -> bool:
        """Whether the file may execute strings, or read files that it does not import."""
        named = {name for _, _, names in self.imports for name in names}
        leads_elsewhere = False
        for node in ast.walk(ast.parse(self.content)):
            if isinstance(node, ast.Name | ast.Attribute):
                own = node.id if isinstance(node, ast.Name) else node.attr
                named.add(own)
                leads_elsewhere |= own.startswith("__") and own not in PLAIN
            elif isinstance(node, ast.MatchClass):
                named.update(node.kwd_attrs)
        named.update(*(said.split(".") for _, said, _ in self.imports))
        return bool(
            leads_elsewhere
            or self.libraries & sys.stdlib_module_names - PURE
            or named & UNKNOWN
            or any(each.startswith(READS) for each in named)
        )


def _may_read(top: str) -> bool:
    """Return whether an imported module is an installed library that may read files."""
    known = PURE | LIBRARIES_WITHOUT_FILES
    return top not in known and _is_installed(_file_of(top, sys.modules.get(top)))


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all statements of a file, including nested ones; skip expressions, which contain no imports."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(node, part, ())


@lru_cache(maxsize=2048)
def _parsed(path: str, _changed: int) -> _File | None:
    try:
        return _File(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None


def _plain(module: str) -> str:
    """Return the name of a module, without the folder if it was loaded from a user's file."""
    if module.startswith("clusterproof."):
        return module
    own = module.rpartition(".")[2]
    return own if file_of(own) is None else "__init__"


def _file_of(name: str, module: ModuleType | None) -> Path | None:
    path = getattr(module, "__file__", None)
    if module is None:
        try:
            found = util.find_spec(name)
        except (ImportError, ValueError, AttributeError):
            found = None
        path = None if found is None else found.origin
    return Path(path) if isinstance(path, str) and path.endswith(".py") and os.path.isfile(path) else None


def _is_installed(file: Path | None) -> bool:
    if file is None:
        return False
    return str(file).startswith(LIBRARIES) or bool({"site-packages", "dist-packages"} & {*file.parts})


@lru_cache
def _version(top: str) -> str:
    """Return the name and version of a library; the version of the standard library is the version of Python."""
    if top in sys.stdlib_module_names:
        return f"python {sys.version_info[0]}.{sys.version_info[1]}"
    try:
        return f"{top} {metadata.version(top)}"
    except metadata.PackageNotFoundError:  # it belongs to a distribution with another name
        several = metadata.packages_distributions().get(top, ())
        return f"{top} {', '.join(map(metadata.version, several))}"


def _imported(
    name: str, module: ModuleType | None, imports: Iterable[tuple[int, str, tuple[str, ...]]]
) -> Iterator[str]:
    """Yield all modules that a file imports, and all packages that contain these modules."""
    package = getattr(module, "__package__", None) or name.rpartition(".")[0]
    own = name.partition(".")[0]
    for level, said, names in imports:
        base = said
        if level:
            parts = package.split(".")
            base = ".".join([*parts[: len(parts) - level + 1], *filter(None, [said])])
        beside = [] if own == OWN else [f"{own}.{base}"]  # a user's file may import from its own folder
        for start in [base, *beside]:
            several = start.split(".")
            yield from (".".join(several[:k]) for k in range(1, len(several) + 1))
            yield from (f"{start}.{each}" for each in names if f"{start}.{each}" in sys.modules)
        if base.partition(".")[0] == "clusterproof":  # its packages import their modules lazily
            values = (getattr(sys.modules.get(base), each, None) for each in names)
            yield from filter(None, (getattr(value, "__module__", None) for value in values))
