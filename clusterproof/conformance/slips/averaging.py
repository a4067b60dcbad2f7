"""Mistakes in FedProx, FedNova, FedLin, FedAvgM, FedAdam, FedYogi and Per-FedAvg."""

from typing import Any

import numpy as np

from clusterproof.conformance.slips.general import (
    Slip,
    not_squared,
    other_weights,
    over,
    passes_over_samples,
    times,
)


def _mean_of_sent(run: Any) -> Any:
    return other_weights(run, list(run.sent)) @ np.array(list(run.sent.values()))


PULLS = {
    "prox-zero": Slip({"pull": 0}, "the proximal term has no effect"),
    "mu-taken-as-one": Slip({"pull": over("proximal")}, "mu is taken as 1"),
    "prox-doubled": Slip({"pull": 2}, "the proximal term is mu ||y - x||^2: the factor 1/2 is missing"),
    "prox-halved": Slip({"pull": 0.5}, "the gradient of the proximal term has a factor 1/2"),
    "prox-sign": Slip({"pull": -1}, "the proximal term has the opposite sign"),
    "prox-times-step": Slip({"pull": times("step_size")}, "the proximal term has the step size twice"),
}
"""Mistakes of a proximal term."""

FEDPROX = PULLS | {
    "mu-squared": Slip({"pull": times("proximal")}, "the proximal term has mu squared"),
    "norm-not-squared": Slip(
        {"pull": not_squared("proximal")}, "the proximal term has the norm, not its square"
    ),
    "norms-not-squared": Slip(
        {"pull": not_squared("proximal", slice(1), slice(1, None))},
        "the proximal term has the norm of each tensor, not its square",
    ),
    "prox-last-tensor-only": Slip(
        {"pull": lambda value: np.array([0, *value[1:]])}, "only the last tensor has a proximal term"
    ),
    "prox-to-zero": Slip(
        {"pull": lambda proximal, y: proximal * y}, "the proximal term pulls to 0, not to the received model"
    ),
    "prox-to-start": Slip(
        {"pull": lambda run, proximal, y: proximal * (y - run.task.start)},
        "the proximal term pulls to the first x",
    ),
}

FEDNOVA = {
    "tau-counts-epochs": Slip({"K": "local_epochs"}, "K_i counts epochs, not gradient steps"),
    "tau-counts-samples": Slip({"K": passes_over_samples}, "K_i counts samples, not gradient steps"),
    "no-normalisation": Slip({"K": lambda: 1}, "changes are averaged without normalisation"),
    "tau-unweighted": Slip({"tau": lambda counts: counts.mean()}, "tau is the plain mean of K_i"),
    "tau-effective-one": Slip({"tau": lambda: 1}, "the normalised mean is not multiplied by tau"),
    "tau-sum": Slip({"tau": lambda counts: counts.sum()}, "tau is the sum of K_i"),
    "tau-largest": Slip({"tau": lambda counts: counts.max()}, "tau is the largest K_i"),
}

FEDLIN = {
    "correction-sign": Slip({"correction": -1}, "the correction has the opposite sign"),
    "correction-missing": Slip({"correction": 0}, "local steps are not corrected"),
    "correction-without-client": Slip({"client part": 0}, "the correction has no gradient of the client"),
    "server-part-sign": Slip({"server part": -1}, "the mean gradient g has the opposite sign"),
    "other-weights-of-gradients": Slip({"server part": _mean_of_sent}, "gradients have other weights"),
}


def damped(value: np.ndarray, momentum: float) -> Any:
    """Return (1 - beta) times a value."""
    return (1 - momentum) * value


MOMENTUM = {
    "momentum-reset": Slip({"old v": 0}, "the momentum starts at 0 in every round"),
    "momentum-applied-twice": Slip({"momentum": lambda value: value**2}, "beta is squared, or applied twice"),
    "momentum-sign": Slip({"momentum": -1}, "beta has the opposite sign"),
}

FEDAVGM = {
    "momentum-damped": Slip({"delta": damped}, "the momentum adds (1 - beta) times the mean change"),
    **MOMENTUM,
    "momentum-nesterov": Slip(
        {"step": lambda value, delta, beta: delta + beta * value}, "the step is Nesterov's, Delta + beta v"
    ),
    "momentum-scales-model-step": Slip({"step": damped}, "the step is multiplied by 1 - beta"),
}

ADAPTIVE = {
    "v-starts-at-zero": Slip({"v start": 0}, "v starts at 0, not at tau^2"),
    "v-starts-at-tau": Slip({"v start": "tau"}, "v starts at tau, not tau^2"),
    "bias-corrected": Slip({"bias correction": lambda: "adam"}, "m and v are divided by 1 - beta^t"),
    "bias-correction-one-round-ahead": Slip(
        {"bias correction": lambda: "step-size", "t": lambda value: value + 1},
        "eta is multiplied by sqrt(1 - beta2^t) / (1 - beta1^t) with t the number of the round, plus 1",
    ),
    "tau-inside-root": Slip({"scale": lambda v, tau: np.sqrt(v + tau)}, "tau is under the root"),
    "tau-missing": Slip({"scale": lambda v: np.sqrt(v)}, "tau is missing in the denominator"),
    "delta-not-damped": Slip({"damping": lambda: 1}, "m adds Delta, not (1 - beta1) Delta"),
    "second-moment-from-m": Slip({"second moment of": "m"}, "v adds the square of m, not of Delta"),
    "beta2-for-beta1": Slip({"beta1": "beta2"}, "beta2 is used for beta1"),
}

YOGI = {
    "yogi-sign": Slip({"sign": -1}, "Yogi's sign is the opposite one"),
    "yogi-is-adam": Slip(
        {"yogi": lambda run, delta, beta2: beta2 * run.v + (1 - beta2) * delta**2}, "v is Adam's, not Yogi's"
    ),
}


def _from_adapted(run: Any, value: np.ndarray, y: np.ndarray, client: int) -> Any:
    return value + run.settings["inner_step_size"] / run.step_size * run.task.gradient(client, y)


PER_FEDAVG = {
    "hessian-missing": Slip({"hessian term": 0}, "the Hessian is missing (first-order form)"),
    "hessian-sign": Slip({"hessian term": -1}, "the Hessian term has the opposite sign"),
    "no-inner-step": Slip({"inner step": 0}, "the gradient is taken without the adaptation step"),
    "steps-from-adapted-model": Slip(
        {"direction": _from_adapted}, "a step starts from the adapted model y - a g_i(y), not from y"
    ),
    "inner-step-sign": Slip({"inner step": -1}, "the adaptation step ascends"),
}
