"""A line that the kernel decides, and the line's files in the referee's folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from clusterproof.checker.claims.claim import Claim
from clusterproof.checker.claims.kind import Kind


@dataclass(frozen=True)
class Decided:
    """A line, and evidence for it that the kernel accepts.

    Attributes
    ----------
    name
        ``paper/name``; for one of several lines, ``paper/name#line``.
    claim, text, record
        The claim, its text, and the evidence.
    word
        The verdict that the evidence supports.
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
        The line and its evidence.
    folder
        Name of the line's own folder, and of the Rocq file in this folder.
    proof
        Text of the Rocq file, or an empty string if there is none.
    why
        The reason why there is no Rocq file.
    """

    of: Decided
    folder: str
    proof: str = ""
    why: str = ""
