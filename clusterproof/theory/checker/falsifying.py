"""Falsify a bound on a run at once: search tasks, parameters and starts for the smallest run that breaks it."""

from __future__ import annotations

import inspect
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import numpy as np

from clusterproof.algorithms import Algorithm, Diverged, InvalidArgument, Trace, run
from clusterproof.algorithms.recording import Measure
from clusterproof.algorithms.validation import check_count, check_seed
from clusterproof.synthetic import Mixture
from clusterproof.theory.checker.claim import CLAIM_SIGNIFICANCE, Context
from clusterproof.theory.checker.claim_parts import Parts
from clusterproof.theory.checker.comparison import Comparison
from clusterproof.theory.checker.conclusions import Judgement, judge
from clusterproof.theory.checker.counterexample_code import literal
from clusterproof.theory.checker.deciding import decide
from clusterproof.theory.checker.drawn import searched
from clusterproof.theory.checker.expectation import FEWEST, Expectation, replicates_to_try
from clusterproof.theory.checker.range_ends import Instance
from clusterproof.theory.checker.ranges import Range
from clusterproof.theory.checker.rounding import TOLERANCE
from clusterproof.theory.checker.sentences import digits_apart
from clusterproof.theory.checker.sides import Outside, Sides, at_most, suppose, with_unit
from clusterproof.theory.checker.space import mark_of
from clusterproof.theory.checker.statement import Statement
from clusterproof.theory.checker.verdict import Finding, Kind, Verdict
from clusterproof.theory.runs.run_code import imports, run_code
from clusterproof.theory.runs.start_grid import Starts
from clusterproof.theory.runs.trace_bound import largest_length

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

Bound = Callable[[Any, Trace], Any]
"""Function of task and trace: allowed errors, see ``trace.errors``, or an expectation over replicates."""

BUDGET = 300
SEARCHES = 3
"""Number of searches, of which the simplest counterexample is taken; only one if the first finds none."""


def falsify(
    bound: Bound,
    *,
    algorithm: Algorithm[Any] | Callable[..., Algorithm[Any]],
    tasks: SearchStrategy[Any] | Mixture,
    rounds: int,
    starts: Callable[[Any], SearchStrategy[Any]] | None = None,
    budget: int = BUDGET,
    replicates: int | None = None,
    seed: int = 0,
    measure: Mapping[str, Measure] = MappingProxyType({}),
) -> Verdict:
    """Search for the smallest run whose errors, or another quantity or expectation of it, exceed a bound.

    Parameters
    ----------
    bound
        Function of the task and the trace. It returns the allowed errors, nonnegative and broadcastable to
        ``trace.errors``, (rounds + 1, P); or ``expectation(samples, ...)`` of samples whose first axis is
        that of the replicates. It may state hypotheses with ``suppose``.
    algorithm
        An algorithm, or a function of the task that returns one. Further parameters of the function that are
        annotated with ranges, as in a claim, are searched, too.
    tasks
        A hypothesis strategy, such as those of ``synthetic.strategies``; or one task.
    rounds
        Rounds of each run, at least 1; the counterexample has the fewest that break the bound.
    starts
        Function of the task that returns a strategy of starting models (P, d). If None, a grid around the optima
        that the algorithm aims at, spaced by a quarter of the separation, or by 1 for a single cluster.
    budget
        Number of runs to try that meet the hypotheses.
    replicates
        Most repetitions of each run for a bound on an expectation. Runs begin with 10 000, doubled while an interval
        contains what is allowed; fewer decide only if samples have a ``range``.
    seed
        Seed of the search and of the runs.
    measure
        Name and function of (state, task), such as a Lyapunov function, that is bounded in place of the errors.
        The bound is then broadcastable to ``trace.measured[name]``, (rounds + 1, ...).

    Returns
    -------
    Verdict
        Violated, consistent or vacuous. ``counterexample["code"]`` is Python; ``sharpness`` the factor that holds.

    Raises
    ------
    InvalidArgument
        If an argument has the wrong type, or the result of ``bound`` is not a bound on the errors.

    Notes
    -----
    A bound that holds with a probability is a claim with ``at_most(..., failure=...)``. A bound on an expectation is
    violated if the intervals of two samples are beyond it.

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
    from hypothesis import strategies as st

    started = time.perf_counter()
    check_count("rounds", rounds, at_least=1, remedy="give the number of communication rounds")
    check_count("budget", budget, at_least=1, remedy="leave it out for the default")
    check_seed(seed)
    if replicates is not None:
        check_count("replicates", replicates, at_least=2, remedy="leave it out for a bound on every run")
    if not callable(bound):
        raise InvalidArgument("bound", bound, "must be a function of (task, trace)", "write it as a lambda")
    strategy = st.just(tasks) if isinstance(tasks, Mixture) else tasks
    if not isinstance(strategy, st.SearchStrategy):
        raise InvalidArgument(
            "tasks", tasks, "must be a hypothesis strategy of tasks, or a task", "see synthetic.strategies"
        )
    if len(measure) > 1:
        raise InvalidArgument(
            "measure", list(measure), "must name one quantity", "falsify one bound at a time"
        )
    share = CLAIM_SIGNIFICANCE
    if replicates is not None:
        share /= 2 * SEARCHES * budget * len(replicates_to_try(replicates))
    search = _Search(bound, algorithm, rounds, seed, measure, replicates, share)
    statement = Statement("", search.function(strategy, starts), budget=budget)
    name = f"falsify/{getattr(bound, '__name__', 'bound').strip('<>')}"

    def searched_by(number: int) -> Finding:
        context = Context(seed, None, share, f"{name} {number}".removesuffix(" 0"))
        return decide(Parts(name, [statement]), context)

    finding = searched_by(0)
    if finding.verdict == Kind.VIOLATED:
        # simplifying ends where no single step helps: not always at one place
        others = [other for other in map(searched_by, range(1, SEARCHES)) if other.counterexample is not None]
        finding = min([finding, *others], key=lambda each: len(json.dumps(each.counterexample)))
    fields = dict(vars(finding))
    if finding.verdict == Kind.VIOLATED and finding.counterexample is not None:
        one = statement.space.decode(finding.counterexample)
        run_of, facts = search.smallest(one) if replicates is None else search.estimated(one)
        fields |= facts | {"counterexample": finding.counterexample | run_of}
    return Verdict(
        claim=name, paper="falsify", label="", seed=seed, repaired_by=(),
        seconds=time.perf_counter() - started, **fields,
    )  # fmt: skip


@dataclass(frozen=True)
class _Search:
    """What is searched, as a statement whose quantities are a task, parameters and a start."""

    bound: Bound
    algorithm: Algorithm[Any] | Callable[..., Algorithm[Any]]
    rounds: int
    seed: int
    measure: Mapping[str, Measure]
    replicates: int | None
    significance: float

    def function(
        self, tasks: SearchStrategy[Any], starts: Callable[[Any], SearchStrategy[Any]] | None
    ) -> Callable[..., Sides | Expectation]:
        """Make the statement's function, with the signature that says what is searched."""

        def statement(**quantities: Any) -> Sides | Expectation:
            return (
                self.sides(self.rounds, **quantities)
                if self.replicates is None
                else self.estimate(**quantities)[0]
            )

        ranges: dict[str, Range] = {
            "task": searched(lambda: tasks),
            **self._parameters(),
            "start": Starts(lambda start: np.asarray(start).tolist(), np.array, self.make, starts),
        }
        kinds: Any = {name: Annotated[Any, allowed] for name, allowed in ranges.items()}
        statement.__annotations__ = kinds
        statement.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # what inspect reads
            [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in ranges]
        )
        return statement

    def _parameters(self) -> dict[str, Range]:
        """Ranges of the function's parameters after the task."""
        if isinstance(self.algorithm, Algorithm):
            return {}
        if not callable(self.algorithm) or isinstance(self.algorithm, type):
            raise InvalidArgument(
                "algorithm", self.algorithm, "must be an algorithm or a function of the task",
                "write lambda task: FedAvg(step_size=1 / task.smoothness)",
            )  # fmt: skip
        hints = get_type_hints(self.algorithm, include_extras=True)
        found: dict[str, Range] = {}
        for name in list(inspect.signature(self.algorithm).parameters)[1:]:
            mark = mark_of(hints.get(name))
            if not isinstance(mark, Range) or name in ("task", "start"):
                raise InvalidArgument(
                    f"algorithm.{name}", hints.get(name), "must be Annotated with a range, under another name "
                    "than task and start", "annotate it, such as Annotated[Fraction, rationals(0, 1, 4)]",
                )  # fmt: skip
            found[name] = mark
        return found

    def make(self, task: Any, **parameters: Any) -> Algorithm[Any]:
        """Make the algorithm for a task."""
        made = self.algorithm if isinstance(self.algorithm, Algorithm) else self.algorithm(task, **parameters)
        if not isinstance(made, Algorithm):
            raise InvalidArgument(
                "algorithm", made, "must give an algorithm", "return one, such as FedAvg(...)"
            )
        return made

    def sides(self, rounds: int, *, task: Any, start: Any, **parameters: Any) -> Sides:
        """Run, and compare the errors with what is allowed."""
        with np.errstate(all="ignore"):  # a run may diverge
            try:
                trace = self._run(rounds, self.seed, task, start, parameters)
            except Diverged as error:
                if error.rounds:  # the numbers before NaN may break the bound
                    sides = self.sides(error.rounds, task=task, start=start, **parameters)
                    if Comparison(sides).broken.any():
                        return sides
                raise
            measured, name = self._measured(trace)
            given = self.bound(task, trace)
            if isinstance(given, Expectation):
                raise InvalidArgument(
                    "replicates", None, "must be given for an expectation", f"give {2 * FEWEST} or more"
                )
            if given is None:
                raise InvalidArgument("bound", None, "must return the allowed errors", "end it with `return`")
            allowed = np.asarray(given, dtype=float)
        try:
            allowed = np.broadcast_to(allowed, measured.shape)
        except ValueError:
            raise InvalidArgument(
                "bound", allowed.shape, f"must be broadcastable to {name}, {measured.shape}",
                "give a number, or an array with an entry for every round",
            ) from None  # fmt: skip
        if np.isnan(allowed).any():
            raise InvalidArgument("bound", "nan", "must be numbers", "suppose what keeps it from 0 / 0")
        suppose("the bound is at least 0", (allowed >= 0).all())
        # errors are differences of models and optima: rounding is relative to those
        rounding = None if self.measure else TOLERANCE * largest_length(trace)
        sides = at_most(measured, bound=allowed, rounding=rounding)
        return with_unit(sides, {"task": task, "start": np.asarray(start, dtype=float)})

    def _measured(self, trace: Trace) -> tuple[np.ndarray, str]:
        """Return what is bounded, and its name for messages."""
        for name in self.measure:
            return trace.measured[name], f"trace.measured[{name!r}]"
        if trace.errors is None:
            raise InvalidArgument(
                "tasks", "...", "must know their optima", "use a synthetic task, or measure="
            )
        return trace.errors, "trace.errors"

    def _run(
        self,
        rounds: int,
        seed: int,
        task: Any,
        start: Any,
        parameters: dict[str, Any],
        replicates: int | None = None,
    ) -> Trace:
        made, initial = self.make(task, **parameters), np.asarray(start, dtype=float)
        return run(
            made, task, rounds=rounds, seed=seed, initial=initial, replicates=replicates, measure=self.measure
        )

    def estimate(
        self, *, task: Any, start: Any, **parameters: Any
    ) -> tuple[Expectation, Judgement, int, int]:
        """Run with replicates until these decide; give the expectation, and the seed and size of its sample.

        What breaks on the sample of the search is drawn again, since the search chose the run by it.
        """
        for seed in (self.seed, self.seed + 1):
            sizes = replicates_to_try(self.replicates or FEWEST)
            # rare large values, which the first sample may lack, need all replicates
            for replicates in sizes if seed == self.seed else sizes[-1:]:
                with np.errstate(all="ignore"):
                    trace = self._run(self.rounds, seed, task, start, parameters, replicates)
                    given = self.bound(task, trace)
                if not isinstance(given, Expectation):
                    raise InvalidArgument(
                        "replicates", self.replicates, "must be left out for a bound on every run",
                        "leave it out, or return expectation(samples, at_most=...)",
                    )  # fmt: skip
                if (judged := judge({"": given}, self.significance)[""]).settled:
                    break
            if not (judged.broken and judged.interval):  # a sample that is not finite is proof enough
                break
        return given, judged, seed, replicates

    def estimated(self, one: Instance) -> tuple[dict[str, Any], dict[str, Any]]:
        """Give the run that shows that a bound on an expectation is wrong; the verdict is that of the search."""
        given, judged, seed, replicates = self.estimate(**one)
        place = f" at entry {judged.place}" if judged.place else ""
        task, made = one["task"], self.make(**{name: one[name] for name in one if name != "start"})
        initial = f"initial = np.array({literal(one['start'])})"
        comment = f"# expectation{place}: estimate {judged.measured!r}, {given.sense} {judged.allowed!r}"
        code = imports(task, made) + f"{initial}\ntrace = run({made!r}, task, rounds={self.rounds}, "
        code += f"replicates={replicates}, initial=initial, seed={seed})\n{comment}\n"
        return {"rounds": self.rounds, "seed": seed, "replicates": replicates, "code": code}, {}

    def _first_broken(self, rounds: int, one: Instance) -> tuple[tuple[int, ...], float, float]:
        """Give round and model that first break the bound, the error there and what is allowed."""
        sides = self.sides(rounds, **one)
        comparison = Comparison(sides)
        place = tuple(int(index) for index in next(iter(np.argwhere(comparison.broken))))
        return place, float(sides.measured[place]), float(sides.allowed[place])

    def smallest(self, one: Instance) -> tuple[dict[str, Any], dict[str, Any]]:
        """Give the run with the fewest rounds that breaks the bound, and what the verdict says of it."""
        rounds = self.rounds
        place, measured, limit = self._first_broken(rounds, one)
        try:  # where the bound also says it of the shorter run
            shorter = self._first_broken(max(place[0], 1), one)
        except (InvalidArgument, Outside, StopIteration):
            pass
        else:
            rounds, (place, measured, limit) = max(place[0], 1), shorter
        task, start = one["task"], one["start"]
        parameters = {name: one[name] for name in one if name not in ("task", "start")}
        made = self.make(task, **parameters)
        where = f"round {place[0]}" if self.measure else f"round {place[0]}, model {place[1]}"
        what = next(iter(self.measure), "error")
        settings = ", ".join(f"{name} = {value}" for name, value in parameters.items())
        reason = f"on {task!r} from {np.asarray(start).tolist()}" + (f" with {settings}" if settings else "")
        digits = digits_apart(measured, limit)
        reason += f": the {what} {measured:.{digits}g} exceeds {limit:.{digits}g} in {where}"
        slack = limit / measured if measured else None
        code = run_code(task, made, start, rounds, self.seed, place, limit, where, self.measure)
        facts = {"reason": reason, "measured": measured, "bound": limit, "slack": slack}
        return {"rounds": rounds, "seed": self.seed, "code": code}, facts
