"""How many processes compute units where the user does not say."""

import os

import pytest
import torch

from clusterproof.commands.engine import GPU_UNIT, default_jobs
from clusterproof.experiments.tables import TABLES


def test_runs_share_a_gpu_as_its_memory_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 16)
    units = {
        device: list(TABLES["cfl-mgd/table-2"].from_values({"device": device}).units(0).values())
        for device in ("cpu", "cuda")
    }
    assert default_jobs(units["cpu"]) == 16
    for free, jobs in ((0, 1), (3 * GPU_UNIT - 1, 2), (3 * GPU_UNIT, 3), (1000 * GPU_UNIT, 16)):
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda free=free: (free, 2 * free))
        assert default_jobs(units["cuda"]) == jobs
