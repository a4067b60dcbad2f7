"""Mistakes in Ditto, pFedMe, FedBCD, IFCA and CFL-MGD."""

from typing import Any

import numpy as np

from clusterproof.conformance.definitions import Definition
from clusterproof.conformance.slips.averaging import MOMENTUM, damped
from clusterproof.conformance.slips.general import Slip, other_form, over, state_by_position

DITTO = {
    "state-by-position": state_by_position("personal"),
    "prox-to-new-model": Slip({"anchor": "new"}, "v_i is pulled to the new x"),
    "prox-to-local-model": Slip({"anchor": "local"}, "v_i is pulled to y_i"),
    "prox-to-zero": Slip({"anchor": 0}, "v_i is pulled to 0, not to x"),
    "lambda-without-effect": Slip({"personal pull": 0}, "lambda has no effect on the personal models"),
    "lambda-doubled": Slip({"personal pull": 2}, "the penalty lacks the factor 1/2"),
    "lambda-halved": Slip({"personal pull": 0.5}, "the gradient of the penalty has a factor 1/2"),
    "lambda-sign": Slip({"personal pull": -1}, "the penalty of the personal models has the opposite sign"),
    "personal-restarts": Slip({"personal start": "x"}, "v_i starts from the received x in every round"),
    "personal-steps-are-epochs": Slip({"personal steps": "personal_epochs"}, "v_i makes a step an epoch"),
    "personal-step-size-shared": Slip({"personal step": "step_size"}, "v_i moves with eta, not with eta_p"),
    "personal-models-averaged": Slip(
        {"aggregated": lambda run, participants: Definition.server_model(run, participants, run.personal)},
        "the server averages v_i",
    ),
}

PFEDME = {
    "state-by-position": state_by_position("personal"),
    "theta-kept": Slip({"theta start": "kept"}, "theta starts from the client's last one, not from x"),
    "theta-restarts": Slip({"theta": lambda: "restarts"}, "theta starts at w before each outer step"),
    "lambda-without-effect": Slip({"inner pull": 0}, "lambda has no effect on the inner steps"),
    "inner-lambda-doubled": Slip({"inner pull": 2}, "the inner penalty lacks the factor 1/2"),
    "inner-pull-to-received": Slip(
        {"inner pull": lambda received, theta, lam: lam * (theta - received)},
        "inner steps are pulled to x, not w",
    ),
    "outer-lambda-missing": Slip({"outer step": over("lam")}, "lambda is missing in the outer step"),
    "one-inner-step": Slip({"inner steps": lambda: 1}, "one inner step is made whatever inner_steps is"),
    "theta-sent": Slip({"sent": lambda run: run.personal}, "clients send theta, not w"),
    "mix-ignored": Slip({"mix": lambda: 1}, "the server's mixing beta has no effect"),
}

FEDBCD = {
    "state-by-position": state_by_position("personal"),
    "personal-restarts": Slip({"own start": "x"}, "x_i starts from z in every round"),
    "mean-of-participants": Slip(
        {"mean of all": lambda run, participants: run.personal[participants].mean(axis=0)},
        "z moves to the mean of S",
    ),
    "pulled-once": Slip({"pulls": lambda: 1}, "x_i is pulled to z once, not K_i times (separate variant)"),
    "pull-doubled": Slip({"elastic": 2}, "the pull to z is doubled (separate variant)"),
    "pull-sign": Slip({"elastic": -1}, "x_i is pushed away from z (separate variant)"),
}


def _last_choice(run: Any, value: int, client: int) -> int:
    """Choose by the models of the round before."""
    last: int = run.memory.get(("choice", client), value)
    run.memory["choice", client] = value
    return last


def _first_choice(run: Any, value: int, client: int) -> int:
    first: int = run.memory.setdefault(("choice", client), value)
    return first


def _choice_at_old_models(run: Any, client: int) -> int:
    """Return the choice among the models that the server had a round ago."""
    old, now = run.memory.get("models", (run.x, run.x))
    if now is not run.x:
        old, now = now, run.x
    run.memory["models"] = old, now
    return int(np.argmin([run.task.loss(client, model) for model in old]))


def _weights_of_all(run: Any, members: list[int], participants: list[int]) -> Any:
    return run.weights(participants)[np.isin(participants, members)]


IFCA = {
    "worst-cluster-chosen": Slip(
        {"choice": lambda losses: int(np.argmax(losses))}, "clients choose the model of largest loss"
    ),
    "always-cluster-0": Slip({"choice": 0}, "every client chooses the first model"),
    "choice-of-last-round": Slip(
        {"choice": _last_choice},
        "a client uses the choice that it made in its round before",
    ),
    "choice-at-old-models": Slip(
        {"choice": _choice_at_old_models}, "clients choose among the models of the round before"
    ),
    "choice-kept": Slip({"choice": _first_choice}, "clients keep the choice of their first round"),
    "empty-cluster-to-zero": Slip({"empty": 0}, "the model of a cluster without members becomes 0"),
    "empty-cluster-to-nan": Slip(
        {"empty": np.nan}, "the model of a cluster without members becomes NaN: a mean of nothing"
    ),
    "gradient-mean-of-members": Slip(
        {"divisor": lambda members: max(1, len(members))}, "gradients are divided by the members, not N"
    ),
    "divided-by-participants": Slip(
        {"divisor": lambda participants: len(participants)}, "gradients are divided by |S|, not by N"
    ),
    "weights-of-all-clusters": Slip(
        {"member weights": _weights_of_all}, "members' weights are shares of S and add up to less than 1"
    ),
    "first-model-averaged-over-all": Slip(
        {"members": lambda value, cluster, participants: value if cluster else participants},
        "the first model is averaged over S",
    ),
    "other-averaging": Slip({"averaging": other_form("averaging")}, "the other kind of averaging is used"),
}

CFL_MGD = {
    **MOMENTUM,
    "gradient-damped": Slip({"gradient": damped}, "the momentum adds (1 - beta) times the gradient"),
}
