"""Public names that are imported on first use, as listed in the stub file beside a module."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

import lazy_loader


def require_own_name(package: str) -> None:
    """Refuse to load a package a second time, through the link to it at the root of the repository.

    Raises
    ------
    ImportError
        If the package is not below ``clusterproof``.
    """
    if package.partition(".")[0] != "clusterproof":
        raise ImportError(f"{package} is a link for people who browse: write import clusterproof.{package}")


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a module.

    Parameters
    ----------
    package
        Package to which the imports in the stub file are relative.
    file
        ``__file__`` of the module.

    Raises
    ------
    ImportError
        If there is no stub file, as in a zip file or after an installer has removed ``*.pyi``.
    """
    require_own_name(package)
    stub = Path(file).with_suffix(".pyi")
    if not stub.is_file():
        raise ImportError(
            f"{stub} is missing, which lists the public names; install Clusterproof into a folder, with its *.pyi files"
        )
    get, listed, public = lazy_loader.attach_stub(package, file)

    def answering(name: str) -> Any:
        """Import a public name; a function answers a call that does not fit its parameters with a suggestion."""
        value = get(name)
        if isinstance(value, FunctionType | MethodType) and value.__module__.startswith(
            ("clusterproof.checker.", "clusterproof.theory.")
        ):
            from clusterproof.common.calls import (
                exposed,
            )  # imported here, so that the command line starts without it

            value = vars(sys.modules[package])[name] = exposed(value)
        return value

    return answering, listed, public
