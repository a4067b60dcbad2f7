"""The hypotheses of Theorem 1 of FPFC on a run: its constants, what is not met, and an option that changes it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from clusterproof.algorithms import FPFC, Trace
from clusterproof.synthetic import Mixture, QuadraticMixture
from clusterproof.theory.bounds.numbers import apart, short
from clusterproof.theory.papers.fpfc.constants import Constants
from clusterproof.theory.runs.page import Outcome

MOST_STEPS = 1000
"""Local steps beyond which none are proposed."""


@dataclass(frozen=True)
class Need:
    """A hypothesis with its numbers.

    Attributes
    ----------
    words
        The inequality with both numbers.
    short
        What is needed and what the run has.
    met
        Whether it holds.
    """

    words: str
    short: str
    met: bool


def setting_of(algorithm: FPFC, task: Mixture) -> Constants:
    """Return the constants with the least L_- that the step size allows: convex losses have any positive one."""
    smoothness = task.client_smoothness if isinstance(task, QuadraticMixture) else task.smoothness
    least = max(0.0, smoothness + 2 * algorithm.augmentation - 1 / algorithm.step_size)
    return Constants(
        algorithm, task.clients, smoothness, least if least * algorithm.step_size > 1e-12 else 0.0
    )


def needs_of(setting: Constants) -> tuple[Need, ...]:
    """Return the hypotheses of Theorem 1 on rho, T and alpha, with c^(T/2) for c and log(1/c) for log c."""
    algorithm, penalty = setting.algorithm, setting.penalty
    rho, power, convexity = algorithm.augmentation, setting.power, setting.weak_convexity
    lower = {
        "2 lambda/xi": 2 * penalty.strength / penalty.smoothing,
        "2/(a - 1)": 2 / (penalty.concavity - 1),
    }
    needs, longest = [], 1 / setting.local_smoothness
    if convexity > 0:
        limit, step = apart(longest, algorithm.step_size)
        words = f"alpha < 1/(L_f + rho) = {limit}, here {step}"
        needs.append(Need(words, words, convexity < rho))
    if convexity < rho:
        lower["L_-"] = convexity
        shown = apart(power, 0.5)[0]
        needs.append(Need(f"q = c^(T/2) = {shown} < 1/2", f"q < 1/2, here {shown}", power < 0.5))
    name = max(lower, key=lambda each: lower[each])
    least, here = apart(lower[name], rho)
    words = f"rho = {here} > {name} = {least}"
    if convexity < rho and power < 0.5:
        lower["L_f/(1 - 2q)"] = pull = setting.smoothness / (1 - 2 * power)
        words += f" and > L_f/(1 - 2q) = {apart(pull, rho)[0]}"
    least, here = apart(max(lower.values()), rho)
    return (Need(words, f"rho > {least}, here {here}", rho > max(lower.values())), *needs)


def excluded(algorithm: FPFC, trace: Trace) -> tuple[Outcome, str, str] | None:
    """Return why no theorem is about the run, and the option that changes it."""
    if algorithm.penalty != "scad":
        words = f"does not apply: needs the penalty SCAD, here {algorithm.penalty}"
        return "does not apply", words, "--penalty scad"
    if algorithm.start != "common":
        return "does not apply", "does not apply: needs one start, here every client's own", "--start common"
    if algorithm.pair_rule == "both" and algorithm.participation < 1:
        words = "does not apply: needs every pair with a participant updated, here with two"
        return "does not apply", words, "--pair-rule either"
    if trace.rounds == 0:
        return "says nothing", "says nothing of a run without rounds", "--rounds 300"
    if len(trace.labels) == 1:
        return "says nothing", "says nothing of one client, which has no pairs", "--clients 40"
    return None


def next_option(setting: Constants, apply: bool) -> tuple[str, str] | None:
    """Return an option with which the theorem says something else, the other parameters being the run's, and what.

    Parameters
    ----------
    setting
        The run's.
    apply
        Whether it meets the theorem's hypotheses.
    """
    steps, rho, least = (
        setting.algorithm.local_steps,
        setting.algorithm.augmentation,
        2 * setting.penalty.lipschitz,
    )
    option, remark = "", "C_1 > 0"
    if not rho > least:
        option, remark = f"--augmentation {math.floor(least) + 1}", "above 2 L_g"
    elif apply and setting.first > 0:
        broken = (fewer for fewer in range(steps - 1, 0, -1) if _sign(setting, fewer) < 0)
        option, remark = f"--local-steps {next(broken, 0)}", "C_1 < 0: bound broken"
        if option.endswith(" 0"):
            return None
    elif setting.weak_convexity < rho:
        positive = (more for more in range(steps + 1, MOST_STEPS) if _sign(setting, more) > 0)
        option = f"--local-steps {next(positive, 0)}"
        if option.endswith(" 0"):
            return None
    else:
        longest = 1 / (setting.smoothness + 2 * rho)
        option, remark = f"--step-size {short(0.9 * longest, 2)}", "below 1/(L_f + 2 rho)"
    return option, remark


def _sign(setting: Constants, local_steps: int) -> float:
    """Return C_1's sign with so many local steps; 0 where the hypotheses fail."""
    tried = replace(setting, algorithm=replace(setting.algorithm, local_steps=local_steps))
    return math.copysign(1.0, tried.first) if tried.admissible else 0.0
