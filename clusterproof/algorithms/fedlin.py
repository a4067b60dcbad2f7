"""FedLin: local steps on losses whose gradients at the server's model all equal the mean (Mitra et al., 2021)."""

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
    """Two exchanges per round: gradients at the server's model x, then the clients' models.

    Write g_i = grad phi_i(x), and g for their mean over the participants. A participant starts at y = x and takes K
    steps::

        y <- y - step_size * (grad phi_i(y) - g_i + g)

    The server then takes the mean of the participants' models.

    Parameters
    ----------
    step_size
        Step size of the clients, positive.
    local_steps
        Gradient steps of a client in a round (K).
    participation
        Fraction of clients in a round, in (0, 1]; both means are over the participants.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range.

    Notes
    -----
    FedLin (Mitra, Jaafar, Pappas and Hassani, 2021) without compression. We read an abstract only: the equations are
    restated, with equal step sizes and numbers of steps. In the paper all clients take part. FedLin is SCAFFOLD whose
    control variates are the gradients at x. The model array has P = 1.
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
