"""FedAvg (McMahan et al., 2017) and its variants FedProx, FedNova and Per-FedAvg."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from clusterproof.algorithms.averaging import check_averaging, check_proximal, check_server_step_size
from clusterproof.algorithms.base import State, Task
from clusterproof.algorithms.from_method import MethodAlgorithm
from clusterproof.common.arrays import Array
from clusterproof.common.randomness import Randomness
from clusterproof.common.validation import InvalidArgument, check_choice, check_number
from clusterproof.methods.averaging import fedavg, fednova, fedprox, per_fedavg
from clusterproof.methods.declaration import METHODS, Method


@dataclass(frozen=True, kw_only=True)
class FedAvg(MethodAlgorithm[State]):
    """Participants train the server's model locally, and the server averages their models.

    The participants reach models y_i from x, and the server computes::

        x <- x + server_step_size * mean of (y_i - x)

    Parameters
    ----------
    step_size
        Step size (eta), positive.
    local_steps
        Number of gradient steps that a client takes per round, or number of passes over the client's samples with
        ``reshuffle``.
    participation
        Fraction of clients in a round, in (0, 1].
    weighting
        Weight of a client in an average: 1 for ``"clients"``, n_i / n for ``"samples"``.
    server_step_size
        Step size of the server (eta_g), positive. With 1, the server takes the mean of the models.
    reshuffle
        Whether each gradient uses one sample, and each pass takes the client's samples in a new uniform random order.
        This algorithm is NASTYA. The server step size in its paper equals step_size * n_i * server_step_size.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range. In the first round, if the task has no samples to reshuffle.

    Notes
    -----
    McMahan et al. (2017), Algorithm 1, with weights n_k / n. NASTYA is Algorithm 3 of Sadiev et al. (2022) without
    compression, which we read. The server has one model (P = 1).
    """

    name: ClassVar[str] = "fedavg"
    method: ClassVar[Method] = METHODS[fedavg]

    step_size: float
    local_steps: int = 1
    participation: float = 1.0
    weighting: str = "clients"
    server_step_size: float = 1.0
    reshuffle: bool = False

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_averaging(self)
        check_server_step_size(self.server_step_size)
        if not isinstance(self.reshuffle, bool):
            raise InvalidArgument(
                "reshuffle",
                self.reshuffle,
                "must be True or False",
                "write reshuffle=True or reshuffle=False",
            )


@dataclass(frozen=True, kw_only=True)
class FedProx(MethodAlgorithm[State]):
    """FedAvg, but each client minimises phi_i(w) + proximal / 2 ||w - w^t||^2.

    Parameters
    ----------
    step_size
        Step size (eta), positive.
    proximal
        Coefficient of the proximal term (mu), at least 0. With 0, this is FedAvg.
    local_steps
        Number of gradient steps that a client takes per round (H). The exact minimisation in the paper corresponds to H
        = infinity.
    participation
        Fraction of clients in a round, in (0, 1].
    weighting
        Weight of a client in an average: 1 for ``"clients"``, n_i / n for ``"samples"``.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range.

    Notes
    -----
    Li et al. (2020), Algorithm 2. The default coefficient is from SoFL, 5.1. The gradient of the proximal term is
    zero in the first local step, so with one local step this is FedAvg. The server has one model (P = 1).
    """

    name: ClassVar[str] = "fedprox"
    method: ClassVar[Method] = METHODS[fedprox]

    step_size: float
    proximal: float = 0.1
    local_steps: int = 1
    participation: float = 1.0
    weighting: str = "clients"

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_averaging(self)
        check_proximal(self.proximal)


@dataclass(frozen=True, kw_only=True)
class FedNova(MethodAlgorithm[State]):
    """FedAvg, but the server divides each client's change by the client's number of steps K_i.

    The participants reach models y_i from x, tau is the mean of the K_i, and the server computes::

        x <- x + server_step_size * tau * mean of (y_i - x) / K_i

    If all clients take the same number of steps, this is FedAvg. If they train for epochs, K_i is proportional to the
    number of samples.

    Parameters
    ----------
    step_size
        Step size of the clients' gradient steps, positive.
    local_steps
        Number of local steps of a client in a round. If a local step is an epoch, K_i is this number times the
        client's number of batches.
    server_step_size
        Step size of the server, positive.
    participation
        Fraction of clients in a round, in (0, 1].
    weighting
        Weight of a client in both means: 1 with ``"clients"``, n_i / n with ``"samples"``.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range.

    Notes
    -----
    Wang, Liu, Liang, Joshi and Poor (2020), with plain gradient steps, for which the paper's a_i is K_i. We did not
    compare the equations with the paper's text. The server has one model (P = 1).
    """

    name: ClassVar[str] = "fednova"
    method: ClassVar[Method] = METHODS[fednova]

    step_size: float
    local_steps: int = 1
    server_step_size: float = 1.0
    participation: float = 1.0
    weighting: str = "clients"

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_averaging(self)
        check_server_step_size(self.server_step_size)


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
        Step size of the personal step (alpha), positive. If None, it is half of ``step_size``. With alpha = 1 / L, a
        client whose loss is quadratic with condition number 1 has gradient 0 after the personal step.
    local_steps
        Local steps of a client in a round (tau).
    participation
        Fraction of clients in a round, in (0, 1].
    gradient
        ``"first-order"`` (FO) omits the factor with the Hessian. ``"second-order"`` uses this factor, with a
        Hessian-vector product. The paper's HF approximates the product by a difference of two gradients on D''.
    weighting
        Weight of a client in an average: 1 for ``"clients"``, n_i / n for ``"samples"``.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range. In the first round, if the task has no ``hessian_products`` for the
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
        """Settings that are passed to the method's round."""
        first_order = self.gradient == "first-order"
        return {"step_size": self.step_size, "inner_step_size": self._inner, "first_order": first_order}

    @property
    def has_personal_step(self) -> bool:
        """Always True, because clients use the model after the personal step."""
        return True

    def personalise(self, points: Array, clients: Array, task: Task, randomness: Randomness) -> Array:
        """Take the personal step at the received models ``points`` (..., k, d)."""
        return points - self._inner * task.gradients(points, clients, randomness.gradient)

    @property
    def _inner(self) -> float:
        return self.step_size / 2 if self.inner_step_size is None else self.inner_step_size
