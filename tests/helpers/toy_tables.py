"""The papers' tables at toy size, on data that need no download."""

from typing import Any

TOY: dict[str, dict[str, Any]] = {
    "cfl-mgd/table-2": {
        **{"data": "digits", "clients": 40, "samples": 30, "rounds": 3, "clusters": 2, "hidden": [8]},
        **{"local_steps": 2, "participation": 0.5},
    },
    "gradient-loss/figures-4-and-5": {
        **{"data": "digits", "rounds": 12, "hidden": [16], "clients_per_cluster": 3, "weights": [0.2]},
    },
    "sofl/tables-3-to-5": {
        **{"data": "digits", "images": 600, "rounds": 2, "clustering_round": 1, "hidden": [8]},
        **{"partitions": ["K = 2", "K = 4"], "local_epochs": 1},
    },
    "sofl/table-2": {
        "data": "digits",
        "images": 600,
        "rounds": 1,
        "hidden": [8],
        "repetitions": 2,
        "grid": 3,
    },
    "fpfc/figure-1": {
        **{"data": "digits", "rounds": 1, "network": "mlp", "channels": None, "padding": None, "hidden": [8]},
        **{"local_epochs": 1, "meta_steps": 1},
    },
    "fpfc/table-1": {
        "clients": 12,
        "threshold": 0.7,
        "features": 6,
        "classes": 4,
        "largest": 3000,
        "rounds": 3,
        "participation": 0.5,
    },
}
