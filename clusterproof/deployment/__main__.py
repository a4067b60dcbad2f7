"""Start a federation on this machine, run an algorithm in it, and set the outcome beside the simulation.

SuperLink and SuperNodes are real processes that talk over loopback with TLS, each client with its own data. Run
``python -m clusterproof.deployment --algorithm ifca --rounds 3``; ``--app DIR`` only writes the app, for ``flwr run``
on machines of your own.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from clusterproof.algorithms import InvalidArgument
from clusterproof.deployment.example import example_task
from clusterproof.deployment.federation import DEPLOYED, replay
from clusterproof.deployment.local import CONFIG, LocalFederation, write_app

STEP = {"step_size": 0.2, "averaging": "model", "local_steps": 3}
PARAMETERS = {
    "ifca": STEP,
    "cfl-mgd": {**STEP, "momentum": 0.5},
    "fedavg": {"step_size": 0.2, "local_steps": 3},
    "fedprox": {"step_size": 0.2, "local_steps": 3},
    "gradient-loss": {"step_size": 0.2},
    "sofl": {"step_size": 0.2, "pretraining": 1},
    "cfl": {"step_size": 0.2, "warm_up": 1},
    "fpfc": {"step_size": 0.2, "local_steps": 3},
}
"""What each algorithm is run with where nothing is said."""


def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(prog="python -m clusterproof.deployment", description=__doc__)
    parser.add_argument("--algorithm", choices=sorted(DEPLOYED), default="ifca")
    parser.add_argument("--parameters", help="of the algorithm, an object in JSON")
    parser.add_argument("--clients", type=int, default=6)
    parser.add_argument("--clusters", type=int, default=2)
    parser.add_argument("--dimension", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=600, help="after which everything is stopped")
    parser.add_argument("--app", type=Path, help="only write the app into this folder")
    given = parser.parse_args()
    sizes = {name: getattr(given, name) for name in ("clients", "clusters", "dimension")}
    options = {**sizes, "seed": given.seed}
    config = {
        "algorithm": given.algorithm,
        "parameters": given.parameters or json.dumps(PARAMETERS[given.algorithm]),
        **sizes,
        "rounds": given.rounds,
        "seed": given.seed,
        "fewest": given.clients,
        "data-options": json.dumps(options),
    }
    try:
        if given.app is not None:
            write_app(given.app, config)
            print(f"{given.app}: set `out` and the rest in its pyproject.toml, then `flwr run {given.app}`")
            return 0
        algorithm = DEPLOYED[given.algorithm](**json.loads(config["parameters"]))
        task = example_task(**options)
        with tempfile.TemporaryDirectory() as folder:
            started = time.monotonic()
            with LocalFederation(Path(folder), given.clients) as federation:
                out = federation.submit("run", config)
                print(
                    f"{given.clients} SuperNodes, submitted after {time.monotonic() - started:.0f} s",
                    flush=True,
                )
                record = federation.wait(out, given.seconds)
                with np.load(out / "models.npz") as stored:
                    models, first = stored["models"], stored["first"]
            took = time.monotonic() - started
    except InvalidArgument as error:
        print(f"clusterproof: {error}", file=sys.stderr)
        return 2
    for number, clients in enumerate(record["participants"], start=1):
        print(f"round {number}: clients {', '.join(map(str, clients))}")
    for number, client, reason in record["absences"]:
        print(f"round {number}: client {client} {reason}")
    simulated = replay(algorithm, task, record["participants"], seed=given.seed, task_name=CONFIG["task"])
    apart = float(np.abs(models - np.array(simulated.models[1:])).max())
    print(f"largest difference from the simulation with these participants: {apart:.3g}")
    errors = np.linalg.norm(models[-1][:, None] - task.optima, axis=-1).min(axis=-1)
    print(f"models from the nearest optimum: {', '.join(f'{error:.3g}' for error in errors)}; {took:.0f} s")
    return 0 if apart <= 1e-6 and np.array_equal(first, simulated.models[0]) else 1


if __name__ == "__main__":
    sys.exit(main())
