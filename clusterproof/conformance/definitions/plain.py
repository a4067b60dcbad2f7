"""The round of ProxSkip up to its first communication."""

from dataclasses import replace
from typing import Any

from clusterproof.methods.controls import proxskip


def proxskip_round(
    clients: Any, model: Any, controls: Any, *, step_size: Any, probability: Any
) -> tuple[Any, Any]:
    """Return x and all h_i after K iterations; only the last iteration communicates."""
    settings = {"step_size": step_size, "probability": probability}
    ends = list(clients.to_all(model))
    for number in range(1, max(client.steps for client in clients.participants)):
        on = [i for i, client in enumerate(clients.participants) if client.steps > number]
        some = replace(clients, participants=[clients.participants[i] for i in on], weights=None)
        states = [ends[i] for i in on], [controls[i] for i in on]
        moved, _ = proxskip(some, *states, **settings, communicates=False)
        for i, end in zip(on, moved, strict=True):
            ends[i] = end
    models, controls = proxskip(clients, ends, controls, **settings, communicates=True)
    return models[0], controls
