"""Bounds for the leaderboard, from the library and from users, as functions of the setting."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from traceback import walk_stack
from typing import Any

from clusterproof.checker.claims.sides import suppose
from clusterproof.checker.freeze.load import load_module
from clusterproof.checker.kernel.evaluation import Outside
from clusterproof.common import InvalidArgument
from clusterproof.common.validation import check_choice, error_text
from clusterproof.theory.bounds.hypotheses import Hypothesis
from clusterproof.theory.bounds.round_theorems import RoundCase, RoundTheorem
from clusterproof.theory.leaderboard.setting import Setting, TaskClass
from clusterproof.theory.papers import proxskip
from clusterproof.theory.papers.fedavg.drift import DRIFT
from clusterproof.theory.papers.scaffold.option_1 import SHARP_OPTION_1
from clusterproof.theory.papers.scaffold.sharp import SHARP
from clusterproof.theory.rates.rounds import Algorithm

Value = float | Fraction

STATED: list[tuple[Bound, list[dict[str, Any]]]] = []
"""Every decorated bound, with the namespaces of the modules whose import was in progress."""


@dataclass(frozen=True)
class Bound:
    """A bound on E|x_R - x*|^2.

    Attributes
    ----------
    id
        Name of the bound's column.
    algorithm, client_class
        The algorithm, and the largest class of tasks for which the bound is proved.
    function
        Function of a ``Setting`` that states the hypotheses with ``suppose`` and returns the bound.
    remark
        Text that the leaderboard prints with every value, or None.
    """

    id: str
    algorithm: str
    client_class: str
    function: Callable[[Setting], Value]
    remark: str | None = None

    def __call__(self, setting: Setting) -> tuple[float | None, str | None]:
        """Return the bound and the remark, or None and the hypothesis that is not satisfied.

        Raises
        ------
        InvalidArgument
            If the function fails, or returns anything but a number that is at least 0.
        """
        classes = list(TaskClass)
        if classes.index(TaskClass(setting.client_class)) < classes.index(TaskClass(self.client_class)):
            what = "a quadratic" if self.client_class == TaskClass.QUADRATIC else "strongly convex"
            return None, f"hypothesis fails: every client is {what}"
        try:
            value = float(self.function(setting))
        except Outside as outside:
            return None, f"hypothesis fails: {outside}"
        except OverflowError:
            return None, "the bound is infinite"
        except ZeroDivisionError:
            return None, "the bound divides by 0"
        except Exception as error:  # a user's function can raise any error
            rule = f"must return a number ({type(error).__name__}: {error_text(error)})"
            raise InvalidArgument(
                "bound", self.id, rule, "state hypotheses with suppose(name, holds)"
            ) from error
        if not value >= 0:
            raise InvalidArgument(
                "bound", self.id, f"must return a number that is at least 0, not {value}", "correct it"
            )
        if math.isinf(value):
            return None, "the bound is infinite"
        return value, self.remark


def leaderboard_bound(
    bound_id: str, *, algorithm: str, client_class: str, remark: str | None = None
) -> Callable[[Callable[[Setting], Value]], Bound]:
    """Decorate a function of a ``Setting`` as a bound for the leaderboard.

    Parameters
    ----------
    bound_id
        Name of the bound's column.
    algorithm
        The algorithm to which the bound applies.
    client_class
        The largest class of tasks for which the bound is proved: ``"convex"`` contains ``"strong"``, which contains
        ``"quadratic"``.
    remark
        A sentence that the leaderboard prints with every value, for example the source.

    Raises
    ------
    InvalidArgument
        If the algorithm or the class is unknown.
    """
    check_choice("algorithm", algorithm, [str(name) for name in Algorithm], remedy="choose one of them")
    check_choice("client_class", client_class, [str(name) for name in TaskClass], remedy="choose one of them")

    def stated(function: Callable[[Setting], Value]) -> Bound:
        bound = Bound(bound_id, algorithm, client_class, function, remark)
        STATED.append((bound, [frame.f_globals for frame, _ in walk_stack(sys._getframe())]))
        return bound

    return stated


def load_bounds(source: str | Path, taken: Sequence[str]) -> list[Bound]:
    """Import a file or module, and return the bounds that it or one of its imports defines.

    Raises
    ------
    InvalidArgument
        If the module cannot be imported or defines no bound, or the name of a bound is already used.
    """
    own = vars(sys.modules[load_module(source)])
    named = [value for value in own.values() if isinstance(value, Bound)]
    stated = [bound for bound, places in STATED if any(place is own for place in places)]
    found = [bound for bound in dict.fromkeys([*stated, *named]) if bound not in ENTERED]
    if not found:
        remedy = "decorate a function with @leaderboard_bound(...)"
        raise InvalidArgument("module", str(source), "must define a bound", remedy)
    names = [*taken]
    for bound in found:
        if bound.id in names:
            raise InvalidArgument("module", bound.id, "must not be the name of another column", "rename it")
        names.append(bound.id)
    return found


TRANSCRIBED = "as transcribed; the published page was not compared"


def _weaker_condition(largest: Fraction, least: Fraction, steps: int) -> bool:
    """Return whether eta (L - mu) sum_(n <= K) sigma_n^2 <= (2 - eta (L + mu)) (q^(2K) - sigma_K^2).

    Here q = 1 - eta mu, sigma_n = 1 - (1 + q + ... + q^(n-1)) / K, ``largest`` = eta L and ``least`` = eta mu. The sums
    have closed forms.
    """
    if largest + least >= 2:
        return False
    kept, last = 1 - least, (1 - least) ** steps
    if least:
        share = 1 / (steps * least)
        sigma = 1 - share * (1 - last)
        squares = steps * (1 - share) ** 2 + 2 * share * (1 - share) * kept * (1 - last) / least
        squares += share**2 * kept**2 * (1 - last**2) / (1 - kept**2)
    else:
        sigma, squares = Fraction(0), Fraction((steps - 1) * (2 * steps - 1), 6 * steps)
    return (largest - least) * squares <= (2 - largest - least) * (last**2 - sigma**2)


def case_of(setting: Setting) -> RoundCase:
    """Convert a setting to a ``RoundCase`` for theorems on rounds, with exact numbers."""
    return RoundCase(
        smoothness=setting.smoothness,
        strong_convexity=setting.strong_convexity,
        step_size=setting.step_size,
        local_steps=setting.local_steps,
        server_step_size=setting.server_step_size,
        probability=setting.probability,
        proximal=setting.proximal,
        distance=float(setting.distance),
        heterogeneity=float(setting.heterogeneity),
        exact_rounds=(Hypothesis("all clients take part in every round", "=", True, setting.sampling == 0),),
        equal_weights=(),
        room=0.0,
    )


def column_of(theorem: RoundTheorem, setting: Setting, *, weaker: bool = False) -> Value:
    """Return a theorem's bound on E|x_R - x*|^2. If ``weaker``, the condition of theorem A may replace eta L K <= 1.

    Raises
    ------
    Outside
        If a hypothesis fails.
    """
    case = case_of(setting)
    for one in theorem.needs(case):
        if one.name == "mu < L":  # the bound for mu = L is the limit of the bounds for smaller mu
            continue
        if one.name == "eta L K" and weaker and not one.met:
            pace = setting.step_size * setting.smoothness, setting.step_size * setting.strong_convexity
            words = f"{one.name} {one.relation} 1, or the weaker condition of theorem A"
            suppose(words, _weaker_condition(*pace, setting.local_steps))
            continue
        words = (
            one.name if one.required is True else f"{one.name} {one.relation} {one.term or one.sides()[0]}"
        )
        suppose(words, one.met)
    return float(theorem.squared_bound(case, setting.rounds))


def _nastya_needs(case: RoundCase) -> Iterator[Hypothesis]:
    yield from case.exact_rounds
    yield Hypothesis("strong_convexity", ">", 0, float(case.strong_convexity))
    server = float(case.server_step_size * case.step_size * case.local_steps)
    longest, shortest = float(1 / (16 * case.smoothness)), float(1 / (5 * case.local_steps * case.smoothness))
    yield Hypothesis(
        "server_step_size * step_size * local_steps", "<=", longest, server, "1 / (16 L)", case.room
    )
    yield Hypothesis("step_size", "<=", shortest, float(case.step_size), "1 / (5 local_steps L)", case.room)


def _nastya_squared(case: RoundCase, rounds: Any) -> Any:
    """Return (1 - eta mu/2)^R D^2 + (9/2) gamma^2 (n L / mu) (n + 1) zeta*^2 with n = K and eta = eta_g gamma n."""
    n, local, convexity = case.local_steps, case.step_size, case.strong_convexity
    kept = float(1 - case.server_step_size * local * n * convexity / 2) ** rounds
    floor = float(Fraction(9, 2) * local**2 * n * case.smoothness / convexity * (n + 1))
    return kept * case.distance**2 + floor * case.heterogeneity**2


NASTYA = RoundTheorem(
    claim="",
    algorithm="fedavg",
    client_class="convex",
    needs=_nastya_needs,
    squared_bound=_nastya_squared,
)
"""NASTYA, Theorem 2.3 without compression and with equal samples (Sadiev et al. 2022).

FedAvg with the server step size eta_g equals NASTYA with n = K and eta = eta_g gamma n.
"""


@leaderboard_bound("nastya", algorithm=NASTYA.algorithm, client_class=NASTYA.client_class, remark=TRANSCRIBED)
def nastya(setting: Setting) -> Value:
    """Return the bound of Theorem 2.3 on NASTYA, which includes FedAvg (Sadiev et al. 2022)."""
    return column_of(NASTYA, setting)


@leaderboard_bound("drift", algorithm=DRIFT.algorithm, client_class=DRIFT.client_class)
def drift(setting: Setting) -> Value:
    """Return the bound of ``fedavg/drift``."""
    return column_of(DRIFT, setting)


@leaderboard_bound("scaffold/sharp", algorithm=SHARP.algorithm, client_class=SHARP.client_class)
def scaffold_sharp(setting: Setting) -> Value:
    """Return the bound of ``scaffold/sharp`` or, for option I, the bound of ``scaffold/sharp-option-1``."""
    if setting.option == "I":
        return column_of(SHARP_OPTION_1, setting)
    return column_of(SHARP, setting, weaker=True)


@leaderboard_bound("proxskip/theorem-6", algorithm="proxskip", client_class=proxskip.THEOREM_6.client_class)
def proxskip_theorem_6(setting: Setting) -> Value:
    """Return the bound of ``proxskip/theorem-6``."""
    return column_of(proxskip.THEOREM_6, setting)


@leaderboard_bound("proxskip/sharp", algorithm="proxskip", client_class=proxskip.SHARP.client_class)
def proxskip_sharp(setting: Setting) -> Value:
    """Return the bound of ``proxskip/sharp``."""
    return column_of(proxskip.SHARP, setting)


ENTERED = (nastya, drift, scaffold_sharp, proxskip_theorem_6, proxskip_sharp)
"""All bounds of the library."""
