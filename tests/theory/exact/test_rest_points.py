"""Closed forms against runs of the algorithms, on drawn quadratics: |closed form - run| <= 1e-10."""

import numpy as np
import pytest
from example_counts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterproof.algorithms import (
    CFLMGD,
    IFCA,
    FedAvg,
    FedBCD,
    FedProx,
    GradientLoss,
    Local,
    PerFedAvg,
    Randomness,
    run,
)
from clusterproof.synthetic import strategies
from clusterproof.theory.exact import affine_rounds

TOLERANCE = 1e-10
ROUNDS = 1500

TASKS = strategies.quadratic_mixtures(
    condition_number=(1, 5), separation=(0.5, 3), spread=(0, 1), shared_hessians=False
)
STEPS = st.integers(1, 4)
STRENGTHS = st.floats(0.05, 1)


def rest(algorithm, task, rounds=ROUNDS):
    """The state when a round moves nothing by more than 1e-14, from where the task starts runs."""
    randomness = Randomness.from_seed(0)
    models = task.initial_models(algorithm.model_count(task), (), randomness.initialisation)
    state = algorithm.initialise(models, task)
    for _ in range(rounds):
        before, state = vars(state), algorithm.step(state, task, randomness)
        moving = ("models", "personal", "buffers")
        if all(np.abs(vars(state)[key] - before[key]).max() <= 1e-14 for key in moving if key in before):
            break
    return state


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE)


@settings(max_examples=examples(50))
@given(TASKS, STEPS)
def test_fedavg(task, steps):
    step = 1 / task.client_smoothness
    state = rest(FedAvg(step_size=step, local_steps=steps), task, rounds=400)
    close(
        state.models[0],
        affine_rounds.fedavg_rest(task.hessians, task.centers, step_size=step, local_steps=steps),
    )


@settings(max_examples=examples(50))
@given(TASKS, STEPS, STRENGTHS)
def test_fedprox_with_few_local_steps(task, steps, strength):
    step = 1 / (task.client_smoothness + strength)
    state = rest(FedProx(step_size=step, proximal=strength, local_steps=steps), task, rounds=500)
    expected = affine_rounds.fedprox_rest(
        task.hessians, task.centers, proximal=strength, step_size=step, local_steps=steps
    )
    close(state.models[0], expected)


@pytest.mark.slow(reason="a second or more")
@settings(max_examples=examples(50))
@given(TASKS, STRENGTHS)
def test_fedprox_solved_exactly_is_the_limit_of_many_local_steps(task, strength):
    step = 1 / (task.client_smoothness + strength)
    state = rest(FedProx(step_size=step, proximal=strength, local_steps=150), task, rounds=150)
    close(state.models[0], affine_rounds.fedprox_rest(task.hessians, task.centers, proximal=strength))


@settings(max_examples=examples(50))
@given(TASKS, STEPS, STRENGTHS, st.sampled_from([1.0, 0.6]))
def test_penalised_fedbcd_whatever_its_steps(task, steps, strength, server_step_size):
    algorithm = FedBCD(
        step_size=1 / (task.client_smoothness + strength),
        proximal=strength,
        local_steps=steps,
        server_step_size=server_step_size,
    )
    state = rest(algorithm, task)
    common, personal = affine_rounds.fedbcd_rest(task.hessians, task.centers, proximal=strength)
    close(state.models[0], common)
    close(state.personal, personal)


@settings(max_examples=examples(50))
@given(TASKS, STEPS, st.floats(0.1, 0.4))
def test_separate_fedbcd(task, steps, pull):
    step = 1 / task.client_smoothness
    algorithm = FedBCD(step_size=step, local_steps=steps, variant="separate", pull=pull)
    state = rest(algorithm, task)
    common, personal = affine_rounds.fedbcd_separate_rest(
        task.hessians, task.centers, step_size=step, local_steps=steps, pull=pull
    )
    close(state.models[0], common)
    close(state.personal, personal)


@settings(max_examples=examples(50))
@given(TASKS, STEPS, st.floats(0.1, 0.5), st.booleans())
def test_per_fedavg(task, steps, inner, second_order):
    step = 1 / task.client_smoothness
    inner = inner / task.client_smoothness
    algorithm = PerFedAvg(
        step_size=step,
        inner_step_size=inner,
        local_steps=steps,
        gradient="second-order" if second_order else "first-order",
    )
    expected = affine_rounds.per_fedavg_rest(
        task.hessians,
        task.centers,
        step_size=step,
        inner_step_size=inner,
        local_steps=steps,
        second_order=second_order,
    )
    close(rest(algorithm, task, rounds=700).models[0], expected)


@settings(max_examples=examples(50))
@given(TASKS, st.floats(0.1, 0.5))
def test_second_order_per_fedavg_with_one_step_minimises_the_loss_after_the_inner_step(task, inner):
    """phi_i(w - alpha grad phi_i(w)) is a quadratic: Hessian (I - alpha A) A (I - alpha A), centre b."""
    shrink = np.eye(task.dimension) - inner * task.hessians
    outer = np.einsum("mij,mjk,mkl->mil", shrink, task.hessians, shrink)
    minimiser = np.linalg.lstsq(outer.sum(axis=0), np.einsum("mij,mj->i", outer, task.centers))[0]
    found = affine_rounds.per_fedavg_rest(
        task.hessians, task.centers, step_size=0.7, inner_step_size=inner, second_order=True
    )
    close(found, minimiser)


@settings(max_examples=examples(50))
@given(TASKS, STEPS)
def test_local(task, steps):
    state = rest(Local(step_size=1 / task.client_smoothness, local_steps=steps), task, rounds=400)
    close(state.models, affine_rounds.local_rest(task.centers))


@pytest.mark.slow(reason="a second or more")
@settings(max_examples=examples(50))
@given(
    strategies.quadratic_mixtures(clusters=1, condition_number=(1, 5), spread=(0, 1), shared_hessians=False),
    STEPS,
    st.floats(0, 0.5),
)
def test_cfl_mgd_model_averaging_inside_a_cluster(task, steps, momentum):
    step = 0.2 / task.client_smoothness
    algorithm = CFLMGD(step_size=step, momentum=momentum, averaging="model", local_steps=steps)
    state = rest(algorithm, task)
    model, buffer = affine_rounds.cfl_mgd_rest(
        task.hessians, task.centers, step_size=step, momentum=momentum, local_steps=steps
    )
    close(state.models[0], model)
    close(state.buffers[0], buffer)
    assert steps > 1 or np.abs(buffer).max() <= TOLERANCE


@pytest.mark.slow(reason="a second or more")
@settings(max_examples=examples(50))
@given(strategies.quadratic_mixtures(clusters=(2, 3), condition_number=(1, 3), shared_hessians=False), STEPS)
def test_ifca_rests_at_fedavgs_point_of_each_cluster(task, steps):
    step = 1 / task.client_smoothness
    trace = run(IFCA(step_size=step, averaging="model", local_steps=steps), task, rounds=300)
    assert (trace.assignments == task.labels).all()

    def inside(hessians, centers):
        return affine_rounds.fedavg_rest(hessians, centers, step_size=step, local_steps=steps)

    close(trace.models[-1], affine_rounds.within_clusters(inside, task.hessians, task.centers, task.labels))


@pytest.mark.slow(reason="a second or more")
@settings(max_examples=examples(50))
@given(
    strategies.quadratic_mixtures(
        clusters=(2, 3), condition_number=(1, 3), separation=(2, 4), spread=(0, 0.2), shared_hessians=False
    ),
    st.sampled_from(["cosine", "euclidean"]),
)
def test_gl_cfl_rests_at_the_optimum_of_each_cluster(task, similarity):
    """With a weight small enough that the direction of rounding errors does not decide at rest."""
    algorithm = GradientLoss(step_size=1 / task.client_smoothness, similarity=similarity, weight=0.02)
    trace = run(algorithm, task, rounds=300)
    assert (trace.assignments == task.labels).all()
    rest_at = affine_rounds.within_clusters(
        affine_rounds.exact_rest, task.hessians, task.centers, task.labels
    )
    close(trace.models[-1], rest_at)
    close(rest_at, task.optima)


@settings(max_examples=examples(50))
@given(TASKS)
def test_limits_of_the_closed_forms(task):
    """One FedAvg step is exact; many give the mean; pull 1 is FedAvg; equal penalties, equal points."""
    hessians, centers, step = task.hessians, task.centers, 1 / task.client_smoothness
    close(affine_rounds.exact_rest(hessians, centers), task.pooled_optimum)
    close(affine_rounds.fedavg_rest(hessians, centers, step_size=step), task.pooled_optimum)
    close(
        affine_rounds.fedavg_rest(hessians, centers, step_size=step, local_steps=5000), centers.mean(axis=0)
    )
    close(
        affine_rounds.fedbcd_separate_rest(hessians, centers, step_size=step, local_steps=3, pull=1.0)[0],
        affine_rounds.fedavg_rest(hessians, centers, step_size=step, local_steps=3),
    )
    close(
        affine_rounds.fedprox_rest(hessians, centers, proximal=0.3, step_size=step / 2, local_steps=5000),
        affine_rounds.fedbcd_rest(hessians, centers, proximal=0.3)[0],
    )


@pytest.mark.parametrize("steps", [2, 20])
def test_local_steps_drift_from_the_exact_optimum(steps):
    """Two clients, A = 1/4 and 1, b = -1 and 1: the exact optimum is 0.6, the drift grows with H."""
    hessians, centers = np.array([[[0.25]], [[1.0]]]), np.array([[-1.0], [1.0]])
    assert affine_rounds.fedavg_rest(hessians, centers, step_size=1.0)[0] == pytest.approx(0.6)
    weight = 1 - 0.75**steps
    found = affine_rounds.fedavg_rest(hessians, centers, step_size=1.0, local_steps=steps)
    assert found[0] == pytest.approx((1 - weight) / (1 + weight))
