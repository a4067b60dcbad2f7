"""A diagnosis as Markdown for reading and as JSON for machines."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterproof.algorithms.atomic import write_whole
from clusterproof.experiments.diagnosis.evidence import Diagnosis, Scope, number
from clusterproof.neural.runs.storage.run_folder import DIAGNOSIS

if TYPE_CHECKING:
    from clusterproof.experiments.diagnosis.observation import Observation

FORMAT = 1
NAMES = (DIAGNOSIS, "diagnosis.json")


def write(found: Diagnosis, settings: Mapping[str, Any], folder: Path) -> None:
    """Write ``diagnosis.md`` and ``diagnosis.json`` into a folder, each whole or not at all.

    The JSON holds everything but models and vectors; numbers that are not finite become null.

    Raises
    ------
    InvalidArgument
        If one cannot be written.
    """
    record = {
        "format": FORMAT,
        "settings": dict(settings),
        "hypotheses": found.hypotheses,
        "start_distances": found.evidence.start_distances,
        "observations": found.evidence.observations,
    }
    text = json.dumps(_plain(record), indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    for name, content in zip(NAMES, (to_markdown(found, settings), text), strict=True):
        write_whole("out", folder / name, content.encode())


def to_markdown(found: Diagnosis, settings: Mapping[str, Any]) -> str:
    """Write the hypotheses, the trajectory, and what the measurements are of."""
    evidence = found.evidence
    budget = settings["budget"]
    rounds = ", ".join(str(observation.round) for observation in evidence.observations)
    parameters = ", ".join(
        f"{name} {value}" for name, value in settings["algorithm"].items() if value is not None
    )
    trajectory = [_trajectory(observation, evidence.last) for observation in evidence.observations]
    lines = [
        "# Hypotheses of CFL-MGD's analysis on this run",
        "",
        f"Zhao et al. (2023), Section 5. Run: {parameters}; {evidence.rounds} rounds, m = {evidence.clients} clients, "
        f"P = {evidence.clusters} clusters, d = {evidence.dimension} parameters, models chosen with "
        f"{evidence.choice_samples} samples, gradients of {evidence.gradient_samples}. "
        f"Measured after rounds {rounds}.",
        "",
        *_table(
            ("hypothesis", "asks for", "measured", "answer", "speaks of"),
            [
                (
                    f"**{each.name}**: {each.statement}",
                    each.required,
                    each.measured,
                    f"**{each.answer}**. {each.reason}",
                    _word(each.scope),
                )
                for each in found.hypotheses
            ],
        ),
        "",
        "## Along the run",
        "",
        *_table(list(trajectory[0]), [list(row.values()) for row in trajectory]),
        "",
        "Largest and smallest curvature, variances and gradient norm are the extremes over the clusters; the gap is "
        "that of a cluster's loss at another model to that at its own; the drift is the largest distance of a "
        "model to the same cluster's in the last measured round.",
        "",
        "## What was measured",
        "",
        f"- **{_word(Scope.LOCAL)}** answers speak of the measured models only. The Hessian is that of the mean loss "
        f"of {budget['clients']} clients a cluster. Its ends come from at most {budget['products']} Hessian products, "
        "are Rayleigh quotients and so lie inside the spectrum; how far out they may be is what a Lanczos process "
        "from a random start leaves possible with 1 %. What is said of all clients of a cluster is the quotient of "
        f"the same vector over them, as {budget['others']} further clients show it, less Student's t for a total "
        "error of 1 % over all clusters and rounds: another matrix, whose end may be further out.",
        f"- **{_word(Scope.STAND_IN)}** answers take the last measured models for the optima chi_p*, which nobody "
        "knows. Their gradients are not zero, so that they are not optima.",
        f"- sigma^2 is the variance of one sample's loss over {budget['loss_draws']} samples of a cluster, v^2 that "
        f"of its gradient over {budget['gradient_draws']}: a client of the cluster drawn at random, and one of its "
        "samples. Where a client's loss is not random, the client is the sample.",
        f"- Choices are those of {min(budget['choices'], evidence.clients)} clients on a batch each, against the "
        "matching of models to true clusters that the most clients agree with.",
        "- A condition on mu and L is said to fail only if no values that the measurements allow meet it, and to hold "
        "only if all do.",
    ]
    if settings["skipped_rounds"]:
        skipped = ", ".join(map(str, settings["skipped_rounds"]))
        lines.append(f"- After rounds {skipped} a model was not finite, and nothing was measured.")
    return "\n".join(lines) + "\n"


def _trajectory(observation: Observation, last: Observation) -> dict[str, str]:
    """Return a row of the table of rounds: one round's numbers by column."""
    cells = observation.clusters
    drift = [
        float(np.linalg.norm(model - last.models[last.rows[cell.cluster]]))
        for cell, model in zip(cells, observation.models, strict=True)
        if cell.cluster in last.rows
    ]
    return {
        "round": str(observation.round),
        "largest eigenvalue (L)": number(max(cell.curvature.value[1] for cell in cells)),
        "smallest (mu)": number(min(cell.curvature.value[0] for cell in cells)),
        "Delta": number(observation.separation),
        "sigma^2": number(max(cell.loss_variance.value.max() for cell in cells)),
        "v^2": number(max(float(cell.gradient_variance.value) for cell in cells)),
        "smallest gap": number(min(np.delete(cell.gaps.value, cell.model).min() for cell in cells)),
        "wrong choices": f"{sum(cell.wrong for cell in cells)} of {sum(cell.asked for cell in cells)}",
        "wrong in the run": number(observation.run_wrong),
        "gradient norm": number(max(cell.gradient_norm for cell in cells)),
        "drift to the last": number(max(drift, default=math.nan)),
    }


def _word(scope: Scope) -> str:
    """First word of a scope."""
    return scope.value.partition(":")[0]


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a Markdown table."""
    return [
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |"
        for line in (header, ["---"] * len(header), *rows)
    ]


def _plain(value: Any) -> Any:
    """Convert records and arrays to JSON values, without models, gradients and vectors."""
    if is_dataclass(value) and not isinstance(value, type):
        names = {field.name for field in fields(value)} - {"models", "gradients", "vectors"}
        return {name: _plain(entry) for name, entry in vars(value).items() if name in names}
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int) else str(value)
