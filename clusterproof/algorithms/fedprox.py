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
    """FedAvg whose clients minimise phi_i(w) + proximal / 2 ||w - w^t||^2.

    Parameters
    ----------
    step_size
        Step size (eta), positive.
    proximal
        Coefficient of the proximal term (mu), at least 0; 0 is FedAvg.
    local_steps
        Gradient steps of a client in a round (H); the paper's exact minimisation is H = infinity.
    participation
        Fraction of clients in a round, in (0, 1].
    weighting
        Weight of a client in an average: 1 with ``"clients"``, n_i / n with ``"samples"``.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range.

    Notes
    -----
    Li et al. (2020), Algorithm 2; the default coefficient comes from SoFL, 5.1. The gradient of the proximal term is
    zero in the first local step, so that one local step is FedAvg. The model array has P = 1.
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
