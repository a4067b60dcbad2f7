"""A client whose model is not finite ends the run with its name, and never reaches other models."""

import numpy as np
import pytest

from clusterproof.algorithms import ALGORITHMS, FedLin, InvalidArgument, run
from clusterproof.synthetic import QuadraticMixture

TASK = QuadraticMixture.random(clusters=2, clients=6, dimension=2, spread=0.5, seed=1)


class Broken(QuadraticMixture):
    """Client 4 answers with a gradient that is not a number."""

    def gradients(self, points, clients, generator):
        answered = super().gradients(points, clients, generator)
        return np.where((clients == 4)[..., None], np.nan, answered)

    def losses_and_gradients(self, models, clients, generator):
        losses, gradients = super().losses_and_gradients(models, clients, generator)
        return losses, np.where((clients == 4)[..., None, None], np.nan, gradients)


BROKEN = Broken(hessians=TASK.hessians, centers=TASK.centers, labels=TASK.labels)


NAMED = [kind for name, kind in ALGORITHMS.items() if name not in ("cfl-mgd", "fedavg", "ifca", "local")]
"""Those that look at every client's model before they average."""


@pytest.mark.parametrize("replicates", [None, 2])
@pytest.mark.parametrize("kind", NAMED)
def test_a_client_that_is_not_finite_is_named(kind, replicates):
    """FedLin sends the mean gradient to all clients, of which it names the first."""
    client = 0 if kind is FedLin else 4
    with pytest.raises(
        InvalidArgument, match=rf"step_size = 0.5: .*that of client {client} is not; lower it"
    ):
        run(kind(step_size=0.5), BROKEN, rounds=2, replicates=replicates)


@pytest.mark.parametrize("kind", [kind for kind in NAMED if "local_steps" in kind.__dataclass_fields__])
def test_a_step_that_is_too_large_ends_the_run_when_numbers_overflow(kind):
    with (
        np.errstate(over="ignore", invalid="ignore"),
        pytest.raises(InvalidArgument, match=r"step_size = 50.0: must keep every client's model finite"),
    ):
        run(kind(step_size=50.0, local_steps=50), TASK, rounds=20)
