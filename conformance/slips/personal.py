"""Mistakes in Ditto, pFedMe, Per-FedAvg, FedBCD and LOCAL."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterproof.conformance.definitions.base import Definition
from clusterproof.conformance.slips.base import changed, constant, factor, missing, replaced, setting


def _personal_averaged(run: Any, _value: np.ndarray, participants: list[int]) -> Any:
    return run.server_model(participants, {i: run.personal[i] for i in participants})


def _personal_epochs(run: Definition, _value: int, client: int) -> Any:
    return int(run.settings["personal_epochs"])


DITTO = (
    replaced("prox-to-new-model", "anchor", lambda _run, _, new, local: new, "v_i is pulled to the new x"),
    replaced("prox-to-local-model", "anchor", lambda _run, _, new, local: local, "v_i is pulled to y_i"),
    missing("prox-to-zero", "anchor", "v_i is pulled to 0, not to x"),
    missing("lambda-without-effect", "personal pull", "lambda has no effect on the personal models"),
    factor("lambda-doubled", "personal pull", 2.0, "the penalty lacks the factor 1/2"),
    factor("lambda-halved", "personal pull", 0.5, "the gradient of the penalty has a factor 1/2"),
    factor("lambda-sign", "personal pull", -1.0, "the penalty of the personal models has the opposite sign"),
    replaced(
        "personal-restarts",
        "personal start",
        lambda _run, _, received: received,
        "v_i starts from the received x in every round",
    ),
    replaced("personal-steps-are-epochs", "personal steps", _personal_epochs, "v_i makes a step an epoch"),
    replaced(
        "personal-step-size-shared",
        "personal step",
        lambda run, _: run.step_size,
        "v_i moves with eta, not with eta_p",
    ),
    replaced("personal-models-averaged", "aggregated", _personal_averaged, "the server averages v_i"),
)


def _own_theta(run: Any, _value: np.ndarray, client: int) -> Any:
    return run.personal[client]


def _pull_to_received(
    run: Definition, value: np.ndarray, received: np.ndarray, w: np.ndarray, **_: Any
) -> Any:
    return value + run.settings["lam"] * (w - received)


def _thetas(run: Any, value: dict[int, np.ndarray]) -> Any:
    return {i: run.personal[i] for i in value}


PFEDME = (
    replaced("theta-kept", "theta start", _own_theta, "theta starts from the client's last one, not from x"),
    replaced("theta-restarts", "theta", constant("restarts"), "theta starts at w before each outer step"),
    missing("lambda-without-effect", "inner pull", "lambda has no effect on the inner steps"),
    factor("inner-lambda-doubled", "inner pull", 2.0, "the inner penalty lacks the factor 1/2"),
    changed("inner-pull-to-received", "inner pull", _pull_to_received, "inner steps are pulled to x, not w"),
    factor("outer-lambda-missing", "outer step", setting("lam", -1), "lam is missing in the outer step"),
    replaced("one-inner-step", "inner steps", constant(1), "one inner step is made whatever inner_steps is"),
    replaced("theta-sent", "sent", _thetas, "clients send theta, not w"),
    replaced("mix-ignored", "mix", constant(1.0), "the server's mixing beta has no effect"),
)

PER_FEDAVG = (
    missing("hessian-missing", "hessian term", "the Hessian is missing (first-order form)"),
    factor("hessian-sign", "hessian term", -1.0, "the Hessian term has the opposite sign"),
    missing("no-inner-step", "inner step", "the gradient is taken without the adaptation step"),
    factor("inner-step-sign", "inner step", -1.0, "the adaptation step ascends"),
)


def _mean_of_participants(run: Any, _value: np.ndarray, participants: list[int]) -> Any:
    return run.personal[participants].mean(axis=0)


FEDBCD = (
    replaced("personal-restarts", "own start", lambda run, _: run.x, "x_i starts from z in every round"),
    replaced("mean-of-participants", "mean of all", _mean_of_participants, "z moves to the mean of S"),
)
