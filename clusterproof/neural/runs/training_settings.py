"""How long, how finely and on what a run is trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, get_type_hints

from msgspec import Meta

from clusterproof.algorithms.validation import LARGEST_COUNT, LARGEST_SEED
from clusterproof.neural.runs.values import checked

MOST_THREADS = 1024
"""More than any computer's processors, and what a system lets a process start; the same everywhere, as files travel."""

Positive = Annotated[int, Meta(ge=1, le=LARGEST_COUNT)]


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """Settings of a run apart from its data, partition, network and algorithm.

    Parameters
    ----------
    rounds
        Number of communication rounds.
    seed
        Of the partition, the starting models and the run; the same seed gives the same bits.
    batch_size
        Samples of a local gradient; all of a client's where left out.
    local_unit
        What a local step is: ``"step"``, one gradient step, or ``"epoch"``, one pass over the client's data.
    step_size_decay
        What the step size is multiplied by after each round, in (0, 1].
    evaluate_every
        Rounds between two evaluations on the test data; the last round has one in any case.
    checkpoint_every
        Rounds between two checkpoints; the last round has one in any case.
    test_assignment
        How a test client chooses among the server's models: ``"train"``, by the loss on the same client's
        training data, or ``"test-loss"``, by the loss on its labelled test data, as IFCA's public code
        does. Where left out, by training data wherever the partition has them.
    after_local_training
        Also measure every client's accuracy after its next local training.
    device
        ``"cpu"``, ``"cuda"``, or ``"auto"``: a GPU where there is one.
    dtype
        ``"float32"`` or ``"float64"``.
    engine
        How clients are trained: ``"gram"``, ``"vmap"``, ``"serial"``, or ``"auto"``.
    chunk
        Clients at a time; from the free memory where left out.
    precision
        Of products on a GPU: ``"highest"``, ``"tf32"`` or ``"bf16"``.
    threads
        Of the processor, at most 1024; torch's own number where left out.
    client_metrics
        Also write clients.parquet: accuracy and assignment of every test client in every evaluated round.

    Raises
    ------
    InvalidArgument
        If a value is out of range.
    """

    rounds: Annotated[int, Meta(ge=0, le=LARGEST_COUNT)] = 100
    seed: Annotated[int, Meta(ge=0, le=LARGEST_SEED)] = 0
    batch_size: Positive | None = None
    local_unit: Literal["step", "epoch"] = "step"
    step_size_decay: Annotated[float, Meta(gt=0, le=1)] = 1.0
    evaluate_every: Positive = 1
    checkpoint_every: Positive = 10
    test_assignment: Literal["train", "test-loss"] | None = None
    after_local_training: bool = False
    device: Literal["auto", "cpu", "cuda"] = "auto"
    dtype: Literal["float32", "float64"] = "float32"
    engine: Literal["auto", "gram", "vmap", "serial"] = "auto"
    chunk: Positive | None = None
    precision: Literal["highest", "tf32", "bf16"] = "highest"
    threads: Annotated[int, Meta(ge=1, le=MOST_THREADS)] | None = None
    client_metrics: bool = False

    def __post_init__(self) -> None:
        """Validate types and ranges."""
        for name, kind in get_type_hints(TrainingSettings, include_extras=True).items():
            checked(name, getattr(self, name), kind)
