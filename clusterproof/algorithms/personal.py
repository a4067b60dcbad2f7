"""Algorithms with personal models: Ditto, pFedMe, LOCAL and FedBCD."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from clusterproof.algorithms.averaging import (
    check_averaging,
    check_participation,
    check_proximal,
    check_server_step_size,
)
from clusterproof.algorithms.base import State, Task
from clusterproof.algorithms.from_method import MethodAlgorithm
from clusterproof.common.arrays import Array
from clusterproof.common.validation import (
    InvalidArgument,
    check_choice,
    check_count,
    check_descent,
    check_number,
)
from clusterproof.methods.declaration import METHODS, Method
from clusterproof.methods.personal import ditto, fedbcd, local, pfedme


@dataclass(frozen=True)
class PersonalState(State):
    """State of Ditto or pFedMe.

    Attributes
    ----------
    personal
        The personal models, one per client, (..., m, d).
    """

    personal: Array


@dataclass(frozen=True, kw_only=True)
class Ditto(MethodAlgorithm[PersonalState]):
    """FedAvg, with an additional personal model per client and a penalty on its distance from the server's model.

    The server's model x is updated as in FedAvg. Each participant also trains its personal model v_i with the
    received x::

        v_i <- v_i - personal_step_size * (grad phi_i(v_i) + lam (v_i - x))

    Parameters
    ----------
    step_size
        Step size of the common model, positive.
    lam
        Coefficient of the penalty (lambda), at least 0. With 0, the personal models do not depend on the server.
    personal_step_size
        Step size of the personal models, positive. If None, it is ``step_size``.
    personal_steps
        Number of gradient steps of a personal model in a round. If None, it is ``local_steps``.
    local_steps
        Number of gradient steps of the common model in a round.
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
    Li, Hu, Beirami and Smith (2021), Algorithm 1. We did not compare the equations with the paper's text. ``models``
    contains x (P = 1). The field ``personal`` of the state contains the personal models, which are initially x.
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
        """Settings that are passed to the method's round."""
        own = self.personal_step_size, self.personal_steps
        steps = {
            "personal_step_size": self.step_size if own[0] is None else own[0],
            "personal_steps": self.local_steps if own[1] is None else own[1],
        }
        return {**super().round_settings, **steps}


@dataclass(frozen=True, kw_only=True)
class PFedMe(MethodAlgorithm[PersonalState]):
    """Gradient descent on the Moreau envelopes of the clients' losses, with proximal points as personal models.

    A participant starts at w = theta = x and repeats K times::

        inner_steps times theta <- theta - step_size * (grad phi_i(theta) + lam (theta - w))
        w <- w - outer_step_size * lam (w - theta)

    and the server computes x <- (1 - mix) x + mix * mean of w_i.

    Parameters
    ----------
    step_size
        Step size of the inner steps, positive.
    lam
        Coefficient of the proximal term between theta and w (lambda), positive.
    inner_steps
        Number of gradient steps that approximate one proximal point.
    outer_step_size
        Step size of w, positive.
    mix
        Step size of the server towards the mean (beta), positive. With 1, the server takes the mean.
    theta
        Initial theta in an outer step: its last value (``"continues"``), or w (``"restarts"``).
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
    T. Dinh, Tran and Nguyen (2020), Algorithm 1. We did not compare the equations with the paper's text. ``models``
    contains x (P = 1). The field ``personal`` of the state contains the last theta_i.
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


@dataclass(frozen=True, kw_only=True)
class Local(MethodAlgorithm[State]):
    """Every client runs gradient descent on its own data, without any communication.

    Parameters
    ----------
    step_size
        Step size (eta), positive.
    local_steps
        Number of gradient steps that a client takes per round.
    participation
        Fraction of clients that take steps in a round, in (0, 1].

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range.

    Notes
    -----
    The baseline LOCAL of FPFC, Table 1. The model array has one row per client (P = m).
    """

    name: ClassVar[str] = "local"
    method: ClassVar[Method] = METHODS[local]
    target: ClassVar[str] = "clients"

    step_size: float
    local_steps: int = 1
    participation: float = 1.0

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_descent(self.step_size, None, "model", self.local_steps)
        check_participation(self.participation)

    def model_count(self, task: Task) -> int:
        """Return the number of clients."""
        return task.clients


DEFAULTS = {"penalised": {"proximal": 0.1}, "separate": {"pull": 0.2}}
"""For each variant, the parameter that only this variant has, and its default value."""


@dataclass(frozen=True)
class BlockState(State):
    """State of FedBCD.

    Attributes
    ----------
    average
        Mean of the last x_i of all clients, (..., 1, d).
    personal
        Personal models x_i, one per client, from which clients continue in the next round, (..., m, d).
    """

    average: Array
    personal: Array


@dataclass(frozen=True, kw_only=True)
class FedBCD(MethodAlgorithm[BlockState]):
    """Minimise sum_i phi_i(x_i) + proximal / 2 ||x_i - z||^2 over the clients' x_i and the server's z.

    In a round, the participants take a few gradient steps from the last values of their x_i. Then::

        z <- z - server_step_size * (z - mean of the last x_i of all clients)

    Parameters
    ----------
    step_size
        Step size of the clients' gradient steps, positive.
    proximal
        Coefficient mu of the penalty, at least 0. The paper's penalty is rho ||x_i - z||^2, so rho is mu / 2. The
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
        Fraction by which a step of the separate variant reduces the distance to z, in (0, 1). If None, it is 0.2. The
        value 1 would undo all local steps.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range or does not apply to the variant.

    Notes
    -----
    Wu, Scaglione, Wai, Karakoc, Hreinsson and Ma (2021), with one server. ``models`` contains z (P = 1), and the
    state also contains the personal models. Initially all models equal the server's model. The published code uses
    one momentum buffer for all clients, whereas this class has no momentum.
    """

    name: ClassVar[str] = "fedbcd"
    method: ClassVar[Method] = METHODS[fedbcd]
    state: ClassVar[type[State]] = BlockState

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
                    "leave the argument out, or choose the other variant",
                )
        if self.proximal is not None:
            check_proximal(self.proximal)
        if self.pull is not None:
            check_number("pull", self.pull, above=0, below=1, remedy="the published code has 0.2")

    @property
    def round_settings(self) -> dict[str, Any]:
        """Settings that are passed to the method's round."""
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
