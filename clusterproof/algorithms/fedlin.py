"""FedLin: local steps on losses that all have the mean gradient at the server's model (Mitra et al., 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clusterproof.algorithms.base import State
from clusterproof.algorithms.from_method import MethodAlgorithm
from clusterproof.algorithms.participation import check_participation
from clusterproof.common.validation import check_descent
from clusterproof.methods.controls import fedlin
from clusterproof.methods.declaration import METHODS, Method


@dataclass(frozen=True, kw_only=True)
class FedLin(MethodAlgorithm[State]):
    """In each round the clients send their gradients at the server's model x, and then their models.

    Let g_i = grad phi_i(x), and let g be the mean of the participants' g_i. A participant starts at y = x and takes K
    steps::

        y <- y - step_size * (grad phi_i(y) - g_i + g)

    The server then takes the mean of the participants' models.

    Parameters
    ----------
    step_size
        Step size of the clients' gradient steps, positive.
    local_steps
        Number of gradient steps that a client takes per round (K).
    participation
        Fraction of clients in a round, in (0, 1]. The means of gradients and of models are over the participants.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range.

    Notes
    -----
    FedLin (Mitra, Jaafar, Pappas and Hassani, 2021) without compression. We read only the abstract: the equations are
    restated, with equal step sizes and equal numbers of steps. In the paper all clients take part. FedLin equals
    SCAFFOLD with the gradients at x as control variates. The server has one model (P = 1).
    """

    name: ClassVar[str] = "fedlin"
    method: ClassVar[Method] = METHODS[fedlin]

    step_size: float
    local_steps: int = 1
    participation: float = 1.0

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_descent(self.step_size, None, "model", self.local_steps)
        check_participation(self.participation)
