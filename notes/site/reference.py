"""Pages of the reference: the public names of every folder from their docstrings, and the command line."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from types import ModuleType
from typing import Any

from docutils import nodes
from docutils.utils import unescape
from sphinx import addnodes
from sphinx.application import Sphinx

from notes.site.notation import written

IN_WORDS = ("command-line", "conformance", "fpfc-repaired", "your-own-theorem")
"""Pages whose formulas are in their text."""

PACKAGE = Path(__file__).parents[2] / "clusterproof"


def setup(app: Sphinx) -> dict[str, Any]:
    """Let docstrings be read as plain text where they hold mathematics, and be shown as print has it."""
    app.connect("autodoc-process-docstring", escape)
    app.connect("doctree-read", print_docstrings)
    return {"parallel_read_safe": True}


def public_modules() -> dict[str, ModuleType]:
    """Return the packages, and the modules with a stub file, that list their public names in ``__all__``."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.name == "__init__.py" or path.with_suffix(".pyi").exists():
            parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
            name = ".".join(parts).removesuffix(".__init__")
            module = importlib.import_module(name)
            if hasattr(module, "__all__"):
                found[name] = module
    return dict(sorted(found.items()))


def described_in(name: str, modules: Mapping[str, ModuleType]) -> dict[str, str]:
    """Return the module on whose page each public name of a module is described.

    A class or a function that several modules list is described once: by the one that shares most of the dotted name of
    the module that defines it.
    """
    homes = {}
    for public in modules[name].__all__:
        value = getattr(modules[name], public)
        defined = getattr(value, "__module__", name).split(".")
        homes[public] = max(
            (
                other
                for other, module in modules.items()
                if public in module.__all__ and getattr(module, public) is value
            ),
            key=lambda other: (_shared(defined, other.split(".")), len(other)),
        )
    return homes


def _shared(left: Sequence[str], right: Sequence[str]) -> int:
    """Return the number of leading components that two dotted names share."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False)))


def pages() -> dict[str, str]:
    """Return the source of every page of the reference by its name below ``reference/``."""
    modules = public_modules()
    found = {name: _page(name, modules) for name in modules}
    rows = "".join(f"| [{name}]({name}.md) | {_summary(module)} |\n" for name, module in modules.items())
    listed = "\n".join(modules)
    found["index"] = (
        "# Reference\n\nThe public names of each module, with their docstrings. "
        '<a href="../genindex.html">The index</a> lists all of them by their letters.\n\n'
        f"| module | contents |\n| --- | --- |\n{rows}\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"
    )
    return found


def _page(name: str, modules: Mapping[str, ModuleType]) -> str:
    """Write the page of a module: its docstring, a table of its public names, and what is described there."""
    rows, members = [], []
    for public, home in described_in(name, modules).items():
        value = getattr(modules[name], public)
        if isinstance(value, ModuleType):
            linked = f"[`{public}`]({value.__name__}.md)" if value.__name__ in modules else f"`{public}`"
        elif isinstance(value, Mapping):
            keys = ", ".join(f"`{key}`" for key in value) if len(value) < 60 else f"{len(value)} entries"
            rows.append(f"| `{public}` | by name: {keys} |\n")
            continue
        elif not _summary(value):
            rows.append(f"| `{public}` | an alias of types, for annotations |\n")
            continue
        else:
            linked = f"{{py:obj}}`{public} <{home}.{public}>`"
            if home == name:
                members.append(public)
        rows.append(f"| {linked} | {_summary(value)} |\n")
    described = f".. py:module:: {name}\n"
    if members:
        described = f".. automodule:: {name}\n   :members: {', '.join(members)}\n   :show-inheritance:\n"
        described += "   :member-order: bysource\n"
    return (
        f"# {name}\n\n```{{eval-rst}}\n.. automodule:: {name}\n   :no-members:\n   :no-index:\n```\n\n"
        f"| name | meaning |\n| --- | --- |\n{''.join(rows)}\n"
        f"```{{eval-rst}}\n{described}```\n"
    )


def _summary(value: Any) -> str:
    """Return the first line of a docstring for the cell of a table; empty for an alias of types, which has none."""
    text = inspect.getdoc(value) or ""
    if text == inspect.getdoc(type(value)):
        return ""
    parts = re.split(r"(``.+?``)", text.partition("\n")[0])
    return "".join(
        part[1:-1] if part.startswith("``") else re.sub(r"([|*_<$\\])", r"\\\1", part) for part in parts
    )


def command_line(text: str) -> str:
    """Write the page of the command line from the commands' help in Markdown."""
    text = re.sub(r"## Table of Contents\n+(?:\s*- .*\n)+", "", text)
    text = re.sub(r"(?m)^(clusterproof .*) -m notes\.site\b", r"\1", text)  # how the site itself is called
    text = re.sub(
        r"\[(`[^`]+`)\]\(#[^)]*/[^)]*\)", r"\1", text
    )  # names with a slash, such as of tables, have no anchor
    return re.sub(r"(?m)^# clusterproof$", "# Command line", text, count=1)


def report() -> str:
    """Write the page on what ``check --json`` writes, from the fields of a verdict."""
    return (
        "# What `check --json` writes\n\nAn object. `claims` is a list of verdicts, one a claim and, if a claim has "
        "several lines, one a line, whose `claim` is `paper/name#line`; `code` is a counterexample as Python, and "
        "`null` stands where a field has no meaning. `times` has the seconds of each claim, `sources` text and "
        "SHA-256 of the files that state claims, `versions` those of "
        "Python and of libraries, and `seed` the first seed.\n\n"
        "```{eval-rst}\n.. autoclass:: clusterproof.theory.Verdict\n   :no-index:\n\n"
        ".. autoclass:: clusterproof.theory.Line\n   :no-index:\n\n"
        ".. autoclass:: clusterproof.theory.Confidence\n   :no-index:\n```\n"
    )


def escape(_app: Any, what: str, _name: str, _object: Any, options: Any, lines: list[str]) -> None:
    """Escape what reStructuredText would read as markup outside of code: bars, stars, trailing underscores, ``T.``.

    What a module says of itself stands above the table of its page, and is left out where its members are described.
    """
    if what == "module" and options.get("members"):
        lines.clear()
    code = False
    for number, line in enumerate(lines):
        if line.strip() and not line.startswith(" "):
            code = False
        if not code:
            parts = re.split(r"(``.+?``)", line)
            lines[number] = "".join(part if part.startswith("``") else _plain(part) for part in parts)
        code = code or line.rstrip().endswith("::")


def print_docstrings(app: Any, doctree: nodes.document) -> None:
    """Write what is neither code nor a name as print has it; a field's two hyphens are a dash."""
    contents: list[Any] = list(doctree.findall(addnodes.desc_content))
    kinds: set[type] = {nodes.paragraph, nodes.inline}
    if app.env.docname in IN_WORDS:
        contents, kinds = [doctree], kinds | {nodes.strong}
    for content in contents:
        for holder in [one for one in content.findall(nodes.Element) if type(one) in kinds]:
            for text in [child for child in holder.children if isinstance(child, nodes.Text)]:
                said = unescape(text.astext()).replace(" -- ", " \N{EN DASH} ")
                holder.replace(text, written(said))


def _plain(text: str) -> str:
    """Escape the markup of a line without code."""
    return re.sub(
        r"(?<![*\\])\*(?!\*)(?=[^\s*]+)(?![^*\s]+(?: (?:or|of) [^*\s]+)*\*)|\||(?<=\w)_(?!\w)|(?<!\S)[A-Za-z]\.(?!\S)",
        lambda found: "\\" + found[0],
        text,
    )
