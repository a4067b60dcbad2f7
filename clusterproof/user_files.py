"""Load users' Python files: each file searches its own folder first, shares no module, and is reloaded after a change.

A file and the neighbours that it imports become modules below the name ``NAME_DIGEST``, with a digest of their paths
and contents. So two files may each have a ``helper.py``, and an edited file is a new module. Import statements in these
modules search the file's folder first, even in functions that are called later. If the file imports relatively, its
folder is a package, whose ``__init__.py`` is executed first, as by ``python -m PACKAGE.FILE``.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import fractions
import functools
import hashlib
import importlib
import importlib.util
import itertools
import math
import operator
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from fractions import Fraction
from functools import cache
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    ModuleSpec,
    PathFinder,
    SourceFileLoader,
)
from pathlib import Path, PurePosixPath
from types import CodeType, ModuleType
from typing import Any

from clusterproof import opened_files
from clusterproof.files import TEXT, read_file

SOURCE = 8 * 2**20
"""Largest number of bytes of a Python file that is executed, or whose import statements are read."""
_FILES: dict[str, Path] = {}
"""Path of each file as the user named it, by the module name of the file and its neighbours."""
_EXECUTED: ContextVar[str | None] = ContextVar("name of the user's module that is executed now", default=None)


class RefusedImport(ImportError):
    """Raised if a user's file can be imported, but would mean something else than in Python."""

    def __init__(self, rule: str, remedy: str) -> None:
        super().__init__(f"{rule}: {remedy}")
        self.rule, self.remedy = rule, remedy


def load_file(path: str | os.PathLike[str], *, again: bool = False) -> ModuleType:
    """Execute a user's Python file, unless it and its imported neighbours are unchanged.

    Parameters
    ----------
    path
        Path of the file.
    again
        Whether to execute the file even if it is unchanged.

    Raises
    ------
    OSError
        If the file cannot be read.
    RefusedImport
        If a file is loaded twice, once by an import statement and once in another way.
    Exception
        Any error that the file raises; then none of its modules is kept.
    """
    where = Path(path).resolve()
    content = hashlib.sha256(os.fsencode(where))
    for name, text in sources_of(where).items():
        content.update(f"\0{name}\0".encode() + text)
    root = f"{where.stem.replace('.', '_')}_{content.hexdigest()[:16]}"
    # a package in the same folder may have the file's name
    name = f"{root}.{'__main__' if (where.parent / where.stem / '__init__.py').exists() else where.stem}"
    if name in sys.modules and not again:
        return sys.modules[name]
    _forget(root)
    _FILES[root] = Path(path)
    before = dict(sys.modules)
    package = _package_of(where, read_file(where, SOURCE))
    sys.modules[root] = ModuleType(root) if package is None else _module(root, package)
    sys.modules[root].__path__ = [str(where.parent)]
    try:
        with opened_files.reading(name):
            if package is not None:
                _Source(root, str(package)).exec_module(sys.modules[root])
            module = sys.modules.get(name)
            if module is None:  # otherwise the package has imported it
                # dataclasses resolve annotations in their module
                module = sys.modules[name] = _module(name, where)
                _Source(name, str(where)).exec_module(module)
        _require_one_copy(root, where, before)
    except (
        BaseException
    ):  # even Ctrl-C must leave no half-loaded module behind; the exception is raised again
        for each in _beside(_elsewhere(before), where.parent):
            parent, _, last = each.rpartition(".")
            vars(sys.modules.get(parent, ModuleType(parent))).pop(last, None)
            del sys.modules[each]
        _forget(root)
        raise
    return module


def executed_now() -> str | None:
    """Return the name of the user's module that ``load_file`` executes now, or None."""
    return _EXECUTED.get()


def load_named(name: str) -> ModuleType:
    """Import a module by its dotted name, from the working folder first."""
    folder = os.getcwd()
    sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(folder)
        if folder not in sys.path:
            sys.path.append(folder)  # for imports in the module's functions


def file_of(module: str) -> str | None:
    """Return the file of a module that ``load_file`` loaded, as the user named it, or None for other modules."""
    root, _, name = module.partition(".")
    if root not in _FILES:
        return None
    path = _FILES[root]
    if name in (path.resolve().stem, "__main__"):
        return str(path)
    place = path.parent.joinpath(*name.split("."))
    return str(place / "__init__.py" if place.is_dir() else place.with_name(f"{place.name}.py"))


def is_of(module: str, path: str | os.PathLike[str]) -> bool:
    """Return whether a module belongs to a user's file, or is a neighbour that the file imported."""
    root = _FILES.get(module.partition(".")[0])
    return root is not None and root.resolve() == Path(path).resolve()


def sources_of(path: str | os.PathLike[str], folder: Path | None = None) -> dict[str, bytes]:
    """Return the contents of a file and of its directly or indirectly imported neighbours, by relative path.

    Parameters
    ----------
    path
        Path of the file, which comes first in the result.
    folder
        Folder that its imports search; by default its own folder.

    Raises
    ------
    OSError
        If a file cannot be read.
    """
    where = Path(path).resolve()
    folder = where.parent if folder is None else folder.resolve()
    finder = cache(_finder)
    found: dict[str, bytes] = {}
    waiting = [where]
    if folder == where.parent and (package := _package_of(where, read_file(where, SOURCE))) is not None:
        waiting.append(package)
    while waiting:
        file = waiting.pop(0)
        name = file.relative_to(folder).as_posix()
        if name not in found:
            found[name] = read_file(file, SOURCE if file.suffix == ".py" else TEXT)
            if file.suffix == ".py":
                for imported in _imports(found[name], file.relative_to(folder).parent.parts):
                    waiting += _files_of(imported, folder, finder)
    return found


def digests_of(path: str | os.PathLike[str], folder: Path | None = None) -> dict[str, str]:
    """Return the SHA-256 of each file that ``sources_of`` returns, indexed by relative path."""
    return {name: hashlib.sha256(text).hexdigest() for name, text in sources_of(path, folder).items()}


def write_sources(folder: Path, sources: Mapping[str, str]) -> Path:
    """Write the result of ``sources_of``, as text, to a folder, and return the path of the first file.

    Raises
    ------
    ValueError
        If there are no files, or a name leads out of the folder.
    """
    for name, text in sources.items():
        if (
            not name.isprintable()
            or "\\" in name
            or ":" in name
            or {"..", "/"} & {*PurePosixPath(name).parts}
        ):
            raise ValueError(f"{name!r} is no relative path of a file")
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return folder / next(iter(sources), "..")


def _imports(text: bytes, package: tuple[str, ...]) -> Iterator[list[str]]:
    """Yield the parts of each name that a file of a package imports, anywhere in the file."""
    for node in _nodes(text):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = [*package][: len(package) + 1 - node.level] if node.level else []
            base = [*start, *(node.module or "").split(".")] if node.module else start
            yield from ([*base, alias.name] for alias in node.names)


def _nodes(text: bytes) -> Iterator[ast.AST]:
    """Return the nodes of a file's syntax tree; there are none if it has an error, which its execution reports."""
    try:
        return ast.walk(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return iter(())


def _package_of(file: Path, text: bytes) -> Path | None:
    """Return the ``__init__.py`` of the package to which a file with relative imports belongs, or None."""
    package = file.with_name("__init__.py")
    if file == package or not package.is_file():
        return None
    is_relative = any(isinstance(node, ast.ImportFrom) and node.level for node in _nodes(text))
    return package if is_relative else None


def _files_of(parts: Sequence[str], folder: Path, finder: Callable[[Path], FileFinder]) -> Iterator[Path]:
    """Yield the files in a folder that the import of a name executes."""
    for number, part in enumerate(parts):
        spec = finder(folder).find_spec(part) if number or part not in _NEVER else None
        if spec is None:
            return
        if spec.has_location and spec.origin is not None:
            yield folder / Path(spec.origin).relative_to(folder)
        if spec.submodule_search_locations is None:
            return
        folder /= part


_NEVER = {*sys.builtin_module_names, "__main__", "clusterproof"}
"""Modules that a user's file always imports from elsewhere, even if its folder has files of these names."""


FIXED: tuple[Any, ...] = (
    builtins,
    dataclasses,
    fractions,
    functools,
    itertools,
    math,
    operator,
    *Fraction.__mro__[:-1],
)
"""Parts of Python on which the functions of claims and their texts depend. A user's file must not replace a part."""


class _Source(SourceFileLoader):
    """Loader that writes no bytecode files; modules that it loads search the user's folder first."""

    def get_code(self, _name: str) -> CodeType:
        """Compile the file, keeping assertions even under -O."""
        return compile(read_file(self.path, SOURCE), self.path, "exec", dont_inherit=True, optimize=0)

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module.

        Raises
        ------
        RefusedImport
            If it replaces a part of Python's own modules, which would then mean different things in different files.
        """
        root = module.__name__.partition(".")[0]
        folder, *_ = sys.modules[root].__path__  # a package may append folders
        before = [(owner, dict(vars(owner))) for owner in FIXED]
        vars(module)["__builtins__"] = {**vars(builtins), "__import__": _import_of(root, folder)}
        replaced = []
        outer = _EXECUTED.set(module.__name__)
        try:
            super().exec_module(module)
        finally:
            _EXECUTED.reset(outer)
            for owner, members in before:
                for name, member in members.items():
                    if vars(owner).get(name) is not member:
                        setattr(owner, name, member)
                        replaced.append(f"{owner.__name__}.{name}")
                for name in vars(owner).keys() - members if isinstance(owner, type) else ():
                    delattr(owner, name)
                    replaced.append(f"{owner.__name__}.{name}")
        if replaced:
            raise RefusedImport(
                f"the file replaces {replaced[0]}, which is a part of Python", "choose another name"
            )


def _module(name: str, file: Path) -> ModuleType:
    """Return the module of a file, before it is executed."""
    spec = importlib.util.spec_from_file_location(name, file, loader=_Source(name, str(file)))
    assert spec is not None
    return importlib.util.module_from_spec(spec)


def _finder(folder: str | os.PathLike[str]) -> FileFinder:
    return FileFinder(
        os.fspath(folder), (_Source, SOURCE_SUFFIXES), (ExtensionFileLoader, EXTENSION_SUFFIXES)
    )


class _Beside:
    """Finder of the modules below a user's file."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, _target: object = None) -> ModuleSpec | None:
        if path is None or name.partition(".")[0] not in _FILES:
            return None
        return next(filter(None, (_finder(each).find_spec(name) for each in path)), None)


sys.meta_path.insert(0, _Beside)


def _import_of(root: str, folder: str) -> Any:
    """Return the ``__import__`` for a user's file and its neighbours."""

    @cache
    def is_beside(top: str) -> bool:
        if top in _NEVER:
            return False
        spec = _finder(folder).find_spec(top)
        if spec is None or spec.loader is not None:
            return spec is not None
        elsewhere = PathFinder.find_spec(top)  # as in Python, a folder without __init__.py comes last
        return elsewhere is None or elsewhere.origin is None

    def import_(
        name: str,
        globals: Any = None,  # noqa: A002 - names of Python's __import__
        locals: Any = None,  # noqa: A002
        fromlist: Sequence[str] = (),
        level: int = 0,
    ) -> ModuleType:
        top = name.partition(".")[0]
        if level or not (f"{root}.{top}" in sys.modules or is_beside(top)):
            return builtins.__import__(name, globals, locals, fromlist, level)
        module = builtins.__import__(f"{root}.{name}", globals, locals, fromlist)
        return module if fromlist else sys.modules[f"{root}.{top}"]

    return import_


def _forget(root: str) -> None:
    """Remove the modules below a name."""
    for name in [each for each in sys.modules if type(each) is str and each.partition(".")[0] == root]:
        del sys.modules[name]


def _require_one_copy(root: str, where: Path, before: Mapping[str, object]) -> None:
    """Require that no file below a root was also loaded as another module since ``before``."""
    own = {file.resolve(): name for name, file in _sources().items() if name.partition(".")[0] == root}
    elsewhere = _elsewhere(before)
    twice = [(file, name) for name, file in elsewhere.items() if file.resolve() in own]
    if not twice:
        return
    file, name = twice[0]
    words = "from . import NAME" if root in own.values() else "import NAME"
    # Python moves a module to the end of sys.modules when it has executed it: the last one has imported the others
    *_, last = file, *_beside(elsewhere, where.parent).values()
    raise RefusedImport(
        f"{file.name} is loaded twice, as {name} and as {own[file.resolve()]}",
        f"write `{words}` for {last.name} and all files beside it, not importlib.import_module or a package's own name",
    )


def _elsewhere(before: Mapping[str, object]) -> dict[str, Path]:
    """Return the source files of the modules that were loaded since ``before``, but not below a user's file."""
    sources = _sources()
    below = {id(sys.modules[name]) for name in sources if name.partition(".")[0] in _FILES}
    new = {name: file for name, file in sources.items() if before.get(name) is not sys.modules[name]}
    return {name: file for name, file in new.items() if id(sys.modules[name]) not in below}


def _beside(sources: Mapping[str, Path], folder: Path) -> dict[str, Path]:
    """Return those source files that lie in a folder, and not in installed libraries inside it."""
    found = {}
    for name, file in sources.items():
        place = file.parent.resolve()
        if place.is_relative_to(folder) and "site-packages" not in place.relative_to(folder).parts:
            found[name] = file
    return found


def _sources() -> dict[str, Path]:
    """Return the source files of all modules; load no module that is loaded when it is first used."""
    found = {}
    for name, module in [*sys.modules.items()]:
        if type(name) is str and issubclass(type(module), ModuleType):  # an object may say that it is one
            file = object.__getattribute__(module, "__dict__").get("__file__")
            if isinstance(file, str):
                found[name] = Path(file)
    return found
