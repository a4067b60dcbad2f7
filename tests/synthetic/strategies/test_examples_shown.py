"""The examples that Hypothesis shows: small, and calls that can be pasted."""

import random

import numpy as np
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st
from hypothesis.vendor.pretty import pretty
from tiers import examples

from clusterproof import synthetic
from clusterproof.common import InvalidArgument
from clusterproof.synthetic import QuadraticMixture, strategies
from clusterproof.synthetic.strategies.common import draw_sizes

EVERY = [getattr(strategies, name) for name in strategies.__all__ if name.endswith("_mixtures")]


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("strategy", EVERY)
def test_what_is_printed_makes_the_task_again(strategy):
    @settings(max_examples=examples(20), database=None)
    @given(strategy())
    def check(task):
        for text in (repr(task), pretty(task)):
            again = eval(text, vars(synthetic).copy())  # noqa: S307  # the text is this program's
            assert type(again) is type(task)
            assert again.settings == task.settings

    check()


@pytest.mark.parametrize("seed", range(4))
def test_the_simplest_sizes_of_three_clients_are_of_one_cluster_and_of_clients_that_differ_two(seed):
    sizes = draw_sizes((1, 3), (1, 8), (1, 3))
    few = settings(max_examples=200, database=None)
    count, labels, width, _ = find(
        sizes, lambda drawn: len(drawn[1]) >= 3, settings=few, random=random.Random(seed)
    )
    assert (count, labels.tolist(), width) == (1, [0] * 3, 1)
    sizes = draw_sizes(1, (1, 8), (1, 3), lambda width: st.tuples(*[st.integers(-2, 2)] * width))
    _, labels, width, _ = find(
        sizes, lambda drawn: len(set(drawn[3])) > 1, settings=few, random=random.Random(seed)
    )
    assert (len(labels), width) == (2, 1)


@pytest.mark.slow(reason="shrinks for seconds")
def test_the_simplest_task_of_many_clients_has_the_fewest_clusters():
    drawn = strategies.logistic_mixtures(dimension=1, support=1, samples=1, condition_number=4)
    few = settings(max_examples=30, database=None)
    task = find(drawn, lambda task: task.clients >= 5, settings=few, random=random.Random(0))
    assert (task.clusters, task.clients) == (1, 5)


def test_ties_are_those_of_the_two_best_models():
    def between(center):
        """Clients at -1 and 1, and one of the first cluster at ``center``, whose optimum stays at -1."""
        return QuadraticMixture(
            hessians=np.ones((4, 1, 1)),
            centers=[[center], [-2 - center], [1], [1]],
            labels=[0, 0, 1, 1],
        )

    assert not strategies.without_ties(between(0.0))  # as far from -1 as from 1
    assert not strategies.without_ties(between(1e-12))
    assert strategies.without_ties(between(1e-6))
    assert strategies.without_ties(between(0.0), [[-1.0], [2.0]])
    assert not strategies.without_ties(between(0.5), np.array([[-1.0], [2.0]]))
    assert strategies.without_ties(between(0.0), [[0.5], [3.0], [-3.0]])  # the two worse ones tie
    with pytest.raises(InvalidArgument, match=r"^task is .*Write without_ties\(task, initial\)"):
        strategies.without_ties(np.zeros((2, 1)), between(0.0))


@settings(max_examples=examples(20))
@given(strategies.two_point_mixtures(clusters=1), st.integers(0, 3))
def test_one_model_has_no_ties(task, clients):
    assert strategies.without_ties(task)
