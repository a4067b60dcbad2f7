"""A run keeps fields of its state, and functions of it, on request; and what a trace says of itself, by hand."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clusterproof.algorithms import CFL, Scaffold
from clusterproof.common import InvalidArgument
from clusterproof.running import run
from clusterproof.running.storage import load_trace, save_trace
from clusterproof.running.trace import Trace, distances
from clusterproof.synthetic import QuadraticMixture

TASK = QuadraticMixture.random(clusters=1, clients=4, dimension=3, condition_number=5, spread=1.0, seed=3)
SCAFFOLD = Scaffold(step_size=0.1, local_steps=3)


def gap(state, task):
    return task.expected_loss(state.models[..., 0, :], 0) - task.expected_loss(task.optima[0], 0)


def centred(state, task):
    """Write into the state that is measured: the run would go on from other models."""
    state.models[...] -= task.optima + 1  # the one optimum of the task may be 0 exactly
    return np.linalg.norm(state.models)


def test_the_measure_is_that_of_the_models_and_the_controls_are_client_gradients():
    """With one local step and option I, c_i+ is client i's gradient at the model before the round."""
    algorithm = Scaffold(step_size=0.1, option="I")
    trace = run(algorithm, TASK, rounds=4, replicates=2, record=("controls", "control"), measure={"gap": gap})
    assert trace.recorded["controls"].shape == (5, 2, 4, 3)
    assert trace.measured["gap"].shape == (5, 2)
    displacements = trace.models[:, :, 0] - TASK.optima[0]
    quadratic = np.einsum("tri,ij,trj->tr", displacements, TASK.cluster_hessians[0], displacements) / 2
    np.testing.assert_allclose(trace.measured["gap"], quadratic, atol=1e-13)
    away = trace.models[:-1, :, 0, None] - TASK.centers
    gradients = np.einsum("mij,trmj->trmi", TASK.hessians, away)
    np.testing.assert_allclose(trace.recorded["controls"][1:], gradients, atol=1e-13)
    np.testing.assert_allclose(trace.recorded["control"][1:, :, 0], gradients.mean(axis=2), atol=1e-13)
    assert "controls, control, gap" in repr(trace)


def test_recording_changes_no_bit_of_a_run():
    plain = run(SCAFFOLD, TASK, rounds=3, seed=1)
    with_more = run(SCAFFOLD, TASK, rounds=3, seed=1, record=["controls"], measure={"gap": gap})
    assert plain.models.tobytes() == with_more.models.tobytes()
    assert plain.recorded == plain.measured == {}


def test_what_is_recorded_is_copied():
    seen = []

    def spoil(state, task):
        """Write zeros into the models of the round before."""
        if seen:
            seen[-1][...] = 0
        seen.append(state.models)
        return float(len(seen))

    plain = run(SCAFFOLD, TASK, rounds=2).models
    trace = run(SCAFFOLD, TASK, rounds=2, record=("models",), measure={"count": spoil})
    np.testing.assert_array_equal(trace.measured["count"], [1, 2, 3])
    np.testing.assert_array_equal(trace.models, plain)
    np.testing.assert_array_equal(trace.recorded["models"], plain)


@pytest.mark.parametrize("replicates", [None, 2])
def test_what_is_recorded_is_stored(tmp_path: Path, replicates):
    measures = {"gap": gap, "clients": lambda state, task: task.clients}
    trace = run(SCAFFOLD, TASK, rounds=3, replicates=replicates, record=("controls",), measure=measures)
    save_trace(trace, tmp_path / "run")
    again = load_trace(tmp_path / "run")
    assert again.recorded.keys() == {"controls"}
    assert again.measured.keys() == {"gap", "clients"}
    for stored, made in ((again.recorded, trace.recorded), (again.measured, trace.measured)):
        for name, array in made.items():
            assert stored[name].tobytes() == array.tobytes()
            assert (stored[name].shape, stored[name].dtype) == (array.shape, array.dtype)
    (tmp_path / "run" / "recorded.parquet").write_bytes(b"other")
    with pytest.raises(InvalidArgument, match="must have the SHA-256"):
        load_trace(tmp_path / "run")


def test_a_run_without_more_is_stored_as_before(tmp_path: Path):
    trace = run(SCAFFOLD, TASK, rounds=1)
    save_trace(trace, tmp_path / "run")
    assert {path.name for path in (tmp_path / "run").iterdir()} == {
        "models.parquet",
        "assignments.parquet",
        "run.json",
    }
    assert '"format": 1' in (tmp_path / "run" / "run.json").read_text()
    assert load_trace(tmp_path / "run").measured == {}
    save_trace(replace(trace, measured={"one": np.ones(2)}), tmp_path / "more")
    assert '"format": 2' in (tmp_path / "more" / "run.json").read_text()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"record": "controls"}, "record is 'controls', but it must be a list of str"),
        ({"record": ("momentum",)}, "must be a field of ControlState, which has models, clients, .*controls"),
        ({"record": ("clients",)}, "must be numbers after every round, not NoneType after round 0"),
        ({"measure": {"x": 3}}, "must map names to functions of"),
        ({"measure": {"x": lambda state: 1.0}}, "must map names to functions of"),
        ({"measure": {"x": lambda state, task: "far"}}, "must be numbers after every round, not str"),
        (
            {"measure": {"gap": gap, "x": centred}},
            "measure is 'x', but it must leave the state .* its `models`",
        ),
        (
            {"measure": {"x": lambda state, task: np.zeros(1 if state.clients is None else 2)}},
            r"measure is 'x', but it must keep the shape \(1,\); it has \(2,\) after round 1",
        ),
    ],
)
def test_what_cannot_be_recorded_is_refused(more, message):
    with pytest.raises(InvalidArgument, match=message):
        run(SCAFFOLD, TASK, rounds=1, **more)


def test_counters_are_recorded_too():
    trace = run(CFL(step_size=0.5), TASK, rounds=3, replicates=2, record=("rounds",))
    assert len(trace.recorded["rounds"]) == 4


LABELS = np.array([0, 0, 1, 1])


def made() -> Trace:
    """Two rounds, three replicates, two models of one parameter, four clients."""
    models = np.zeros((3, 3, 2, 1))
    assignments = np.array(
        [
            [[0, 0, 1, 1], [0, 0, 0, -1], [1, 1, 1, 0]],
            [[-1, 0, 1, 1], [0, -1, 0, 0], [1, -1, 0, -1]],
        ]
    )
    errors = np.array(
        [
            [[1.0, 5.0], [2.0, 3.0], [4.0, 1.0]],
            [[9.0, 9.0], [9.0, 9.0], [9.0, 9.0]],
            [[0.1, 0.2], [0.3, 0.1], [0.9, 0.5]],
        ]
    )
    settings = {"algorithm": {"algorithm": "ifca"}, "task": {"task": "quadratic"}}
    return Trace(models, assignments, errors, LABELS, settings)


def test_each_client_is_where_it_was_last() -> None:
    """Purities 1, 1/2 and 1: clusters {0, 1}, {2, 3}; all in one; {0, 1}, {2, 3}."""
    trace = made()
    assert trace.last_assignments.tolist() == [[0, 0, 1, 1], [0, 0, 0, 0], [1, 1, 0, 0]]
    assert trace.purity.tolist() == [1, 0.5, 1]
    assert trace.cluster_count.tolist() == [2, 1, 2]
    assert trace.adjusted_rand_index.tolist() == [1, 0, 1]
    absent = Trace(np.zeros((2, 2, 1)), np.array([[1, -1, 0, -1]]), None, LABELS, {})
    assert absent.last_assignments.tolist() == [1, -1, 0, -1]


def test_a_trace_says_its_medians_over_replicates() -> None:
    """Of the largest errors 5, 3 and 4 at the start, 0.2, 0.3 and 0.9 at the end."""
    assert repr(made()) == (
        "<Trace of ifca on quadratic: rounds 2, replicates 3, models 2 of 1 parameters, clients 4, "
        "largest error 4 -> 0.3, purity 1>"
    )


def test_a_frame_counts_who_chose_each_model_in_the_round_that_led_here() -> None:
    pytest.importorskip("polars")
    rows = {
        (row["round"], row["replicate"], row["model"]): (row["error"], row["chosen_by"])
        for row in made().frame().to_dicts()
    }
    assert len(rows) == 3 * 3 * 2
    assert rows[0, 0, 1] == (5.0, None)
    assert (rows[1, 0, 0], rows[1, 1, 0], rows[1, 1, 1], rows[1, 2, 1]) == (
        (9.0, 2),
        (9.0, 3),
        (9.0, 0),
        (9.0, 3),
    )
    assert (rows[2, 0, 0], rows[2, 0, 1], rows[2, 2, 0]) == ((0.1, 1), (0.2, 2), (0.9, 1))


def test_models_are_as_far_as_their_own_reference_or_the_nearest() -> None:
    references = np.array([[0.0, 0.0], [3.0, 4.0]])
    models = np.array([[3.0, 4.0], [0.0, 1.0]])
    assert distances(models, references) == pytest.approx([5, np.sqrt(18)])
    assert distances(models[:1], references) == pytest.approx([0])
    assert distances(np.vstack([models, [[6.0, 8.0]]]), references) == pytest.approx([0, 1, 5])
