"""The round of ProxSkip up to its first communication."""

from typing import Any

from clusterproof.conformance.rounds.proxskip import proxskip_iteration


def proxskip_round(
    gradients: Any, model: Any, controls: Any, step_size: Any, steps: Any, probability: Any, weights: Any
) -> tuple[Any, Any]:
    """Return x and all h_i after K iterations; only the last iteration communicates."""

    def before(gradient: Any, start: Any, control: Any, count: int) -> Any:
        for _ in range(count - 1):
            (start,), _ = proxskip_iteration([gradient], [start], [control], step_size, probability, False)
        return start

    starts = [model for _ in gradients]
    ends = list(map(before, gradients, starts, controls, steps))
    models, controls = proxskip_iteration(
        gradients, ends, controls, step_size, probability, True, weights=weights
    )
    return models[0], controls
