"""What a trace says of itself, from numbers made by hand."""

import numpy as np
import pytest

from clusterproof.running.trace import Trace, distances

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
