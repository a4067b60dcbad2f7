"""FedDyn: local losses with an additional linear term that changes in every round (Acar et al., 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clusterproof.algorithms.averaging import check_averaging
from clusterproof.algorithms.base import State
from clusterproof.algorithms.from_method import MethodAlgorithm
from clusterproof.common.arrays import Array
from clusterproof.common.validation import check_number
from clusterproof.methods.controls import feddyn
from clusterproof.methods.declaration import METHODS, Method


@dataclass(frozen=True)
class LinearState(State):
    """State of FedDyn.

    Attributes
    ----------
    offset
        The server's h, (..., 1, d). It equals the mean of all L_i as long as all clients take part.
    linear
        The gradients L_i of the linear terms, one per client, (..., m, d).
    """

    offset: Array
    linear: Array


@dataclass(frozen=True, kw_only=True)
class FedDyn(MethodAlgorithm[LinearState]):
    """FedAvg with a linear and a quadratic term in each client's loss, so that all these losses have one optimum.

    A participant starts at y = x and takes K steps y <- y - step_size * (grad phi_i(y) - L_i + alpha (y - x)). Then::

        L_i <- L_i - alpha (y_i - x)
        h <- h - alpha / m * sum of (y_i - x)
        x <- mean of y_i - h / alpha

    All L_i and h start at 0; clients that do not participate keep their L_i.

    Parameters
    ----------
    step_size
        Step size of the clients' gradient steps, positive.
    alpha
        Coefficient of the quadratic term, positive.
    local_steps
        Number of gradient steps that a client takes per round (K); in the paper, clients minimise exactly.
    participation
        Fraction of clients in a round, in (0, 1].
    weighting
        Weight of a client in the mean of the models: 1 for ``"clients"``, n_i / n for ``"samples"``.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range.

    Notes
    -----
    Acar, Zhao, Navarro, Mattina, Whatmough and Saligrama (2021), Algorithm 1, restated. The server has one model (P =
    1).
    """

    name: ClassVar[str] = "feddyn"
    method: ClassVar[Method] = METHODS[feddyn]
    state: ClassVar[type[State]] = LinearState

    step_size: float
    alpha: float = 0.1
    local_steps: int = 1
    participation: float = 1.0
    weighting: str = "clients"

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_averaging(self)
        check_number("alpha", self.alpha, above=0, remedy="0.1 is common")
