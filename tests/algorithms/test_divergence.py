"""A model that is not finite ends the run: where clients are compared, before other models are reached."""

import numpy as np
import pytest

from clusterproof.algorithms import ALGORITHMS, FedAdam, FedYogi
from clusterproof.common import InvalidArgument
from clusterproof.running import Diverged, run
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


COMPARED = ("cfl", "fpfc", "gradient-loss", "sofl")
"""Those that compare clients, and look at every client's model before that."""


@pytest.mark.parametrize("replicates", [None, 2])
@pytest.mark.parametrize("name", COMPARED)
def test_a_client_that_is_not_finite_is_named_before_clients_are_compared(name, replicates):
    with pytest.raises(InvalidArgument, match=r"step_size is 0.5.*client 4.*Lower it"):
        run(ALGORITHMS[name](step_size=0.5), BROKEN, rounds=2, replicates=replicates)


@pytest.mark.parametrize("replicates", [None, 2])
@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name not in COMPARED])
def test_the_round_is_named_in_which_a_model_is_not_a_number(name, replicates):
    options = {"momentum": 0.5} if name == "cfl-mgd" else {}
    with pytest.raises(Diverged, match=r"step_size is 0.5, but it led in round 1 to NaN in model") as ended:
        run(ALGORITHMS[name](step_size=0.5, **options), BROKEN, rounds=2, replicates=replicates)
    assert ended.value.rounds == 0


@pytest.mark.parametrize(
    "kind",
    [
        kind
        for kind in ALGORITHMS.values()
        # a step of FedYogi's server does not grow with the clients' changes
        if "local_steps" in kind.__dataclass_fields__ and kind not in (FedAdam, FedYogi)
    ],
)
def test_a_step_that_is_too_large_ends_the_run_when_numbers_overflow(kind):
    options = {"momentum": 0.5} if kind.name == "cfl-mgd" else {}
    if kind.name in ("cfl-mgd", "ifca"):
        options["averaging"] = "model"
    with (
        np.errstate(over="ignore", invalid="ignore"),
        pytest.raises(
            InvalidArgument, match=r"step_size is 50.0, but it (must keep every client|led in round)"
        ),
    ):
        run(kind(step_size=50.0, local_steps=50, **options), TASK, rounds=20)
