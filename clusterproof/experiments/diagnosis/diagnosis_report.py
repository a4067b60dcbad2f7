"""A diagnosis as Markdown for reading and as JSON for machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from clusterproof.algorithms.atomic import write_whole
from clusterproof.experiments.diagnosis.evidence import Evidence, Hypothesis, number
from clusterproof.experiments.diagnosis.observation import Observation
from clusterproof.neural.runs.storage.run_folder import DIAGNOSIS

FORMAT = 2
NAMES = (DIAGNOSIS, "diagnosis.json")

MEASURED = """
Largest and smallest curvature, variance and gradient norm are the extremes over the clusters; the gap is that of a
cluster's loss at another model to that at its own; the drift is the largest distance of a model to the same cluster's
in the last measured round. Assumptions 1 and 3 ask for a smoothness L and a variance sigma^2 that serve at every model:
none is smaller than the largest of these columns, and no measurement shows that one exists.

## What was measured

- *local*: the answer is about the measured models only. The Hessian is that of the mean loss of {clients} clients a
  cluster. Its ends come from at most {products} Hessian products, are Rayleigh quotients and so lie inside the
  spectrum; how far out they may be is what a Lanczos process from a random start leaves possible with 1 %. The bounds
  for all clients of a cluster are the quotient of the same vector over {others} further clients, less Student's t for a
  total error of 1 % over all clusters and rounds: another matrix, whose end may be further out.
- *stand-in*: the answer takes the last measured models for the optima chi_p*, which are not known. Their gradients are
  not zero, so that they are not optima.
- sigma^2 is the variance of one sample's loss over {loss_draws} samples of a cluster: a client of the cluster drawn at
  random, and one of its samples. Where a client's loss is not random, the client is the sample.
- Choices are those of at most {choices} clients on a batch each, against the matching of models to true clusters that
  the most clients agree with.
- A condition on mu and L is said to fail only if no values that the measurements allow meet it, and to hold only if all
  do.
"""


def write(
    evidence: Evidence, hypotheses: Sequence[Hypothesis], settings: Mapping[str, Any], folder: Path
) -> None:
    """Write ``diagnosis.md`` and ``diagnosis.json`` into a folder, each whole or not at all.

    The JSON holds everything but models and vectors; numbers that are not finite become null.

    Raises
    ------
    InvalidArgument
        If one cannot be written.
    """
    record = {
        "format": FORMAT,
        "settings": settings,
        "hypotheses": [{**asdict(row), "measured": row.measured} for row in hypotheses],
        "start_distances": evidence.start_distances,
        "observations": [_without_vectors(asdict(round_)) for round_ in evidence.observations],
    }
    content = msgspec.json.format(msgspec.json.encode(record, enc_hook=lambda value: value.tolist()))
    for name, text in zip(
        NAMES, (to_markdown(evidence, hypotheses, settings).encode(), content), strict=True
    ):
        write_whole("out", folder / name, text)


def to_markdown(evidence: Evidence, hypotheses: Sequence[Hypothesis], settings: Mapping[str, Any]) -> str:
    """Write the hypotheses, the trajectory, and what the measurements are of."""
    variants, budget = evidence.variants, settings["budget"]
    task = variants.batch
    parameters = ", ".join(
        f"{name} {value}" for name, value in settings["algorithm"].items() if value is not None
    )
    rows = [
        (
            f"**{hypothesis.name}**: {hypothesis.statement}",
            hypothesis.required,
            hypothesis.measured,
            f"**{hypothesis.answer}**. {hypothesis.reason}",
            hypothesis.scope.partition(":")[0],
        )
        for hypothesis in hypotheses
    ]
    trajectory = [_trajectory(observation, evidence.last) for observation in evidence.observations]
    lines = [
        "# Hypotheses of CFL-MGD's analysis on this run",
        "",
        f"Zhao et al. (2023), Section 5. Run: {parameters}; {evidence.rounds} rounds, m = {task.clients} clients, "
        f"P = {task.clusters} clusters, d = {task.dimension} parameters, models chosen with "
        f"{variants.choice_samples} samples, gradients of {variants.gradient_samples}.",
        "",
        *_table(("hypothesis", "asks for", "measured", "answer", "speaks of"), rows),
        "",
        "## Along the run",
        "",
        *_table(list(trajectory[0]), [list(row.values()) for row in trajectory]),
        MEASURED.format(**budget),
    ]
    if settings["skipped_rounds"]:
        skipped = ", ".join(map(str, settings["skipped_rounds"]))
        lines.append(f"After rounds {skipped} a model was not finite, and nothing was measured.\n")
    return "\n".join(lines)


def _trajectory(observation: Observation, last: Observation) -> dict[str, str]:
    """Return a row of the table of rounds: one round's numbers by column."""
    cells = observation.clusters
    return {
        "round": str(observation.round),
        "largest eigenvalue (L)": number(max(cell.curvature.value[1] for cell in cells)),
        "smallest (mu)": number(min(cell.curvature.value[0] for cell in cells)),
        "Delta": number(observation.separation),
        "sigma^2": number(max(cell.loss_variance.value.max() for cell in cells)),
        "smallest gap": number(min(np.delete(cell.gaps.value, cell.model).min() for cell in cells)),
        "wrong choices": f"{sum(cell.wrong for cell in cells)} of {sum(cell.asked for cell in cells)}",
        "wrong in the run": number(observation.run_wrong),
        "gradient norm": number(max(cell.gradient_norm for cell in cells)),
        "drift to the last": number(max(observation.distances_to(last), default=np.nan)),
    }


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a Markdown table."""
    return [
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |"
        for line in (header, ["---"] * len(header), *rows)
    ]


def _without_vectors(record: dict[str, Any]) -> dict[str, Any]:
    """Return the record of a round without its models and eigenvectors."""
    del record["models"]
    for cell in record["clusters"]:
        del cell["curvature"]["vectors"]
    return record
