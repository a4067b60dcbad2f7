"""A training run of two rounds on a few images, which takes less than a second."""

from typing import Any

TINY: dict[str, dict[str, Any]] = {
    "partition": {"name": "rotated-groups", "clusters": 2, "clients_per_cluster": 2, "images": 120},
    "network": {"name": "mlp", "hidden": [4]},
    "algorithm": {"name": "ifca", "averaging": "model", "local_steps": 2},
    "training": {"rounds": 2, "checkpoint_every": 1, "threads": 1},
}
