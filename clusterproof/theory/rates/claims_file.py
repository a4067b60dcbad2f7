"""Claims that state a rate, as a file in the kernel's language, and the records by which the kernel certifies them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterproof.checker import kernel
from clusterproof.checker.claims.claim import REGISTRY, Claim, find_claim
from clusterproof.checker.claims.kind import Kind
from clusterproof.checker.claims.load import load_claims
from clusterproof.checker.freeze import freeze
from clusterproof.checker.report.judged import judged
from clusterproof.checker.report.verdict import Line, Verdict, main_of, version
from clusterproof.user_files import file_of

NAME = "rate"
"""The name of the file, and what its claims have before the slash."""


@dataclass(frozen=True)
class ClaimsFile:
    """Claims in the kernel's language, and what shows them.

    Attributes
    ----------
    source
        Text of the Python file that states the claims, ``rate/...``.
    evidence
        A record of every line, with its ``claim``.
    """

    source: str
    evidence: list[dict[str, Any]]

    def verdicts(self) -> list[Verdict]:
        """Return what the kernel says of every claim: *certified* if it accepts the records of all lines."""
        with stated(self.source) as claims:
            return [self._verdict(claim) for claim in claims]

    def _verdict(self, claim: Claim[..., Any]) -> Verdict:
        own = [each for each in self.evidence if each["claim"] == claim.id]
        # the source is ours: that the text says what its functions do is compared where the file is checked
        text = freeze(claim, {"": tuple(each["line"] for each in own)}, compared=False).text or ""
        lines = [
            Line(
                name=kernel.printed(record["statement"], record["line"]),
                verdict=Kind.CERTIFIED,  # which ``judged`` takes back where the kernel does not say it
                reason="proved by the numbers that were found with the rate",
                exhausted=True,
                proof=record["rule"],
                evidence={name: value for name, value in record.items() if name != "claim"},
            )
            for record in own
        ]
        return judged(
            Verdict(
                **vars(main_of(lines)),
                claim=claim.id,
                paper=claim.paper,
                label=claim.label,
                seed=0,
                lines=tuple(lines),
                version=version(),
                text=text,
            )
        )


@contextmanager
def stated(source: str) -> Iterator[list[Claim[..., Any]]]:
    """State the claims of a source in place of the claims of users' files, and yield them."""
    before = dict(REGISTRY)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{NAME}.py"
        path.write_text(source, encoding="utf-8")
        try:
            for name in [name for name, claim in before.items() if file_of(claim.module) is not None]:
                del REGISTRY[name]
            yield [find_claim(name) for name in load_claims(path)]
        finally:
            REGISTRY.clear()
            REGISTRY.update(before)
