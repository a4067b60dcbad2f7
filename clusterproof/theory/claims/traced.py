"""A claim about every function of a class: its worst case by a trace, an explicit counterexample, or a certificate."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from clusterproof.algorithms import InvalidArgument, generator
from clusterproof.theory.claims.class_ranges import OfClass
from clusterproof.theory.claims.ranges import Instance
from clusterproof.theory.claims.sides import Excluded, Outside, Sides, leaving_out, naming_hypotheses
from clusterproof.theory.claims.space import Space
from clusterproof.theory.classes.definitions import OperatorClass
from clusterproof.theory.classes.function import World
from clusterproof.theory.classes.trace import Trace, TracedPath, paths
from clusterproof.theory.classes.traced_numbers import Least, NotTraced, TracedNumber

if TYPE_CHECKING:
    from clusterproof.theory.claims.statement import Statement
    from clusterproof.theory.classes.concrete import ConcreteWorld
    from clusterproof.theory.classes.path_program import PathProgram
    from clusterproof.theory.search.tried import Tried

SETTINGS = 64
"""Values of the other quantities that are certified if they are no more; a dozen are drawn of longer lists."""
DRAWN = 12
COMPARED = 50
"""Drawn functions on which a trace is compared with the function, and of which one must meet its hypotheses."""
CASES = 8
"""Explicit functions that are tried where a solver exceeds a bound."""
SECONDS = 30.0
"""Processor time after which no further setting is tried."""


@dataclass
class TracedLine:
    """What worst cases of all settings give for one line.

    Attributes
    ----------
    settings, certified
        Settings that were tried, and those of which the bound is certified on every path.
    unmet
        Settings with multipliers at which no function was found that meets the hypotheses: they may hold emptily.
    raised
        Settings of which only the bound times 1 + 1e-6 is certified.
    open_
        Settings of which no certificate was found.
    exceeded
        Largest measured - bound that a solver finds where no explicit function was found, scaled such that the squared
        lengths of all free vectors, and the constant 1, sum to 1; None if nowhere.
    worst, worst_exact, tightest
        Largest measured over bound, as a fraction if it is known, and the setting of it.
    refused
        Why the function is not traced; empty if it is.
    complete
        Whether the settings are all that the claim speaks of.
    """

    settings: int = 0
    certified: int = 0
    unmet: int = 0
    raised: int = 0
    open_: int = 0
    exceeded: float | None = None
    worst: float | None = None
    worst_exact: Fraction | None = None
    tightest: Instance | None = None
    refused: str = ""
    complete: bool = False

    @property
    def proved(self) -> bool:
        """Whether a certificate proves the line for everything that the claim speaks of."""
        return self.complete and not self.refused and self.certified == self.settings > 0


def trace_lines(tried: Tried) -> dict[str, TracedLine]:
    """Decide each line of a statement about functions of a class, as far as worst cases can; try explicit functions.

    An explicit function that seems to break a line is evaluated like any other instance, which decides.
    """
    name, allowed = class_of(tried.space)
    others = other_quantities(tried.space)
    lines: dict[str, TracedLine] = {}
    settings, complete = _settings(tried, others)
    began = time.process_time()
    for setting in settings:
        if time.process_time() - began > SECONDS:
            complete = False
            break
        try:
            stated: dict[str, None] = {}
            traced = trace_paths(tried.statement, setting, stated)
            _compare(tried, stated, name, allowed, setting, traced, max(1, COMPARED // len(settings)))
        except NotTraced as refusal:
            return {"": TracedLine(refused=str(refusal))}
        for key in dict.fromkeys(key for path in traced for key in path.lines):
            line = lines.setdefault(key, TracedLine())
            _decide(tried, name, allowed, setting, [path for path in traced if key in path.lines], key, line)
    for line in lines.values():
        line.complete = complete
    return lines


def has_class(space: Space) -> bool:
    """Return whether a quantity of a space is a function of a class."""
    return any(isinstance(each, OfClass) for each in space.ranges.values())


def class_of(space: Space) -> tuple[str, OfClass]:
    """Return the quantity of a space that is a function of a class, and its range."""
    ((name, allowed),) = ((n, each) for n, each in space.ranges.items() if isinstance(each, OfClass))
    return name, allowed


def other_quantities(space: Space) -> Space:
    """Return the space of the quantities beside the function of a class."""
    name, _ = class_of(space)
    ranges = {other: allowed for other, allowed in space.ranges.items() if other != name}
    return Space(ranges, space.records, space.stream, space.replicates)


def _settings(tried: Tried, others: Space) -> tuple[Sequence[Instance], bool]:
    """Return the values of the other quantities that are tried, and whether they are all."""
    listed = others.instances(SETTINGS)
    if listed is not None:
        return listed, others.complete
    chosen: dict[str, Instance] = {}
    for instance in others.corners():
        chosen[others.key(instance)] = instance
        if len(chosen) >= DRAWN:
            break
    stream = generator(tried.evaluator.seed, tried.evaluator.claim, tried.statement.name, "settings")
    for _ in range(4 * DRAWN):
        if len(chosen) >= 2 * DRAWN:
            break
        drawn = others.draw(stream, 1)
        if drawn is not None:
            chosen[others.key(drawn)] = drawn
    return list(chosen.values()), False


def trace_paths(
    statement: Statement, setting: Instance, stated: dict[str, None] | None = None
) -> list[TracedPath]:
    """Return the paths of a statement at one setting of its other quantities, with (smaller, larger) side of each line.

    Parameters
    ----------
    statement, setting
        The function, and its other quantities.
    stated
        The hypotheses are added to it.

    Raises
    ------
    NotTraced
        If the function cannot be traced, or gives other sides when it is traced again.
    """
    name, allowed = class_of(statement.space)
    definitions, weights, reach = allowed.definitions(setting), allowed.weights(), allowed.reach(setting)

    def make(decisions: Sequence[bool]) -> Trace:
        return Trace(definitions, weights, reach, decisions)

    def evaluate(trace: Trace) -> dict[str, tuple[Any, Any]] | None:
        with naming_hypotheses({} if stated is None else stated):
            try:
                return _lines(statement, {**setting, name: allowed.problem(trace, setting)})
            except Outside:
                return None

    first, again = list(paths(make, evaluate)), list(paths(make, evaluate))
    if [_written(path) for path in first] != [_written(path) for path in again]:
        raise NotTraced(
            "the function gives other sides when it is traced again: it must keep nothing between calls"
        )
    return first


def _lines(statement: Statement, instance: Instance) -> dict[str, tuple[Any, Any]]:
    """Evaluate the function, and return (smaller, larger) side of each of its lines."""
    try:
        value = statement.function(**statement.space.in_records(instance))
    except (NotTraced, Outside):
        raise
    except Exception as error:  # whatever a trace's numbers meet in a user's function
        raise NotTraced(f"{type(error).__name__}: {error}") from error
    lines = dict(value) if isinstance(value, Mapping) else {"": value}
    sides: dict[str, tuple[Any, Any]] = {}
    for key, line in lines.items():
        if isinstance(line, Excluded):
            continue
        if not isinstance(line, Sides) or line.identity or line.failure is not None:
            raise NotTraced(
                "a line is neither at_most nor at_least: only these are certified for all functions"
            )
        sides[key] = (line.allowed, line.measured) if line.lower else (line.measured, line.allowed)
    return sides


def _written(path: TracedPath) -> Any:
    """Write the sides of a path, to compare two traces."""
    return {key: [_numbers(side) for side in sides] for key, sides in path.lines.items()}


def _numbers(side: Any) -> Any:
    if isinstance(side, Least):
        return list(map(_numbers, side.numbers))
    return (side.quadratic, side.values) if isinstance(side, TracedNumber) else side


def _compare(
    tried: Tried,
    stated: Mapping[str, None],
    name: str,
    allowed: OfClass,
    setting: Instance,
    traced: Sequence[TracedPath],
    count: int,
) -> None:
    """Compare the trace with the function on drawn functions, hypotheses left out.

    Raises
    ------
    NotTraced
        If they differ.
    """
    from clusterproof.theory.classes.tie import difference

    def evaluate(world: World) -> Mapping[str, Any]:
        with leaving_out(frozenset(stated)):
            return _lines(tried.statement, {**setting, name: allowed.problem(world, setting)})

    for number in range(count):
        stream = generator(
            tried.evaluator.seed, tried.evaluator.claim, tried.statement.name, "traced", number
        )
        drawn = allowed.draw(setting, stream)
        if not traced:  # its hypotheses exclude the setting
            try:
                _lines(tried.statement, {**setting, name: allowed.passed(drawn, setting)})
            except Outside:
                continue
            raise NotTraced("the hypotheses exclude its trace, and do not exclude drawn functions")
        if line := difference(traced, evaluate, drawn.world.fresh()):
            raise NotTraced(
                f"{line} has other sides on a drawn function than on its trace: do not ask for types"
            )


def _decide(
    tried: Tried,
    name: str,
    allowed: OfClass,
    setting: Instance,
    traced: list[TracedPath],
    key: str,
    line: TracedLine,
) -> None:
    """Solve, certify or refute one line at one setting."""
    from clusterproof.theory.classes.worst_case import WorstCase

    findings = tried.lines.get(key)
    if findings is not None and findings.found is not None:
        return
    line.settings += 1
    certified, raised = True, True
    for path in traced:
        case = WorstCase(program_of(path, key))
        ratio = case.ratio
        if ratio is not None and (line.worst is None or ratio > line.worst):
            line.worst, line.tightest = ratio, setting
            exact = case.tight
            line.worst_exact = None if exact is None else exact.ratio
        if case.exceeds:
            certified = raised = False
            if not _refute(tried, name, allowed, setting, case, key):
                line.exceeded = max(case.excess or 0.0, line.exceeded or 0.0)
            continue
        if case.certificate is None:
            certified = False
            raised = raised and case.slack_certificate is not None
    if certified:
        witness = find_witness(tried.statement, setting, key)
        if witness is None:
            line.unmet += 1
            return
        tried.evaluate(witness)  # drawn instances need not meet an equation that is supposed
    line.certified += certified
    line.raised += raised and not certified
    line.open_ += not raised


def find_witness(statement: Statement, setting: Instance, line: str) -> dict[str, Any] | None:
    """Return an instance with a drawn function that meets the hypotheses of a line; None if none is found.

    Functions whose start is the solution are tried, too: equations of iterates hold there.
    """
    from clusterproof.theory.classes.concrete import ConcreteWorld

    name, allowed = class_of(statement.space)
    for number in range(COMPARED):
        drawn = allowed.draw(setting, generator(0, statement.name, "witness", number)).world
        worlds = [drawn]
        if (x := drawn.solution) is not None:
            worlds.append(ConcreteWorld(drawn.fresh().oracles, x, x, drawn.minimum, [x] * len(drawn.further)))
        for world in worlds:
            instance = {
                n: setting[n] if n != name else allowed.problem(world, setting)
                for n in statement.space.ranges
            }
            with suppress(Outside):
                if line in _lines(statement, instance):
                    return instance
    return None


def program_of(path: TracedPath, line: str) -> PathProgram:
    """Return the program of a line on one path."""
    from clusterproof.theory.classes.path_program import PathProgram

    measured, bound = (
        each if isinstance(each, TracedNumber | Least) else path.trace.constant(Fraction(each))
        for each in path.lines[line]
    )
    if isinstance(bound, Least):
        raise NotTraced("least(...) is on the larger side: state a line for each of its numbers")
    return PathProgram(path.trace, measured, bound)


def _refute(tried: Tried, name: str, allowed: OfClass, setting: Instance, case: Any, key: str) -> bool:
    """Evaluate explicit functions that exceed the bound; return whether one breaks the line."""
    for world in _worlds(allowed.definitions(setting), case):
        instance = {
            n: setting[n] if n != name else allowed.problem(world, setting) for n in tried.space.ranges
        }
        broken = tried.evaluate(instance)
        if broken is not None and key in broken:
            return True
    return False


def _worlds(definitions: Sequence[Any], case: Any) -> Iterator[World]:
    """Yield worlds through the triplets of explicit cases."""
    from clusterproof.theory.classes.concrete import ConcreteWorld
    from clusterproof.theory.classes.explicit import explicit_cases
    from clusterproof.theory.classes.interpolated import interpolated
    from clusterproof.theory.classes.vectors import Vector

    for number, explicit in enumerate(explicit_cases(case.path)):
        if number == CASES:
            return
        try:
            oracles = []
            for definition, triplets in zip(definitions, explicit.triplets, strict=True):
                points, gradients, values = zip(*triplets, strict=True)
                least = None if getattr(definition, "convex", True) else explicit.minimum
                oracles.append(
                    interpolated(
                        definition,
                        [Vector(point) for point in points],
                        [Vector(gradient) for gradient in gradients],
                        list(values),
                        minimum=least,
                    )
                )
        except ValueError:  # the conditions of the class are only necessary
            continue
        solution = None if explicit.solution is None else Vector(explicit.solution)
        further = [Vector(point) for point in explicit.further]
        yield ConcreteWorld(oracles, Vector(explicit.start), solution, explicit.minimum, further)


def evaluated_world(statement: Statement, instance: Instance) -> ConcreteWorld:
    """Return the world of an instance after the function was evaluated on it, and its solution."""
    name, _ = class_of(statement.space)
    arguments = statement.space.arguments(instance)
    world: ConcreteWorld = arguments[name].world
    if world.solution is not None:
        for oracle in world.oracles:
            oracle.evaluate(world.solution)
    statement.function(**arguments)
    return world


def check_conditions(statement: Statement, instance: Instance) -> None:
    """Check that there are functions of the classes through the points that an instance evaluates.

    Raises
    ------
    InvalidArgument
        If a condition of a class fails, or the solution is none.
    """
    from clusterproof.theory.classes.interpolated import violated_condition

    name, allowed = class_of(statement.space)
    world = evaluated_world(statement, instance)
    remedy = "take the counterexample from a report"
    for oracle in world.oracles:
        points, gradients, values = zip(*oracle.triplets, strict=True)
        least = None if world.solution is not None else world.minimum
        if failed := violated_condition(oracle.definition, points, gradients, values, minimum=least):
            raise InvalidArgument(
                name, oracle.formula.text(), f"must be of its class, where {failed}", remedy
            )
    if world.solution is None:
        return
    known = [oracle.evaluate(world.solution) for oracle in world.oracles]
    weights = allowed.weights()
    total = sum((w * gradient for w, (gradient, _) in zip(weights, known, strict=True)), 0 * world.solution)
    first = world.oracles[0].definition
    if isinstance(first, OperatorClass) and first.has_fixed_point:
        total = total - world.solution
    if total @ total != 0:
        rule = "must be a point at which the sum of subgradients, normals and images is 0"
        raise InvalidArgument(f"{name}.minimiser", world.solution, rule, remedy)
    if sum(w * value for w, (_, value) in zip(weights, known, strict=True)) != world.minimum:
        raise InvalidArgument(f"{name}.minimum", world.minimum, "must be the value at the minimiser", remedy)
    reach = allowed.reach(instance)
    if reach is not None and world.squared_distance > reach**2:
        raise InvalidArgument(
            f"{name}.start", world.start, f"must be at most {reach} from the solution", remedy
        )
