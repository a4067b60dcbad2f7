"""FedProx: local objectives with a proximal term (Li et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clusterproof.algorithms.averaging import check_averaging, check_proximal
from clusterproof.algorithms.base import State
from clusterproof.algorithms.from_method import MethodAlgorithm
from clusterproof.methods.averaging import fedprox
from clusterproof.methods.declaration import METHODS, Method


@dataclass(frozen=True, kw_only=True)
class FedProx(MethodAlgorithm[State]):
    """FedAvg, but each client minimises phi_i(w) + proximal / 2 ||w - w^t||^2.

    Parameters
    ----------
    step_size
        Step size (eta), positive.
    proximal
        Coefficient of the proximal term (mu), at least 0; with 0, this is FedAvg.
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
    Li et al. (2020), Algorithm 2; the default coefficient comes from SoFL, 5.1. The gradient of the proximal term is
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
