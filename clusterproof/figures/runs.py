"""Errors of runs, round by round: what a trace draws of itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import clusterproof.figures.style as style
from clusterproof.algorithms import InvalidArgument, Trace
from clusterproof.algorithms.validation import brief, check_instance

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


OPTIMA = {
    "clusters": "the optimum of a cluster",
    "pooled": "the optimum of the mean of all losses",
    "clients": "a client's own optimum",
}
"""To what errors are distances, by the target of an algorithm."""


def check_one_quantity(argument: str, targets: Mapping[str, str | None]) -> None:
    """Refuse runs whose errors are distances to different optima, as one axis would compare them.

    Parameters
    ----------
    argument
        Name of the argument that is refused.
    targets
        Target of each algorithm (a key of ``OPTIMA``) by its name; None if it is unknown.

    Raises
    ------
    InvalidArgument
        If there are several.
    """
    by_target = {target: name for name, target in targets.items() if target in OPTIMA}
    if len(by_target) > 1:
        meant = ", ".join(f"those of {name} to {OPTIMA[target]}" for target, name in by_target.items())
        rule = f"have errors that are distances to different optima, {meant}, which one axis cannot compare"
        raise InvalidArgument(argument, list(targets), rule, "draw a figure of each")


@style.styled
def run_figure(trace: Trace, *others: Trace, bounds: Mapping[str, ArrayLike] | None = None) -> style.Figure:
    """Draw the errors of a run, or of several.

    Parameters
    ----------
    trace
        With errors: of each model, or the largest where there are more than four.
    others
        Further runs with errors. With them the largest error of each run is drawn, with a label that says in which
        settings the runs differ.
    bounds
        Bounds on the errors by their names: a number, or one for each round and the start.

    Raises
    ------
    InvalidArgument
        If one has no errors, their errors are distances to different optima, a bound has the wrong length or too
        many are given, or matplotlib is not installed.
    """
    traces = (trace, *others)
    errors = []
    for one in traces:
        check_instance("others", one, Trace, "give runs, as run(...) returns them")
        if one.errors is None:
            raise InvalidArgument("trace", one, "must have errors", "run on a task that knows its optima")
        errors.append(one.errors if one.errors.ndim == 3 else one.errors[:, None])
    if any(one.labels.max() > 0 for one in traces):  # of a single cluster all optima are one
        named = {one.settings["algorithm"]["algorithm"]: one.settings.get("target") for one in traces}
        check_one_quantity("others", named)
    runs = [len(values[0]) for values in errors]
    figure, (panel,) = style.new_figure(_caption(traces, runs))
    models = errors[0].shape[-1]
    each = not others and models <= len(style.RUNS)
    if each:
        names = [f"model {model}" for model in range(models)] if models > 1 else ["run"]
        curves = {name: errors[0][..., model] for model, name in enumerate(names)}
    else:
        names = differences(traces) if others else ["largest of all models"]
        curves = {name: values.max(axis=-1) for name, values in zip(names, errors, strict=True)}
    for number, (name, values) in enumerate(curves.items()):
        look = style.LOOKS[number % len(style.LOOKS)] if others else style.RUNS[number % len(style.RUNS)]
        every = max(1, len(values) // 10)
        gid = f"median {number}"
        with np.errstate(all="ignore"):  # a diverged run
            low, middle, high = np.quantile(values, (style.BAND[0], 0.5, style.BAND[1]), axis=1)
        times = np.arange(len(values))
        panel.fill_between(times, low, high, color=look["color"], alpha=0.2, linewidth=0, gid=f"band {gid}")
        panel.plot(times, middle, **look, markevery=(number * every // 4 % every, every), label=name, gid=gid)
    for look, (name, bound) in zip(
        style.BOUNDS, _bounds(bounds, max(map(len, errors))).items(), strict=False
    ):
        panel.plot(bound, **look, label=name, gid=f"bound {name}")
    panel.set_yscale("log", nonpositive="mask")
    panel.margins(x=0.02)
    several = max(values.shape[-1] for values in errors) > 1
    distance = rf"$\|\chi{'_p' * several} - \chi{'_p' * several}^*\|$"
    quantity = (
        f"error $\\max_p$ {distance}" if several and not each else f"distance to the optimum {distance}"
    )
    style.label_axes(panel, "", "communication round", quantity)
    if len(curves) > 1 or others or bounds or not each:
        panel.legend()
    return figure


def _bounds(bounds: Mapping[str, ArrayLike] | None, times: int) -> dict[str, np.ndarray]:
    """Return each bound as one number for each time.

    Raises
    ------
    InvalidArgument
        If one is no row of so many numbers, or there are more than looks.
    """
    remedy = f'such as {{"Lemma 1": values}} with {times} values, of the start and of each round'
    if not isinstance(bounds, Mapping | None) or len(bounds or ()) > len(style.BOUNDS):
        rule = f"must be a dictionary of at most {len(style.BOUNDS)} bounds by their names"
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
    """Name each run by the settings in which it differs from the others; equal ones by their number, too.

    Parameters of algorithms are compared among runs of the same algorithm, whose name tells them from others.
    """
    kinds = [str(one.settings["algorithm"]["algorithm"]) for one in traces]
    several = len(set(kinds)) > 1
    names = []
    for trace, kind in zip(traces, kinds, strict=True):
        alike = [other for other, name in zip(traces, kinds, strict=True) if name == kind]
        parts = _differing(trace.settings["algorithm"], [one.settings["algorithm"] for one in alike])
        parts += _differing(_of_task(trace), [_of_task(one) for one in traces])
        about = [{name: one.settings[name] for name in ("rounds", "seed", "replicates")} for one in traces]
        parts += _differing({name: trace.settings[name] for name in about[0]}, about)
        names.append(", ".join([kind] * several + parts))
    repeated = {name for name in names if names.count(name) > 1}
    return [
        f"{name}, run {number}".removeprefix(", ") if name in repeated else name
        for number, name in enumerate(names, start=1)
    ]


def _of_task(trace: Trace) -> dict[str, Any]:
    """Return the numbers and words of a run's task, and what its arrays amount to, to six digits."""
    task = trace.settings["task"]
    sizes = np.bincount(trace.labels)
    facts = {**task, "clusters": len(sizes), "clients": int(sizes.sum())}
    if (curvatures := task.get("covariance", task.get("hessians"))) is not None:
        curvatures = np.asarray(curvatures, dtype=float)
        if curvatures.shape[0] == len(trace.labels) and curvatures.ndim == 3:  # a Hessian for each client
            curvatures = np.stack(
                [curvatures[trace.labels == cluster].mean(axis=0) for cluster in range(len(sizes))]
            )
        values = curvatures if curvatures.ndim == 1 else np.linalg.eigvalsh(curvatures)
        facts["condition_number"] = float(f"{values.max() / values.min():.6g}")
    if (optima := task.get("optima")) is not None and len(sizes) > 1:
        optima = np.asarray(optima, dtype=float)
        apart = np.linalg.norm(optima[:, None] - optima, axis=-1)[~np.eye(len(optima), dtype=bool)]
        facts["dimension"], facts["separation"] = optima.shape[1], float(f"{apart.min():.6g}")
    return facts


def _differing(settings: Mapping[str, Any], all_settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Write the numbers and words of a run's settings that are not the same in all."""
    written = []
    for name, value in settings.items():
        plain = value is None or isinstance(value, str | int | float)
        if plain and any(other.get(name) != value for other in all_settings):
            shown = f"{value:.4g}" if isinstance(value, float) else "no" if value is None else f"{value}"
            written.append(f"{name} {shown}".replace("_", " "))
    return written


def _caption(traces: Sequence[Trace], runs: Sequence[int]) -> str:
    """Write algorithm, task, parameters and seed of the first run, and how many each curve is of."""
    trace = traces[0]
    algorithm, task = trace.settings["algorithm"], trace.settings["task"]
    told = ", ".join(
        f"{name} = {value:.6g}" if isinstance(value, float) else f"{name} = {value}"
        for name, value in algorithm.items()
        if name != "algorithm" and value is not None
    )
    number = str(runs[0]) if len(set(runs)) == 1 else f"{min(runs)} to {max(runs)}"
    bands = f" Median and {100 * style.BAND[0]:g}-{100 * style.BAND[1]:g} % band of {number} runs."
    first = "First curve: " if len(traces) > 1 else ""
    words = (
        f"{first}{algorithm['algorithm']} on {task['task']}, {len(trace.labels)} clients ({told})."
        f"{bands if max(runs) > 1 else ''} Seed {trace.settings['seed']}."
    )
    return words.replace("_", " ")
