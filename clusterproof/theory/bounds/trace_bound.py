"""The bound of a claim on a run, and the comparison of the run with the bound."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clusterproof.checker.claims.expectation import Expectation
from clusterproof.common import InvalidArgument
from clusterproof.common.notebook import html_table
from clusterproof.running import Trace

ROUNDING = 1e-12
"""Tolerance for rounding errors, relative to the unit plus the bound."""


@dataclass(frozen=True, eq=False)
class Compared:
    """A quantity of a run, and a bound on this quantity.

    Attributes
    ----------
    name
        Name of the quantity in messages.
    measured, allowed
        Arrays (rounds + 1, replicates, k), with one replicate if the run has none.
    unit
        Scale of rounding errors: differences that are much smaller than this number may be rounding errors.
    """

    name: str
    measured: np.ndarray
    allowed: np.ndarray
    unit: float

    @property
    def above(self) -> np.ndarray:
        """Difference between each entry and its bound, minus the tolerance.

        It is at most 0 if the bound holds, and infinite if the run diverged.
        """
        measured, allowed = self.measured, self.allowed
        with np.errstate(all="ignore"):
            above = np.where(np.isnan(measured) & np.isfinite(allowed), np.inf, measured - allowed)
            room = ROUNDING * (self.unit + np.where(np.isfinite(allowed), np.abs(allowed), 0.0))
        return np.asarray(np.where(above > room, above, np.minimum(above, 0.0)))


@dataclass(frozen=True, eq=False, repr=False)
class TraceBound:
    """The bounds of a claim on a run. All bounds hold simultaneously, with one failure probability.

    Attributes
    ----------
    bound
        Upper bounds on the compared quantity, in a broadcastable shape, or infinity where the claim has no bound.
    failure_probability
        Probability that a replicate may break any of the bounds, or 0 for a deterministic claim.
    last
        A smaller bound that holds only after the last round, broadcastable to (replicates, P), or None.
    reference, deviation
        If the claim bounds the distance of the models from a reference: the reference (rounds + 1, ..., P, d), and
        the allowed distance, broadcastable to the errors. Otherwise None.
    measured
        The compared quantity, (rounds + 1, replicates, k), without the middle axis if the run has no replicates. If
        None, it is the errors of the trace.
    quantity
        Name of the compared quantity in messages.
    unit
        Scale of rounding errors in the measured quantity. If None, it is an upper bound on the norms of initial
        models and optima.
    expectation
        The samples and the bound, if the claim bounds an expectation over the replicates. ``bound`` also contains
        this bound. None for a bound on every replicate.
    """

    bound: np.ndarray
    failure_probability: float = 0.0
    last: np.ndarray | None = None
    reference: np.ndarray | None = None
    deviation: np.ndarray | None = None
    measured: np.ndarray | None = None
    quantity: str = "error"
    unit: float | None = None
    expectation: Expectation | None = None

    def __repr__(self) -> str:
        return f"<TraceBound: {', '.join(f'{name} {fact}' for name, fact in self._facts.items())}>"

    def _repr_html_(self) -> str:
        return html_table("TraceBound", self._facts)

    @property
    def _facts(self) -> dict[str, str]:
        bound = np.asarray(self.bound, dtype=float)
        rows = bound if bound.ndim else bound[None]
        facts = {
            f"on the {self.quantity}": f"{rows[0].max():.3g} -> {rows[-1].max():.3g}",
            "shape": str(bound.shape),
            "failure probability": f"{self.failure_probability:.3g}",
        }
        if self.last is not None:
            facts["after the last round"] = f"{np.max(self.last):.3g}"
        if self.deviation is not None:
            facts["distance from the reference path"] = f"at most {np.max(self.deviation):.3g}"
        return facts

    def broken(self, trace: Trace) -> np.ndarray:
        """Return whether the bound is broken, in the shape of the compared quantity."""
        found = np.logical_or.reduce([one.above > 0 for one in self.compared(trace)])
        return np.asarray(found[:, 0] if trace.models.ndim == 3 else found)

    def compared(self, trace: Trace) -> list[Compared]:
        """Yield each compared quantity with its bound."""
        measured = np.asarray(trace.errors if self.measured is None else self.measured, dtype=float)
        bound, length = _spread(self.bound, measured), largest_length(trace)
        if self.last is not None:
            bound[-1] = np.minimum(bound[-1], np.broadcast_to(self.last, measured[-1].shape))
        found = [Compared(self.quantity, measured, bound, length if self.unit is None else self.unit)]
        if self.reference is not None and self.deviation is not None:
            away = np.linalg.norm(trace.models - self.reference, axis=-1)
            allowed = _spread(self.deviation, away)
            found.append(Compared("distance from the noise-free path", away, allowed, length))
        if trace.models.ndim == 3:
            found = [
                replace(one, measured=one.measured[:, None], allowed=one.allowed[:, None]) for one in found
            ]
        return found


def as_trace_bound(allowed: Any, trace: Trace, failure_probability: float | None) -> TraceBound:
    """Convert a claim's result for a run to a ``TraceBound``.

    Parameters
    ----------
    allowed
        The result: a ``TraceBound``, an ``Expectation``, or numbers broadcastable to the errors of the trace.
    trace
        The run, with known errors.
    failure_probability
        The requested failure probability. Only a ``TraceBound`` can have one.

    Raises
    ------
    InvalidArgument
        If the bound is deterministic and a failure probability is given, or the shape is wrong.
    """
    if isinstance(allowed, TraceBound):
        return allowed
    if failure_probability is not None:
        raise InvalidArgument(
            "failure_probability",
            failure_probability,
            "must be left out, because the bound of this claim holds in every run",
            "leave it out",
        )
    if isinstance(allowed, Expectation):
        return TraceBound(bound=allowed.allowed, quantity="expectation", expectation=allowed)
    values, shape = np.asarray(allowed, dtype=float), np.asarray(trace.errors).shape
    if len(shape) == 3 and values.ndim == 2 and len(values) == shape[0]:
        values = values[:, None]  # one value per round and model, for every replicate
    try:
        return TraceBound(bound=np.broadcast_to(values, shape))
    except ValueError:
        raise InvalidArgument(
            "bound", np.shape(allowed), f"must be broadcastable to trace.errors, {shape}",
            "give one number, or one per round and model",
        ) from None  # fmt: skip


def largest_length(trace: Trace) -> float:
    """Return an upper bound on the norms of initial models and optima, the scale of rounding errors in a run."""
    lengths = np.linalg.norm(trace.models[0], axis=-1)
    return float(np.max(lengths + (0.0 if trace.errors is None else trace.errors[0])))


def _spread(bound: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Broadcast a bound without replicates, (rounds + 1, k), to all replicates of the measured quantity."""
    bound = np.asarray(bound, dtype=float)
    if like.ndim == 3 and bound.ndim == 2:
        bound = bound[:, None, :]
    return np.broadcast_to(bound, like.shape).copy()
