"""Verdicts on scaled copies and on families: of statements that depend on the units, or hold up to a constant."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from typing import Any

from clusterproof.algorithms import InvalidArgument
from clusterproof.theory.checker import sentences
from clusterproof.theory.checker.claim import Context
from clusterproof.theory.checker.claim_parts import Parts
from clusterproof.theory.checker.conclusions import judge
from clusterproof.theory.checker.evaluation import Evaluation, Trial
from clusterproof.theory.checker.hidden_constants import Growth, growth
from clusterproof.theory.checker.instance_words import quantities
from clusterproof.theory.checker.sides import Outside
from clusterproof.theory.checker.statement import Statement
from clusterproof.theory.checker.trial import while_quick
from clusterproof.theory.checker.unit_check import Mismatch, candidates, compare, conclude
from clusterproof.theory.checker.units import Scaling, image
from clusterproof.theory.checker.verdict import Finding, Kind

STEP = 4
SCALINGS = [
    Scaling(Fraction(STEP) ** value, Fraction(STEP) ** length)
    for value, length in ((1, 0), (-1, 0), (0, 1), (0, -1))
]
COPIED, POWERS, MEMBERS = 4, (1, 2, 4, 8, 16, 32), 6
"""Instances and powers of these scalings that are tried, and copies along which the ratio of the sides must not
grow."""
DECADES, REACH, FAR = 20, 10**4, 10**16
"""Powers of ten by which growth is followed beyond the last value while that is quick; factor that all values must span
where the constant 1 is too small at the last of them, and where it is not."""
RISE = 1.01
"""Factor by which a ratio grows up to the last value of a family, from which a verdict says that it still grows."""
BASES = 3
"""Tightest instances, and as many of the first, at which families start."""


@dataclass(frozen=True)
class CopyCheck:
    """Evaluates instances, scaled copies and families of one statement of a claim."""

    claim: Parts
    part: Statement
    context: Context

    def evaluate(self, one: dict[str, Any], scaling: Scaling | None = None) -> Evaluation:
        """Evaluate an instance, or its scaled copy."""
        conclusions = conclude(self.part, self.context, one, scaling)
        moved = one if scaling is None else image(self.part.units or {}, one, scaling)
        return Evaluation(moved, conclusions, judge(conclusions, self.context.significance, moved))

    def on_units(self, mismatch: Mismatch) -> Finding:
        """Decide on a statement whose sides have different units.

        It is violated where an admissible instance or a scaled copy of one breaks it, for every hidden constant where
        the ratio of the sides grows along scaled copies; otherwise it is ill-posed.
        """
        for one in (mismatch.instance, *islice(candidates(self.part, self.context), COPIED)):
            if (found := self._broken(one)) is not None:
                return replace(found, reason=f"units: {mismatch.sentence}; {found.reason}")
            for scaling in SCALINGS:
                found = self._along_copies(one, scaling)
                for power in POWERS:
                    found = found or self._broken(one, scaling**power)
                if found is not None:
                    return replace(found, reason=f"units: {mismatch.sentence}; {found.reason}")
        return self._ill_posed(mismatch)

    def on_families(self, trial: Trial) -> Finding | str:
        """Decide on a statement up to a constant that a family violates; name the least constant where none does."""
        ranked = sorted(trial.evaluated, key=lambda each: -each[0])[:BASES] + trial.evaluated[:BASES]
        worst, rising = trial.tightest, dict[str, str]()
        assert worst is not None
        for name in self.part.families:
            for _, one in ranked:
                members = self._members(one, name)
                if (found := self._along_family(one, members, name)) is not None:
                    return found
                worst = max([worst, *members.values()], key=lambda each: each.used)
                if words := _rise(members):
                    rising.setdefault(name, f"; it still grows along {name}, {words}")
        lower = any(getattr(each, "lower", False) for each in worst.conclusions.values())
        constant = 1 / worst.used if lower and worst.used else worst.used
        along = f" and along {', '.join(self.part.families)}" if self.part.families else ""
        at = quantities(self.part.space.encode(worst.instance))
        word = "largest" if lower else "least"
        where = f"on {trial.instances} instances{along}"
        least = f"{word} constant {where}: {constant:.4g}, at {at}"
        if worst.used == math.inf:
            least = f"no constant was found {where}: the ratio of the sides is beyond 1.8e308, at {at}"
        return f"{least}; this is no theorem{''.join(rising.values())}"

    def replay(self, one: dict[str, Any], code: Mapping[str, Any]) -> Finding:
        """Evaluate the scaled copy, or the family, of a written counterexample; InvalidArgument if there is none."""
        name, remedy = next(iter(code)), "take it from a report"
        if name == "scaling" and self.part.units is None:
            raise InvalidArgument(
                "counterexample.scaling", code[name], "must be left out: no unit is declared", remedy
            )
        if name == "family" and code[name] not in self.part.families:
            rule = f"must be a family of the claim; it has {', '.join(self.part.families) or 'none'}"
            raise InvalidArgument("counterexample.family", code[name], rule, remedy)
        if name == "family":
            members = self._members(one, code[name])
            found, last = self._along_family(one, members, code[name]), list(members.values())[-1]
        else:
            scaling = Scaling.decode(code[name])
            found = self._along_copies(one, scaling) or self._broken(one, scaling)
            last = self.evaluate(one, scaling)
            copies = {scaling: last.conclusions}
            if found is None and (mismatch := compare(self.part, self.context, one, copies)) is not None:
                found = self._ill_posed(mismatch)
        return found or self._finding(one, last, code, "holds", Kind.CONSISTENT)

    def _members(self, one: dict[str, Any], name: str) -> dict[Any, Evaluation]:
        """Evaluate the members of a family that meet the hypotheses, by the value of its quantity."""
        members = {}
        for value in self.part.families[name]:
            allowed, moved = self.part.space.ranges[name], one | {name: value}
            if not allowed.holds(value, moved):
                rule = f"must be {allowed.describe()}"
                raise InvalidArgument(f"families[{name!r}]", value, rule, "extend the range, upwards=True")
            with suppress(Outside, ArithmeticError):
                members[value] = self.evaluate(moved)
        return members

    def _along_family(
        self, one: dict[str, Any], members: Mapping[Any, Evaluation], name: str
    ) -> Finding | None:
        allowed, (first, *_, last) = self.part.space.ranges[name], self.part.families[name]

        def further() -> Iterator[tuple[Any, Evaluation]]:
            for power in (10**k for k in range(DECADES + 1)):
                moved = one | {name: last * power if last > first else last / power}
                if not allowed.holds(moved[name], moved):
                    return
                yield moved[name], self.evaluate(moved)

        return self._growing(one, members, further, {"family": name}, name)

    def _along_copies(self, one: dict[str, Any], scaling: Scaling) -> Finding | None:
        def copies(powers: range) -> Iterator[tuple[Any, Evaluation]]:
            return ((STEP**k, self.evaluate(one, scaling**k)) for k in powers)

        members: dict[Any, Evaluation] = {}
        with suppress(Outside, ArithmeticError):
            members.update(copies(range(MEMBERS)))
        most = MEMBERS + math.ceil(DECADES * math.log(10, STEP))
        code, along = {"scaling": scaling.encode()}, f"copies, {scaling} again and again"
        return self._growing(one, members, lambda: copies(range(MEMBERS - 1, most)), code, along)

    def _growing(
        self,
        one: dict[str, Any],
        members: Mapping[Any, Evaluation],
        further: Callable[[], Iterator[tuple[Any, Evaluation]]],
        code: Mapping[str, Any],
        along: str,
    ) -> Finding | None:
        """Refute a statement up to a constant if the ratio of its sides grows along a family, and beyond it.

        ``further`` evaluates the last member again, and values beyond it.
        """
        judged = list(members.values())
        for name, sides in judged[-1].conclusions.items() if judged else ():
            if (grown := _growth(name, members)) is None:
                continue
            longer = dict(members)
            for value, evaluation in while_quick(further()):
                if not 0 < _ratio(name, evaluation) < math.inf:
                    break  # what is left of a side is rounding
                longer[value] = evaluation
            reached = _ratio(name, list(longer.values())[-1])
            if _growth(name, longer) is None or max(longer) < (REACH if reached > 1 else FAR) * min(longer):
                continue
            values = ", ".join(map(str, members))
            quotient = "right over left" if getattr(sides, "lower", False) else "left over right"
            reason = (
                f"violated for every hidden constant: {quotient} grows like {grown} along {along} ({values}), to "
                f"{_ratio(name, judged[-1]):.4g}; start {quantities(self.part.space.encode(one))}"
            )
            return self._finding(one, judged[-1], code, reason, self._refuted, name)
        return None

    def _broken(self, one: dict[str, Any], scaling: Scaling | None = None) -> Finding | None:
        with suppress(Outside, ArithmeticError):
            found, code = self.evaluate(one, scaling), {}
            if found.broken is not None:
                reason = sentences.broken(Trial(self.part), found)
                if scaling is not None:
                    reason, code = f"a copy ({scaling}) breaks it: {reason}", {"scaling": scaling.encode()}
                return self._finding(one, found, code, reason, self._refuted)
        return None

    def _ill_posed(self, mismatch: Mismatch) -> Finding:
        one, code = mismatch.instance, {"scaling": mismatch.scaling.encode()}
        reason = f"units: {mismatch.sentence}, at {quantities(self.part.space.encode(one))}"
        return self._finding(one, self.evaluate(one), code, reason, Kind.ILL_POSED)

    @property
    def _refuted(self) -> Kind:
        return Kind.ILL_POSED if self.claim.ill_posed else Kind.VIOLATED

    def _finding(
        self,
        one: dict[str, Any],
        last: Evaluation,
        code: Mapping[str, Any],
        reason: str,
        verdict: Kind,
        conclusion: str | None = None,
    ) -> Finding:
        judged = last.judged[conclusion or last.broken or next(iter(last.judged))]
        example = written(self.part, self.context, one) | dict(code)
        return Finding(
            verdict=verdict,
            reason=reason,
            measured=judged.measured,
            bound=judged.allowed,
            counterexample=example,
        )


def _ratio(name: str, evaluation: Evaluation) -> float:
    """Least factor at which a conclusion holds, without room for rounding; NaN where a side is 0."""
    judged, lower = evaluation.judged[name], getattr(evaluation.conclusions[name], "lower", False)
    less, more = (judged.measured, judged.allowed) if lower else (judged.allowed, judged.measured)
    return more / (less or math.nan)


def _growth(name: str, members: Mapping[Any, Evaluation]) -> Growth | None:
    """Fit the slowest growth of left over right, or over a term; None where one is bounded, or a logarithm allowed."""
    sides = next(iter(members.values())).conclusions[name]
    hidden, lower = getattr(sides, "hidden", ""), getattr(sides, "lower", False)
    each = [evaluation.judged[name] for evaluation in members.values()]
    ratios = [[_ratio(name, evaluation) for evaluation in members.values()]] if hidden else []
    if hidden and not lower:
        # a summand that stays in proportion bounds the ratio, however small it is on these members
        terms = [term for term in each[0].parts if any(one.parts[term] for one in each)]
        ratios = [[one.measured / (one.parts[term] or math.nan) for one in each] for term in terms]
    growths = [growth(list(members), ratio) for ratio in ratios]
    slowest = min((grown for grown in growths if grown), key=lambda grown: grown.speed, default=None)
    if slowest is None or None in growths or (slowest.logarithm and hidden == "polylogarithmic"):
        return None
    return slowest


def _rise(members: Mapping[Any, Evaluation]) -> str:
    """Say by how much the ratio of the sides grows up to the last value; empty where a logarithm may be why."""
    for name, sides in next(iter(members.values())).conclusions.items() if len(members) > 1 else ():
        if hidden := getattr(sides, "hidden", ""):
            ratios = [_ratio(name, evaluation) for evaluation in members.values()]
            power = hidden == "O" or ((grown := growth(list(members), ratios)) and not grown.logarithm)
            if power and 0 < RISE * ratios[-2] < ratios[-1] < math.inf:
                before, last = list(members)[-2:]
                return f"by a factor of {ratios[-1] / ratios[-2]:.3g} from {before} to {last}"
    return ""


def written(part: Statement, context: Context, one: dict[str, Any]) -> dict[str, Any]:
    """Write a counterexample: its quantities, the part, and what gives its random numbers."""
    example = part.space.encode(one)
    if part.name:
        example["part"] = part.name
    if part.random:
        example["seed"] = context.seed
        if part.space.replicates is not None:
            example["replicates"] = part.replicates if context.trials is None else context.trials
    return example
