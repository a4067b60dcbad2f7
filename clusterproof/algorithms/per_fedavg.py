"""Per-FedAvg: a model that is good after one local step (Fallah et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from clusterproof.algorithms.averaging import check_averaging
from clusterproof.algorithms.base import State, Task
from clusterproof.algorithms.from_method import MethodAlgorithm
from clusterproof.common.arrays import Array
from clusterproof.common.randomness import Randomness
from clusterproof.common.validation import check_choice, check_number
from clusterproof.methods.averaging import per_fedavg
from clusterproof.methods.declaration import METHODS, Method


@dataclass(frozen=True, kw_only=True)
class PerFedAvg(MethodAlgorithm[State]):
    """FedAvg on the losses after one step of descent, phi_i(w - alpha grad phi_i(w)).

    A local step draws three independent batches D, D', D''::

        v = w - alpha grad phi_i(w; D)
        w <- w - step_size * (I - alpha hessian phi_i(w; D'')) grad phi_i(v; D')

    Parameters
    ----------
    step_size
        Step size of the local descent (beta), positive.
    inner_step_size
        Step size of the personal step (alpha), positive. If None, it is half of ``step_size``. At 1 / L the gradient of
        a perfectly conditioned client vanishes after the personal step.
    local_steps
        Local steps of a client in a round (tau).
    participation
        Fraction of clients in a round, in (0, 1].
    gradient
        ``"first-order"`` (FO) leaves the factor with the Hessian out. ``"second-order"`` keeps this factor, with a
        Hessian-vector product; HF approximates the product by a difference of two gradients of D''.
    weighting
        Weight of a client in an average: 1 with ``"clients"``, n_i / n with ``"samples"``.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range; in the first round, if the task has no ``hessian_products`` for the
        second-order gradient.

    Notes
    -----
    Fallah, Mokhtari and Ozdaglar (2020), Algorithm 1 and (8)-(10). The model
    array has P = 1: the server's model before the personal step, to which ``personalise`` applies that step.
    """

    name: ClassVar[str] = "per-fedavg"
    method: ClassVar[Method] = METHODS[per_fedavg]

    step_size: float
    inner_step_size: float | None = None
    local_steps: int = 1
    participation: float = 1.0
    gradient: str = "first-order"
    weighting: str = "clients"

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_averaging(self)
        if self.inner_step_size is not None:
            remedy = "leave it out for half of step_size"
            check_number("inner_step_size", self.inner_step_size, above=0, remedy=remedy)
        kinds = ("first-order", "second-order")
        check_choice("gradient", self.gradient, kinds, remedy="'second-order' is exact")

    @property
    def round_settings(self) -> dict[str, Any]:
        """Settings of the method's round."""
        first_order = self.gradient == "first-order"
        return {"step_size": self.step_size, "inner_step_size": self._inner, "first_order": first_order}

    @property
    def has_personal_step(self) -> bool:
        """Always true: clients deploy their model after the personal step."""
        return True

    def personalise(self, points: Array, clients: Array, task: Task, randomness: Randomness) -> Array:
        """Take the personal step from the received models ``points`` (..., k, d)."""
        return points - self._inner * task.gradients(points, clients, randomness.gradient)

    @property
    def _inner(self) -> float:
        return self.step_size / 2 if self.inner_step_size is None else self.inner_step_size
