"""Compare an implementation with one definition, or search for the algorithm that it implements."""

import functools
import traceback
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from clusterproof.algorithms.base import Algorithm
from clusterproof.algorithms.from_method import algorithm_of
from clusterproof.common.calls import checked
from clusterproof.common.validation import check_name, check_number
from clusterproof.conformance.adapters.library import from_algorithm
from clusterproof.conformance.definitions import DEFINITIONS, KNOWN_MISTAKES, Definition
from clusterproof.conformance.diagnosis import Hypothesis, admissible_variant, explain, follows
from clusterproof.conformance.further_checks import CHECKS, additional_checks
from clusterproof.conformance.observation import LONGEST, TIMEOUT, Start, Unusable, observe
from clusterproof.conformance.probes import (
    SUPPORTS,
    Observed,
    Probe,
    agree,
    make_probes,
    probe_names,
    right_states,
    snapshots,
)
from clusterproof.conformance.report import Check, Localisation, Report, with_runs
from clusterproof.conformance.settings import check_declared, check_settings, find_definition
from clusterproof.conformance.tolerance import first_difference, unit
from clusterproof.methods import METHODS

EARLY = 6
"""Number of rounds after which rounding to single precision is already detected by a comparison in float64."""


@checked
def conform(
    start: Start | Algorithm[Any] | type[Algorithm[Any]],
    algorithm: str | Callable[..., Any],
    *,
    settings: Mapping[str, Any] | None = None,
    supports: Iterable[str] | None = None,
    dtype: str | None = None,
    checks: Sequence[str] | None = None,
    timeout: float = TIMEOUT,
    loss: str | None = None,
    explained: bool = True,
) -> Report:
    """Compare an implementation with an algorithm's definition, round by round, on tiny convex tasks.

    Parameters
    ----------
    start
        An algorithm of this library, or an implementation. The algorithm is a class or an instance; the options of an
        instance become declared settings. An implementation is a function: ``start(task, settings)`` returns a run with
        ``run.round(participants)`` and ``run.model``. The model is an array (d,), or (P, d) for a clustered algorithm.
        If the run has ``run.control`` (d,), ``run.controls`` (N, d), ``run.personal`` (N, d) or ``run.assignments``
        (N,), they are compared as well. If ``supports``, ``dtype`` or ``loss`` is None, the value comes from the
        mapping ``start.conform_options``, if it exists.
    algorithm
        Name of the definition, see ``definitions.DEFINITIONS``, or a method, that is, a function decorated with
        ``@method``.
    settings
        Settings that are fixed for all probes, such as ``{"option": "I"}``.
    supports
        Features that the implementation can vary, among ``"batches"``, ``"server-step"``, ``"participation"`` and
        ``"strengths"``; by default all features. Probes that need other features are skipped.
    dtype
        Type in which the implementation computes, ``"float32"`` or ``"float64"``; None stands for the model's type.
    checks
        Names of the probes and checks to carry out; None stands for all.
    timeout
        Seconds that a run may take, on systems with timers.
    loss
        Loss of the tasks, by default ``"quadratic"``. ``"cross-entropy"`` is for code that accepts no other loss.
        Then the task is ``two_class``, clients use full batches, and ``conform`` checks no symmetry and no fixed point.
    explained
        Whether to search for the likely cause of a difference, and for known mistakes that the runs do not rule out.
        This search takes most of the time.

    Returns
    -------
    Report
        The verdict, the likely cause, and where the runs differ.

    Raises
    ------
    InvalidArgument
        If an argument is not admissible. Defects of the implementation do not raise errors; they determine the verdict.
    """
    definition = find_definition(algorithm)
    named = getattr(start, "__name__", type(start).__name__)
    if isinstance(start, Algorithm):
        options = {
            field.name: value
            for field in fields(start)
            if isinstance(value := getattr(start, field.name), (str, bool))
            and value in definition.variants.get(field.name, ())
        }
        settings = {**options, **(settings or {})}
    if callable(start) and start in METHODS:
        start = algorithm_of(start)
    if isinstance(start, Algorithm) or (isinstance(start, type) and issubclass(start, Algorithm)):
        start = from_algorithm(start)
    chosen = check_settings(definition, settings or {})
    supported, declared, loss = check_declared(start, supports, dtype, loss, chosen)
    blank = Report(
        implementation=named,
        algorithm=definition.name,
        equation=definition.equation,
        source=definition.source,
        paper_was_read=definition.paper_was_read,
        quantities=tuple(definition.quantities),
        settings=chosen,
        supports=supported,
        declared=declared,
        dtype=declared or "float64",
    )
    check_number("timeout", timeout, above=0, at_most=LONGEST, remedy="give seconds")
    wanted = tuple(check_names(definition) if checks is None else checks)
    for name in wanted:
        check_name("checks", name, check_names(definition))
    probes, skipped = make_probes(definition, chosen, supported, loss)
    done = tuple(Check(name, "skipped", reason) for name, reason in skipped if name in wanted)
    blank = replace(blank, checks=done)
    run = functools.partial(observe, start, definition, timeout=timeout)
    try:
        runs = [run(probe) for probe in probes if probe.name in wanted]
        if not runs:
            return blank
        _require_usable(definition, blank, runs, run)
        report = judge(with_runs(blank, runs), explained)
        further = additional_checks(report, run, [name for name in CHECKS if name in wanted])
        for check in further:
            if check.name == "repeatable" and check.outcome == "failed":
                raise Unusable(f"{check.sentence}; seed what is random, and keep no state between runs")
        return _with_checks(report, further)
    except Unusable as error:
        cause = "".join(traceback.format_exception(error.__cause__)) if error.__cause__ else ""
        return replace(blank, verdict="unusable", sentence=str(error), traceback=cause)


def check_names(definition: type[Definition]) -> tuple[str, ...]:
    """Return the names of the probes and checks of an algorithm."""
    return (*probe_names(definition), *CHECKS)


def _authority(definition: type[Definition]) -> str:
    return "the paper's definition" if definition.paper_was_read else "the definition used here"


def _require_usable(
    definition: type[Definition], blank: Report, runs: Sequence[Observed], run: Callable[[Probe], Observed]
) -> None:
    """Raise ``Unusable`` for a wrong type or initial model, a constant model, or participants without effect."""
    for one in runs:
        if blank.declared == "float64" and one.dtype == "float32":
            raise Unusable("float64 is declared, but the model is float32; declare dtype='float32'")
        model, task = one.states[0]["model"], one.probe.task
        expected = definition(task, one.probe.settings).model
        if not np.isfinite(model).all():
            raise Unusable("the model is not finite before the first round; start from task.start")
        if np.abs(model - expected).max() > unit(0, expected, "float32"):
            where = "task.start" if task.starts is None else "task.starts"
            raise Unusable(
                f"the run starts from {np.array2string(model.ravel()[:3], precision=4)}, not from {where}; "
                f"copy {where} into the model"
            )
    if all(np.array_equal(one.states[0]["model"], state["model"]) for one in runs for state in one.states):
        raise Unusable("the model never moves; does `round` train, and is `model` what it changes?")
    least = definition.least_participants(runs[0].probe.settings)
    if "participation" not in blank.supports or definition.needs_all_clients or least > 1:
        return
    alone = [run(replace(runs[0].probe, schedule=((i,),))) for i in (0, 1)]
    (before, first), (_, second) = ([state["model"] for state in one.states] for one in alone)
    defined = [snapshots(definition, one.probe)[1]["model"] for one in alone]
    allowed = unit(1, before, alone[0].dtype)
    # if a step of the code or of the definition is as small as rounding, equal models do not show ignored participants
    moves = [np.abs(one - other).max() for one, other in ((first, before), (defined[0], defined[1]))]
    if np.array_equal(first, second) and min(moves) > allowed:
        raise Unusable(
            "a round of client 0 alone and one of client 1 alone give the same model: `round` ignores its "
            "participants; pass them on, or leave 'participation' out of supports"
        )


def judge(report: Report, explained: bool = True) -> Report:
    """Return the report with the verdict on the observed runs."""
    definition, runs = DEFINITIONS[report.algorithm], report.runs
    dtype = report.declared or runs[0].dtype
    undeclared_double = report.declared is None and dtype == "float64"
    sentence = f"agrees with {_authority(definition)} in every round"
    sentence += ", to single precision" if dtype == "float32" else ""
    compared, localised = _compare(definition, runs, dtype)
    # if rounding is visible at all, it is visible in the first rounds of a run
    early = all(check.outcome == "passed" or check.since <= EARLY for check in compared)
    if localised is not None and undeclared_double and early:
        single, difference = _compare(definition, runs, "float32")
        # if a mistake explains the difference in double precision, the cause is the mistake, not a leftover float32
        if difference is None and not (explained and explain(definition, runs, dtype)[0]):
            compared, localised, dtype = single, None, "float32"
            sentence = (
                "agrees to single precision only; a float32 that remains somewhere is no fault, and if there is none, "
                'dtype="float64" shows where it differs'
            )
    report = replace(report, dtype=dtype, checks=(*compared, *report.checks))
    if localised is None:
        plain = DEFINITIONS["fedavg"]
        if definition is plain or not follows(plain, runs, dtype):
            unseen = _unseen(report, definition) if explained else ()
            return replace(report, verdict="conforms", sentence=sentence, unseen=unseen)
        more = [f"offer run.{name}" for name in definition.quantities if name not in runs[0].states[0]]
        more += [f"support {one.name}" for one in report.checks if one.outcome == "skipped"]
        remedy = ", or ".join(more) or "choose larger strengths, or compute in float64"
        sentence = f"every run agrees, but none can tell the algorithm from FedAvg; {remedy}"
        return replace(report, verdict="inconclusive", sentence=sentence)
    changed = admissible_variant(definition, runs, dtype)
    if changed is not None:
        declared = ", ".join(f"{name} = {runs[0].probe.settings[name]}" for name in changed)
        shown = {one: f"{it:.6g} (constant)" if isinstance(it, float) else it for one, it in changed.items()}
        form = ", ".join(f"{name} = {value}" for name, value in shown.items())
        sentence = f"conforms to {definition.name} with {form}; {declared} was expected"
        return replace(report, verdict="variant", sentence=sentence, changed=changed)
    if not explained:
        sentence = "no likely cause was looked for"
        return replace(report, verdict="differs", sentence=sentence, localised=localised)
    rounded = undeclared_double and all(
        _is_single(state["model"]) for run in runs for state in run.states[1:]
    )
    likely, sentence = explain(definition, runs, "float32" if rounded else dtype)
    others = [one for one in definition.quantities if one not in ("control", "controls")]
    if not likely and agree(type("Others", (definition,), {"quantities": others}), runs, dtype):
        sentence = (
            "every model agrees, but the controls that are offered do not: if they are stored in another unit, "
            "leave them out"
        )
    return replace(report, verdict="differs", sentence=sentence, likely=likely, localised=localised)


def _is_single(values: np.ndarray) -> bool:
    return bool((np.isnan(values) | (values.astype("float32") == values)).all())


def _unseen(report: Report, definition: type[Definition]) -> tuple[Hypothesis, ...]:
    """Return the known mistakes that the complete set of probes can detect, but these runs cannot."""
    # code without a server step size cannot misuse it
    probes, _ = make_probes(definition, report.settings, [one for one in SUPPORTS if one != "server-step"])
    expected = [snapshots(definition, one) for one in probes]
    # short runs first: they reveal most mistakes
    runs = sorted(report.runs, key=lambda run: len(run.states))
    return tuple(
        Hypothesis((name,), mistake.sentence)
        for name, mistake in KNOWN_MISTAKES[definition.name].items()
        if agree(definition, runs, report.dtype, mistakes=[mistake])
        and any(
            first_difference(snapshots(definition, one, mistakes=[mistake]), right, "float64")
            for one, right in zip(probes, expected, strict=True)
        )
    )


def _compare(
    definition: type[Definition], runs: Sequence[Observed], dtype: str
) -> tuple[tuple[Check, ...], Localisation | None]:
    checks, localised = [], None
    for run in runs:
        expected = right_states(definition, run.probe)
        difference = first_difference(run.states, expected, dtype)
        outcome, sentence, since = "passed", "", 0
        if difference is not None:
            outcome, sentence, since = "failed", str(difference), difference.round
            localised = localised or Localisation(run.probe.name, run.probe.meaning, difference)
        checks.append(Check(run.probe.name, outcome, sentence, since))
    return tuple(checks), localised


def _with_checks(report: Report, further: Sequence[Check]) -> Report:
    """Return a report with further checks; if one of them fails, the verdict of agreement becomes ``"differs"``."""
    failed = [check for check in further if check.outcome == "failed"]
    if failed and report.verdict in ("conforms", "variant"):
        agreement = "every probe agrees" if report.verdict == "conforms" else report.sentence
        found = "; ".join(f"{check.name} fails: {check.sentence}" for check in failed)
        report = replace(report, verdict="differs", sentence=f"{agreement}, but {found}")
    return replace(report, checks=(*report.checks, *further))


@checked
def assert_conforms(start: Any, algorithm: str | Callable[..., Any], **options: Any) -> Report:
    """Raise ``AssertionError`` unless an implementation conforms; the options are the same as for ``conform``.

    Raises
    ------
    AssertionError
        If the verdict is not ``"conforms"``; the message is the report.
    """
    report = conform(start, algorithm, **options)
    if report.verdict != "conforms":
        raise AssertionError(str(report))
    return report


@checked
def infer(start: Start, *, supports: Iterable[str] | None = None, **options: Any) -> tuple[Report, ...]:
    """Return the algorithms to which an implementation conforms, or else those with the verdict ``"variant"``.

    The implementation receives the settings of all algorithms. If two algorithms have a setting with the same name, it
    has the default of the algorithm with which the implementation is compared.

    Parameters
    ----------
    start, supports, options
        See ``conform``.

    Returns
    -------
    tuple
        The reports with the verdict ``"conforms"``. If there are none, the reports with the verdict ``"variant"``; the
        tuple is empty if no algorithm agrees.
    """
    everything = ChainMap(*(definition.defaults() for definition in DEFINITIONS.values()))

    @functools.wraps(start, assigned=("conform_options",), updated=())
    def complete(task: Any, settings: Mapping[str, Any]) -> Any:
        return start(task, {**everything, **settings})

    found = []
    for definition in DEFINITIONS.values():
        # the search infers a constant server step, and no symmetry distinguishes two algorithms
        known = [name for name in probe_names(definition) if name not in ("server-step", "clusters")]
        report = conform(
            complete, definition.name, supports=supports, checks=known, explained=False, **options
        )
        if report.verdict in ("conforms", "variant"):
            found.append(report)
    return tuple(report for report in found if report.verdict == "conforms") or tuple(found)
