"""FedBCD: block coordinate descent on personal models and a common model (Wu et al., 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from clusterproof.algorithms.averaging import check_proximal
from clusterproof.algorithms.base import State
from clusterproof.algorithms.from_method import MethodAlgorithm
from clusterproof.algorithms.participation import check_participation
from clusterproof.common.arrays import Array
from clusterproof.common.validation import InvalidArgument, check_choice, check_descent, check_number
from clusterproof.methods.declaration import METHODS, Method
from clusterproof.methods.personal import fedbcd

DEFAULTS = {"penalised": {"proximal": 0.1}, "separate": {"pull": 0.2}}
"""For each variant, the parameter that only this variant has, and the default value."""


@dataclass(frozen=True)
class PersonalState(State):
    """State of FedBCD.

    Attributes
    ----------
    average
        Mean of the last x_i of all clients, (..., 1, d).
    personal
        Personal models x_i, one per client, kept between rounds, (..., m, d).
    """

    average: Array
    personal: Array


@dataclass(frozen=True, kw_only=True)
class FedBCD(MethodAlgorithm[PersonalState]):
    """Minimise sum_i phi_i(x_i) + proximal / 2 ||x_i - z||^2 over the clients' x_i and the server's z.

    A round moves the participants' x_i by a few gradient steps from their last values, then::

        z <- z - server_step_size * (z - mean of the last x_i of all clients)

    Parameters
    ----------
    step_size
        Step size of the clients' gradient steps, positive.
    proximal
        Coefficient mu of the penalty, at least 0; the paper's penalty is rho ||x_i - z||^2, so rho is mu / 2. This
        parameter applies only to the penalised variant. If None, it is 0.1.
    local_steps
        Number of gradient steps that a client takes per round (n).
    server_step_size
        Step size of the common model, in (0, 1].
    participation
        Fraction of clients in a round, in (0, 1].
    variant
        ``"penalised"`` descends on the sum of loss and penalty. ``"separate"`` is FedBCD-I: n
        gradient steps on the loss alone, then n times x <- x - pull (x - z).
    pull
        Share of the distance to z that a step of the separate variant covers, in (0, 1). If None, it is 0.2. The value
        1 would undo every local step.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range or does not apply to the variant.

    Notes
    -----
    Wu, Scaglione, Wai, Karakoc, Hreinsson and Ma (2021), with one server. ``models`` holds z (P = 1), and the state
    also holds the personal models. All models start from the server's model. The published code uses one momentum
    buffer for all clients; this class has no momentum.
    """

    name: ClassVar[str] = "fedbcd"
    method: ClassVar[Method] = METHODS[fedbcd]
    state: ClassVar[type[State]] = PersonalState

    step_size: float
    proximal: float | None = None
    local_steps: int = 1
    server_step_size: float = 1.0
    participation: float = 1.0
    variant: str = "penalised"
    pull: float | None = None

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_descent(self.step_size, None, "model", self.local_steps)
        check_participation(self.participation)
        check_number(
            "server_step_size",
            self.server_step_size,
            above=0,
            at_most=1,
            remedy="1 moves to the clients' mean model",
        )
        check_choice(
            "variant",
            self.variant,
            tuple(DEFAULTS),
            remedy="'penalised' adds the penalty to the loss",
        )
        for argument in ("proximal", "pull"):
            if getattr(self, argument) is not None and argument not in DEFAULTS[self.variant]:
                raise InvalidArgument(
                    argument,
                    getattr(self, argument),
                    f"does not apply with variant = {self.variant!r}",
                    "leave it out or choose the other variant",
                )
        if self.proximal is not None:
            check_proximal(self.proximal)
        if self.pull is not None:
            check_number("pull", self.pull, above=0, below=1, remedy="the published code has 0.2")

    @property
    def round_settings(self) -> dict[str, Any]:
        """Settings with which the method's round is called."""
        penalised = self.variant == "penalised"
        return {
            "step_size": self.step_size,
            "strength": self._strength("proximal" if penalised else "pull"),
            "penalised": penalised,
            "server_step_size": self.server_step_size,
        }

    def _strength(self, argument: str) -> float:
        """Return the value of the parameter that only the chosen variant has, or the default."""
        given: float | None = getattr(self, argument)
        return DEFAULTS[self.variant][argument] if given is None else given
