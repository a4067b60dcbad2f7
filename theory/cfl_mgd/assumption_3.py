"""Assumption 3: variances bounded for every model."""

from __future__ import annotations

import numpy as np

from algorithms import InvalidArgument
from synthetic import direct_simulation
from theory.claim import Context, register
from theory.random_tasks import random_regression
from theory.verdict import Finding, Kind


@register(
    "cfl-mgd/assumption-3", label="Assumption 3", kind="hypothesis", repaired_by="cfl-mgd/assumption-3-ball"
)
def assumption_3(context: Context) -> Finding:
    """The variances of loss and gradient are bounded over all models.

    Hypotheses
        None: it is one.

    Statement
        For every chi and p, E (f(chi; y) - phi_p(chi))^2 <= sigma^2 and
        E ||grad f(chi; y) - grad phi_p(chi)||^2 <= v^2.

    Proof that quadratics admit none
        For f = chi' A_y chi / 2 - b_y' chi + c_y, Var f(t chi; y) is a polynomial in t. Bounded, its
        t^4 coefficient Var(chi' A_y chi / 2) vanishes for all chi, so A_y is constant; then its t^2
        coefficient Var(b_y' chi), so b_y is constant, and v = 0.

    Symbols
        sigma^2 ``loss_variance``, v^2 ``gradient_variance``.

    Source
        Zhao et al. (2023), Assumption 3. Read on a ball: ``cfl-mgd/assumption-3-ball``.

    Checked
        On random regressions, along a ray: v^2 >= mu tr(Sigma) ||chi - chi*||^2 by the closed form,
        which is compared with the variance of drawn gradients.
    """
    stream = context.generator("tasks")
    trials = context.number_of_trials(20)
    growth, errors = [], []
    for _ in range(trials):
        task = random_regression(stream)
        direction = stream.standard_normal(task.dimension)
        direction /= np.linalg.norm(direction)
        far = task.optima[0] + 100 * direction
        variance = float(task.gradient_variance(far, 0))
        trace = float(task.covariances.eigenvalues[0].sum())
        growth.append(variance / (task.covariances.eigenvalues[0].min() * trace * 100**2))
        labels = np.zeros(4000, dtype=int)
        rows = direct_simulation.draw_data(labels, task.covariances, task.noise, 1, stream)
        drawn = direct_simulation.gradients(
            np.broadcast_to(far, (4000, task.dimension)), task.optima[labels], *rows
        )
        errors.append(abs(float(drawn.var(axis=0).sum()) / variance - 1))
    if max(errors) > 0.5:
        raise InvalidArgument(
            "gradient_variance", max(errors), "must agree with drawn gradients", "correct the closed form"
        )
    unbounded = min(growth) >= 1
    return Finding(
        verdict=Kind.VACUOUS if unbounded else Kind.CONSISTENT,
        reason="v^2(chi) >= mu tr(Sigma) ||chi - chi*||^2 is unbounded, so that no v serves every chi; "
        f"smallest v^2 / (mu tr(Sigma) ||.||^2) at distance 100 over {trials} regressions, drawn gradients agree",
        measured=min(growth),
        bound=1.0,
        trials=trials,
    )
