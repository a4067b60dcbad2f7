"""FedAvgM, FedAdam and FedYogi: the server uses an optimiser (Hsu et al., 2019; Reddi et al., 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clusterproof.algorithms.averaging import check_averaging, check_server_step_size
from clusterproof.algorithms.base import State
from clusterproof.algorithms.from_method import MethodAlgorithm
from clusterproof.common.arrays import Array
from clusterproof.common.validation import InvalidArgument, check_number
from clusterproof.methods.declaration import METHODS, Method
from clusterproof.methods.server_optimisers import fedadam, fedavgm, fedyogi


@dataclass(frozen=True)
class BufferState(State):
    """State of FedAvgM.

    Attributes
    ----------
    buffer
        The server's momentum v, (..., 1, d).
    """

    buffer: Array


@dataclass(frozen=True)
class MomentsState(State):
    """State of FedAdam and FedYogi.

    Attributes
    ----------
    m, v
        Running means of the clients' mean change and of its squared entries, (..., 1, d).
    """

    m: Array
    v: Array


@dataclass(frozen=True, kw_only=True)
class FedAvgM(MethodAlgorithm[BufferState]):
    """FedAvg with momentum on the server.

    Let Delta be x minus the mean of the participants' models::

        v <- momentum v + Delta        x <- x - server_step_size * v

    or, with ``nesterov``, x <- x - server_step_size * (Delta + momentum v).

    Parameters
    ----------
    step_size
        Step size of the clients' gradient steps, positive.
    momentum
        Momentum of the server (beta), in [0, 1).
    nesterov
        Whether the server moves along Delta + momentum v instead of v.
    local_steps
        Number of gradient steps that a client takes per round.
    server_step_size
        Step size of the server, positive.
    participation
        Fraction of clients in a round, in (0, 1].
    weighting
        Weight of a client in the mean: 1 for ``"clients"``, n_i / n for ``"samples"``.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range.

    Notes
    -----
    Hsu, Qi and Brown (2019). We did not compare the equations with the paper's text. The server has one model (P = 1).
    """

    name: ClassVar[str] = "fedavgm"
    method: ClassVar[Method] = METHODS[fedavgm]
    state: ClassVar[type[State]] = BufferState

    step_size: float
    momentum: float = 0.9
    nesterov: bool = False
    local_steps: int = 1
    server_step_size: float = 1.0
    participation: float = 1.0
    weighting: str = "clients"

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_averaging(self)
        check_server_step_size(self.server_step_size)
        check_number("momentum", self.momentum, at_least=0, below=1, remedy="0.9 is common")
        if not isinstance(self.nesterov, bool):
            raise InvalidArgument(
                "nesterov", self.nesterov, "must be True or False", "write nesterov=True or nesterov=False"
            )


@dataclass(frozen=True, kw_only=True)
class _Adaptive(MethodAlgorithm[MomentsState]):
    """Base class of FedAdam and FedYogi."""

    state: ClassVar[type[State]] = MomentsState

    step_size: float
    eta: float = 0.1
    beta1: float = 0.9
    beta2: float = 0.99
    tau: float = 0.001
    local_steps: int = 1
    participation: float = 1.0
    weighting: str = "clients"

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_averaging(self)
        check_number("eta", self.eta, above=0, remedy="0.1 is common")
        check_number("tau", self.tau, above=0, remedy="0.001 is common")
        for name in ("beta1", "beta2"):
            check_number(name, getattr(self, name), at_least=0, below=1, remedy="0.9 and 0.99 are common")


@dataclass(frozen=True, kw_only=True)
class FedAdam(_Adaptive):
    """FedAvg, but the server takes steps of Adam along the clients' mean change.

    Let Delta be the mean of (y_i - x)::

        m <- beta1 m + (1 - beta1) Delta
        v <- beta2 v + (1 - beta2) Delta^2
        x <- x + eta m / (sqrt(v) + tau)

    for each entry, with the initial values m = 0 and v = tau^2.

    Parameters
    ----------
    step_size
        Step size of the clients' gradient steps, positive.
    eta
        Step size of the server, positive.
    beta1
        Factor of the old m in the running mean, in [0, 1).
    beta2
        Factor of the old v in the running mean, in [0, 1).
    tau
        Positive number that is added to the root. The smaller tau is, the more strongly do steps adapt to v.
    local_steps
        Number of gradient steps that a client takes per round.
    participation
        Fraction of clients in a round, in (0, 1].
    weighting
        Weight of a client in the mean: 1 for ``"clients"``, n_i / n for ``"samples"``.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range.

    Notes
    -----
    Reddi, Charles, Zaheer, Garrett, Rush, Konecny, Kumar and McMahan (2021), Algorithm 2. We did not compare the
    equations with the paper's text. The server has one model (P = 1).
    """

    name: ClassVar[str] = "fedadam"
    method: ClassVar[Method] = METHODS[fedadam]


@dataclass(frozen=True, kw_only=True)
class FedYogi(_Adaptive):
    """FedAvg, but the server takes steps of Yogi along the clients' mean change.

    Let Delta be the mean of (y_i - x)::

        m <- beta1 m + (1 - beta1) Delta
        v <- v - (1 - beta2) Delta^2 sign(v - Delta^2)
        x <- x + eta m / (sqrt(v) + tau)

    for each entry, with the initial values m = 0 and v = tau^2.

    Parameters
    ----------
    step_size
        Step size of the clients' gradient steps, positive.
    eta
        Step size of the server, positive.
    beta1
        Factor of the old m in the running mean, in [0, 1).
    beta2
        Decay of v, in [0, 1): the change of v has the factor 1 - beta2.
    tau
        Positive number that is added to the root. The smaller tau is, the more strongly do steps adapt to v.
    local_steps
        Number of gradient steps that a client takes per round.
    participation
        Fraction of clients in a round, in (0, 1].
    weighting
        Weight of a client in the mean: 1 for ``"clients"``, n_i / n for ``"samples"``.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range.

    Notes
    -----
    Reddi, Charles, Zaheer, Garrett, Rush, Konecny, Kumar and McMahan (2021), Algorithm 2. We did not compare the
    equations with the paper's text. The server has one model (P = 1).
    """

    name: ClassVar[str] = "fedyogi"
    method: ClassVar[Method] = METHODS[fedyogi]
