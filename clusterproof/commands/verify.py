"""The command ``verify``: check a certificate in exact arithmetic."""

from __future__ import annotations

from pathlib import Path

from clusterproof.algorithms import InvalidArgument
from clusterproof.commands.certify import describe
from clusterproof.commands.child_process import in_child
from clusterproof.theory import certificates


def verify(file: Path, /) -> int:
    """Check a certificate in exact arithmetic.

    Exit status: 0 if the certificate proves its statement, 1 if not, 2 if the file is not a certificate.

    A certificate of a claim in a user's file holds that file, which is executed.

    Parameters
    ----------
    file
        File that `clusterproof certify --out` wrote.
    """
    of_claim = certificates.read_if_of_claim(file)
    if of_claim is not None:
        if of_claim.source and (status := in_child("file", str(file))) is not None:
            return status
        failure = certificates.failing_condition(of_claim)
        where = f"{of_claim.claim}: {of_claim.statement}"
        print(
            f"valid: every condition holds in exact arithmetic\n{where}"
            if failure is None
            else f"invalid: {failure}"
        )
        return int(failure is not None)
    outcome = certificates.verify(file)
    if not outcome.readable:
        rule = f"must be a certificate ({outcome.condition.removeprefix('unreadable: ')})"
        raise InvalidArgument("file", str(file), rule, "make one with `clusterproof certify`")
    if not outcome.valid or outcome.certificate is None:
        print(f"invalid: {outcome.condition}")
        return 1
    print(f"valid: {outcome.condition}\n{describe(outcome.certificate)}")
    return 0
