"""How long, how finely and on what a run is trained."""

from __future__ import annotations

from dataclasses import dataclass

from clusterproof.algorithms.validation import (
    LARGEST_COUNT,
    check_choice,
    check_count,
    check_number,
    check_seed,
)

MOST_THREADS = 1024
"""More than any machine's processors, and what a system lets a process start: the same everywhere, for files travel."""


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """What is asked of a run beside its data, partition, network and algorithm.

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
        How clients are trained: ``"gram"``, ``"batched"``, ``"serial"``, or ``"auto"``.
    chunk
        Clients at a time; from the free memory where left out.
    precision
        Of products on a GPU: ``"highest"``, ``"tf32"`` or ``"bf16"``.
    threads
        Of the processor, at most 1024; torch's own number where left out.
    tensorboard
        Also write the curves for TensorBoard.
    diagnose
        Also measure, at five rounds of the last third, which hypotheses of CFL-MGD's theory hold, and write
        diagnosis.md; for algorithms with a model a cluster.

    Raises
    ------
    InvalidArgument
        If a value is out of range.
    """

    rounds: int = 100
    seed: int = 0
    batch_size: int | None = None
    local_unit: str = "step"
    step_size_decay: float = 1.0
    evaluate_every: int = 1
    checkpoint_every: int = 10
    test_assignment: str | None = None
    after_local_training: bool = False
    device: str = "auto"
    dtype: str = "float32"
    engine: str = "auto"
    chunk: int | None = None
    precision: str = "highest"
    threads: int | None = None
    tensorboard: bool = False
    diagnose: bool = False

    def __post_init__(self) -> None:
        """Validate the values."""
        check_count("rounds", self.rounds, at_least=0, remedy="give the number of communication rounds")
        check_seed(self.seed)
        check_number(
            "step_size_decay", self.step_size_decay, above=0, at_most=1, remedy="1 keeps the step size"
        )
        for argument in ("evaluate_every", "checkpoint_every"):
            check_count(argument, getattr(self, argument), at_least=1, remedy="1 is every round")
        for argument, at_most in (
            ("batch_size", LARGEST_COUNT),
            ("chunk", LARGEST_COUNT),
            ("threads", MOST_THREADS),
        ):
            value = getattr(self, argument)
            if value is not None:
                check_count(argument, value, at_least=1, at_most=at_most, remedy="leave it out")
        for argument, choices in (
            ("local_unit", ("step", "epoch")),
            ("device", ("auto", "cpu", "cuda")),
            ("dtype", ("float32", "float64")),
            ("engine", ("auto", "gram", "batched", "serial")),
            ("precision", ("highest", "tf32", "bf16")),
        ):
            check_choice(argument, getattr(self, argument), choices, remedy=f"use {choices[0]!r}")
        if self.test_assignment is not None:
            check_choice(
                "test_assignment", self.test_assignment, ("train", "test-loss"), remedy="or leave it out"
            )
