"""Search for a run that breaks a bound, over tasks, parameters, initial models and numbers of rounds."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from clusterproof.algorithms import Algorithm
from clusterproof.checker.claims.annotations import annotations_of, mark_of
from clusterproof.checker.claims.claim import Claim, facts_of_lines
from clusterproof.checker.claims.expectation import FEWEST, Expectation
from clusterproof.checker.claims.judge import Entries
from clusterproof.checker.claims.kind import Kind
from clusterproof.checker.claims.places import called
from clusterproof.checker.claims.ranges import Range, drawn, example_of, integers
from clusterproof.checker.claims.rounding import TOLERANCE
from clusterproof.checker.claims.sides import Sides, at_most, suppose, with_unit
from clusterproof.checker.claims.space import Replicates, Stream
from clusterproof.checker.claims.statement import Statement, name_of
from clusterproof.checker.report.code import literal
from clusterproof.checker.report.decide import decide
from clusterproof.checker.report.verdict import Verdict
from clusterproof.common import InvalidArgument
from clusterproof.common.validation import check_count, check_seed, error_line
from clusterproof.running import Diverged, Trace, run
from clusterproof.running.runner import Measure
from clusterproof.synthetic import Mixture
from clusterproof.theory.run_code import imports, run_code

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

EVALUATIONS = 300
REACH = 2
"""Number of grid steps for initial models, on each side of the optima that the algorithm approximates."""


def falsify(
    bound: Callable[[Any, Trace], Any],
    *,
    algorithm: Algorithm[Any] | Callable[..., Algorithm[Any]],
    tasks: Mixture | Callable[[np.random.Generator], Mixture] | SearchStrategy[Any],
    rounds: int,
    starts: Callable[[Any], SearchStrategy[Any]] | None = None,
    evaluations: int = EVALUATIONS,
    replicates: int | None = None,
    seed: int = 0,
    measure: Mapping[str, Measure] = MappingProxyType({}),
) -> Verdict:
    """Search for a run whose errors, or whose other quantity or expectation, exceed a bound.

    Parameters
    ----------
    bound
        Function of the task and the trace. It returns the allowed errors, which are nonnegative and broadcastable to
        ``trace.errors``, (rounds + 1, P). Instead it may return ``expectation(samples, ...)``, where the first axis
        of the samples is the axis of replicates. It may state hypotheses with ``suppose``.
    algorithm
        An algorithm, or a function of the task that returns one. The function may have other parameters that are
        annotated with ranges, as in a claim. The search varies these parameters, as well.
    tasks
        A task, a function that draws a task from a generator, as for ``drawn``, or a Hypothesis strategy for tasks,
        for example from ``synthetic.strategies``.
    rounds
        Largest number of rounds of a run, at least 1. The counterexample has the smallest number of rounds that
        breaks the bound.
    starts
        Function of the task that returns a strategy for initial models (P, d). If None, initial models are on a grid
        around the optima that the algorithm approximates. The spacing of the grid is a quarter of the separation, or
        1 for a single cluster.
    evaluations
        Number of runs to try. Only runs that satisfy the hypotheses count.
    replicates
        Largest number of replicates of each run for a bound on an expectation. The search begins with 10 000
        replicates of a run, and doubles this number as long as the confidence interval contains the bound. Fewer
        replicates are conclusive only if the samples have a ``range``.
    seed
        Seed of the search and of the runs.
    measure
        Name and function of (state, task), such as a Lyapunov function. In this case the bound is a bound on this
        quantity instead of the errors, and is broadcastable to ``trace.measured[name]``, (rounds + 1, ...).

    Returns
    -------
    Verdict
        Violated, consistent or inconclusive. ``counterexample["code"]`` is Python code that reproduces the
        counterexample.

    Raises
    ------
    InvalidArgument
        If an argument has the wrong type, or the result of ``bound`` is not a bound on the errors.

    Notes
    -----
    To state a bound that holds with a given probability, write a claim with ``at_most(..., failure=...)``. A bound on
    an expectation is violated if the confidence intervals from two independent samples lie beyond the bound.

    Examples
    --------
    >>> from clusterproof import FedAvg, falsify
    >>> from clusterproof.synthetic import strategies
    >>> verdict = falsify(
    ...     lambda task, trace: (1 - 2 / task.condition_number) * trace.errors[0],
    ...     algorithm=lambda task: FedAvg(step_size=1 / task.smoothness),
    ...     tasks=strategies.quadratic_mixtures(clusters=1, clients=1, condition_number=(2, 8)),
    ...     rounds=5,
    ... )
    >>> verdict.verdict
    <Kind.VIOLATED: 'violated'>
    >>> exec(verdict.counterexample["code"])
    """
    check_count("rounds", rounds, at_least=1, remedy="give the number of communication rounds")
    check_count("evaluations", evaluations, at_least=1, remedy="leave it out to use the default")
    check_seed(seed)
    if replicates is not None:
        check_count("replicates", replicates, at_least=2, remedy="leave it out for a bound on every run")
    if not callable(bound):
        raise InvalidArgument("bound", bound, "must be a function of (task, trace)", "write it as a lambda")
    if len(measure) > 1:
        raise InvalidArgument(
            "measure", list(measure), "must name one quantity", "falsify one bound at a time"
        )
    runs = _Runs(bound, algorithm, seed, measure)
    function = runs.function(_task_range(tasks), rounds, starts, expected=replicates is not None)
    statement = Statement("", function, evaluations=evaluations, replicates=replicates or FEWEST)
    name = f"falsify/{getattr(bound, '__name__', 'bound').strip('<>')}"
    claim: Claim[..., Any] = Claim(
        name,
        function,
        statement,
        label="",
        of_lines=facts_of_lines(),
        bound=None,
        tight=False,
        says_nothing="",
        quick=True,
    )
    verdict = decide(claim, seed)
    if verdict.verdict is not Kind.VIOLATED or verdict.counterexample is None:
        return verdict
    numbers = {name: verdict.counterexample[name] for name in statement.space.ranges}
    instance = statement.space.decode(numbers)
    code = runs.code(verdict, claim, instance)
    return replace(verdict, counterexample=verdict.counterexample | {"code": code})


def _task_range(tasks: Any) -> Range:
    """Return the range from which tasks are drawn."""
    if isinstance(tasks, Mixture):
        return drawn(lambda _: tasks)
    if hasattr(tasks, "example") and hasattr(tasks, "map"):
        return drawn(lambda stream: example_of(tasks, stream))
    if callable(tasks) and not isinstance(tasks, type):
        return drawn(lambda stream: _drawn_by(tasks, stream))
    rule = "must be a task, a function that draws a task from a generator, or a Hypothesis strategy for tasks"
    raise InvalidArgument("tasks", tasks, rule, "use a strategy from synthetic.strategies")


def _drawn_by(tasks: Callable[[np.random.Generator], Any], stream: np.random.Generator) -> Any:
    """Draw a task with the user's function."""
    example = (
        "write, for example, lambda stream: QuadraticMixture.random(..., seed=int(stream.integers(2**31)))"
    )
    try:
        task = called(tasks, stream)
    except InvalidArgument:
        raise
    except Exception as error:  # a user's function can raise any error
        rule = f"must draw a task from a NumPy generator; it raised {error_line(error)}"
        raise InvalidArgument("tasks", name_of(tasks), rule, example) from error
    if not hasattr(task, "gradient_sums"):
        raise InvalidArgument("tasks", name_of(tasks), f"must draw a task; it draws {task!r}", example)
    return task


@dataclass(frozen=True)
class _Runs:
    """The function of a claim about the runs of an algorithm on tasks."""

    bound: Callable[[Any, Trace], Any]
    algorithm: Algorithm[Any] | Callable[..., Algorithm[Any]]
    seed: int
    measure: Mapping[str, Measure]

    def function(
        self, tasks: Range, rounds: int, starts: Callable[[Any], Any] | None, *, expected: bool
    ) -> Callable[..., Sides | Expectation]:
        """Make the function of the claim. Its signature contains the ranges to search."""
        parameters = self._parameters()
        ranges: dict[str, Any] = {"task": tasks, **parameters}
        ranges["start"] = drawn(
            self._draw_start(starts, list(parameters)), write=np.ndarray.tolist, read=np.array
        )
        ranges["rounds"] = integers(1, rounds)
        hints: dict[str, Any] = {name: Annotated[Any, allowed] for name, allowed in ranges.items()}
        if expected:
            hints |= {"stream": Stream, "replicates": Replicates}

        def statement(**quantities: Any) -> Sides | Expectation:
            return self.estimate(**quantities) if expected else self.sides(**quantities)

        statement.__annotations__ = hints
        statement.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # inspect reads this attribute
            [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in hints]
        )
        return statement

    def _parameters(self) -> dict[str, Range]:
        """Return the ranges of all parameters of the function except the task."""
        if isinstance(self.algorithm, Algorithm):
            return {}
        if not callable(self.algorithm) or isinstance(self.algorithm, type):
            rule, remedy = (
                "must be an algorithm or a function of the task",
                "write lambda task: FedAvg(step_size=0.1)",
            )
            raise InvalidArgument("algorithm", self.algorithm, rule, remedy)
        hints = annotations_of(self.algorithm)
        ranges: dict[str, Range] = {}
        for name in list(inspect.signature(self.algorithm).parameters)[1:]:
            mark = mark_of(f"algorithm.{name}", hints.get(name))
            if not isinstance(mark, Range) or name in ("task", "start", "rounds", "stream", "replicates"):
                rule = "must be Annotated with a range, under another name than task, start and rounds"
                remedy = "annotate it, such as Annotated[Fraction, rationals(0, 1, 4)]"
                raise InvalidArgument(f"algorithm.{name}", hints.get(name), rule, remedy)
            ranges[name] = mark
        return ranges

    def make(self, task: Any, **parameters: Any) -> Algorithm[Any]:
        """Make the algorithm for a task."""
        made = self.algorithm if isinstance(self.algorithm, Algorithm) else self.algorithm(task, **parameters)
        if not isinstance(made, Algorithm):
            raise InvalidArgument(
                "algorithm", made, "must return an algorithm", "return one, such as FedAvg(...)"
            )
        return made

    def _draw_start(self, starts: Callable[[Any], Any] | None, names: list[str]) -> Callable[..., np.ndarray]:
        """Return a function that draws initial models for a given task and given parameters."""

        def draw(stream: np.random.Generator, **earlier: Any) -> np.ndarray:
            task = earlier["task"]
            if starts is not None:
                return np.asarray(example_of(starts(task), stream), dtype=float)
            made = self.make(**earlier)
            count = made.model_count(task)
            aims = task.reference_optima(made.target)
            middle = aims if aims is not None and len(aims) == count else np.zeros((count, task.dimension))
            separation = getattr(task, "separation", np.inf)  # a task with unknown optima has no grid
            step = separation / 4 if np.isfinite(separation) else 1.0
            return np.asarray(middle + step * stream.integers(-REACH, REACH + 1, (count, task.dimension)))

        parameters = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in ("task", *names)]
        stream = inspect.Parameter("stream", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        vars(draw)["__signature__"] = inspect.Signature([stream, *parameters])
        return draw

    def _run(
        self,
        task: Any,
        start: Any,
        rounds: int,
        seed: int,
        replicates: int | None,
        parameters: dict[str, Any],
    ) -> Trace:
        made, initial = self.make(task, **parameters), np.asarray(start, dtype=float)
        suppose(
            "the start has a row for each model", initial.shape == (made.model_count(task), task.dimension)
        )
        with np.errstate(all="ignore"):  # a run may diverge
            return run(
                made,
                task,
                rounds=rounds,
                seed=seed,
                initial=initial,
                replicates=replicates,
                measure=self.measure,
            )

    def sides(self, *, task: Any, start: Any, rounds: int, **parameters: Any) -> Sides:
        """Run the algorithm, and compare the errors with the bound."""
        try:
            trace = self._run(task, start, rounds, self.seed, None, parameters)
        except Diverged as error:
            if error.rounds:  # the numbers before the first NaN may break the bound
                sides = self.sides(task=task, start=start, rounds=error.rounds, **parameters)
                if Entries(sides).broken.any():
                    return sides
            raise
        measured, name = self._measured(trace)
        with np.errstate(all="ignore"):
            given = self.bound(task, trace)
        if isinstance(given, Expectation):
            rule, remedy = "must be given for an expectation", f"give {2 * FEWEST} or more"
            raise InvalidArgument("replicates", None, rule, remedy)
        if given is None:
            raise InvalidArgument("bound", None, "must return the allowed errors", "end it with `return`")
        try:
            allowed = np.broadcast_to(np.asarray(given, dtype=float), measured.shape)
        except ValueError:
            rule = f"must be broadcastable to {name}, {measured.shape}"
            remedy = "give a number, or an array with one entry per round"
            raise InvalidArgument("bound", np.shape(given), rule, remedy) from None
        if np.isnan(allowed).any():
            raise InvalidArgument("bound", "nan", "must be numbers", "exclude 0 / 0 with `suppose`")
        suppose("the bound is at least 0", bool((allowed >= 0).all()))
        # an error is the difference of a model and an optimum, so rounding errors are relative to the larger of both
        length = np.linalg.norm(trace.models[0], axis=-1) + (0.0 if trace.errors is None else trace.errors[0])
        rounding = None if self.measure else TOLERANCE * float(np.max(length))
        sides = at_most(measured, bound=allowed, rounding=rounding)
        return with_unit(sides, {"task": task, "start": np.asarray(start, dtype=float)})

    def estimate(
        self,
        *,
        task: Any,
        start: Any,
        rounds: int,
        stream: np.random.Generator,
        replicates: int,
        **parameters: Any,
    ) -> Expectation:
        """Run the algorithm with replicates, and return the bound on the expectation."""
        trace = self._run(task, start, rounds, _seed_from(stream), replicates, parameters)
        with np.errstate(all="ignore"):
            given = self.bound(task, trace)
        if not isinstance(given, Expectation):
            remedy = "leave it out, or return expectation(samples, at_most=...)"
            rule = "must be left out for a bound on every run"
            raise InvalidArgument("replicates", replicates, rule, remedy)
        return given

    def _measured(self, trace: Trace) -> tuple[np.ndarray, str]:
        """Return the bounded quantity, and its name in messages."""
        for name in self.measure:
            return trace.measured[name], f"trace.measured[{name!r}]"
        if trace.errors is None:
            remedy = "use a synthetic task, or measure="
            raise InvalidArgument("tasks", ..., "must have known optima", remedy)
        return trace.errors, "trace.errors"

    def code(self, verdict: Verdict, claim: Claim[..., Any], instance: Mapping[str, Any]) -> str:
        """Write Python code for the run that breaks the bound."""
        statement = claim.statements[0]
        task, start, rounds = (instance[name] for name in ("task", "start", "rounds"))
        parameters = {n: v for n, v in instance.items() if n not in ("task", "start", "rounds")}
        made = self.make(task, **parameters)
        if not statement.random:
            sides = self.sides(**instance)
            place = tuple(int(index) for index in np.argwhere(Entries(sides).broken)[0])
            where = f"round {place[0]}" if self.measure else f"round {place[0]}, model {place[1]}"
            limit = float(sides.terms["bound"][place])
            return run_code(task, made, start, rounds, self.seed, place, limit, where, self.measure)
        example = verdict.counterexample or {}
        seed = _seed_from(statement.stream(self.seed, instance))
        return (
            imports(task, made)
            + f"initial = np.array({literal(start)})\n"
            + f"trace = run({made!r}, task, rounds={rounds}, replicates={example['replicates']}, initial=initial, "
            + f"seed={seed})\n# expectation: estimate {verdict.measured!r}, allowed {verdict.bound!r}\n"
        )


def _seed_from(stream: np.random.Generator) -> int:
    return int(stream.integers(2**31))
