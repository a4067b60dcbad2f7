"""Certificates as documents: the source of claims in the kernel's language, and the evidence that it replays.

A document is checked without a solver. Nobody who wrote it is trusted: the kernel reads the text of the source again,
and replays each record. Numbers of a rate or a bound stand in the source as fractions,
so that the claims say all that is proved.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, Protocol

import msgspec

import clusterproof.theorem
from clusterproof.checker import kernel
from clusterproof.checker.claims.claim import REGISTRY, Claim, find_claim
from clusterproof.checker.claims.load import load_claims
from clusterproof.checker.freeze import freeze
from clusterproof.common import InvalidArgument
from clusterproof.common.atomic import write_whole
from clusterproof.common.calls import checked
from clusterproof.files import read_file, unique_names
from clusterproof.user_files import file_of, write_sources

MAX_BYTES = 2**22
IMPORTED = frozenset({"__future__", "clusterproof", "collections", "dataclasses", "fractions", "typing"})
"""Modules, and those below them, that the source of a certificate may import, beside files that it brings along."""
CALLED = frozenset({*dir(clusterproof.theorem), "Fraction", "dataclass", "line", "step"})
"""Functions that it may call outside of its own functions."""
FUEL = 40 * kernel.FUEL
"""Steps that the replay of one record may take: a round of many local steps has many conditions."""


class Unreadable(ValueError):
    """A document that is not a certificate; the message states why."""


@dataclass(frozen=True)
class NoCertificate:
    """Outcome of a search for a proof that found none; its truth value is false.

    Attributes
    ----------
    reason
        One sentence. It states that the method diverges only if it names the function.
    """

    reason: str

    def __bool__(self) -> bool:
        return False


@dataclass(frozen=True)
class Document:
    """Claims, and what the kernel replays of them.

    Attributes
    ----------
    source
        Text of the file that states the claims; empty for a claim of the catalogue.
    evidence
        A record for each line, with its ``claim``.
    beside
        Texts of the files beside the source that it imports, by relative path.
    """

    source: str
    evidence: list[dict[str, Any]]
    beside: dict[str, str] = field(default_factory=dict)

    def failures(self) -> Iterator[str]:
        """Yield why it does not prove its claims, in exact arithmetic and without a solver; the source is executed."""
        try:
            with stated(self.source, self.beside) as claims:
                found = claims or [find_claim(str(each.get("claim"))) for each in self.evidence]
                yield from _failures(found, self.evidence)
        except (InvalidArgument, kernel.Refused, ValueError) as error:
            yield f"the claims cannot be read: {error}"


def _failures(claims: Sequence[Claim[..., Any]], evidence: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not claims:
        yield "there is no evidence"
    for claim in dict.fromkeys(claims):
        frozen = freeze(claim)
        if frozen.text is None:
            yield f"{claim.id}: {next(iter(frozen.outside.values()))}"
            continue
        stated = kernel.read(frozen.text)
        for line in stated.statements[""].lines:
            why = "there is no evidence"
            for each in evidence:
                if (each.get("claim"), each.get("statement"), each.get("line")) == (claim.id, "", line):
                    why = _why_not(stated, {name: value for name, value in each.items() if name != "claim"})
            if why:
                yield f"{claim.id}{f'#{line}' if line else ''}: {why}"


def _why_not(stated: kernel.Claim, record: dict[str, Any]) -> str:
    """Return why a record does not certify its line; empty if it does."""
    try:
        _, word = kernel.show(stated, record, fuel=FUEL)
    except kernel.Refused as refused:
        return str(refused)
    return "" if word is kernel.Word.CERTIFIED else f"it is {word}"


@dataclass(frozen=True, kw_only=True)
class Verification:
    """Outcome of checking a certificate; true if its claims are proved.

    Attributes
    ----------
    valid
        Whether they are.
    condition
        The condition that fails, or that all hold.
    readable
        Whether the document has the form of a certificate.
    document
        What was read; None if it is unreadable.
    """

    valid: bool
    condition: str
    readable: bool = True
    document: Document | None = field(default=None, repr=False)

    def __bool__(self) -> bool:
        return self.valid


class Proved(Protocol):
    """What ``certify`` returns: a document, and the sentence that it begins with."""

    @property
    def document(self) -> Document:
        """Claims and evidence."""

    @property
    def statement(self) -> str:
        """The sentence that is proved."""


AnyDocument = Document | Proved | bytes | str | Mapping[str, Any] | os.PathLike[str]


@checked
def verify(document: AnyDocument) -> Verification:
    """Decide in exact arithmetic whether a certificate proves its claims.

    The source in a certificate is executed if it only states claims.

    Parameters
    ----------
    document
        What ``certify`` returns, its JSON as text, bytes or a mapping, or the ``pathlib.Path`` of its file.

    Returns
    -------
    Verification
        No content of a document raises an exception.
    """
    statement = str(getattr(document, "statement", ""))
    content: Any = getattr(document, "document", document)
    try:
        found = from_json(_text(content))
    except Unreadable as error:
        return Verification(valid=False, condition=f"unreadable: {error}", readable=False)
    failure = next(found.failures(), None)
    if statement not in found.source:
        failure = "the claims are not those of the certificate's statement"
    held = "every condition holds in exact arithmetic"
    return Verification(valid=failure is None, condition=failure or held, document=found)


@contextmanager
def stated(source: str, beside: Mapping[str, str] | None = None) -> Iterator[list[Claim[..., Any]]]:
    """State the claims of a source, instead of those of files that were loaded; yield them. None of an empty source.

    Raises
    ------
    InvalidArgument
        If it states none, does more than that, or executing it raises an error.
    """
    if not source:
        yield []
        return
    own = {Path(name).parts[0].removesuffix(".py") for name in beside or {}}
    for text in (source, *(beside or {}).values()):
        _require_statements(text, IMPORTED | own)
    before = dict(REGISTRY)
    with tempfile.TemporaryDirectory() as folder:
        try:
            for name in [name for name, claim in before.items() if file_of(claim.module) is not None]:
                del REGISTRY[name]
            name = f"claims_{hashlib.sha256(source.encode()).hexdigest()[:8]}.py"
            names = load_claims(write_sources(Path(folder), {name: source, **(beside or {})}))
            yield [find_claim(each) for each in names]
        finally:
            REGISTRY.clear()
            REGISTRY.update(before)


def _require_statements(text: str, imported: Set[str]) -> None:
    """Require that importing a source defines names and states claims: it may be somebody else's.

    Raises
    ------
    InvalidArgument
        If it imports other modules, or calls anything but the words of claims outside of its functions.
    """
    remedy = "read it, and check it as a file of claims if you trust it"

    def refuse(node: ast.AST, why: str) -> NoReturn:
        rule = f"must only state claims, and line {getattr(node, 'lineno', 1)} {why}"
        raise InvalidArgument("source", "the certificate's", rule, remedy)

    def look(node: ast.AST) -> None:
        if isinstance(node, ast.FunctionDef):  # its body is not executed
            for part in (*node.decorator_list, node.args, *filter(None, [node.returns])):
                look(part)
            return
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
            if (module or "").partition(".")[0] not in imported:
                refuse(node, f"imports {module}")
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] not in CALLED:
            refuse(node, f"calls {ast.unparse(node.func)}")
        if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            refuse(node, f"reads {ast.unparse(node)}")
        for child in ast.iter_child_nodes(node):
            look(child)

    try:
        look(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError) as error:
        raise InvalidArgument("source", "the certificate's", f"must be Python ({error})", remedy) from error


def to_json(document: Document) -> str:
    """Return a document as JSON text."""
    return json.dumps(msgspec.to_builtins(document), indent=1) + "\n"


def from_json(text: bytes | str) -> Document:
    """Read a document from JSON text, without checking its proof.

    Raises
    ------
    Unreadable
        If it does not have the form of a certificate.
    """
    if len(text) > MAX_BYTES:
        raise Unreadable(f"longer than {MAX_BYTES} bytes")
    try:
        raw = json.loads(text, object_pairs_hook=unique_names)
        found = msgspec.convert(raw, Document)
        if unknown := raw.keys() - vars(found).keys():
            raise Unreadable(f"has a field {min(unknown)}, which a certificate does not have")
    except (ValueError, TypeError, RecursionError, AttributeError) as error:
        raise Unreadable(f"{type(error).__name__}: {error}"[:200]) from error
    return found


def write_certificate(document: Document, path: str | os.PathLike[str], *, argument: str = "path") -> None:
    """Write a document to a file, atomically.

    Raises
    ------
    InvalidArgument
        If it cannot be written.
    """
    write_whole(argument, Path(path), to_json(document).encode())


def read_certificate(path: str | os.PathLike[str], *, argument: str = "path") -> Document:
    """Read a document from a file; ``verify`` checks it.

    Raises
    ------
    InvalidArgument
        If the file holds no certificate.
    """
    try:
        return from_json(_text(Path(path)))
    except Unreadable as error:
        rule = f"must be a certificate ({error})"
        raise InvalidArgument(
            argument, os.fspath(path), rule, "make one with `clusterproof certify`"
        ) from error


def _text(document: Document | bytes | str | Mapping[str, Any] | os.PathLike[str]) -> bytes | str:
    if isinstance(document, bytes | str):
        return document
    try:
        if isinstance(document, Mapping):
            return json.dumps(dict(document))
        if isinstance(document, Document):
            return to_json(document)
        return read_file(Path(document), MAX_BYTES)
    except Exception as error:  # a record may hold anything
        raise Unreadable(f"cannot be read ({getattr(error, 'strerror', None) or error})") from error
