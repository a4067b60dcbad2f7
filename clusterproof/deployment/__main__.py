"""Start a federation on this machine, run algorithms in it, and set what comes out beside simulations.

SuperLink and SuperNodes are real processes that talk over loopback with TLS, each client with its own data. Run
``python -m clusterproof.deployment --algorithm ifca --rounds 3``, several names or ``all``; ``--crash 4`` kills the
node of client 4 after the first round of each and starts it again. ``--app DIR`` only writes the app, for
``flwr run`` on machines of your own.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from clusterproof.algorithms import InvalidArgument
from clusterproof.deployment.example import example_task
from clusterproof.deployment.federation import DEPLOYED, replay
from clusterproof.deployment.local import CONFIG, LocalFederation, write_app

TOLERANCE = 1e-6
"""Of the models, beside those of the simulation."""

STEP = {"step_size": 0.2, "averaging": "model", "local_steps": 3}
PARAMETERS: dict[str, dict[str, Any]] = {
    "ifca": STEP,
    "cfl-mgd": {**STEP, "momentum": 0.5},
    "fedavg": {"step_size": 0.2, "local_steps": 3},
    "fedprox": {"step_size": 0.2, "local_steps": 3},
    "gradient-loss": {"step_size": 0.2},
    "sofl": {"step_size": 0.2, "pretraining": 2},
    "cfl": {
        "step_size": 0.2,
        "local_steps": 3,
        "warm_up": 2,
        "mean_threshold": 0.5,
        "client_threshold": 0.5,
    },
    "fpfc": {"step_size": 0.2, "local_steps": 3},
}
"""What each algorithm is run with where nothing is said; SoFL clusters and CFL splits in the third round."""


def main() -> int:
    """Run what is asked for."""
    given = _parse()
    names = sorted(DEPLOYED) if "all" in given.algorithm else list(dict.fromkeys(given.algorithm))
    options = {name: getattr(given, name) for name in ("clients", "clusters", "dimension", "seed")}
    try:
        if given.parameters is not None and len(names) > 1:
            raise InvalidArgument(
                "parameters", given.parameters, "are those of one algorithm", "give one --algorithm"
            )
        if given.crash is not None and not 0 <= given.crash < given.clients:
            raise InvalidArgument(
                "crash", given.crash, f"must be a client, 0 .. {given.clients - 1}", "give one of them"
            )
        configs = {name: _config(name, given, options) for name in names}
        if given.app is not None:
            if len(names) > 1:
                raise InvalidArgument("app", str(given.app), "is for one algorithm", "give one --algorithm")
            write_app(given.app, configs[names[0]])
            print(f"{given.app}: set `out` and the rest in its pyproject.toml, then `flwr run {given.app}`")
            return 0
        with tempfile.TemporaryDirectory() as folder:
            started = time.monotonic()
            with LocalFederation(Path(folder), given.clients) as federation:
                print(
                    f"{given.clients} SuperNodes started after {time.monotonic() - started:.0f} s", flush=True
                )
                passed = [_run(federation, configs[name], options, given) for name in names]
    except InvalidArgument as error:
        print(f"clusterproof: {error}", file=sys.stderr)
        return 2
    print(
        f"{sum(passed)} of {len(passed)} federations end with the models of the simulation, to {TOLERANCE:g}; "
        f"{time.monotonic() - started:.0f} s"
    )
    return 0 if all(passed) else 1


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m clusterproof.deployment", description=__doc__)
    parser.add_argument("--algorithm", nargs="+", choices=[*sorted(DEPLOYED), "all"], default=["ifca"])
    parser.add_argument("--parameters", help="of the algorithm, an object in JSON")
    parser.add_argument("--clients", type=int, default=6)
    parser.add_argument("--clusters", type=int, default=2)
    parser.add_argument("--dimension", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--crash", type=int, help="client whose node is killed and started again")
    parser.add_argument("--seconds", type=float, default=600, help="after which a run is given up")
    parser.add_argument("--app", type=Path, help="only write the app into this folder")
    return parser.parse_args()


def _config(name: str, given: argparse.Namespace, options: Mapping[str, Any]) -> dict[str, Any]:
    """Configure a run; raises InvalidArgument where the algorithm does not have its parameters so."""
    written = given.parameters or json.dumps(PARAMETERS[name])
    try:
        DEPLOYED[name](**json.loads(written))
    except (TypeError, ValueError) as error:
        if isinstance(error, InvalidArgument):
            raise
        rule = f"must be the parameters of {name} ({error})"
        raise InvalidArgument(
            "parameters", written, rule, f"such as {json.dumps(PARAMETERS[name])}"
        ) from error
    return {
        **options,
        "algorithm": name,
        "parameters": written,
        "rounds": given.rounds,
        "fewest": given.clients,
        "reply-seconds": 240.0,  # a busy machine takes its time to start as many processes
        "patience-seconds": given.seconds,
        "data-options": json.dumps(options),
    }


def _run(
    federation: LocalFederation,
    config: Mapping[str, Any],
    options: Mapping[str, Any],
    given: argparse.Namespace,
) -> bool:
    """Run one algorithm, print what happened, and say whether its models are those of the simulation."""
    name, started = config["algorithm"], time.monotonic()
    try:
        out = federation.submit(name, config)
        if given.crash is not None:
            federation.wait_for_round(out, 1, given.seconds)
            federation.kill_node(given.crash)
            federation.start_node(given.crash)
        record = federation.wait(out, given.seconds)
    except InvalidArgument as error:  # the other algorithms are tried all the same
        print(f"clusterproof: {name}: {error}", file=sys.stderr, flush=True)
        return False
    with np.load(out / "models.npz") as stored:
        models, first = stored["models"], stored["first"]
    for number, clients in enumerate(record["participants"], start=1):
        print(f"{name}, round {number}: clients {', '.join(map(str, clients))}")
    for number, client, reason in record["absences"]:
        print(f"{name}, round {number}: client {client} {reason}")
    task = example_task(**options)
    algorithm = DEPLOYED[name](**json.loads(config["parameters"]))
    simulated = replay(algorithm, task, record["participants"], seed=given.seed, task_name=CONFIG["task"])
    apart = float(np.abs(models - np.array(simulated.models[1:])).max())
    print(f"{name}: clusters in the end {' '.join(map(str, record['assignments'][-1]))}")
    errors = np.linalg.norm(models[-1][:, None] - task.optima, axis=-1).min(axis=-1)
    print(f"{name}: models from the nearest optimum {', '.join(f'{error:.3g}' for error in errors)}")
    print(
        f"{name}: largest difference from the simulation with these participants {apart:.3g}; "
        f"{time.monotonic() - started:.0f} s",
        flush=True,
    )
    return (
        apart <= TOLERANCE
        and np.array_equal(first, simulated.models[0])
        and record["assignments"] == simulated.assignments
    )


if __name__ == "__main__":
    sys.exit(main())
