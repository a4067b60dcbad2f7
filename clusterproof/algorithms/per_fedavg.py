"""Per-FedAvg: a model that is good after one local step (Fallah et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

from clusterproof.algorithms.arrays import Array
from clusterproof.algorithms.bodies.one_model import OneModelSent
from clusterproof.algorithms.protocol import DifferentiatedTask, Task, TrainingTask
from clusterproof.algorithms.randomness import Randomness
from clusterproof.algorithms.validation import InvalidArgument, check_choice, check_number


@dataclass(frozen=True, kw_only=True)
class PerFedAvg(OneModelSent):
    """FedAvg on the losses after one step of descent, phi_i(w - alpha grad phi_i(w)).

    A local step draws three independent batches D, D', D''::

        v = w - alpha grad phi_i(w; D)
        w <- w - step_size * (I - alpha hessian phi_i(w; D'')) grad phi_i(v; D')

    Parameters
    ----------
    step_size
        Step size of the local descent (beta), positive.
    inner_step_size
        Step size of the personal step (alpha), positive. If None, half of ``step_size``. At 1 / L the gradient
        of a perfectly conditioned client vanishes after the personal step.
    local_steps
        Local steps of a client in a round (tau).
    participation
        Fraction of clients in a round, in (0, 1].
    gradient
        ``"first-order"`` (FO) leaves the factor with the Hessian out; ``"second-order"`` keeps it,
        by a Hessian-vector product, which HF approximates by a difference of two gradients of D''.
    weighting
        Weight of a client in an average: ``"clients"`` (equal) or ``"samples"`` (n_i / n).

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range, or the task has no ``hessian_products`` for the
        second-order gradient; during a run, if a client's model is not finite.

    Notes
    -----
    Fallah, Mokhtari and Ozdaglar (2020), Algorithm 1 and (8)-(10). The model
    array has P = 1: the server's model before the personal step, which ``personalise`` takes.
    """

    name: ClassVar[str] = "per-fedavg"

    step_size: float
    inner_step_size: float | None = None
    local_steps: int = 1
    participation: float = 1.0
    gradient: str = "first-order"
    weighting: str = "clients"

    def __post_init__(self) -> None:
        """Validate the parameters."""
        super().__post_init__()
        if self.inner_step_size is not None:
            remedy = "leave it out for half of step_size"
            check_number("inner_step_size", self.inner_step_size, above=0, remedy=remedy)
        kinds = ("first-order", "second-order")
        check_choice("gradient", self.gradient, kinds, remedy="'second-order' is exact")

    def model_count(self, task: Task) -> int:
        """Return 1."""
        if self.gradient == "second-order" and not hasattr(task, "hessian_products"):
            raise InvalidArgument(
                "gradient",
                self.gradient,
                "needs a task with the method `hessian_products`",
                "use 'first-order' on this task",
            )
        return super().model_count(task)

    def descend(self, received: Array, clients: Array, task: Task, randomness: Randomness) -> Array:
        """Train the participants: map the received models (..., k, d) to the models that they send."""
        second_order = self.gradient == "second-order"
        if hasattr(task, "meta_training"):
            return cast(TrainingTask, task).meta_training(
                received,
                clients,
                randomness.gradient,
                step_size=self.step_size,
                inner_step_size=self._inner,
                local_steps=self.local_steps,
                second_order=second_order,
            )
        points, stream = received, randomness.gradient
        for _ in range(self.local_steps):
            ahead = self.personalise(points, clients, task, randomness)
            gradient = task.gradients(ahead, clients, stream)
            if second_order:
                differentiated = cast(DifferentiatedTask, task)
                product = differentiated.hessian_products(points, gradient, clients, stream)
                gradient = gradient - self._inner * product
            points = points - self.step_size * gradient
        return points

    @property
    def has_personal_step(self) -> bool:
        """True."""
        return True

    @property
    def asks_single_gradients(self) -> bool:
        """True, as a local step computes two or three gradients."""
        return True

    def personalise(self, points: Array, clients: Array, task: Task, randomness: Randomness) -> Array:
        """Take the personal step from the received models ``points`` (..., k, d)."""
        return points - self._inner * task.gradients(points, clients, randomness.gradient)

    @property
    def _inner(self) -> float:
        return self.step_size / 2 if self.inner_step_size is None else self.inner_step_size
