"""Ditto: FedAvg, with an additional personal model per client (Li et al., 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from clusterproof.algorithms.averaging import check_averaging, check_server_step_size
from clusterproof.algorithms.base import State
from clusterproof.algorithms.from_method import MethodAlgorithm
from clusterproof.common.arrays import Array
from clusterproof.common.validation import check_count, check_number
from clusterproof.methods.declaration import METHODS, Method
from clusterproof.methods.personal import ditto


@dataclass(frozen=True)
class PersonalState(State):
    """State of Ditto.

    Attributes
    ----------
    personal
        The personal models, one per client, (..., m, d).
    """

    personal: Array


@dataclass(frozen=True, kw_only=True)
class Ditto(MethodAlgorithm[PersonalState]):
    """FedAvg, with an additional personal model per client; a penalty pulls it towards the server's model.

    x moves as in FedAvg. Each participant then continues training its personal model v_i, with the received x::

        v_i <- v_i - personal_step_size * (grad phi_i(v_i) + lam (v_i - x))

    Parameters
    ----------
    step_size
        Step size of the common model, positive.
    lam
        Coefficient of the pull towards x (lambda), at least 0; with 0, the personal models ignore the server.
    personal_step_size
        Step size of the personal models, positive. If None, it is ``step_size``.
    personal_steps
        Gradient steps of a personal model in a round. If None, it is ``local_steps``.
    local_steps
        Gradient steps of the common model in a round.
    server_step_size
        Step size of the server, positive.
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
    Li, Hu, Beirami and Smith (2021), Algorithm 1, restated. ``models`` holds x (P = 1). The state's field ``personal``
    holds the personal models, which start at x.
    """

    name: ClassVar[str] = "ditto"
    method: ClassVar[Method] = METHODS[ditto]
    state: ClassVar[type[State]] = PersonalState

    step_size: float
    lam: float = 0.1
    personal_step_size: float | None = None
    personal_steps: int | None = None
    local_steps: int = 1
    server_step_size: float = 1.0
    participation: float = 1.0
    weighting: str = "clients"

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_averaging(self)
        check_server_step_size(self.server_step_size)
        check_number("lam", self.lam, at_least=0, remedy="0 trains alone, 0.1 is common")
        if self.personal_step_size is not None:
            remedy = "leave it out to use step_size"
            check_number("personal_step_size", self.personal_step_size, above=0, remedy=remedy)
        if self.personal_steps is not None:
            check_count(
                "personal_steps", self.personal_steps, at_least=1, remedy="leave it out to use local_steps"
            )

    @property
    def round_settings(self) -> dict[str, Any]:
        """Settings with which the method's round is called."""
        own = self.personal_step_size, self.personal_steps
        steps = {
            "personal_step_size": self.step_size if own[0] is None else own[0],
            "personal_steps": self.local_steps if own[1] is None else own[1],
        }
        return {**super().round_settings, **steps}
