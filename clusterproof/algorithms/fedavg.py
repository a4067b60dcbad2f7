"""FedAvg (McMahan et al., 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clusterproof.algorithms.averaging import check_averaging, check_server_step_size
from clusterproof.algorithms.base import State
from clusterproof.algorithms.from_method import MethodAlgorithm
from clusterproof.common.validation import InvalidArgument
from clusterproof.methods.averaging import fedavg
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
        Number of gradient steps that a client takes per round; with ``reshuffle``, number of passes over the client's
        samples.
    participation
        Fraction of clients in a round, in (0, 1].
    weighting
        Weight of a client in an average: 1 for ``"clients"``, n_i / n for ``"samples"``.
    server_step_size
        Step size of the server (eta_g), positive; with 1, the server takes the mean of the models.
    reshuffle
        Whether each gradient uses one sample, and each pass takes the client's samples in a new uniform random order.
        This is NASTYA; the server step size in that paper equals step_size * n_i * server_step_size.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range; in the first round, if the task has no samples to reshuffle.

    Notes
    -----
    McMahan et al. (2017), Algorithm 1, with weights n_k / n. NASTYA is Algorithm 3 of Sadiev et al. (2022) without
    compression; we read that paper. The server has one model (P = 1).
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
                "reshuffle", self.reshuffle, "must be True or False", "leave it out to get False"
            )
