"""Figures of the errors of runs against the round, for ``trace.plot``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import clusterproof.figures.style as style
from clusterproof.common import InvalidArgument
from clusterproof.common.validation import brief, check_instance
from clusterproof.figures.illustration import written
from clusterproof.running import Trace

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


OPTIMA = {
    "clusters": "the optimum of a cluster",
    "pooled": "the optimum of the mean of all losses",
    "clients": "a client's own optimum",
}
"""For each target of an algorithm, the optimum to which its errors are distances."""

BOUNDS: tuple[style.Look, ...] = (
    {"color": style.BLACK, "linestyle": "--"},
    {"color": style.ORANGE, "linestyle": "-."},
    {"color": style.SKY, "linestyle": ":"},
    {"color": style.GREY, "linestyle": (0, (5, 1, 1, 1, 1, 1))},
)
"""Styles for the curves of bounds. No curve is solid, and no curve has the colour of one of the first four models."""

MOST_MODELS = 4
"""Largest number of models for which each model has a curve. For more models, the figure shows the largest error."""

BAND = (0.2, 0.5, 0.8)
"""Quantiles at the band's lower end, at the curve, and at the band's upper end."""


def check_one_quantity(argument: str, targets: Mapping[str, str | None]) -> None:
    """Raise an error if the errors of runs are distances to different optima, which must not share an axis.

    Parameters
    ----------
    argument
        Name of the rejected argument.
    targets
        Target of each algorithm, a key of ``OPTIMA``, indexed by name, or None if the target is unknown.

    Raises
    ------
    InvalidArgument
        If there are two different targets.
    """
    by_target = {target: name for name, target in targets.items() if target in OPTIMA}
    if len(by_target) > 1:
        meant = ", ".join(f"those of {name} to {OPTIMA[target]}" for target, name in by_target.items())
        rule = f"must measure distances to the same optima, not {meant}"
        raise InvalidArgument(argument, list(targets), rule, "draw a separate figure for each")


@style.styled
def run_figure(trace: Trace, *others: Trace, bounds: Mapping[str, ArrayLike] | None = None) -> style.Figure:
    """Draw the errors of one or several runs.

    Parameters
    ----------
    trace
        Run with known errors. There is one curve per model, or only the largest error for more than four models.
    others
        Other runs with known errors. If there are any, each run has one curve, the largest error, and its label names
        the settings that differ.
    bounds
        Bounds on the errors, indexed by name. Each bound is a number, or a list of numbers, one for the initial error
        and one for each round.

    Raises
    ------
    InvalidArgument
        If a run's task has no known optima, or the errors are distances to different optima. If a bound has the wrong
        length, or there are too many bounds. If matplotlib is not installed.
    """
    traces, errors = (trace, *others), []
    for one in traces:
        check_instance("others", one, Trace, "give runs, that is, results of run(...)")
        if one.errors is None:
            raise InvalidArgument(
                "trace", one, "must contain the distances to the optima", "choose a task with known optima"
            )
        errors.append(np.reshape(one.errors, (one.rounds + 1, -1, one.errors.shape[-1])))
    if any(one.labels.max() > 0 for one in traces):  # with a single cluster, there is only one optimum
        named = {one.settings["algorithm"]["algorithm"]: one.settings.get("target") for one in traces}
        check_one_quantity("others", named)
    several = max(values.shape[-1] for values in errors) > 1
    largest = [values.max(axis=-1) for values in errors]
    each = several and not others and errors[0].shape[-1] <= MOST_MODELS
    curves = list(np.moveaxis(errors[0], -1, 0)) if each else largest
    if each:
        names = [f"model {model}" for model in range(len(curves))]
    else:
        names = differences(traces) if others else ["largest of all models" if several else "run"]
    figure, (panel,) = style.new_figure(_caption(traces, [values.shape[1] for values in errors]))
    for number, (name, values) in enumerate(zip(names, curves, strict=True)):
        look = (style.LOOKS if others else style.SOLID)[number % len(style.LOOKS)]
        with np.errstate(all="ignore"):  # a run may diverge
            low, middle, high = np.quantile(values, BAND, axis=1)
        own: style.Look = {"gid": f"median {number}", "band": (low, high), "shift": number}
        style.draw_curve(panel, np.arange(len(values)), middle, look, name, **own)
    for look, (name, bound) in zip(BOUNDS, _bounds(bounds, max(map(len, errors))).items(), strict=False):
        panel.plot(bound, **look, label=name, gid=f"bound {name}")
    panel.set_yscale("log", nonpositive="mask")
    panel.margins(x=0.02)
    distance = rf"$\|\chi{'_p' * several} - \chi{'_p' * several}^*\|$"
    meant = "distance to the optimum" if each or not several else r"error $\max_p$"
    style.label_axes(panel, "", "communication round", f"{meant} {distance}")
    if others or bounds or several:
        style.add_legend([panel], 4)
    return figure


def _bounds(bounds: Mapping[str, ArrayLike] | None, times: int) -> dict[str, np.ndarray]:
    """Convert each bound to an array with one number for the initial error and one for each round.

    Raises
    ------
    InvalidArgument
        If a bound has the wrong number of entries, or there are more bounds than styles.
    """
    remedy = f'write, for example, {{"Lemma 1": values}} with {times} values, for the start and each round'
    if not isinstance(bounds, Mapping | None) or len(bounds or ()) > len(BOUNDS):
        rule = f"must be a dictionary of at most {len(BOUNDS)} bounds, indexed by name"
        raise InvalidArgument("bounds", brief(bounds), rule, remedy)
    rows = {}
    for name, values in (bounds or {}).items():
        try:
            rows[str(name)] = np.broadcast_to(np.asarray(values, dtype=float), times)
        except (TypeError, ValueError):
            rule = f"must be a number, or {times} numbers"
            raise InvalidArgument(f"bounds[{name!r}]", brief(values), rule, remedy) from None
    return rows


def differences(traces: Sequence[Trace]) -> list[str]:
    """Label each run with the settings in which it differs from other runs, and number runs with equal settings.

    Parameters of algorithms are compared only between runs of the same algorithm.
    """
    algorithms, tasks = [one.settings["algorithm"] for one in traces], [_of_task(one) for one in traces]
    names = []
    for own, task in zip(algorithms, tasks, strict=True):
        alike = [other for other in algorithms if other["algorithm"] == own["algorithm"]]
        kind = [str(own["algorithm"])] if len(alike) < len(traces) else []
        names.append(", ".join(kind + _differing(own, alike) + _differing(task, tasks)))
    return [
        f"{name}, run {number}".removeprefix(", ") if names.count(name) > 1 else name
        for number, name in enumerate(names, start=1)
    ]


def _of_task(trace: Trace) -> dict[str, Any]:
    """Return the numbers and strings in the settings of a run's task, and its arrays rounded to six digits."""
    task, sizes = trace.settings["task"], np.bincount(trace.labels)
    facts = {**task, "clusters": len(sizes), "clients": int(sizes.sum())}
    if (curvatures := task.get("covariance", task.get("hessians"))) is not None:
        values = np.asarray(curvatures, dtype=float)
        values = values if values.ndim == 1 else np.linalg.eigvalsh(values)
        facts["condition_number"] = float(f"{values.max() / values.min():.6g}")
    if (optima := task.get("optima")) is not None and len(sizes) > 1:
        optima = np.asarray(optima, dtype=float)
        apart = np.linalg.norm(optima[:, None] - optima, axis=-1)[~np.eye(len(optima), dtype=bool)]
        facts |= {"dimension": optima.shape[1], "separation": float(f"{apart.min():.6g}")}
    return {**facts, **{name: trace.settings[name] for name in ("rounds", "seed", "replicates")}}


def _differing(settings: Mapping[str, Any], all_settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Describe the numbers and strings in a run's settings that differ between runs."""
    told = []
    for name, value in settings.items():
        differs = any(other.get(name) != value for other in all_settings)
        if differs and isinstance(value, str | int | float | None):
            shown = "no" if value is None else f"{value:.4g}" if isinstance(value, float) else value
            told.append(f"{name} {shown}".replace("_", " "))
    return told


def _caption(traces: Sequence[Trace], runs: Sequence[int]) -> str:
    """Describe algorithm, task, parameters and seed of the first run, and the number of runs that each curve shows."""
    trace = traces[0]
    algorithm, task = trace.settings["algorithm"], trace.settings["task"]
    options = {name: value for name, value in algorithm.items() if name != "algorithm"}
    told = ", ".join(f"{name} = {written(value)}" for name, value in options.items())
    number = str(runs[0]) if len(set(runs)) == 1 else f"{min(runs)} to {max(runs)}"
    bands = f" Median and {100 * BAND[0]:g}-{100 * BAND[-1]:g} % band of {number} runs." * (max(runs) > 1)
    first = "First curve: " * (len(traces) > 1)
    words = f"{first}{algorithm['algorithm']} on {task['task']}, {len(trace.labels)} clients ({told})."
    return f"{words}{bands} Seed {trace.settings['seed']}.".replace("_", " ")
