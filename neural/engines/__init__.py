"""Local training, losses and gradients of many clients: one interface, three ways to compute."""

import os

# torch then backs large tensors by large pages, whose first use costs a quarter; read before its first one
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")

from clusterproof.neural.engines.choice import ENGINES, choose_engine
from clusterproof.neural.engines.chunks import Chunk, free_bytes
from clusterproof.neural.engines.clusters import ClusterStart, ClusterSums, ClusterTotals
from clusterproof.neural.engines.data import Batch, ClientData
from clusterproof.neural.engines.draws.schedule import Schedule
from clusterproof.neural.engines.engine import Engine, LocalWork
from clusterproof.neural.engines.memory import Workspace
from clusterproof.neural.engines.passes import Passes

__all__ = [
    "Batch",
    "Chunk",
    "ClientData",
    "ClusterStart",
    "ClusterSums",
    "ClusterTotals",
    "ENGINES",
    "Engine",
    "LocalWork",
    "Passes",
    "Schedule",
    "Workspace",
    "choose_engine",
    "free_bytes",
]
