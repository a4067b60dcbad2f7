"""Load claims from a user's file or module, and write their definitions."""

from __future__ import annotations

import difflib
from pathlib import Path

from clusterproof.checker.claims.claim import REGISTRY
from clusterproof.checker.claims.places import line_of
from clusterproof.checker.freeze.claims import write_at_loading
from clusterproof.common import InvalidArgument
from clusterproof.common.validation import error_text
from clusterproof.library import is_of_library
from clusterproof.user_files import RefusedImport, load_file, load_named


def load_claims(source: str | Path) -> list[str]:
    """Import, and thereby execute, a file or module that states claims.

    Parameters
    ----------
    source
        Path of a Python file, or dotted name of a module.

    Returns
    -------
    list of str
        Ids of the claims that the file or module itself states, in order. The list omits claims of other modules that
        the source imports, but ``check`` can check them. If such a module lies beside the file, the texts of its claims
        are written at the same time.

    Raises
    ------
    InvalidArgument
        If the source cannot be imported or states no claim. If the import fails, none of its claims is registered.
    """
    text = str(source)
    before = dict.copy(REGISTRY)
    name = str(load_module(source, "file"))
    # claims of this module, or of a module below it, but not of modules that it imports
    own = [claim.id for claim in dict.values(REGISTRY) if f"{claim.module}.".startswith(f"{name}.")]
    for claim in list(dict.values(REGISTRY)):
        is_beside = claim.module.partition(".")[0] == name.partition(".")[0]
        if claim.id in own or (is_beside and before.get(claim.id) is not claim):
            write_at_loading(claim)
    if not own:
        imported = [claim for claim in dict.keys(REGISTRY) if claim not in before]
        remedy = (
            f"name the file that states {imported[0]}" if imported else "decorate a function with @claim(...)"
        )
        raise InvalidArgument("file", text, "must state a claim", remedy)
    return own


def load_module(source: str | Path, argument: str = "module") -> str:
    """Import, and thereby execute, a user's file or module; return the name of the module in ``sys.modules``.

    Parameters
    ----------
    source
        Path of a Python file, or dotted name of a module.
    argument
        Name of the argument that contained the path or the dotted name, for error messages.

    Raises
    ------
    InvalidArgument
        If the source does not exist or cannot be imported. No claims are then registered.
    """
    text = str(source)
    path = Path(text)
    is_file = path.suffix == ".py" or path.is_file()
    if is_file and not path.exists():
        beside = sorted(map(str, path.parent.glob("*.py")))
        nearest = difflib.get_close_matches(str(path), beside)
        remedy = f"the nearest is {nearest[0]}" if nearest else "give the path of a file that exists"
        raise InvalidArgument(argument, text, "must be a file that exists", remedy)
    before = dict.copy(REGISTRY)
    try:
        module = load_file(path, again=True) if is_file else load_named(text)
        return module.__spec__.name if module.__spec__ else module.__name__  # a file may change its __name__
    except (Exception, SystemExit, GeneratorExit) as error:
        for name, claim in list(dict.items(REGISTRY)):
            if name not in before and not is_of_library(claim.module):
                dict.pop(REGISTRY, name)
        REGISTRY.update(before)
        line = line_of(error, str(path.resolve())) if is_file else None
        if isinstance(error, InvalidArgument):  # its own message says what is wrong
            place = error.place or (text if line is None else f"{text}, line {line}")
            raise InvalidArgument(
                error.argument, error.value, error.rule, error.remedy, error.others, place
            ) from error
        if isinstance(error, RefusedImport):  # Python itself does not refuse it
            rule = f"must be a file or module that can be imported ({error.rule})"
            raise InvalidArgument(argument, text, rule, error.remedy) from error
        where = "" if line is None else f", line {line}"
        raise InvalidArgument(
            argument,
            text,
            f"must be a file or module that can be imported ({type(error).__name__}: {error_text(error)}{where})",
            f"`python {text}` shows where"
            if is_file
            else "give the path of a file, or a module's dotted name",
        ) from error
