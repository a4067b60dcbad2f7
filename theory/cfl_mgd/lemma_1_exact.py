"""Lemma 1 told exactly, for Gaussian regression."""

from __future__ import annotations

import numpy as np

from synthetic import RegressionMixture, direct_simulation
from synthetic.misclassification import worst_case_error
from theory.claim import Context, register
from theory.random_tasks import random_regression
from theory.statistics import clopper_pearson
from theory.verdict import Finding, Kind


@register("cfl-mgd/lemma-1-exact", label="Lemma 1 (ours, exact)", kind="identity")
def lemma_1_exact(context: Context) -> Finding:
    """The probability that a client prefers a wrong model is a tail of the F distribution.

    Hypotheses
        Gaussian regression, n' fresh rows, any two models.

    Statement
        With residual variances a (own) and b (other) and their covariance c,
        P(phi_i(own) >= phi_i(other)) = P(F_(n',n') >= (Q + A) / (Q - A)), A = b - a,
        Q = sqrt((a + b)^2 - 4 c^2).

    Proof
        Rotate the two residuals to independence; the comparison becomes one of two independent
        chi-square variables with n' degrees of freedom each.

    Symbols
        n' ``samples``.

    Source
        Ours (audit of CFL-MGD, 2.2); replaces Lemma 1 for Gaussian regression. Identity.

    Checked
        Against clients whose rows are drawn one by one, on random tasks and models: a
        Clopper-Pearson interval for the observed frequency contains the closed form.
    """
    stream = context.generator("tasks")
    settings, clients = 12, context.number_of_trials(4000)
    outside, widest = 0, 0.0
    for _ in range(settings):
        task = random_regression(stream)
        samples = int(stream.choice([1, 2, 3, 10, 30]))
        task = RegressionMixture(
            optima=task.optima, covariance=task.covariances.matrices, noise=0.3 + task.noise, labels=task.labels,
            samples=samples,
        )  # fmt: skip
        models = task.optima + task.basin_radius * stream.uniform(-1, 1, task.optima.shape)
        rows = direct_simulation.draw_data(
            np.zeros(clients, dtype=int), task.covariances, task.noise, samples, stream
        )
        losses = direct_simulation.losses(
            models, np.broadcast_to(task.optima[0], (clients, task.dimension)), *rows
        )
        wrong = int((losses[:, 0] >= losses[:, 1]).sum())
        exact = float(task.misclassification_probability(models, 0)[1])
        interval = clopper_pearson(wrong, clients, context.significance / settings)
        outside += not interval.lower <= exact <= interval.upper
        widest = max(widest, abs(wrong / clients - exact))
    return Finding(
        verdict=Kind.VIOLATED if outside else Kind.CONSISTENT,
        reason=f"closed form outside the Clopper-Pearson interval in {outside} of {settings} settings with {clients} "
        "drawn clients each; measured is the largest difference of frequency and closed form",
        measured=widest,
        trials=settings * clients,
        failures=outside,
    )


@register("cfl-mgd/lemma-1-worst-case", label="Lemma 1 (ours, worst case)", kind="upper")
def lemma_1_worst_case(context: Context) -> Finding:
    """No pair of models in the basin is mistaken more often than the closed-form worst case pi_F.

    Hypotheses
        Gaussian regression; models within B < Delta / (1 + sqrt(kappa)) of their optima.

    Statement
        With a = sqrt(L) B, b = sqrt(mu) (Delta - B): pi_F = P(F_(n',n') >= rho),
        rho = (s^2 + b^2) / (s^2 + a^2) if s^2 <= a b, else (1 + u) / (1 - u) with
        u = sqrt(x / (x + 4)), x = (b - a)^2 / s^2. So misclassification is exponentially rare in n'.

    Symbols
        B the radius, Delta ``separation``, s ``noise``, n' ``samples``.

    Source
        Ours (audit of CFL-MGD, 2.2). Upper bound; attained at kappa = 1.

    Checked
        Random models on the rim of random basins of random regressions, against the exact tail.
    """
    stream = context.generator("tasks")
    trials = context.number_of_trials(200)
    worst, failures = np.inf, 0
    for _ in range(trials):
        task = random_regression(stream)
        share = stream.uniform(0.05, 0.99)
        radius = share * task.separation / (1 + np.sqrt(task.condition_number))
        allowed = worst_case_error(
            task.smoothness, task.strong_convexity, task.separation, task.noise, radius, task.samples
        )
        offsets = stream.standard_normal((100, task.clusters, task.dimension))
        offsets[:20, 0] = task.optima[1] - task.optima[0]
        offsets[:20, 1] = task.optima[0] - task.optima[1]
        models = task.optima + radius * offsets / np.linalg.norm(offsets, axis=-1, keepdims=True)
        exact = float(task.misclassification_probability(models, 0).max())
        failures += exact > allowed * (1 + 1e-9) + 1e-300
        worst = min(worst, allowed / exact) if exact > 1e-300 else worst
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"{failures} of {trials} basins hold a pair that exceeds pi_F; slack is the smallest pi_F / exact",
        slack=float(worst),
        trials=trials,
        failures=int(failures),
    )
