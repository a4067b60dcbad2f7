"""A line that the kernel decides, and what became of it in the referee's folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from clusterproof.checker.claims.claim import Claim
from clusterproof.checker.claims.kind import Kind


@dataclass(frozen=True)
class Decided:
    """A record that the kernel accepts.

    Attributes
    ----------
    name
        ``paper/name``, of several lines ``paper/name#line``.
    claim, text, record
        What it is of, the claim's text, and the record.
    word
        That it supports.
    """

    name: str
    claim: Claim[..., Any]
    text: str
    record: dict[str, Any]
    word: Kind


@dataclass(frozen=True)
class Exported:
    """A line in the referee's folder.

    Attributes
    ----------
    of
        The line.
    folder
        Name of its own folder, and of the file for Rocq there.
    proof
        The file for Rocq; empty if there is none.
    why
        Why there is none.
    """

    of: Decided
    folder: str
    proof: str = ""
    why: str = ""
