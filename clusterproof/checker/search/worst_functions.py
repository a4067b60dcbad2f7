"""Functions of a class that break a line, computed from a solver's worst case by rounding it to fractions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.checker.claims.class_members import mirrored
from clusterproof.checker.kernel.interpolation import Class, FunctionClass, SetClass
from clusterproof.checker.kernel.numbers import write
from clusterproof.checker.kernel.ranges import Instance
from clusterproof.checker.kernel.worlds import Form, Point
from clusterproof.checker.search.duals import Proof, proof_of, written
from clusterproof.checker.search.exact_algebra import eliminate
from clusterproof.checker.search.paths import Path, Terms
from clusterproof.checker.search.worst_ratio import Worst, worst_excess, worst_ratio

SHARES = tuple(Fraction(1, n) for n in (5, 10, 30, 100, 300, 1000, 10_000, 100_000))
"""Relative reductions of the constants of a class, with which the conditions of the class hold with a margin."""
DIGITS = (1, 2, 3, 4, 6, 8)
SMALL = 1e-7
"""Directions whose singular value is below this share of the largest singular value are omitted."""
LEAST = 1e-7
"""Smallest violation that counts, if the squared lengths and 1 are scaled to sum 1. Rounding can explain less."""
SLACK = Fraction(1, 10**6)
"""Relative increase of a bound if no multipliers prove the bound itself."""
CASES = 8
"""Number of functions to try for one entry of a line."""

Code = dict[str, Any]
"""A function of a class in the format of the evidence: start, solution, minimum, further points, triplets."""


@dataclass(frozen=True)
class AtSetting:
    """The worst case of a line at one setting of the other quantities.

    Attributes
    ----------
    setting
        Values of the other quantities.
    ratio
        Largest ratio of the measured side to the bound, computed by a solver. It is None if the ratio is unbounded or
        the solver fails.
    proofs
        Multipliers that prove the line, for each path and entry, or None unless all are found.
    raised
        Whether multipliers prove the line only with the bound multiplied by 1 + 1e-6.
    exceeded
        Largest violation, computed by a solver, if the squared lengths and 1 are scaled to sum 1. It is None if
        rounding errors may explain the violation.
    """

    setting: Instance
    ratio: float | None
    proofs: list[list[Proof]] | None
    raised: bool
    exceeded: float | None


@dataclass(frozen=True)
class WorstCase:
    """The worst cases of one line at all settings.

    Attributes
    ----------
    at
        Worst case at each setting to which the line applies.
    complete
        Whether ``at`` contains all settings in the claim's ranges.
    refused
        Why the function cannot be evaluated on symbols, or an empty string if it can.
    not_shown
        The part of the proof for all values that was not found. The string is empty if the proof was found, or if no
        search took place.
    family
        Evidence of the rule *family*, which proves the line for all values of the other quantities, or None. If it is
        not None, ``at`` is empty.
    """

    at: tuple[AtSetting, ...] = ()
    complete: bool = False
    refused: str = ""
    not_shown: str = ""
    family: Mapping[str, Any] | None = None

    @property
    def ratio(self) -> float | None:
        """Largest ratio of the measured side to the bound, computed by a solver, or None if unknown."""
        return max((each.ratio for each in self.at if each.ratio is not None), default=None)

    @property
    def exceeded(self) -> float | None:
        """Largest violation, computed by a solver, or None if rounding errors may explain it."""
        return max((each.exceeded for each in self.at if each.exceeded is not None), default=None)

    @property
    def exceeding(self) -> int:
        """Number of settings at which a solver finds a violation."""
        return sum(each.exceeded is not None for each in self.at)

    @property
    def certified(self) -> int:
        """Number of settings at which multipliers prove the line."""
        return sum(each.proofs is not None for each in self.at)

    @property
    def raised(self) -> int:
        """Number of settings at which multipliers prove the line only with the bound multiplied by 1 + 1e-6."""
        return sum(each.raised and each.proofs is None for each in self.at)

    @property
    def multipliers(self) -> dict[str, Any] | None:
        """The fields of the evidence, or None if some multipliers are missing."""
        if self.family is not None:
            return dict(self.family)
        settings = [written(each.setting, each.proofs) for each in self.at if each.proofs is not None]
        if not settings or not self.complete or len(settings) < len(self.at):
            return None
        return {"rule": "dual", "settings": settings}


def at_setting(setting: Instance, paths: Sequence[Sequence[Path]]) -> AtSetting:
    """Compute the worst case of a line at one setting, over all paths and entries."""
    ratios: list[float | None] = []
    proofs: list[list[Proof]] | None = []
    raised, exceeded = True, None
    for entries in paths:
        of_path = []
        for path in entries:
            worst = worst_ratio(path)
            ratios.append(None if worst is None else worst.value)
            above = worst is not None and worst.value > 1 + float(SLACK)
            if not above and (proof := proof_of(path)) is not None:
                of_path.append(proof)
                continue
            proofs = None
            excess = worst_excess(path)
            if above or excess is None or excess.value > LEAST:
                raised, exceeded = False, max(exceeded or 0.0, 0.0 if excess is None else excess.value)
            else:
                raised = raised and proof_of(path, SLACK) is not None
        if proofs is not None:
            proofs.append(of_path)
    ratio = None if None in ratios else max((each for each in ratios if each is not None), default=None)
    return AtSetting(setting, ratio, proofs, raised, exceeded)


def worst_functions(paths: Sequence[Sequence[Path]]) -> Iterator[Code]:
    """Yield functions that meet every condition of a path and break one of its entries, simple functions first."""
    for path in itertools.chain(*paths):
        yield from itertools.islice(_codes(path), CASES)


def _codes(path: Path) -> Iterator[Code]:
    definitions = [oracle.definition for oracle in path.trace.oracles]
    if any(definition.only_necessary for definition in definitions):
        return
    for share in SHARES:
        worst = worst_excess(path.smaller([_smaller(each, share) for each in definitions]))
        if worst is None or worst.value < LEAST:
            continue
        for digits in DIGITS:
            for shrunk in (Fraction(1), 1 - Fraction(1, 10**digits)):
                if (known := _Rounded.of(path, worst, digits, shrunk)) is not None and known.breaks(path):
                    yield known.code(path)


def _smaller(definition: Class, share: Fraction) -> Class:
    """Return the class with stricter constants; functions of the stricter class meet the conditions with a margin."""
    less = 1 - share
    if isinstance(definition, FunctionClass):
        top, mu = definition.smoothness, definition.strong_convexity
        gap = share if top is None else share * (top - mu)
        return replace(
            definition,
            smoothness=None if top is None else top - gap / 3 if definition.convex else top * less,
            strong_convexity=mu + gap / 3 if definition.convex and definition.lipschitz is None else mu,
            lipschitz=None if definition.lipschitz is None else definition.lipschitz * less,
        )
    if isinstance(definition, SetClass):
        return replace(
            definition, diameter=None if definition.diameter is None else definition.diameter * less
        )
    return replace(
        definition,
        strong_monotonicity=definition.strong_monotonicity * (1 + share),
        cocoercivity=None if definition.cocoercivity is None else definition.cocoercivity * (1 + share),
        lipschitz=None if definition.lipschitz is None else definition.lipschitz * less,
    )


@dataclass(frozen=True)
class _Rounded:
    """Coordinates of the free vectors of a trace, and function values, rounded to fractions.

    Attributes
    ----------
    dimension
        Dimension of the space of the vectors.
    vectors, values
        Vectors and function values, indexed by number; all others are 0.
    """

    dimension: int
    vectors: Mapping[int, Sequence[Fraction]]
    values: Mapping[int, Fraction]

    @classmethod
    def of(cls, path: Path, worst: Worst, digits: int, shrunk: Fraction) -> _Rounded | None:
        """Round a worst case to fractions; return None if all of its vectors become 0."""
        forms = [*path.slacks, *(form for name, form in path.nonnegative.items() if name != "1")]
        has_constant = any(() in form for form in (*forms, *path.zero.values()))
        scale = worst.values[-1] if has_constant else np.trace(worst.gram)
        if scale < LEAST:
            return None
        gram = worst.gram / scale
        if path.trace.any_number:
            factor = _of_many(gram, np.array(list(worst.coordinates.vectors)) % 2)
        else:
            factor = _factor_of(gram)
        vectors = {
            v: [_fraction(entry, digits) * shrunk for entry in factor[row]]
            for v, row in worst.coordinates.vectors.items()
        }
        for v, row in eliminate([dict(point) for point in path.vanishing]).items():  # points that must be 0
            others = [[-share * entry for entry in vectors[k]] for k, share in row.items()]
            vectors[v] = [sum(column, Fraction(0)) for column in zip(*others, strict=True)] or [
                Fraction(0)
            ] * factor.shape[1]
        values = {
            key[0]: _fraction(worst.values[place] / scale, 2 * digits) * shrunk**2
            for key, place in worst.coordinates.linear.items()
            if key
        }
        return cls(factor.shape[1], vectors, values)

    def number(self, terms: Terms) -> Fraction:
        """Evaluate a form."""
        total = Fraction(0)
        for key, factor in terms.items():
            if len(key) == 2:
                pair = (self.vectors.get(v, ()) for v in key)
                total += factor * sum((a * b for a, b in zip(*pair, strict=False)), Fraction(0))
            else:
                total += factor * (self.values.get(key[0], Fraction(0)) if key else 1)
        return total

    def point(self, point: Point) -> list[Any]:
        """Return the coordinates of a point in the format of the evidence."""
        total = [Fraction(0)] * self.dimension
        for v, factor in point.terms.items():
            for place, entry in enumerate(self.vectors.get(v, ())):
                total[place] += factor * entry
        return list(map(write, total))

    def breaks(self, path: Path) -> bool:
        """Return whether all conditions hold while the entry is false."""
        return (
            all(self.number(slack) < 0 for slack in path.slacks)
            and all(self.number(form) >= 0 for form in path.nonnegative.values())
            and all(self.number(form) == 0 for form in path.zero.values())
        )

    def code(self, path: Path) -> Code:
        """Return every point, gradient and value of the trace in the format of the evidence."""
        trace = path.trace

        def value(number: Any) -> Any:
            return write(self.number(number.terms) if type(number) is Form else Fraction(number))

        return {
            "start": self.point(trace.start),
            "solution": None if trace.solution is None else self.point(trace.solution),
            "minimum": value(trace.minimum),
            "further": [self.point(point) for point in trace.further],
            "triplets": mirrored(
                trace.groups,
                [
                    [[self.point(x), self.point(g), value(f)] for x, g, f in oracle.triplets]
                    for oracle in trace.oracles
                ],
            ),
        }


def _factor_of(gram: np.ndarray) -> np.ndarray:
    """Return vectors (n, d) with the given inner products (n, n); the first vectors have few nonzero coordinates."""
    sizes, directions = np.linalg.eigh(gram)
    keep = sizes > SMALL * sizes.max(initial=0.0)
    factor = np.linalg.qr((directions[:, keep] * np.sqrt(sizes[keep])).T)[1].T
    return factor * np.where(np.diag(factor) < 0, -1.0, 1.0)


def _of_many(gram: np.ndarray, odd: np.ndarray) -> np.ndarray:
    """Return coordinates: vectors that all functions share use even indices, and vectors with mean 0 use odd indices.

    ``odd`` (n,) is 1 for vectors whose mean over the functions is 0. No condition contains inner products between the
    two kinds of vectors.
    """
    parts = {kind: np.flatnonzero(odd == kind) for kind in (0, 1) if (odd == kind).any()}
    factors = {kind: _factor_of(gram[np.ix_(rows, rows)]) for kind, rows in parts.items()}
    found = np.zeros((len(gram), 2 * max((factor.shape[1] for factor in factors.values()), default=0)))
    for kind, factor in factors.items():
        found[np.ix_(parts[kind], np.arange(factor.shape[1]) * 2 + kind)] = factor
    return found


def _fraction(value: float, digits: int) -> Fraction:
    return Fraction(str(round(float(value), digits)))
