"""Hypothesis strategies that draw tasks, starting with small and simple tasks; users can call them in their tests.

A test of a property of every task in a class looks like this::

    from hypothesis import given
    from clusterproof.algorithms import IFCA
    from clusterproof.running import run
    from clusterproof.synthetic import strategies

    @given(strategies.quadratic_mixtures(clusters=1, condition_number=(1, 100)))
    def test_descent_never_increases_the_distance(task):
        trace = run(IFCA(step_size=1 / task.smoothness), task, rounds=10)
        assert (trace.errors[1:] <= trace.errors[:-1] + 1e-12).all()

Every bound is a pair (smallest, largest), or a number that fixes the quantity. Optima lie on a grid, which is rescaled
so that the smallest distance is exactly the drawn separation. Matrices have exactly the drawn condition number; they
are drawn as diagonal matrices and then rotated. ``wide_mixtures`` draws from larger ranges: up to 10 clusters, whose
sizes may differ by a factor of 20, up to 50 dimensions, and condition numbers up to 10 000. ``.filter(without_ties)``
removes tasks on which correct algorithms may choose different clusters.
"""

from clusterproof.synthetic.strategies.common import Bounds, without_ties
from clusterproof.synthetic.strategies.quadratic_losses import (
    noisy_quadratic_mixtures,
    quadratic_mixtures,
    two_point_mixtures,
)
from clusterproof.synthetic.strategies.sampled_losses import (
    log_cosh_mixtures,
    logistic_mixtures,
    regression_mixtures,
)
from clusterproof.synthetic.strategies.wide import wide_mixtures

__all__ = [
    "Bounds",
    "log_cosh_mixtures",
    "logistic_mixtures",
    "noisy_quadratic_mixtures",
    "quadratic_mixtures",
    "regression_mixtures",
    "two_point_mixtures",
    "wide_mixtures",
    "without_ties",
]
