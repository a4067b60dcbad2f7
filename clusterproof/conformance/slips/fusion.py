"""Mistakes in FPFC."""

from typing import Any

import numpy as np

from clusterproof.conformance.slips.general import Slip, over


def _without_own(run: Any, value: np.ndarray, client: int) -> Any:
    """Return the mean over the other clients, from the mean over all."""
    count = run.task.clients
    return (count * value - run.x[client]) / (count - 1)


def _ends_without_rho(smoothing: float, strength: float, concavity: float) -> Any:
    return [smoothing + strength, 2 * strength, concavity * strength]


def _middle_without_rho(safe: np.ndarray, concavity: float, strength: float) -> Any:
    ratio = 1 / (concavity - 1)
    return np.maximum(0.0, 1 - concavity * strength * ratio / safe) / (1 - ratio)


def _by_coordinates(run: Any, apart: np.ndarray) -> Any:
    """Return theta whose coordinates are shrunk one by one."""
    delta = apart + run.duals / run.settings["augmentation"]
    return run.shrinkage(np.abs(delta), run.settings["augmentation"]) * delta


FPFC = {
    "v-sign-in-zeta": Slip({"dual in zeta": -1}, "zeta_i has + v_ij / rho for - v_ij / rho"),
    "v-missing-in-zeta": Slip({"dual in zeta": 0}, "zeta_i lacks v_ij / rho"),
    "theta-missing-in-zeta": Slip(
        {"zeta": lambda run, value: value - run.differences}, "zeta_i lacks theta_ij"
    ),
    "theta-sign-in-zeta": Slip(
        {"zeta": lambda run, value: value - 2 * run.differences}, "zeta_i has - theta_ij for + theta_ij"
    ),
    "zeta-over-others": Slip(
        {"anchor": _without_own}, "zeta_i is the mean over the other clients, not over all N"
    ),
    "zeta-is-own-model": Slip(
        {"anchor": lambda run, client: run.x[client]}, "local steps are pulled to w_i, not to zeta_i"
    ),
    "pull-missing": Slip({"pull": 0}, "local steps lack rho (w_i - zeta_i)"),
    "pull-doubled": Slip({"pull": 2}, "local steps have 2 rho (w_i - zeta_i)"),
    "pull-sign": Slip({"pull": -1}, "local steps are pushed away from zeta_i"),
    "rho-missing-in-steps": Slip({"pull": over("augmentation")}, "local steps have w_i - zeta_i without rho"),
    "starts-from-zeta": Slip({"own start": "anchor"}, "local steps start from zeta_i, not from w_i"),
    "v-sign-in-delta": Slip({"dual in delta": -1}, "delta has - v_ij / rho for + v_ij / rho"),
    "v-missing-in-delta": Slip({"dual in delta": 0}, "delta lacks v_ij / rho"),
    "v-times-rho": Slip(
        {"dual in zeta": lambda value, augmentation: augmentation**2 * value}
        | {"dual in delta": lambda value, augmentation: augmentation**2 * value},
        "v_ij is multiplied by rho, not divided by it",
    ),
    "residual-sign": Slip({"residual": -1}, "v_ij moves by theta_ij - (w_i - w_j), with the opposite sign"),
    "rho-missing-in-v": Slip({"residual": over("augmentation")}, "v_ij moves by the residual without rho"),
    "v-not-kept": Slip({"old v": 0}, "v_ij does not go on from its old value"),
    "v-never-moves": Slip({"residual": 0}, "v_ij stays at 0, or has no effect"),
    "old-models-in-pairs": Slip(
        {"apart": lambda before: before[:, None] - before[None]},
        "pairs are updated with the models before the round",
    ),
    "pairs-one-sided": Slip(
        {"pairs": lambda value: [np.triu(pairs) for pairs in value]},
        "theta_ji and v_ji are not set to their negatives",
    ),
    "absent-pairs-follow-models": Slip(
        {"absent theta": lambda run: run.x[:, None] - run.x[None]}, "theta of other pairs becomes w_i - w_j"
    ),
    "absent-v-reset": Slip({"absent v": 0}, "v of pairs that are not updated becomes 0"),
    "theta-not-shrunk": Slip({"theta": "apart"}, "theta is w_i - w_j: the proximal step is missing"),
    "theta-by-coordinates": Slip(
        {"theta": _by_coordinates}, "coordinates of theta are shrunk one by one, not the vector"
    ),
    "lengths-squared": Slip({"ends": lambda value: np.sqrt(value)}, "the cases of SCAD compare ||delta||^2"),
    "rho-missing-in-cases": Slip(
        {"ends": _ends_without_rho}, "the cases of SCAD have lambda for lambda / rho"
    ),
    "middle-branch-not-scaled": Slip(
        {"middle branch": lambda value, ratio: (1 - ratio) * value},
        "the third case of SCAD lacks the denominator 1 - 1 / ((a - 1) rho)",
    ),
    "middle-branch-without-rho": Slip(
        {"middle branch": _middle_without_rho}, "the third case of SCAD lacks rho"
    ),
    "rho-for-lambda": Slip({"lambda": "augmentation"}, "rho is used for lambda"),
    "lambda-halved": Slip({"lambda": 0.5}, "lambda is halved"),
    "not-smoothed": Slip({"xi": 0}, "the penalty is SCAD itself, not the smoothed one: xi has no effect"),
    "groups-by-squares": Slip(
        {"lengths": lambda value: value**2}, "clients are grouped by ||theta||^2 <= nu"
    ),
    "groups-by-lambda": Slip({"nu": "strength"}, "clients are grouped by ||theta|| <= lambda, not nu"),
    "groups-by-models": Slip(
        {"lengths": lambda run: np.linalg.norm(run.x[:, None] - run.x[None], axis=-1)},
        "clients are grouped by ||w_i - w_j||, not by ||theta||",
    ),
    "groups-without-components": Slip(
        {"components": lambda near: near}, "a group is a client's close pairs, not the connected component"
    ),
    "group-models-unweighted": Slip(
        {"weights in groups": lambda value: np.ones_like(value)}, "the model of a group is an unweighted mean"
    ),
}
