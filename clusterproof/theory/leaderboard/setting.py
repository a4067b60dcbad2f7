"""The setting of a leaderboard: the quantities on which a bound may depend."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from clusterproof.common import InvalidArgument
from clusterproof.theory.rates.rounds import Round


class TaskClass(StrEnum):
    """Classes of tasks. Each class contains the classes after it."""

    CONVEX = "convex"
    """Every f_i is convex and L-smooth, and f is mu-strongly convex."""

    STRONG = "strong"
    """Every f_i is L-smooth and mu-strongly convex."""

    QUADRATIC = "quadratic"
    """f_i(x) = a_i (x - b_i)^2 / 2 with mu <= a_i <= L.

    There are only two different losses. Each half of the clients has one of them.
    """


@dataclass(frozen=True, kw_only=True)
class Setting:
    """An algorithm, a class of tasks, and an initial distance. All numbers are exact.

    Attributes
    ----------
    algorithm
        ``"fedavg"``, ``"fedprox"``, ``"scaffold"`` or ``"proxskip"``.
    client_class
        ``"convex"``, ``"strong"`` or ``"quadratic"``, see ``TaskClass``.
    smoothness, strong_convexity
        L and mu.
    local_steps, step_size, server_step_size
        K, eta and eta_g. For FedProx, whose clients solve their local problems exactly, the values are 1, 1 / m and
        1.
    sampling
        theta = (N - S) / (S (N - 1)) if S of N clients take part in a round, drawn without replacement.
    proximal, probability, option
        m of FedProx, p of ProxSkip, and "I" or "II" of SCAFFOLD. For other algorithms, they are 0, 0 and "".
    heterogeneity
        zeta*, the root of the mean of |grad f_i(x*)|^2.
    distance
        D = |x_0 - x*|. Control variates are initially 0.
    rounds
        R, or the number of iterations for ProxSkip.
    """

    algorithm: str
    client_class: str
    smoothness: Fraction
    strong_convexity: Fraction
    local_steps: int
    step_size: Fraction
    server_step_size: Fraction
    sampling: Fraction
    proximal: Fraction
    probability: Fraction
    option: str
    heterogeneity: Fraction
    distance: Fraction
    rounds: int

    @classmethod
    def from_round(
        cls, round_: Round, task_class: TaskClass, heterogeneity: Fraction, distance: Fraction, rounds: int
    ) -> Setting:
        """Make the setting for an algorithm, an initial distance and a number of rounds.

        Raises
        ------
        InvalidArgument
            If the distance or the heterogeneity is negative, or both are 0.
        """
        for name, value in (("heterogeneity", heterogeneity), ("distance", distance)):
            if value < 0:
                raise InvalidArgument(name, str(value), "must be at least 0", "give a number, at least 0")
        if distance == 0 == heterogeneity:
            raise InvalidArgument(
                "distance", 0, "must be greater than 0 if heterogeneity is 0", "give |x_0 - x*|"
            )
        return cls(
            algorithm=str(round_.algorithm),
            client_class=str(task_class),
            smoothness=round_.smoothness,
            strong_convexity=round_.strong_convexity,
            local_steps=round_.local_steps,
            step_size=round_.unit,
            server_step_size=round_.server_step_size,
            sampling=round_.sampling,
            proximal=round_.proximal or Fraction(0),
            probability=round_.probability or Fraction(0),
            option=round_.option or "",
            heterogeneity=heterogeneity,
            distance=distance,
            rounds=rounds,
        )
