"""Mistakes in Ditto, pFedMe, Per-FedAvg and LOCAL."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterproof.conformance.slips.base import Slip, factor, missing, replacement


def _personal_averaged(run: Any, value: np.ndarray, participants: list[int]) -> np.ndarray:
    averaged: np.ndarray = run.server_model(participants, {i: run.personal[i] for i in participants})
    return averaged


def _lambda(run: Any) -> float:
    return float(run.settings["lam"])


DITTO = (
    replacement(
        "prox-to-new-model",
        "anchor",
        lambda _run, value, new, local: new,
        "personal models are pulled to the new server model, not to the received one",
    ),
    replacement(
        "prox-to-local-model",
        "anchor",
        lambda _run, value, new, local: local,
        "personal models are pulled to the client's local model, not to the received one",
    ),
    replacement(
        "prox-to-zero",
        "anchor",
        lambda _run, value, **_: 0 * value,
        "personal models are pulled to 0, not to the received model",
    ),
    missing("lambda-without-effect", "personal pull", "lambda has no effect on the personal models"),
    factor(
        "lambda-doubled", "personal pull", 2.0, "the penalty is lam ||v - x||^2: the factor 1/2 is missing"
    ),
    factor("lambda-halved", "personal pull", 0.5, "the gradient of the penalty has a factor 1/2"),
    factor("lambda-sign", "personal pull", -1.0, "the penalty of the personal models has the opposite sign"),
    replacement(
        "personal-restarts",
        "personal start",
        lambda _run, value, received: received,
        "personal models start from the received model in every round",
    ),
    replacement(
        "personal-steps-are-epochs",
        "personal steps",
        lambda run, value, **_: run.settings["personal_epochs"],
        "personal models make one step an epoch, not one a batch",
    ),
    replacement(
        "personal-step-size-shared",
        "personal step",
        lambda run, value: run.step_size,
        "personal models use the step size of the server model's clients",
    ),
    replacement(
        "personal-models-averaged",
        "aggregated",
        _personal_averaged,
        "the server averages the personal models",
    ),
)

PFEDME = (
    Slip(
        "theta-kept",
        "theta starts from the client's last one, not from the received model",
        {"theta start": lambda run, value, client: run.personal[client]},
        frozenset({"theta start"}),
    ),
    replacement(
        "theta-restarts",
        "theta",
        lambda *_, **__: "restarts",
        "theta starts again at w before each outer step",
    ),
    missing("lambda-without-effect", "inner pull", "lambda has no effect on the inner steps"),
    factor(
        "inner-lambda-doubled",
        "inner pull",
        2.0,
        "the inner penalty is lam ||theta - w||^2: the factor 1/2 is missing",
    ),
    Slip(
        "inner-pull-to-received",
        "the inner steps are pulled to the received model, not to w",
        {"inner pull": lambda run, value, received, w, **_: value + _lambda(run) * (w - received)},
    ),
    factor(
        "outer-lambda-missing",
        "outer step",
        lambda run: 1 / _lambda(run),
        "the outer step is not multiplied by lam",
    ),
    replacement(
        "one-inner-step", "inner steps", lambda *_, **__: 1, "one inner step is made whatever inner_steps is"
    ),
    replacement(
        "theta-sent",
        "sent",
        lambda run, value: {i: run.personal[i] for i in value},
        "clients send theta, not w",
    ),
    replacement("mix-ignored", "mix", lambda *_, **__: 1.0, "the server's mixing beta has no effect"),
)

PER_FEDAVG = (
    missing("hessian-missing", "hessian term", "the Hessian is missing (first-order form)"),
    factor("hessian-sign", "hessian term", -1.0, "the Hessian term has the opposite sign"),
    missing("no-inner-step", "inner step", "the gradient is taken without the adaptation step"),
    factor("inner-step-sign", "inner step", -1.0, "the adaptation step ascends"),
)

FEDBCD = (
    replacement(
        "personal-restarts",
        "own start",
        lambda run, value: run.x,
        "the clients' models start from the common model in every round",
    ),
    replacement(
        "mean-of-participants",
        "mean of all",
        lambda run, value, participants: run.personal[participants].mean(axis=0),
        "the common model moves to the mean of the participants' models, not of all",
    ),
)
