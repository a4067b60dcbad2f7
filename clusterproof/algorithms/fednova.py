"""FedNova: the server averages each client's change per local step (Wang et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clusterproof.algorithms.averaging import check_averaging, check_server_step_size
from clusterproof.algorithms.base import State
from clusterproof.algorithms.from_method import MethodAlgorithm
from clusterproof.methods.averaging import fednova
from clusterproof.methods.declaration import METHODS, Method


@dataclass(frozen=True, kw_only=True)
class FedNova(MethodAlgorithm[State]):
    """FedAvg, but the server divides each client's change by the client's number of steps K_i.

    The participants reach models y_i from x, tau is the mean of the K_i, and the server computes::

        x <- x + server_step_size * tau * mean of (y_i - x) / K_i

    If all clients take the same number of steps, this is FedAvg. If they train for epochs, K_i grows with the number of
    samples.

    Parameters
    ----------
    step_size
        Step size of the clients' gradient steps, positive.
    local_steps
        Local steps of a client in a round. If a local step is an epoch, K_i is this number times the client's number of
        batches.
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
    Wang, Liu, Liang, Joshi and Poor (2020), with plain gradient steps, for which the paper's a_i is K_i; restated. The
    server has one model (P = 1).
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
