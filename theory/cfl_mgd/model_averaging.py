"""Option II told truly: recursion, fixed point, drift, and where it diverges."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from algorithms import CFLMGD, run
from synthetic import QuadraticMixture
from theory.claim import Context, register
from theory.counterexample import Instance, Number, confirm_equal, encode, replay_with, seek
from theory.heavy_ball import propagators
from theory.model_averaging import drift_constant, first_order_drift, round_map
from theory.verdict import Finding, Kind


def random_cluster(
    stream: np.random.Generator, condition_number: float = 20.0, fewest: int = 1
) -> QuadraticMixture:
    """Draw one cluster of up to 6 clients, each with a Hessian and a centre of its own."""
    clients, dimension = int(stream.integers(fewest, 7)), int(stream.integers(1, 5))
    rotations = np.linalg.qr(stream.standard_normal((clients, dimension, dimension)))[0]
    spectra = stream.uniform(1 / condition_number, 1, (clients, dimension))
    hessians = (rotations * spectra[:, None, :]) @ np.swapaxes(rotations, -1, -2)
    return QuadraticMixture(
        hessians=(hessians + np.swapaxes(hessians, -1, -2)) / 2,
        centers=stream.standard_normal((clients, dimension)),
        labels=np.zeros(clients, dtype=int),
    )


def random_option(stream: np.random.Generator) -> CFLMGD:
    """Draw parameters of option II, with and without reset."""
    return CFLMGD(
        step_size=float(stream.uniform(0.1, 1.0)),
        momentum=float(stream.uniform(0, 0.9)),
        averaging="model",
        local_steps=int(stream.integers(1, 8)),
        reset_momentum=bool(stream.integers(2)),
    )


def run_distance(
    task: QuadraticMixture, algorithm: CFLMGD, stream: np.random.Generator, rounds: int
) -> float:
    """Largest distance of a run from the affine recursion, relative to the largest model."""
    start = stream.standard_normal((1, task.dimension))
    models = run(algorithm, task, rounds=rounds, initial=start).models[:, 0]
    one = round_map(
        task.hessians, task.centers, step_size=algorithm.step_size, momentum=algorithm.momentum,
        local_steps=algorithm.local_steps, reset_momentum=algorithm.reset_momentum,
    )  # fmt: skip
    state = np.zeros(len(one.offset))
    state[: task.dimension] = start[0]
    worst = 0.0
    for model in models:
        worst = max(worst, float(np.abs(model - state[: task.dimension]).max() / (1 + np.abs(state).max())))
        state = one.matrix @ state + one.offset
    return worst


@register("cfl-mgd/model-averaging-recursion", label="Option II (ours)", kind="identity")
def model_averaging_recursion(context: Context) -> Finding:
    """On quadratics, a round of option II is one affine map of (chi, u), with a known fixed point.

    Hypotheses
        One cluster of quadratic clients with Hessians A_i and centres c_i, full participation.

    Statement
        z = (chi, u) obeys z' = M z + mean (I - B_i^H)(c_i, 0), M = mean B_i^H; with
        ``reset_momentum`` chi alone does, with M's first block. If rho(M) < 1 the rounds converge
        linearly with factor rho(M) to (I - M)^-1 mean (I - B_i^H)(c_i, 0).

    Symbols
        B_i = ((I - eta A_i, -eta beta I), (A_i, beta I)), H ``local_steps``.

    Source
        Ours (audit of CFL-MGD, section 4); replaces (12)-(20). Identity.

    Checked
        Runs of option II on random clusters against the recursion at every round to 1e-10, and
        their end against the fixed point where rho(M) < 0.8.
    """
    stream = context.generator("clusters")
    trials = context.number_of_trials(60)
    worst, ends = 0.0, 0
    for _ in range(trials):
        task, algorithm = random_cluster(stream), random_option(stream)
        worst = max(worst, run_distance(task, algorithm, stream, 25))
        one = round_map(
            task.hessians, task.centers, step_size=algorithm.step_size, momentum=algorithm.momentum,
            local_steps=algorithm.local_steps, reset_momentum=algorithm.reset_momentum,
        )  # fmt: skip
        if one.rate < 0.8:
            last = run(algorithm, task, rounds=150, initial=np.zeros((1, task.dimension))).models[-1, 0]
            worst = max(worst, float(np.abs(last - one.fixed_point[: task.dimension]).max()))
            ends += 1
    failures = int(worst > 1e-10)
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"largest distance of run and recursion over {trials} clusters, 25 rounds each, and of the end from "
        f"the fixed point in {ends} of them",
        measured=worst,
        bound=1e-10,
        trials=trials,
        failures=failures,
    )


def pulls(task: QuadraticMixture, momentum: float, local_steps: int) -> float:
    """Size of the drift if the clients' pulls did not cancel: what errors are measured against."""
    each = np.einsum("nij,njk,nk->ni", task.hessians, task.hessians, task.optima[0] - task.centers)
    scale = drift_constant(momentum, local_steps) / task.strong_convexity
    return scale * float(np.linalg.norm(each, axis=-1).mean()) + 1e-300


@register("cfl-mgd/model-averaging-drift", label="Option II, drift (ours)", kind="identity")
def model_averaging_drift(context: Context) -> Finding:
    """Local steps move option II's limit away from the optimum, and momentum multiplies that drift.

    Hypotheses
        As ``cfl-mgd/model-averaging-recursion``, H >= 2, rho(M) < 1.

    Statement
        chi_inf - chi* = eta c_H(beta) (mean A)^-1 mean A_i^2 (chi* - c_i) + O(eta^2), with
        c_H(beta) = (1/H) sum_(j<H) sum_(k=1..j) (1 - beta^k) / (1 - beta): 2 at (5, 0) and 3.71 at
        (5, .9). With H = 1, or with equal Hessians, there is no drift.

    Symbols
        H ``local_steps``, beta ``momentum``, eta ``step_size``.

    Source
        Ours (audit of CFL-MGD, section 4). Identity to first order.

    Checked
        On random clusters the fixed point's distance divided by eta, at eta = 1e-3 and 5e-4: the
        difference from the formula is below 0.05 of the clients' pulls and halves with eta.
    """
    stream = context.generator("clusters")
    trials = context.number_of_trials(60)
    worst, slowest = 0.0, 0.0
    for _ in range(trials):
        task = random_cluster(stream, condition_number=5.0, fewest=2)
        momentum, local_steps = float(stream.uniform(0, 0.9)), int(stream.integers(2, 8))
        expected = first_order_drift(task.hessians, task.centers, momentum=momentum, local_steps=local_steps)
        errors = []
        for step in (1e-3, 5e-4):
            one = round_map(
                task.hessians, task.centers, step_size=step, momentum=momentum, local_steps=local_steps
            )
            drift = (one.fixed_point[: task.dimension] - task.optima[0]) / step
            errors.append(float(np.linalg.norm(drift - expected)) / pulls(task, momentum, local_steps))
        worst = max(worst, errors[0])
        if errors[0] > 1e-5:  # below, rounding error of the linear solve has its say
            slowest = max(slowest, errors[1] / errors[0])
    failures = int(worst > 0.05 or slowest > 0.6)
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"largest difference of drift / eta from the formula over {trials} clusters at eta = 1e-3, relative to "
        f"the pulls; halving eta leaves at most {slowest:.3f} of it",
        measured=worst,
        bound=0.05,
        trials=trials,
        failures=failures,
    )


def scalar_rate(instance: Instance) -> float:
    """rho(M) of two scalar clients, curvatures ``flat`` and 1, eta = 1."""
    hessians = np.array([[[float(instance["flat"])]], [[1.0]]])
    one = round_map(
        hessians,
        np.zeros((2, 1)),
        step_size=1.0,
        momentum=float(instance["momentum"]),
        local_steps=int(instance["local_steps"]),
    )
    return one.rate


def evaluate(instance: Instance) -> tuple[Number, Number]:
    """rho(M), and what convergence needs it to stay below."""
    return scalar_rate(instance), 1.0 + 1e-9


def confirm(instance: Instance, measured: float) -> None:
    """Run the algorithm: over 200 rounds it must grow by the measured factor a round."""
    task = QuadraticMixture(
        hessians=np.array([[[float(instance["flat"])]], [[1.0]]]),
        centers=np.zeros((2, 1)),
        labels=np.zeros(2, dtype=int),
    )
    algorithm = CFLMGD(
        step_size=1.0, momentum=float(instance["momentum"]), averaging="model",
        local_steps=int(instance["local_steps"]),
    )  # fmt: skip
    rounds = 200
    models = np.abs(run(algorithm, task, rounds=rounds, initial=np.array([[0.5]])).models[:, 0, 0])
    # a complex pair makes single rounds irregular; the envelope over 40 rounds does not
    first, last = models[100:140].max(), models[-40:].max()
    observed = (last / first) ** (1 / (rounds - 140 + 1))
    if abs(math.log(observed) - math.log(measured)) > 0.02:
        confirm_equal("growth of option II a round", observed, measured)


def sentence(instance: Instance, measured: Number, allowed: Number) -> str:
    """Spell the instance out."""
    return (
        f"two scalar clients with lambda = {encode(instance['flat'])} and 1 and the same minimiser, eta = 1/L, beta = "
        f"{encode(instance['momentum'])}, H = {encode(instance['local_steps'])}: each alone converges, their average "
        f"grows by rho(M) = {float(measured):.4f} a round"
    )


@register("cfl-mgd/model-averaging-stability", label="Option II, (6)", kind="upper", replay=replay_with(evaluate),
          repaired_by="cfl-mgd/model-averaging-reset")  # fmt: skip
def model_averaging_stability(context: Context) -> Finding:
    """Option II converges when every client alone does.

    Hypotheses
        Quadratic clients with the same minimiser and curvatures in (0, L], eta = 1/L,
        beta in [0, 1): each client's local descent converges.

    Statement
        The rounds of option II, which averages chi and u (line 16), converge: rho(M) <= 1.

    Symbols
        H ``local_steps``, beta ``momentum``.

    Source
        Implied by Zhao et al. (2023), Section 5, which claims convergence for model averaging
        without a condition on beta or H. Upper bound.

    Checked
        On two scalar clients; hypothesis finds the simplest flat curvature, momentum and H with
        rho(M) > 1, and the algorithm is run on it.
    """
    from hypothesis import strategies as st

    instances: Any = st.fixed_dictionaries(
        {
            "flat": st.sampled_from([Fraction(1, k) for k in (2, 4, 10, 100)]),
            "momentum": st.fractions(0, Fraction(9, 10), max_denominator=10),
            "local_steps": st.integers(1, 10),
        }
    )
    return seek(
        context, instances, evaluate, violated=sentence, consistent="no instance diverges", budget=600,
        confirm=confirm,
    )  # fmt: skip


@register("cfl-mgd/model-averaging-reset", label="Option II, reset (ours)", kind="upper")
def model_averaging_reset(context: Context) -> Finding:
    """Starting every round of option II from zero momentum keeps it stable.

    Hypotheses
        Quadratic clients with curvatures in (0, 1 / eta], ``reset_momentum``, H >= 1.

    Statement
        chi' - c = mean Pi_H(eta A_i) (chi - c) when all clients share the minimiser c; hence a round
        multiplies the error by at most g = max |Pi_H(a)| over the clients' spectra, with g < 1 for
        beta <= 0.93 and at most 2 / sqrt(3) in any case. With minimisers of their own the same
        holds for the distance from the fixed point.

    Proof
        B_i^H (e, 0) has first block Pi_H(eta A_i) e: from u = 0, H steps are heavy ball from rest.
        Symmetric matrices: ||mean Pi_H(eta A_i)|| <= max |Pi_H|. Lemma H bounds Pi_H.

    Symbols
        Pi_H of Lemma H, beta ``momentum``, H ``local_steps``.

    Source
        Ours (audit of CFL-MGD, section 4); repairs option II. Upper bound.

    Checked
        Runs on random clusters with beta <= 0.93: the distance from the fixed point shrinks by at
        least g in every round.
    """
    stream = context.generator("clusters")
    trials = context.number_of_trials(80)
    worst, largest, failures = 0.0, 0.0, 0
    for _ in range(trials):
        task = random_cluster(stream, condition_number=100.0)
        momentum, local_steps = float(stream.uniform(0, 0.93)), int(stream.integers(1, 12))
        algorithm = CFLMGD(
            step_size=1.0, momentum=momentum, averaging="model", local_steps=local_steps, reset_momentum=True
        )
        spectra = np.linalg.eigvalsh(task.hessians)
        factor = float(np.abs(propagators(spectra, momentum, local_steps)[0][-1]).max())
        end = round_map(
            task.hessians, task.centers, step_size=1.0, momentum=momentum, local_steps=local_steps,
            reset_momentum=True,
        ).fixed_point  # fmt: skip
        models = run(
            algorithm, task, rounds=15, initial=3 * stream.standard_normal((1, task.dimension))
        ).models
        distances = np.linalg.norm(models[:, 0] - end, axis=-1)
        moving = distances[:-1] > 1e-9
        ratios = distances[1:][moving] / distances[:-1][moving]
        failures += int((ratios > factor + 1e-6).any() or factor >= 1)
        worst = max(worst, float((ratios / factor).max(initial=0.0)))
        largest = max(largest, factor)
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"{failures} of {trials} clusters have a round that shrinks the distance by less than g; largest "
        f"g is {largest:.4f}, measured is the largest share of g that a round uses",
        measured=worst,
        bound=1.0,
        slack=1 / worst,
        trials=trials,
        failures=failures,
    )
