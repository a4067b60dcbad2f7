"""The outcome of a search for a proof that found none."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class NoCertificate:
    """Outcome of ``certify`` if nothing was proved; its truth value is false.

    Attributes
    ----------
    reason
        One sentence. It states that the method diverges only if it names the function.
    """

    reason: str

    def __bool__(self) -> bool:
        return False
