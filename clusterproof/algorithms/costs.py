"""Costs of a round: passes per participant, numbers sent, and vectors that the server combines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from clusterproof.algorithms.base import Algorithm, Task
from clusterproof.algorithms.cfl import CFL
from clusterproof.algorithms.clustered import CFLMGD, IFCA
from clusterproof.algorithms.controls import FedLin, ProxSkip, Scaffold
from clusterproof.algorithms.fedavg import FedAvg, FedProx, PerFedAvg
from clusterproof.algorithms.fpfc import FPFC
from clusterproof.algorithms.gradient_loss import GradientLoss
from clusterproof.algorithms.personal import FedBCD, Local
from clusterproof.algorithms.sofl import SoFL
from clusterproof.common.validation import InvalidArgument

BACKWARD = 2
"""Cost of a backward pass, in forward passes. A backward pass has two matrix products per layer instead of one."""


@dataclass(frozen=True)
class Cost:
    """Costs of one round.

    Attributes
    ----------
    participants
        Number of participants (k).
    forward, backward
        Number of passes of one participant over a batch, with one model per pass. A gradient needs one pass of each
        kind. If the loss of a model on the batch is already computed, its forward pass is not repeated.
    curvature
        Number of Hessian-vector products that one participant computes.
    down, up
        Floating-point numbers that one participant receives and sends, without the cluster index.
    server
        Number of vectors (d,) that the server adds or multiplies.
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
        """Cost per participant, in forward passes, without Hessian-vector products."""
        return self.forward + BACKWARD * self.backward

    def sent(self) -> int:
        """Return the number of bytes that all participants receive and send, in double precision."""
        return self.participants * (self.down + self.up) * 8


def cost_of_a_round(algorithm: Algorithm[Any], task: Task) -> Cost:
    """Return the cost of a round without a split, if local steps use the same data as the choice of clusters.

    Parameters
    ----------
    algorithm, task
        Algorithm and task of the round.

    Raises
    ------
    InvalidArgument
        If the cost of the algorithm is unknown.
    """
    share = getattr(algorithm, "participation", 1.0)
    k, m, d = max(1, round(share * task.clients)), task.clients, task.dimension
    steps = getattr(algorithm, "local_steps", 1)
    match algorithm:
        case GradientLoss():
            models = algorithm.model_count(task)
            # the server also sends the models' last updates, for clients that were absent in the previous round
            return Cost(k, models, models, 0, 2 * models * d, d, k)
        case CFLMGD() | IFCA():
            models = algorithm.model_count(task)
            with_buffers = isinstance(algorithm, CFLMGD) and algorithm.averaging == "model"
            client_buffer = isinstance(algorithm, CFLMGD) and algorithm.momentum_owner == "client"
            down = models * d * (2 if with_buffers else 1) + (d if client_buffer else 0)
            return Cost(k, models + steps - 1, steps, 0, down, d * (2 if with_buffers else 1), k)
        case PerFedAvg():
            hessian_products = steps if algorithm.gradient == "second-order" else 0
            return Cost(k, 2 * steps, 2 * steps, hessian_products, d, d, k)
        case Local():
            return Cost(k, steps, steps, 0, 0, 0, 0)
        case Scaffold() | FedLin():
            # option I and FedLin need the gradient at x, which is also the gradient of the first local step; clients
            # send models and control variates, and the server adds the changes of both
            return Cost(k, steps, steps, 0, 2 * d, 2 * d, 2 * k)
        case FPFC():
            pairs = k * (2 * m - k - 1) // 2 if algorithm.pair_rule == "either" else k * (k - 1) // 2
            pairs = m * (m - 1) // 2 if algorithm.pair_rule == "all" else pairs
            # the server updates each pair, adds the pair to the sums of its two clients, and sums all models
            server = 3 * pairs + m
        case FedBCD() | ProxSkip():
            # in ProxSkip every client takes a step in every round; the numbers sent and received are
            # expectations
            server = m
        case FedAvg() | FedProx() | CFL() | SoFL():
            server = k
        case _:
            rule = "must be an algorithm with known cost"
            raise InvalidArgument("algorithm", algorithm.name, rule, "add the algorithm to costs.py")
    if isinstance(algorithm, SoFL) and algorithm.method == "per-fedavg":
        steps *= 2
    return Cost(k, steps, steps, 0, d, d, server)
