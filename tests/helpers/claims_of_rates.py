"""What the kernel says of the claims that state a rate."""

from clusterproof.checker import Kind
from clusterproof.theory.rates.outcome import ClaimsFile


def why_not(file: ClaimsFile) -> str:
    """Return why the kernel does not certify all claims; empty if it does."""
    return "; ".join(
        f"{each.claim} is {each.verdict}: {each.reason}"
        for each in file.verdicts()
        if each.verdict is not Kind.CERTIFIED
    )
