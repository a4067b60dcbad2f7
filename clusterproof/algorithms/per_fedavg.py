"""Per-FedAvg: train a model that becomes good for a client after one local step (Fallah et al., 2020)."""

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
    """FedAvg, applied to the clients' losses after one gradient step, phi_i(w - alpha grad phi_i(w)).

    A local step draws three independent batches D, D', D''::

        v = w - alpha grad phi_i(w; D)
        w <- w - step_size * (I - alpha hessian phi_i(w; D'')) grad phi_i(v; D')

    Parameters
    ----------
    step_size
        Step size of the local steps (beta), positive.
    inner_step_size
        Step size of the personal step (alpha), positive. If None, it is half of ``step_size``. At alpha = 1 / L, a
        client with a perfectly conditioned quadratic loss has gradient 0 after the personal step.
    local_steps
        Local steps of a client in a round (tau).
    participation
        Fraction of clients in a round, in (0, 1].
    gradient
        ``"first-order"`` (FO) omits the factor with the Hessian. ``"second-order"`` keeps this factor and uses a
        Hessian-vector product. The paper's HF instead approximates the product with a difference of two gradients on
        D''.
    weighting
        Weight of a client in an average: 1 for ``"clients"``, n_i / n for ``"samples"``.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range; in the first round, if the task has no ``hessian_products`` for the
        second-order gradient.

    Notes
    -----
    Fallah, Mokhtari and Ozdaglar (2020), Algorithm 1 and (8)-(10). The server has one model (P = 1). ``personalise``
    applies the personal step to this model.
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
            remedy = "leave it out to use half of step_size"
            check_number("inner_step_size", self.inner_step_size, above=0, remedy=remedy)
        kinds = ("first-order", "second-order")
        check_choice("gradient", self.gradient, kinds, remedy="'second-order' is exact")

    @property
    def round_settings(self) -> dict[str, Any]:
        """Settings with which the method's round is called."""
        first_order = self.gradient == "first-order"
        return {"step_size": self.step_size, "inner_step_size": self._inner, "first_order": first_order}

    @property
    def has_personal_step(self) -> bool:
        """Always True, because clients use the model after the personal step."""
        return True

    def personalise(self, points: Array, clients: Array, task: Task, randomness: Randomness) -> Array:
        """Take the personal step from the received models ``points`` (..., k, d)."""
        return points - self._inner * task.gradients(points, clients, randomness.gradient)

    @property
    def _inner(self) -> float:
        return self.step_size / 2 if self.inner_step_size is None else self.inner_step_size
