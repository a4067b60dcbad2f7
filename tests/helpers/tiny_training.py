"""A training run of two rounds on a few images, which takes less than a second."""

import json
from collections.abc import Mapping
from typing import Any

TINY: dict[str, dict[str, Any]] = {
    "partition": {"name": "rotated-groups", "clusters": 2, "clients_per_cluster": 2, "images": 120},
    "network": {"name": "mlp", "hidden": [4]},
    "algorithm": {"name": "ifca", "averaging": "model", "local_steps": 2},
    "training": {"rounds": 2, "checkpoint_every": 1, "threads": 1},
}


def toml_of(sections: Mapping[str, Mapping[str, Any]]) -> str:
    """Write sections of numbers, texts and lists as TOML, which has them as JSON has."""
    tables = (
        "\n".join([f"[{section}]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())])
        for section, table in sections.items()
    )
    return "\n\n".join(tables) + "\n"
