"""ProxSkip in its federated form, Scaffnew: most gradient steps need no communication (Mishchenko et al., 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from clusterproof.algorithms.base import State
from clusterproof.algorithms.from_method import MethodAlgorithm
from clusterproof.common.arrays import Array, like
from clusterproof.common.randomness import Randomness
from clusterproof.common.validation import check_number
from clusterproof.methods.controls import proxskip
from clusterproof.methods.declaration import METHODS, Method


@dataclass(frozen=True)
class SkippingState(State):
    """State of ProxSkip; ``models`` is the mean of the clients' models.

    Attributes
    ----------
    personal
        The clients' models x_i, (..., m, d).
    controls
        The clients' control variates h_i, (..., m, d); the sum over the clients is 0.
    """

    personal: Array
    controls: Array


@dataclass(frozen=True, kw_only=True)
class ProxSkip(MethodAlgorithm[SkippingState]):
    """Each client takes gradient steps on its own model; with a given probability, the server averages the models.

    A round is one iteration of every client::

        z_i = x_i - step_size * (grad phi_i(x_i) - h_i)

    and then one coin toss for all clients. With ``probability`` p the clients communicate::

        x_i <- mean of z_j,    h_i <- h_i + p / step_size * (x_i - z_i),

    else x_i <- z_i. All x_i start at one point, and all h_i at 0.

    Parameters
    ----------
    step_size
        Step size (gamma), positive.
    probability
        Probability of communication in a round (p), in (0, 1]. With p = 1, this is gradient descent on the mean loss.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range.

    Notes
    -----
    The method of Mishchenko, Malinovsky, Stich and Richtarik (2022), in the form of Algorithm 1 of Variance Reduced
    ProxSkip (2022), which we read. All clients take part. ``models`` is the mean of the x_i (P = 1); a real server
    knows this mean only after communication.
    """

    name: ClassVar[str] = "proxskip"
    method: ClassVar[Method] = METHODS[proxskip]
    state: ClassVar[type[State]] = SkippingState

    step_size: float
    probability: float = 0.5

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_number("step_size", self.step_size, above=0, remedy="1 / task.smoothness is a safe choice")
        remedy = "1 / sqrt(kappa) needs the least communication for a given accuracy"
        check_number("probability", self.probability, above=0, at_most=1, remedy=remedy)

    def drawn(self, state: SkippingState, randomness: Randomness) -> dict[str, Any]:
        """Return the coin: whether the clients communicate, (..., 1, 1)."""
        coin = randomness.participation.random((*state.models.shape[:-2], 1, 1)) < self.probability
        return {"communicates": like(coin, state.models)}
