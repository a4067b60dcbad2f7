"""One round of a federated algorithm, as vectors that an interpolation inequality can be written in.

A client's vector v_i splits into its mean over clients and its deviation. Averaged over the permutations of clients,
every multiplier is the same for all clients, and a form that is symmetric in the clients is a form of the means plus
the mean of a form of the deviations. So a proof consists of two blocks, whatever the number of clients N >= 2, which
enters only through the share theta = (N - S) / (S (N - 1)) of the variance that sampling S of N clients leaves.

All vectors are in units of the step, x / eta, so that L becomes eta L and eta becomes 1 (FedProx: eta = 1 / m).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.algorithms import InvalidArgument
from clusterproof.theory.certificates.parameters import MAX_DIGITS

MAX_LOCAL_STEPS = 16
"""Local steps of a round that a certificate may have."""


class Algorithm(StrEnum):
    """Algorithms whose rounds can be certified."""

    FEDAVG = "fedavg"
    FEDPROX = "fedprox"
    SCAFFOLD = "scaffold"
    PROXSKIP = "proxskip"


class ClientClass(StrEnum):
    """Classes of the clients' losses f_i, whose mean is f."""

    STRONG = "strong"
    """Every f_i is L-smooth and mu-strongly convex."""

    CONVEX = "convex"
    """Every f_i is L-smooth and convex; f is mu-strongly convex, which is used between x* and the round's start."""


@dataclass(frozen=True, kw_only=True)
class Round:
    """One round of an algorithm, in rational numbers.

    Attributes
    ----------
    algorithm, client_class
        As ``Algorithm`` and ``ClientClass``.
    smoothness, strong_convexity
        L and mu, 0 <= mu < L.
    step_size
        eta of a local step; None for FedProx.
    local_steps
        K; 1 for FedProx and ProxSkip. A round of ProxSkip is one iteration.
    server_step_size
        eta_g, for FedAvg and SCAFFOLD.
    sampling
        theta = (N - S) / (S (N - 1)) in [0, 1], for FedAvg and FedProx; 0 if all clients take part.
    proximal
        m of FedProx, whose clients minimise f_i + m/2 |. - x|^2 exactly; otherwise None.
    probability
        p of ProxSkip; otherwise None.
    option
        "I" or "II" of SCAFFOLD; otherwise None.
    """

    algorithm: Algorithm
    client_class: ClientClass = ClientClass.STRONG
    smoothness: Fraction
    strong_convexity: Fraction
    step_size: Fraction | None = None
    local_steps: int = 1
    server_step_size: Fraction = Fraction(1)
    sampling: Fraction = Fraction(0)
    proximal: Fraction | None = None
    probability: Fraction | None = None
    option: str | None = None

    def __post_init__(self) -> None:
        prox, skip = self.algorithm is Algorithm.FEDPROX, self.algorithm is Algorithm.PROXSKIP
        scaffold = self.algorithm is Algorithm.SCAFFOLD
        for argument, needed in {"step_size": not prox, "proximal": prox, "probability": skip}.items():
            value = getattr(self, argument)
            if not needed and value is not None:
                raise InvalidArgument(argument, str(value), f"is not of {self.algorithm}", "leave it out")
            if needed and (value is None or value <= 0):
                raise InvalidArgument(argument, value and str(value), "must be greater than 0", "give it")
        one = "must be 1 for this algorithm"
        theta = "must be at least 0 and at most 1"
        rules = {
            "strong_convexity": (
                0 <= self.strong_convexity < self.smoothness,
                "must be at least 0 and below the smoothness",
                "give mu < L",
            ),
            "local_steps": (
                isinstance(self.local_steps, int) and self.local_steps >= 1,
                "must be a whole number, at least 1",
                "choose 1",
            ),
            "server_step_size": (self.server_step_size > 0, "must be greater than 0", "choose 1"),
            "sampling": (0 <= self.sampling <= 1, theta, "give (N - S) / (S (N - 1))"),
            "probability": ((self.probability or 0) <= 1, "must be at most 1", "choose 1/2"),
            "option": (self.option in (("I", "II") if scaffold else (None,)), "must be I or II", "choose II"),
            "client_class": (
                not (skip and self.client_class is ClientClass.CONVEX),
                "must be strong for ProxSkip, whose clients start a round at different points",
                "choose strong",
            ),
        }
        if prox or skip:
            rules["local_steps"] = (self.local_steps == 1, one, "leave it out")
            rules["server_step_size"] = (self.server_step_size == 1, one, "leave it out")
        if scaffold or skip:
            rules["sampling"] = (self.sampling == 0, "must be 0 for this algorithm", "let all take part")
        for name, (holds, rule, remedy) in rules.items():
            if not holds:
                value = getattr(self, name)
                raise InvalidArgument(
                    name, str(value) if isinstance(value, Fraction | StrEnum) else value, rule, remedy
                )
        for name, value in vars(self).items():
            if isinstance(value, Fraction) and max(abs(value.numerator), value.denominator) >= 10**MAX_DIGITS:
                raise InvalidArgument(name, str(value), f"must have at most {MAX_DIGITS} digits", "round it")

    @property
    def unit(self) -> Fraction:
        """The step that lengths are measured in: eta, or 1 / m for FedProx."""
        if self.proximal is not None:
            return 1 / self.proximal
        assert self.step_size is not None
        return self.step_size

    @property
    def controls(self) -> bool:
        """Whether the state has control variates, whose error enters instead of zeta*^2."""
        return self.algorithm in (Algorithm.SCAFFOLD, Algorithm.PROXSKIP)


@dataclass(frozen=True)
class Block:
    """Vectors of the means, or of the deviations, as rows over a basis of the block.

    Attributes
    ----------
    positions, gradients
        (points, size), of fractions.
    start
        x - x* at the start of the round; 0 if it has no part in this block.
    disagreement
        The vector whose mean square is multiplied by the constant; 0 in the block of the means.
    outcomes
        Weights and vectors of the squares after the round.
    """

    positions: np.ndarray
    gradients: np.ndarray
    start: np.ndarray
    disagreement: np.ndarray
    outcomes: list[tuple[Fraction, np.ndarray]]


@dataclass(frozen=True)
class Trajectory:
    """Points at which a round takes gradients.

    Attributes
    ----------
    labels
        Names of the points: ``*`` is x*, ``0``, ``1``, ... are in the order of the local steps, ``x`` is the start
        of FedProx.
    start
        Name of the round's start, where f and x* are compared in class convex.
    means, deviations
        The two blocks.
    """

    labels: tuple[str, ...]
    start: str
    means: Block
    deviations: Block


def _basis(size: int) -> np.ndarray:
    """Return the unit vectors as rows, of fractions."""
    return np.array([[Fraction(i == j) for j in range(size)] for i in range(size)], dtype=object)


def trajectory(round_: Round, rounds: int | None = None, weight: Fraction = Fraction(0)) -> Trajectory:
    """Return the points and outcomes of a number of rounds.

    Parameters
    ----------
    round_
        The round.
    rounds
        Number of rounds of a run, whose controls start at 0 and whose clients start at one point; above 1 all clients
        take part. None for a round between others, to which ProxSkip's clients come at different points.
    weight
        Weight of the mean square of the controls' error in the outcome, in units of the squared step.
    """
    apart, rounds = int(rounds is None), rounds or 1
    if round_.algorithm is Algorithm.PROXSKIP:
        return _proxskip(round_, rounds, weight, apart)
    implicit = round_.algorithm is Algorithm.FEDPROX
    convex = implicit and round_.client_class is ClientClass.CONVEX
    steps = round_.local_steps
    basis = _basis(
        1 + rounds * steps + convex
    )  # of the means: start, gradients; of the deviations: g_i*, gradients
    zero, disagreement, gradients = 0 * basis[0], basis[0], iter(basis[1:])
    # gradients of f_i - <g_i*, .> with controls, so that x* has gradient 0
    points = [(zero, zero, zero, zero if round_.controls else disagreement)]
    model, control = basis[0], disagreement
    labels = ["*"]
    if convex:
        gradient = next(gradients)
        points.append((model, zero, gradient, gradient))
        labels.append("x")
    for _ in range(rounds):
        mean, deviation = model, zero
        sent: list[np.ndarray] = []
        for _ in range(steps):
            gradient = next(gradients)
            after = mean - gradient, deviation - gradient + (control if round_.controls else zero)
            points.append((*(after if implicit else (mean, deviation)), gradient, gradient))
            labels.append(str(len(sent)) if rounds == 1 else f"{(len(labels) - 1) // steps}.{len(sent)}")
            sent.append(gradient)
            mean, deviation = after
        model = model + round_.server_step_size * (mean - model)
        if round_.controls:
            control = sent[0] if round_.option == "I" else sum(sent[1:], sent[0]) / Fraction(steps)
    outcomes = [(round_.sampling * round_.server_step_size**2, deviation), (weight, control)]
    columns = [np.array(vectors) for vectors in zip(*points, strict=True)]
    return Trajectory(
        tuple(labels),
        "x" if convex else labels[1],
        Block(columns[0], columns[2], basis[0], zero, [(Fraction(1), model)]),
        Block(columns[1], columns[3], zero, disagreement, outcomes),
    )


def _proxskip(round_: Round, rounds: int, weight: Fraction, apart: int) -> Trajectory:
    """Return the points of ProxSkip, a tree with one branch for each outcome of each coin.

    ``apart`` is 1 where the clients start at different points, and 0 where they start at one.
    """
    p = round_.probability
    assert p is not None
    means, deviations = _basis(2**rounds), _basis(apart + 2**rounds)
    none, zero, disagreement = 0 * means[0], 0 * deviations[0], deviations[apart]
    gradients = zip(means[1:], deviations[1 + apart :], strict=True)
    points = [(none, zero, none, zero)]
    spread = deviations[0] if apart else zero
    branches = [(Fraction(1), means[0], spread, disagreement)]
    for _ in range(rounds):
        following = []
        for share, mean, deviation, control in branches:
            gradient = next(gradients)
            points.append((mean, deviation, *gradient))
            mean, deviation = mean - gradient[0], deviation - gradient[1] + control
            following.append((share * p, mean, zero, control - p * deviation))
            following.append((share * (1 - p), mean, deviation, control))
        branches = following
    squares = [(share, deviation) for share, _, deviation, _ in branches]
    controls = [(share * weight, control) for share, _, _, control in branches]
    columns = [np.array(vectors) for vectors in zip(*points, strict=True)]
    return Trajectory(
        ("*", *map(str, range(len(points) - 1))),
        "0",
        Block(columns[0], columns[2], means[0], none, [(share, mean) for share, mean, _, _ in branches]),
        Block(columns[1], columns[3], spread, disagreement, squares + controls),
    )


def interpolation(smoothness: Any, strong_convexity: Any) -> list[list[Any]]:
    """Return the matrix of Q_ab on (x_a, x_b, g_a, g_b), where f_a - f_b + Q_ab >= 0 for every member of the class.

    Q_ab = -<g_b, x_a - x_b> - (|g_a - g_b|^2 / L + mu |x_a - x_b|^2 - 2 mu/L <g_b - g_a, x_b - x_a>) / (2 (1 - mu/L)):
    with function values, the condition that a mu-strongly convex L-smooth function through the points exists.
    """
    half = 1 / (2 * (smoothness - strong_convexity))
    moved, mixed = strong_convexity * smoothness * half, strong_convexity * half
    below = (smoothness - strong_convexity) * half
    return [
        [-moved, moved, mixed, -mixed - below],
        [moved, -moved, -mixed, mixed + below],
        [mixed, -mixed, -half, half],
        [-mixed - below, mixed + below, half, -half],
    ]
