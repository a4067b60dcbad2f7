"""Rounds with those who are there: the algorithm's own step, its participants given from outside."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from clusterproof.algorithms import (
    CFL,
    CFLMGD,
    FPFC,
    IFCA,
    Algorithm,
    FedAvg,
    FedProx,
    GradientLoss,
    InvalidArgument,
    Randomness,
    SoFL,
    State,
    Task,
)
from clusterproof.algorithms.parts.participation import draw_participants
from clusterproof.deployment.remote_task import Absent, RemoteTask

DEPLOYED: dict[str, type[Algorithm[Any]]] = {
    algorithm.name: algorithm for algorithm in (IFCA, CFLMGD, FedAvg, FedProx, GradientLoss, SoFL, CFL, FPFC)
}
"""Algorithms that ask clients nothing but what ``messages`` has a question for."""


@dataclass
class Record:
    """What happened in a federation.

    Attributes
    ----------
    models
        Before the first round and after each, (P, d) each.
    participants
        Whose answers made each round, ascending.
    assignments
        Clusters of those that the state after each round lists.
    absences
        Round, client and reason of everybody who was asked and left out.
    """

    models: list[np.ndarray] = field(default_factory=list)
    participants: list[list[int]] = field(default_factory=list)
    assignments: list[list[int]] = field(default_factory=list)
    absences: list[tuple[int, int, str]] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long to wait for clients.

    Attributes
    ----------
    fewest
        Clients without whom no round is begun.
    seconds
        How long to wait for them, or for a client that an algorithm cannot do without, before giving up.
    pause
        Seconds between two looks.
    """

    fewest: int = 1
    seconds: float = 300.0
    pause: float = 0.5


class _Chosen:
    """In place of a generator of participants: those who are given; the generator goes on as if it had drawn."""

    def __init__(self, participants: Collection[int], generator: np.random.Generator) -> None:
        self._participants = list(participants)
        self._generator = generator
        self.asked = False

    def random(self, shape: tuple[int, ...]) -> np.ndarray:
        """Keys of which the participants' are the smallest."""
        self.asked = True
        keys = np.ones_like(self._generator.random(shape))
        keys[..., self._participants] = 0.0
        return keys


def carry_out_round(
    algorithm: Algorithm[Any], state: State, task: Task, randomness: Randomness, participants: Collection[int]
) -> tuple[State, list[int]]:
    """Carry out the algorithm's own step with given participants, a subset of the task's clients.

    Returns
    -------
    tuple
        The new state and the participants: all clients in a round in which the algorithm draws none.

    Raises
    ------
    InvalidArgument
        If the algorithm cannot do without the others.
    """
    chosen = replace(algorithm, participation=len(participants) / task.clients)  # type: ignore[call-arg]  # those that deploy have it
    stream: Any = _Chosen(participants, randomness.participation)
    result: State = chosen.step(state, task, replace(randomness, participation=stream))
    return result, sorted(participants) if stream.asked else list(range(task.clients))


def run_federation(
    algorithm: Algorithm[Any],
    task: RemoteTask,
    *,
    rounds: int,
    seed: int,
    present: Callable[[], Collection[int]],
    patience: Patience,
    initial: np.ndarray | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> Record:
    """Run rounds with the clients that are there.

    In each round the algorithm draws its participants, as it does in a simulation. Those of them who are not there,
    do not answer or are refused are left out, and the round is begun again without them; it then is what the
    algorithm makes of that participation, in which absentees are treated by its own rule. A round in which it asks
    for somebody else, as SoFL's clustering and CFL's split ask for all, waits for them.

    Parameters
    ----------
    algorithm
        One of ``DEPLOYED``.
    task
        The clients.
    rounds, seed
        As for ``run``; with all clients present the models are those of ``run`` on their data.
    present
        Gives the clients that are there now.
    patience
        How long to wait for clients.
    initial
        Starting models (P, d); standard normal from the seed where None.
    report
        Takes a line on each round and absence.

    Raises
    ------
    InvalidArgument
        If too few clients come, or one without whom the algorithm cannot go on stays away.
    """
    if algorithm.name not in DEPLOYED:
        raise InvalidArgument(
            "algorithm", algorithm.name, f"must be one of {', '.join(DEPLOYED)}", "choose one"
        )
    randomness = Randomness.from_seed(seed, str(task.settings["task"]), algorithm.name)
    count = algorithm.model_count(task)
    models = task.initial_models(count, (), randomness.initialisation) if initial is None else initial
    state: State = algorithm.initialise(np.array(models, dtype=float), task)
    record = Record([np.array(state.models)])
    for number in range(1, rounds + 1):
        task.begin_round()
        share: float = algorithm.participation  # type: ignore[attr-defined]  # those that deploy have it
        peek = copy.deepcopy(randomness.participation)  # the step itself draws, if it does
        drawn = draw_participants(share, task.clients, state.models, peek)
        state, participants = _round(
            algorithm,
            state,
            task,
            randomness,
            list(map(int, drawn)),
            number,
            present,
            patience,
            record,
            report,
        )
        record.models.append(np.array(state.models))
        record.participants.append(participants)
        record.assignments.append([int(cluster) for cluster in np.ravel(np.asarray(state.assignments))])
        report(f"round {number} of {rounds}: {len(participants)} of {task.clients} clients")
    return record


def _round(
    algorithm: Algorithm[Any],
    state: State,
    task: RemoteTask,
    randomness: Randomness,
    drawn: Sequence[int],
    number: int,
    present: Callable[[], Collection[int]],
    patience: Patience,
    record: Record,
    report: Callable[[str], None],
) -> tuple[State, list[int]]:
    """Try a round until everybody who is asked answers."""
    deadline = time.monotonic() + patience.seconds
    out: set[int] = set()
    waiting_for = ""
    while True:
        here = set(present())
        participants = [client for client in drawn if client in here and client not in out]
        if len(here) >= min(patience.fewest, task.clients) and participants:
            before = copy.deepcopy(randomness)
            task.begin_again()
            try:
                return carry_out_round(algorithm, state, task, randomness, participants)
            except Absent as absent:
                _restore(randomness, before)
                needed = {client for client in absent.reasons if client not in participants}
                for client, reason in absent.reasons.items():
                    if client not in out:
                        record.absences.append((number, client, reason))
                        report(f"round {number}: client {client} {reason}")
                if not needed:
                    out |= set(absent.reasons)
                    continue
                waiting_for = f"clients {sorted(needed)}, without whom {algorithm.name} cannot go on"
                out -= needed
            except InvalidArgument as error:
                _restore(randomness, before)
                if error.argument not in ("trigger", "empty_cluster") or len(participants) == task.clients:
                    raise
                waiting_for = f"all clients ({error})"
        else:
            waiting_for = waiting_for or f"{patience.fewest} clients, of whom {len(here)} are there"
            if not set(drawn) - out:
                out.clear()
        if time.monotonic() > deadline:
            raise InvalidArgument(
                "patience-seconds",
                patience.seconds,
                f"is over in round {number}, waiting for {waiting_for}",
                "bring them back, and run it again",
            )
        time.sleep(patience.pause)


def _restore(randomness: Randomness, before: Randomness) -> None:
    """Set every stream back to where it was."""
    for name in vars(before):
        stream = getattr(before, name)
        getattr(randomness, name).bit_generator.state = stream.bit_generator.state


def replay(
    algorithm: Algorithm[Any],
    task: Task,
    participants: Sequence[Collection[int]],
    *,
    seed: int,
    task_name: str,
    initial: np.ndarray | None = None,
) -> Record:
    """Simulate a federation in this process: the same seed and participants, on the clients' data.

    Parameters
    ----------
    algorithm, seed, initial
        As for ``run_federation``.
    task
        All clients' data as one task.
    participants
        Of each round, as a record has them.
    task_name
        Of the federation's task, from which the streams of randomness are named.
    """
    randomness = Randomness.from_seed(seed, task_name, algorithm.name)
    shape = (algorithm.model_count(task), task.dimension)
    models = randomness.initialisation.standard_normal(shape) if initial is None else initial
    state: State = algorithm.initialise(np.array(models, dtype=float), task)
    record = Record([np.array(state.models)])
    for present in participants:
        state, clients = carry_out_round(algorithm, state, task, randomness, present)
        record.models.append(np.array(state.models))
        record.participants.append(clients)
        record.assignments.append([int(cluster) for cluster in np.ravel(np.asarray(state.assignments))])
    return record
