"""Mistakes in GL-CFL; those of IFCA's choice and means apply, too."""

from typing import Any

import numpy as np

from clusterproof.conformance.slips.general import Slip
from clusterproof.conformance.slips.several_models import IFCA


def _round_before(run: Any, value: np.ndarray) -> Any:
    """Return the change of the round before."""
    before = run.memory.get("change", 0 * value)
    run.memory["change"] = value
    return before


SHARED_WITH_IFCA = (
    *("always-cluster-0", "choice-of-last-round", "empty-cluster-to-zero", "empty-cluster-to-nan"),
    *("weights-of-all-clusters", "first-model-averaged-over-all"),
)

GRADIENT_LOSS = {name: IFCA[name] for name in SHARED_WITH_IFCA} | {
    "worst-score-chosen": Slip(
        {"choice": lambda scores: int(np.argmin(scores))}, "clients choose the least score"
    ),
    "loss-sign": Slip({"loss": -1}, "the score adds the loss: clients prefer a large one"),
    "weights-swapped": Slip(
        {"weight": lambda value: 1 - value, "weight of loss": "weight"},
        "lambda weighs the loss, 1 - lambda the similarity",
    ),
    "loss-not-weighted": Slip({"weight of loss": lambda: 1.0}, "the loss has the weight 1, not 1 - lambda"),
    "similarity-missing": Slip({"similarity": 0}, "the choice is IFCA's: the similarity has no effect"),
    "loss-missing": Slip({"loss": 0}, "the choice is by the similarity alone"),
    "inner-product": Slip({"cosine": "product"}, "the similarity is the inner product, not the cosine"),
    "change-since-start": Slip(
        {"change": lambda run, new: new - run.task.starts},
        "D_k is the change since the start, not of one round",
    ),
    "change-of-round-before": Slip(
        {"change": _round_before}, "D_k is the change of the round before the last"
    ),
    "change-averaged-over-models": Slip(
        {"change": lambda value: 0 * value + value.mean(axis=0)}, "D_k is the mean change of all models"
    ),
    "gradient-at-first-model": Slip(
        {"gradient in S": lambda run, client: run.task.gradient(client, run.x[0])},
        "the similarity takes the gradient at the first model for every k",
    ),
    "step-with-first-gradient": Slip(
        {"gradient": lambda run, client: run.task.gradient(client, run.x[0])},
        "the step has the gradient at the first model, not at the chosen one",
    ),
    "gradient-sign": Slip({"gradient": -1}, "the step ascends"),
}
