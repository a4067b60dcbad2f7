"""The command ``verify``: check a certificate in exact arithmetic."""

from __future__ import annotations

from pathlib import Path

from clusterproof.commands.certify import describe
from clusterproof.commands.child_process import in_child
from clusterproof.theory import certificates


def verify(file: Path, /) -> int:
    """Check a certificate in exact arithmetic.

    Exit status: 0 if the certificate proves its claims, 1 if not, 2 if the file is not a certificate.

    A certificate holds the source of its claims, which is executed.

    Parameters
    ----------
    file
        File that `clusterproof certify --out` wrote.
    """
    document = certificates.read_certificate(file, argument="file")
    if document.source:
        in_child("file", str(file))
    outcome = certificates.verify(file)
    if not outcome.valid or outcome.document is None:
        print(f"invalid: {outcome.condition}")
        return 1
    print(f"valid: {outcome.condition}\n{describe(outcome.document)}")
    return 0
