"""Every bound on a run next to its errors: a table and a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from clusterproof.algorithms import InvalidArgument, Trace
from clusterproof.algorithms.drawable import Drawable
from clusterproof.algorithms.notebook import html_table
from clusterproof.synthetic import Mixture
from clusterproof.theory.checker.claim import REGISTRY
from clusterproof.theory.checker.run_check import bound
from clusterproof.theory.checker.same_task import check_same_task
from clusterproof.theory.checker.trace_bound import Compared

if TYPE_CHECKING:
    import polars


@dataclass(frozen=True, eq=False, repr=False)
class BoundComparison(Drawable):
    """Errors of a run, and what claims allow in each round. Numbers are the largest over replicates.

    Attributes
    ----------
    trace
        The run.
    errors
        Largest error, (rounds + 1, P).
    bounds
        Allowed error by id of the claim, (rounds + 1, P); infinite where a claim allows anything.
    broken
        Whether some replicate is above the bound, beyond rounding, by id of the claim, (rounds + 1, P).
    failure_probabilities
        Probability with which a replicate may break a bound, by id of the claim; 0 for a sure one.
    left_out
        Why a claim gives no bound on the errors of this run, by id.
    """

    drawn_by: ClassVar[str] = "bounds_figure"

    trace: Trace
    errors: np.ndarray
    bounds: Mapping[str, np.ndarray]
    broken: Mapping[str, np.ndarray]
    failure_probabilities: Mapping[str, float]
    left_out: Mapping[str, str]

    @property
    def tightest(self) -> tuple[str | None, ...]:
        """Id of the claim with the smallest finite bound that the run keeps to, for each round; None without one."""
        return tuple(self._smallest(step, slice(None)) for step in range(len(self.errors)))

    def _smallest(self, step: int, model: Any) -> str | None:
        """Return the claim whose bound, the largest of the models, is smallest; the first of equal ones."""
        values = {
            name: float(np.max(bound[step, model]))
            for name, bound in self.bounds.items()
            if not self.broken[name][step, model].any()
        }
        finite = {name: value for name, value in values.items() if np.isfinite(value)}
        return min(finite, key=lambda name: finite[name], default=None)

    def frame(self) -> polars.DataFrame:
        """Return a table with one row per round, model and claim.

        Returns
        -------
        polars.DataFrame
            Columns ``round``, ``model``, ``claim``, ``error`` and ``bound`` (largest over replicates), ``ratio``
            (bound over error), ``broken`` and ``tightest`` (smallest bound of this round and model that the run
            keeps to).

        Raises
        ------
        InvalidArgument
            If polars is not installed; the message names the extra to install.
        """
        import polars

        rows = []
        for step, model in np.ndindex(*self.errors.shape):
            tightest = self._smallest(step, model)
            for name, allowed in self.bounds.items():
                error, limit = float(self.errors[step, model]), float(allowed[step, model])
                ratio = limit / error if error else None
                is_broken = bool(self.broken[name][step, model])
                rows.append((step, model, name, error, limit, ratio, is_broken, name == tightest))
        columns = {
            "round": polars.Int32,
            "model": polars.Int32,
            "claim": polars.String,
            "error": polars.Float64,
            "bound": polars.Float64,
            "ratio": polars.Float64,
            "broken": polars.Boolean,
            "tightest": polars.Boolean,
        }
        return polars.DataFrame(rows, schema=columns, orient="row")

    def __repr__(self) -> str:
        return f"<BoundComparison: {', '.join(f'{name} {fact}' for name, fact in self._facts.items())}>"

    def _repr_html_(self) -> str:
        return html_table("Bounds on a run", self._facts)

    @property
    def _facts(self) -> dict[str, str]:
        facts = {"error after the last round": f"{self.errors[-1].max():.3g}"}
        last = self.tightest[-1]
        for name, allowed in self.bounds.items():
            mark = " (tightest)" if name == last else " (broken)" if self.broken[name].any() else ""
            facts[name] = f"{allowed[-1].max():.3g}{mark}"
        facts["left out"] = str(len(self.left_out))
        return facts


def compare(trace: Trace, task: Mixture, claims: Sequence[str] | None = None) -> BoundComparison:
    """Compare the errors of a run with what claims allow.

    Parameters
    ----------
    trace
        The run, with errors.
    task
        The task of the run.
    claims
        Ids of claims that bound runs. If None, all of them whose hypotheses hold on this run and that bound its
        errors; ``left_out`` names the others.

    Returns
    -------
    BoundComparison
        With ``.tightest``, ``.frame()`` and ``.plot()``.

    Raises
    ------
    InvalidArgument
        If the run has no errors or is not of the task, or a claim that ``claims`` names bounds no runs or other
        quantities, or one of its hypotheses fails.
    """
    if trace.errors is None:
        raise InvalidArgument("trace", trace, "must have errors", "run on a task that knows its optima")
    if isinstance(claims, str):
        raise InvalidArgument("claims", claims, "must be a list of ids", f"write [{claims!r}]")
    check_same_task(task, trace)
    names = [name for name, claim in REGISTRY.items() if claim.bound_trace is not None]
    compared: dict[str, Compared] = {}
    probabilities: dict[str, float] = {}
    left_out: dict[str, str] = {}
    for name in names if claims is None else claims:
        try:
            with np.errstate(all="ignore"):
                allowed = bound(name, task, trace)
                if allowed.measured is not None or allowed.expectation is not None:
                    what = allowed.quantity if allowed.expectation is None else "expectation over replicates"
                    rule = f"bounds the {what}, not the error of a model"
                    raise InvalidArgument("claims", name, rule, "leave it out")
                compared[name] = allowed.compared(trace)[0]
        except InvalidArgument as error:
            if claims is not None:
                raise
            left_out[name] = " ".join(str(error).split())
        else:
            probabilities[name] = float(allowed.failure_probability)
    return BoundComparison(
        trace=trace,
        errors=trace.errors.max(axis=1) if trace.errors.ndim == 3 else trace.errors,
        bounds={name: each.allowed.max(axis=1) for name, each in compared.items()},
        broken={name: np.any(each.above > 0, axis=1) for name, each in compared.items()},
        failure_probabilities=probabilities,
        left_out=left_out,
    )
