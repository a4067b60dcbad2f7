"""What a round costs: passes of a participant, numbers sent, and vectors that the server combines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from clusterproof.algorithms.cfl import CFL
from clusterproof.algorithms.cfl_mgd import CFLMGD
from clusterproof.algorithms.fedavg import FedAvg
from clusterproof.algorithms.fedbcd import FedBCD
from clusterproof.algorithms.fedprox import FedProx
from clusterproof.algorithms.fpfc import FPFC
from clusterproof.algorithms.gradient_loss import GradientLoss
from clusterproof.algorithms.ifca import IFCA
from clusterproof.algorithms.local import Local
from clusterproof.algorithms.per_fedavg import PerFedAvg
from clusterproof.algorithms.protocol import Algorithm, Task
from clusterproof.algorithms.sofl import SoFL
from clusterproof.algorithms.validation import InvalidArgument, check_choice

BACKWARD = 2
"""Forward passes that a backward pass is worth: it makes two products where the forward one makes one."""


@dataclass(frozen=True)
class Cost:
    """Costs of one round.

    Attributes
    ----------
    participants
        k.
    forward, backward
        Passes of one participant over its batch, one model each; a gradient needs one of either kind, and
        the forward pass of a model whose loss is known on that batch is not made again.
    curvature
        Products of one participant with a Hessian.
    down, up
        Floating numbers that one participant receives and sends; the choice of a cluster is not counted.
    server
        Vectors of d numbers that the server adds or multiplies.
    """

    participants: int
    forward: int
    backward: int
    curvature: int
    down: int
    up: int
    server: int

    @property
    def units(self) -> int:
        """Forward passes that a participant's work is worth, without products with Hessians."""
        return self.forward + BACKWARD * self.backward

    def sent(self, itemsize: int = 8) -> int:
        """Bytes up and down of all participants, with ``itemsize`` bytes a number."""
        return self.participants * (self.down + self.up) * itemsize


def cost_of_a_round(algorithm: Algorithm[Any], task: Task, *, local_unit: str = "step") -> Cost:
    """Give the cost of a round in which no cluster is split or made anew.

    Parameters
    ----------
    algorithm, task
        What is run.
    local_unit
        What a local step is: ``"step"``, one gradient step on the data whose losses choose a cluster, or
        ``"epoch"``, a pass over them in mini-batches. No forward pass then serves for a loss and a gradient.

    Raises
    ------
    InvalidArgument
        If the algorithm is none of this package's, and so of no known cost.
    """
    check_choice("local_unit", local_unit, ("step", "epoch"), remedy="'step' is one gradient step")
    share = getattr(algorithm, "participation", 1.0)
    k, m, d = max(1, round(share * task.clients)), task.clients, task.dimension
    match algorithm:
        case GradientLoss():
            models = algorithm.model_count(task)
            # who was not there the round before needs the models' last moves, too
            return Cost(k, models, models, 0, 2 * models * d, d, k)
        case CFLMGD() | IFCA():
            models, steps = algorithm.model_count(task), algorithm.local_steps
            with_buffers = isinstance(algorithm, CFLMGD) and algorithm.averaging == "model"
            own_buffer = isinstance(algorithm, CFLMGD) and algorithm.momentum_owner == "client"
            down = models * d * (2 if with_buffers else 1) + (d if own_buffer else 0)
            forward = models + steps - (1 if local_unit == "step" else 0)
            return Cost(k, forward, steps, 0, down, d * (2 if with_buffers else 1), k)
        case PerFedAvg():
            steps = algorithm.local_steps
            bent = steps if algorithm.gradient == "second-order" else 0
            return Cost(k, 2 * steps, 2 * steps, bent, d, d, k)
        case SoFL():
            passes = algorithm.local_steps * (2 if algorithm.method == "per-fedavg" else 1)
            return Cost(k, passes, passes, 0, d, d, k)
        case FPFC():
            pairs = k * (2 * m - k - 1) // 2 if algorithm.pair_rule == "either" else k * (k - 1) // 2
            pairs = m * (m - 1) // 2 if algorithm.pair_rule == "all" else pairs
            # a pair is updated and added to what its two clients are sent; then comes the sum of all models
            return Cost(k, algorithm.local_steps, algorithm.local_steps, 0, d, d, 3 * pairs + m)
        case Local():
            return Cost(k, algorithm.local_steps, algorithm.local_steps, 0, 0, 0, 0)
        case FedBCD():
            return Cost(k, algorithm.local_steps, algorithm.local_steps, 0, d, d, m)
        case FedAvg() | FedProx() | CFL():
            return Cost(k, algorithm.local_steps, algorithm.local_steps, 0, d, d, k)
    raise InvalidArgument(
        "algorithm", algorithm.name, "must be one whose cost is known", "add it to costs.py"
    )
