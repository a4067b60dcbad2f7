"""Mistakes in CFL and SoFL."""

from typing import Any

import numpy as np

from clusterproof.conformance.slips.general import Slip

_COUNT = "rounds count from 0, so that warm_up of them end before the first that may split"
_COUNT_TO_CLUSTERING = "rounds count from 0, so that pretraining of them end before the clustering may come"

GROUPS = {
    "averaged-in-old-groups": Slip(
        {"groups of averages": "before"}, "the round of a split still averages in the groups of before"
    ),
    "averaged-over-all": Slip({"members": "participants"}, "every group gets the mean over all participants"),
    "updates-summed": Slip(
        {"group change": lambda value, members: len(members) * value}, "updates are added, not averaged"
    ),
    "updates-over-all-clients": Slip(
        {"group change": lambda run, value, members: len(members) / run.task.clients * value},
        "a group's sum of updates is divided by N, not by its members",
    ),
}


def _other_mean(run: Any, members: list[int]) -> Any:
    equal, samples = np.ones(len(members)), run.task.samples[members]
    counts = equal if run.settings["weighting"] == "samples" else samples
    return counts / counts.sum()


CFL = GROUPS | {
    "mean-of-norms": Slip(
        {"mean norm": lambda sent: np.linalg.norm(sent, axis=1).mean()},
        "eps_1 is compared with the mean of the norms, not with the norm of the mean",
    ),
    "sum-for-mean": Slip(
        {"mean norm": lambda value, members: len(members) * value},
        "eps_1 is compared with the norm of the sum",
    ),
    "mean-with-other-weights": Slip(
        {"weights of mean": _other_mean}, "the mean that eps_1 is compared with has other weights"
    ),
    "mean-of-others-for-largest": Slip(
        {"largest norm": lambda sent: np.linalg.norm(sent, axis=1).mean()},
        "eps_2 is compared with the mean norm",
    ),
    "smallest-for-largest": Slip(
        {"largest norm": lambda sent: np.linalg.norm(sent, axis=1).min()},
        "eps_2 is compared with the smallest norm",
    ),
    "largest-norm-squared": Slip(
        {"largest norm": lambda value: value**2}, "eps_2 is compared with the squared norm"
    ),
    "one-condition-suffices": Slip(
        {
            "ready": lambda mean, largest, mean_threshold, client_threshold: (
                mean < mean_threshold or largest > client_threshold
            )
        },
        "a group is split if one of the two conditions holds",
    ),
    "only-eps-1": Slip(
        {"ready": lambda mean, mean_threshold: mean < mean_threshold},
        "a group is split without regard to eps_2",
    ),
    "only-eps-2": Slip(
        {"ready": lambda largest, client_threshold: largest > client_threshold},
        "a group is split without regard to eps_1",
    ),
    "pairs-are-split": Slip({"smallest": lambda: 1}, "groups of two clients are split"),
    "inner-products": Slip(
        {"similarities": lambda sent: sent @ sent.T}, "similarities are inner products, not cosines"
    ),
    "similarity-sign": Slip({"similarities": -1}, "the most dissimilar updates are kept together"),
    "first-client-alone": Slip(
        {"side": lambda value: np.arange(len(value)) == 0}, "a split takes the first client out of the group"
    ),
    "positions-for-ids": Slip(
        {"ids": lambda value: np.arange(len(value))},
        "the parts hold positions in the group, not clients: right for the first split only",
    ),
    "split-one-round-late": Slip(
        {"finished": lambda value: value - 1}, f"splits start a round late: {_COUNT}"
    ),
    "split-one-round-early": Slip(
        {"finished": lambda value: value + 1}, f"splits start a round early: {_COUNT}"
    ),
    "no-splits": Slip({"ready": lambda: False}, "no group is split: all clients stay in one"),
    "noise-without-root": Slip(
        {"accepted": lambda across, noise_ratio: (1 - across) / 2 > noise_ratio},
        "gamma_max is compared with (1 - a) / 2 without the root",
    ),
}

SOFL = {name: slip for name, slip in GROUPS.items() if name != "averaged-over-all"} | {
    "clustered-one-round-late": Slip(
        {"finished": lambda value: value - 1},
        f"clients are grouped a round late: {_COUNT_TO_CLUSTERING}",
    ),
    "clustered-one-round-early": Slip(
        {"finished": lambda value: value + 1},
        f"clients are grouped a round early: {_COUNT_TO_CLUSTERING}",
    ),
    "groups-without-effect": Slip(
        {"groups of averages": lambda value: 0 * value},
        "the groups are reported, but all clients keep one model",
    ),
    "restarts-after-clustering": Slip(
        {"new models": lambda run, value, first: 0 * value + run.task.start if first else value},
        "the groups start again from the first model",
    ),
    "method-ignored": Slip({"pull": 0, "inner step": 0}, "groups train by FedAvg whatever the method is"),
    "prox-doubled": Slip({"pull": 2}, "the proximal term is mu ||y - x||^2: the factor 1/2 is missing"),
    "prox-sign": Slip({"pull": -1}, "the proximal term has the opposite sign"),
    "inner-step-is-eta": Slip({"inner step": 2}, "the inner step is eta, not half of it"),
    "inner-step-sign": Slip({"inner step": -1}, "the inner step ascends"),
    "clustered-at-once": Slip(
        {"rest": lambda: True}, "clients are grouped without waiting for the mean to be small"
    ),
}
