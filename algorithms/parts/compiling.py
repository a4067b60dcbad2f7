"""Loops that numba compiles, where it is installed; it is imported with the first of them that is needed."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from inspect import isfunction
from typing import Any


def can_compile() -> bool:
    """Whether numba, of the extra ``fast``, is installed."""
    return find_spec("numba") is not None


@cache
def compiled(module: str) -> Any:
    """Compile all functions of a module, at their first calls, and give the module; machine code is kept on disk.

    The functions are plain loops over numpy arrays, of this module or of others of the kind. They may take sums in
    any order, so that several numbers are added at once; they let other threads run; nothing is assumed finite.

    Parameters
    ----------
    module
        Dotted name.

    Raises
    ------
    ImportError
        If numba is not installed.
    """
    import numba

    compile_one = numba.njit(
        cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"}
    )
    loops = import_module(module)
    for name, value in list(vars(loops).items()):
        if isfunction(value):
            # functions find each other by the module's names, which are the compiled ones from now on
            own = value.__module__ == module
            setattr(loops, name, compile_one(value) if own else getattr(compiled(value.__module__), name))
    return loops
