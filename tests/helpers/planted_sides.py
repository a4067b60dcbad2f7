"""Claims with faults planted in what they rest on: they are tried until a line breaks."""

import dataclasses
from collections.abc import Iterator

from clusterproof import checker
from clusterproof.checker.claims.statement import Statement
from clusterproof.checker.claims.statistics import CLAIM_SIGNIFICANCE
from clusterproof.checker.search.state import LEAST, Tried
from clusterproof.checker.search.strategy import begin, explore


@dataclasses.dataclass
class Attempt(Tried):
    """What is tried until a line breaks, or any line if none is named."""

    line: str | None = None

    @property
    def broken(self) -> bool:
        """Whether the line breaks, or any if it is None: it is refuted, or chance or floats leave it inconclusive."""
        lines = [each for name, each in self.lines.items() if self.line in (None, name)]
        return any(each.found or each.doubted for each in lines)

    @property
    def tried(self) -> bool:
        """Whether some instance has the line, or each has some if it is None."""
        lines = [self.line] if self.line is not None else list(self.lines)
        return bool(lines) and all(self.lines[name].instances for name in lines)

    @property
    def is_open(self) -> bool:
        """Whether the search goes on."""
        return not self.broken

    def confirm(self, name: str, instances: int) -> None:
        """Confirm at once: faults are larger than what 30 instances would tell of rounding."""
        super().confirm(name, LEAST)


def attempt(
    statement: Statement,
    line: str | None,
    seed: int,
    significance: float,
    evaluations: int | None = None,
) -> Attempt:
    """Try a statement until a line breaks."""
    evaluator, wanted = begin(statement, seed, significance, evaluations)
    made = Attempt(evaluator, line=line)
    explore(made, wanted)
    return made


def attempts(claim_id: str, seed: int = 0, evaluations: int | None = None) -> Iterator[Attempt]:
    """Try the statements of a claim, or that of its line after the #."""
    claim, (_, _, line) = checker.find_claim(claim_id), claim_id.partition("#")
    of_name = [each for each in claim.statements[1:] if f"{line}: ".startswith(f"{each.name}: ")]
    share = CLAIM_SIGNIFICANCE / len(claim.statements)
    for each in claim.statements if not line else of_name or claim.statements[:1]:
        key = line.removeprefix(each.name).removeprefix(": ") if line else None
        yield attempt(each, key, seed, share, evaluations)


def is_broken(claim_id: str, seed: int = 0, evaluations: int | None = None) -> bool:
    """Return whether a claim, or its line after the #, breaks, so that it does not get the verdict of a true one."""
    return any(each.broken for each in attempts(claim_id, seed, evaluations))


def is_left_whole(claim_id: str, evaluations: int) -> bool:
    """Return whether a claim, or its line after the #, was tried and does not break."""
    return not any(each.broken or not each.tried for each in attempts(claim_id, 0, evaluations))
