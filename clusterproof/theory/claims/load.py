"""Find claims that are stated elsewhere: in a user's file or module."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.validation import error_text
from clusterproof.files import TEXT, read_file
from clusterproof.theory.claims.claim import REGISTRY, Claim, line_of

_SOURCES: dict[str, str] = {}
"""The file, as the user named it, behind each module that was loaded from one."""


def load_claims(source: str | Path) -> list[str]:
    """Import a file or module that states claims; it is executed.

    Parameters
    ----------
    source
        Path of a Python file, or dotted name of a module.

    Returns
    -------
    list of str
        Ids of the claims that it states itself, in its order; those of modules that it imports are known to
        ``check``, too, but not listed.

    Raises
    ------
    InvalidArgument
        If it cannot be imported, for whatever reason, or states no claim. No claim of it is kept then.
    """
    text = str(source)
    before = dict(REGISTRY)
    name = load_module(source, "file")
    # in a module, or below it, and not in one that it imports
    own = [claim.id for claim in REGISTRY.values() if f"{claim.module}.".startswith(f"{name}.")]
    if not own:
        imported = [claim for claim in REGISTRY if claim not in before]
        remedy = (
            f"name the file that states {imported[0]}" if imported else "decorate a function with @claim(...)"
        )
        raise InvalidArgument("file", text, "must state a claim", remedy)
    return own


def load_module(source: str | Path, argument: str = "module") -> str:
    """Import a user's file or module, which is executed, and return the name that it has in ``sys.modules``.

    Parameters
    ----------
    source
        Path of a Python file, or dotted name of a module.
    argument
        Name of the argument that gave it, for error messages.

    Raises
    ------
    InvalidArgument
        If it cannot be imported, for whatever reason. No claim of it is kept then.
    """
    text = str(source)
    path = Path(text)
    is_file = path.suffix == ".py" or path.is_file()
    before = dict(REGISTRY)
    try:
        with _first_on_path(path.resolve().parent if is_file else Path.cwd()):
            return _execute(path) if is_file else importlib.import_module(text).__name__
    except (Exception, SystemExit, GeneratorExit) as error:
        REGISTRY.clear()
        REGISTRY.update(before)
        line = line_of(error, str(path.resolve())) if is_file else None
        where = "" if line is None else f", line {line}"
        raise InvalidArgument(
            argument,
            text,
            f"must be a file or module that can be imported ({type(error).__name__}: {error_text(error)}{where})",
            f"`python {text}` shows where"
            if is_file
            else "give the path of a file, or a module's dotted name",
        ) from error


def source_of(module: str) -> str | None:
    """File from which a module was loaded, as the user named it; None for one that can be imported by name."""
    return _SOURCES.get(module)


def words_of(claim: Claim[..., Any]) -> str:
    """Return what names a claim on a command line: its id, and the file that states it."""
    return " ".join(filter(None, (claim.id, source_of(claim.module))))


def _execute(path: Path) -> str:
    """Execute a file as a module of its own, beside whatever else has its name."""
    where = path.resolve()
    read_file(where, TEXT)  # refuses a pipe or a device, which Python would wait for
    name = f"{path.stem}_{hashlib.sha256(str(where).encode()).hexdigest()[:8]}"
    found = importlib.util.spec_from_file_location(name, where)
    if found is None or found.loader is None:
        raise ImportError("it is no Python file")
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module  # records look their module up
    _SOURCES[name] = str(path)
    try:
        if where.suffix == ".py":  # with its assertions and statements, also under -O and -OO
            code = compile(where.read_bytes(), where, "exec", dont_inherit=True, optimize=0)
            exec(code, vars(module))  # noqa: S102 - a user's file
        else:
            found.loader.exec_module(module)
    except BaseException:  # Ctrl-C, too, must leave no half of a module behind; it is raised again
        del sys.modules[name]
        raise
    return name


@contextmanager
def _first_on_path(folder: Path) -> Iterator[None]:
    """Let a module import what lies beside it, as ``python FILE`` does."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        if str(folder) in sys.path:
            sys.path.remove(str(folder))
