"""SCAFFOLD: control variates against client drift (Karimireddy et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clusterproof.algorithms.averaging import check_averaging, check_server_step_size
from clusterproof.algorithms.base import State
from clusterproof.algorithms.from_method import MethodAlgorithm
from clusterproof.common.arrays import Array
from clusterproof.common.validation import check_choice
from clusterproof.methods.controls import scaffold
from clusterproof.methods.declaration import METHODS, Method


@dataclass(frozen=True)
class ControlState(State):
    """State of SCAFFOLD.

    Attributes
    ----------
    control
        The server's control variate c, the mean of all clients' c_i, (..., 1, d).
    controls
        The clients' control variates c_i, (..., m, d).
    """

    control: Array
    controls: Array


@dataclass(frozen=True, kw_only=True)
class Scaffold(MethodAlgorithm[ControlState]):
    """FedAvg, but clients correct their gradients with control variates.

    In a round, each participant i in the set S starts at y = x and takes K steps
    y <- y - step_size * (grad phi_i(y) - c_i + c). Then::

        c_i+ = grad phi_i(x)                         option I
        c_i+ = c_i - c + (x - y_i) / (K step_size)   option II
        x <- x + server_step_size * mean over S of (y_i - x)
        c <- c + 1/m * sum over S of (c_i+ - c_i)

    and c_i <- c_i+; absent clients keep their c_i. All control variates start at 0.

    Parameters
    ----------
    step_size
        Step size of the clients (eta_l), positive.
    local_steps
        Number of gradient steps that a client takes per round (K).
    participation
        Fraction of clients in a round, in (0, 1].
    option
        ``"II"`` sets c_i+ to the mean of the local gradients. ``"I"`` computes one additional gradient, at x. With
        server_step_size = 1, option I can diverge at step sizes for which FedAvg converges.
    server_step_size
        Step size of the server (eta_g), positive.
    weighting
        Weight of a client in the mean of the models: 1 for ``"clients"``, n_i / n for ``"samples"``.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range.

    Notes
    -----
    Karimireddy, Kale, Mohri, Reddi, Stich and Suresh (2020), arXiv 1910.06378, Algorithm 1, which we read. The paper
    uses unweighted means. The server has one model (P = 1).
    """

    name: ClassVar[str] = "scaffold"
    method: ClassVar[Method] = METHODS[scaffold]
    state: ClassVar[type[State]] = ControlState

    step_size: float
    local_steps: int = 1
    participation: float = 1.0
    option: str = "II"
    server_step_size: float = 1.0
    weighting: str = "clients"

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_averaging(self)
        check_choice("option", self.option, ("I", "II"), remedy="'II' needs no additional gradient")
        check_server_step_size(self.server_step_size)
