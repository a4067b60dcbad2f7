"""Algorithms that correct client drift: SCAFFOLD, FedLin, FedDyn and ProxSkip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from clusterproof.algorithms.averaging import check_averaging, check_participation, check_server_step_size
from clusterproof.algorithms.base import State
from clusterproof.algorithms.from_method import MethodAlgorithm
from clusterproof.common.arrays import Array, like
from clusterproof.common.randomness import Randomness
from clusterproof.common.validation import check_choice, check_descent, check_number
from clusterproof.methods.controls import feddyn, fedlin, proxskip, scaffold
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

    and c_i <- c_i+. The c_i of absent clients do not change. All control variates are initially 0.

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
        server_step_size = 1, option I can diverge for step sizes for which FedAvg converges.
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
    FedLin (Mitra, Jaafar, Pappas and Hassani, 2021) without compression. We read only the abstract, and restate the
    equations with equal step sizes and equal numbers of steps. In the paper all clients take part. FedLin equals
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


@dataclass(frozen=True)
class LinearState(State):
    """State of FedDyn.

    Attributes
    ----------
    offset
        The server's h, (..., 1, d). If all clients take part, it equals the mean of all L_i.
    linear
        The gradients L_i of the linear terms, one per client, (..., m, d).
    """

    offset: Array
    linear: Array


@dataclass(frozen=True, kw_only=True)
class FedDyn(MethodAlgorithm[LinearState]):
    """FedAvg with linear and quadratic terms in the clients' losses that make the optima of all clients agree.

    A participant starts at y = x and takes K steps y <- y - step_size * (grad phi_i(y) - L_i + alpha (y - x)). Then::

        L_i <- L_i - alpha (y_i - x)
        h <- h - alpha / m * sum of (y_i - x)
        x <- mean of y_i - h / alpha

    All L_i and h are initially 0. The L_i of absent clients do not change.

    Parameters
    ----------
    step_size
        Step size of the clients' gradient steps, positive.
    alpha
        Coefficient of the quadratic term, positive.
    local_steps
        Number of gradient steps that a client takes per round (K). In the paper, clients minimise exactly.
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
    Acar, Zhao, Navarro, Mattina, Whatmough and Saligrama (2021), Algorithm 1. We did not compare the equations with
    the paper's text. The server has one model (P = 1).
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


@dataclass(frozen=True)
class SkippingState(State):
    """State of ProxSkip, where ``models`` is the mean of the clients' models.

    Attributes
    ----------
    personal
        The clients' models x_i, (..., m, d).
    controls
        The clients' control variates h_i, (..., m, d), whose sum is 0.
    """

    personal: Array
    controls: Array


@dataclass(frozen=True, kw_only=True)
class ProxSkip(MethodAlgorithm[SkippingState]):
    """Each client takes gradient steps on its own model. With a given probability, the server averages the models.

    A round is one iteration of every client::

        z_i = x_i - step_size * (grad phi_i(x_i) - h_i)

    followed by one coin toss for all clients. With probability p the clients communicate::

        x_i <- mean of z_j,    h_i <- h_i + p / step_size * (x_i - z_i),

    and otherwise x_i <- z_i. Initially all x_i are equal, and all h_i are 0.

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
    ProxSkip (2022), which we read. All clients take part. ``models`` is the mean of the x_i (P = 1). In practice, the
    server can compute this mean only after communication.
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
        """Toss the coin: return whether the clients communicate, (..., 1, 1)."""
        coin = randomness.participation.random((*state.models.shape[:-2], 1, 1)) < self.probability
        return {"communicates": like(coin, state.models)}
