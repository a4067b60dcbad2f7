"""What every kind of certificate has in common as a file: JSON whose every number is a fraction in a string.

A file's numbers are strings in lowest terms of at most ``MAX_DIGITS`` digits and its length is limited, so checking
takes bounded time and memory. Names that are not expected, names given twice, numbers outside a string, and a statement
other than the one that the fields make are refused.

The SHA-256 over the content catches damage and careless edits: whatever is changed no longer fits the sum. It is no
signature. Whoever recomputes it faces the check of the proof, which is what a certificate rests on; a change that
survives both leaves a proof of the statement in the file.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from clusterproof.theory.certificate.strict_json import Unreadable, checksum, read_object


class Stated(Protocol):
    """A record that says what it proves."""

    @property
    def statement(self) -> str:
        """The sentence."""


C = TypeVar("C", bound=Stated)


class Format(ABC, Generic[C]):
    """One kind of certificate as a document, and how it is checked.

    Attributes
    ----------
    name
        What the document's ``format`` says.
    kind
        The record.
    arithmetic
        In which it is checked, for messages.
    max_bytes
        Longest document.
    fields
        Names of the document's other entries, in their order.
    """

    name: ClassVar[str]
    kind: ClassVar[type[Any]]
    arithmetic: ClassVar[str]
    max_bytes: ClassVar[int]
    fields: ClassVar[tuple[str, ...]]

    @abstractmethod
    def plain(self, certificate: C) -> dict[str, Any]:
        """Write the fields as JSON values whose numbers are strings."""

    @abstractmethod
    def read(self, fields: Mapping[str, Any]) -> C:
        """Read the fields; raises ``Unreadable`` or ``Inconsistent``."""

    @abstractmethod
    def failing(self, certificate: C) -> str | None:
        """Name the first condition of the proof that does not hold; None where the statement is proved."""

    def document(self, certificate: C) -> dict[str, Any]:
        """Write a certificate as a document with its statement and its sum."""
        content = self._content(certificate)
        return content | {"sha256": checksum(content)}

    def to_json(self, certificate: C) -> str:
        """Write a certificate as JSON text."""
        return json.dumps(self.document(certificate), indent=1) + "\n"

    def from_json(self, raw: object) -> tuple[C, str | None]:
        """Read a certificate from parsed JSON; it is not checked whether it proves anything.

        Returns
        -------
        tuple
            The certificate, and what shows that it is not as it was written: its statement or its sum; None where
            both fit.

        Raises
        ------
        Unreadable
            If it does not have the form of a certificate.
        Inconsistent
            If its parameters are out of range.
        """
        found = read_object(raw, "the document", ["format", "statement", *self.fields, "sha256"])
        if found["format"] != self.name:
            raise Unreadable(f"the format is not {self.name!r}")
        certificate = self.read(found)
        try:
            content = self._content(certificate)
        except (OverflowError, ValueError) as error:
            raise Unreadable("its numbers are beyond every float") from error
        if found["statement"] != content["statement"]:
            return certificate, "the statement is not the one that the fields make"
        if found["sha256"] != checksum(content):
            return certificate, "the SHA-256 is not that of the content: the file was changed"
        return certificate, None

    def _content(self, certificate: C) -> dict[str, Any]:
        """Everything but the sum, in the order of the file."""
        return {"format": self.name, "statement": certificate.statement, **self.plain(certificate)}
