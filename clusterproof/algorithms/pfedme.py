"""pFedMe: the personal models are proximal points of the clients' losses (T. Dinh et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clusterproof.algorithms.averaging import check_averaging
from clusterproof.algorithms.base import State
from clusterproof.algorithms.from_method import MethodAlgorithm
from clusterproof.common.arrays import Array
from clusterproof.common.validation import check_choice, check_count, check_number
from clusterproof.methods.declaration import METHODS, Method
from clusterproof.methods.personal import pfedme


@dataclass(frozen=True)
class PersonalState(State):
    """State of pFedMe.

    Attributes
    ----------
    personal
        The personal models, one per client, (..., m, d).
    """

    personal: Array


@dataclass(frozen=True, kw_only=True)
class PFedMe(MethodAlgorithm[PersonalState]):
    """Gradient descent on the Moreau envelopes of the clients' losses; the proximal points are the personal models.

    A participant starts at w = theta = x and repeats K times::

        inner_steps times theta <- theta - step_size * (grad phi_i(theta) + lam (theta - w))
        w <- w - outer_step_size * lam (w - theta)

    and the server moves by x <- (1 - mix) x + mix * mean of w_i.

    Parameters
    ----------
    step_size
        Step size of the inner steps, positive.
    lam
        Coefficient of the pull of theta towards w (lambda), positive.
    inner_steps
        Number of gradient steps that approximate one proximal point.
    outer_step_size
        Step size of w, positive.
    mix
        Factor of the server's move towards the mean (beta), positive; with 1, the server takes the mean.
    theta
        Start of theta in an outer step: ``"continues"`` from its last value, or ``"restarts"`` at w.
    local_steps
        Number of outer steps that a client takes per round (K).
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
    T. Dinh, Tran and Nguyen (2020), Algorithm 1, restated. ``models`` holds x (P = 1). The state's field ``personal``
    holds the last theta_i.
    """

    name: ClassVar[str] = "pfedme"
    method: ClassVar[Method] = METHODS[pfedme]
    state: ClassVar[type[State]] = PersonalState

    step_size: float
    lam: float = 1.0
    inner_steps: int = 5
    outer_step_size: float = 0.1
    mix: float = 1.0
    theta: str = "continues"
    local_steps: int = 1
    participation: float = 1.0
    weighting: str = "clients"

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_averaging(self)
        for name in ("lam", "outer_step_size", "mix"):
            check_number(name, getattr(self, name), above=0, remedy="leave it out to use the default")
        check_count("inner_steps", self.inner_steps, at_least=1, remedy="5 is common")
        check_choice("theta", self.theta, ("continues", "restarts"), remedy="the default is 'continues'")
