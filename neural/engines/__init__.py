"""Local training, losses and gradients of many clients: one interface, three ways to compute."""

import os

# torch then backs large tensors by large pages, whose first use costs a quarter; read before its first one
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")

from neural.engines.choice import ENGINES, choose_engine
from neural.engines.chunks import Chunk, free_bytes
from neural.engines.data import Batch, ClientData
from neural.engines.engine import Engine, LocalWork
from neural.engines.memory import Workspace
from neural.engines.passes import Passes
from neural.engines.schedule import Schedule, draw_batch

__all__ = [
    "Batch",
    "Chunk",
    "ClientData",
    "ENGINES",
    "Engine",
    "LocalWork",
    "Passes",
    "Schedule",
    "Workspace",
    "choose_engine",
    "draw_batch",
    "free_bytes",
]
