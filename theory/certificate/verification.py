"""What checking a certificate gives."""

from __future__ import annotations

from dataclasses import dataclass

from clusterproof.theory.certificate.record import Certificate


@dataclass(frozen=True, kw_only=True)
class Verification:
    """Outcome of checking a certificate.

    Attributes
    ----------
    valid
        Whether the statement is proved.
    condition
        The condition that fails, or that all hold.
    readable
        Whether it was a certificate at all.
    certificate
        What was read; None where it is unreadable.
    """

    valid: bool
    condition: str
    readable: bool = True
    certificate: Certificate | None = None

    def __bool__(self) -> bool:
        return self.valid
