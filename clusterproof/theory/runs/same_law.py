"""Test whether a run has the same distribution (*law*) as the library's runs of its declared algorithm."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from clusterproof.algorithms import Algorithm
from clusterproof.algorithms.averaging import participant_count
from clusterproof.checker.claims.rounding import TOLERANCE, unit_of
from clusterproof.common import InvalidArgument
from clusterproof.common.calls import checked
from clusterproof.common.randomness import Randomness
from clusterproof.common.validation import check_instance
from clusterproof.running import Trace, run
from clusterproof.synthetic import Mixture
from clusterproof.theory.bounds.dynamics import dynamics_of
from clusterproof.theory.runs.bound import Inconclusive, check_same_task
from clusterproof.theory.runs.likely_mistake import likely_mistake
from clusterproof.theory.runs.one_round_tests import compare_rounds
from clusterproof.theory.runs.two_samples import compare_samples

REFERENCES = 2000, 20_000
"""Smallest number of replicates of the library's run, and number in a second run if the first is inconclusive."""
ENTRIES = 10**7
"""Largest number of entries in the models of the second run."""
OTHER_SEED = 777_767_777
"""Number that is added to the run's seed, so that both runs are independent."""
PERTURBATIONS = 32
"""Number of initial models that differ only by rounding. In a tie, all prefer the same model with probability 2e-10."""
REPEATED = 10
"""Number of replicates that are run again with the same participants."""

FEWEST = 50
"""Smallest number of replicates for which a comparison with a bound also compares the distribution of a noisy run."""
AFFORDABLE = 2 * 10**7
"""Largest number of entries in the models of the library's run, in a comparison with a bound (30 s)."""
SINGLE = 100 * float(np.finfo(np.float32).eps)
"""Relative tolerance for rounding in a comparison with a bound, because code may use single precision."""

Kind = Literal["holds", "differs", "inconclusive", "not compared"]


@checked
def assert_same_law(task: Mixture, trace: Trace, *, algorithm: Algorithm[Any] | None = None) -> None:
    """Assert that a run has the distribution of the algorithm that it declares.

    The function compares the run with the library's run of this algorithm on the same task, from the same initial
    models, with the same number of rounds. Without noise every round must agree up to rounding. If only the
    participants are random, every round must agree with the library's run with the same participants.

    If there is noise, the replicates of the two runs form two samples. In each round, and pooled over rounds and
    coordinates, the test compares:

    - means and covariances of the models and of their increments;
    - the covariance of consecutive increments;
    - assignments and sizes of the clusters;
    - the covariance of these sizes with the increments of the same round.

    In FedAvg, FedProx, IFCA, and CFL-MGD's option I with the server's momentum, the distribution of the next round
    depends only on models and choices. For these algorithms, each round is also compared with rounds of the library
    from the same models, with the same participants and choices. These tests compare variance, step and momentum,
    pooled over all rounds, replicates and coordinates.

    Parameters
    ----------
    task
        The task of the run.
    trace
        The run. If there is noise, the run needs at least 200 replicates.
    algorithm
        The algorithm that the run should follow. If None, it is the algorithm of the trace, or its ``dynamics``.

    Raises
    ------
    AssertionError
        If the distributions differ. The message names the statistic, the round, the estimate and the expectation. For
        a run without noise (``QuadraticMixture``, or ``data="population"``) it also names the known mistakes of
        ``conformance`` that explain the run up to rounding. A run with the correct distribution causes this error
        with a probability of at most 1e-9, for every distribution.
    Inconclusive
        If there are too few replicates. The message states how many replicates would reveal a difference of this
        size.
    InvalidArgument
        If the task is not the task of the run, or the algorithm is unknown.

    Notes
    -----
    Begin with a task with expected losses (``data="population"``), where one run reveals every mistake that is larger
    than rounding. With random samples, replicates reveal only differences between distributions.

    With 200 replicates, the test detected the following mistakes. The numbers in brackets are detections in 10 runs.
    Each run took 30 rounds from random initial models. The task was linear regression with 2 or 3 clusters, 12
    clients, dimension 3, noise 0.5 and 50 samples per client.

    - CFL-MGD with momentum .5, and IFCA: The noise is 3 % too large or too small (9, 9).
    - CFL-MGD with momentum .5, and IFCA: The step size is 3 % too large or too small (10, 10).
    - CFL-MGD: The momentum .5 is off by 10 % (10), or the momentum .9 is off by 3 % (10).
    - CFL-MGD with momentum .5, and IFCA: The noise of gradients has heavy tails (10, 10). It has Student's
      distribution with 5 degrees of freedom and the correct variance.
    - IFCA: Clients compute gradients at the models of the previous round (10).
    - IFCA: One client is never drawn (10).

    The test cannot detect the following mistakes on such runs.

    - The momentum .5 is off by 3 % (0 of 10). According to the Fisher information of all increments, this mistake is
      4 to 5 standard errors large, but the level 1e-9 needs 6.
    - Noise, step size or momentum is off by 1 %.
    - Losses and gradients use the same samples, and clients rarely choose another cluster's model. The test detects
      it with 50 samples in 0 of 10 runs, and with 5 samples in 4 of 4 runs.
    - The code uses single precision.
    - If models have equal losses, the code makes a different choice.

    A correct run is rejected with a probability of at most 1e-9, for every distribution. The tests of single rounds
    use three quarters of this probability, see ``one_round_tests``. The replicates are exchangeable with the
    library's replicates. The library runs 2000 replicates and, if the result is inconclusive, up to 20 000. In both
    comparisons, each of the K tests has the level 1e-9 / (8 K), and K is a symmetric function of all replicates. The
    tests are permutation tests of means; Cramer's method (Hoeffding 1963, Theorem 4) bounds the p-values for any
    distribution.
    """
    kind, sentence = same_law(task, trace, algorithm=algorithm)
    if kind == "differs":
        raise AssertionError(sentence)
    if kind == "inconclusive":
        raise Inconclusive(sentence)


def same_law(
    task: Mixture, trace: Trace, *, algorithm: Algorithm[Any] | None = None, for_bound: bool = False
) -> tuple[Kind, str]:
    """Return whether the distributions differ, and the reason.

    See ``assert_same_law`` for parameters and errors. With ``for_bound``, the test accompanies the comparison with a
    bound. Then differences of single precision count as rounding, and the result is "not compared" if a test of
    samples would reveal little or take long.
    """
    check_same_task(task, trace)
    algorithm = dynamics_of(trace) if algorithm is None else algorithm
    check_instance("algorithm", algorithm, Algorithm, "leave it out to use the trace's algorithm")
    models = trace.models if trace.models.ndim == 4 else trace.models[:, None]
    assignments = trace.assignments.reshape(trace.rounds, models.shape[1], -1)
    tolerance = max(SINGLE if for_bound else TOLERANCE, 1e3 * float(np.finfo(trace.models.dtype).eps))
    # algorithms with one model per client may start from a single model
    starts = models[0][:, : algorithm.model_count(task)]
    once = _own_run(algorithm, task, trace, starts, 1)
    if once.models.shape != models.shape or not _close(models[:1], once.models[:1], tolerance).all():
        rule = f"must start from the models of the run, {models.shape[2:]}"
        raise InvalidArgument("algorithm", algorithm, rule, "give the algorithm of the run")
    rounding = 1e-3 * tolerance * unit_of([once.models[:2]])
    distinct = starts[:1] if (starts == starts[:1]).all() else starts
    if not _draws_numbers(algorithm, task, distinct, trace.rounds):
        moved = _own_run(algorithm, task, trace, _perturbed(distinct, PERTURBATIONS, rounding), 1)
        stable = _stable(once, moved, len(distinct), tolerance)
        every, reason = np.arange(models.shape[1]), "the run is without noise"
        everyone = np.broadcast_to(np.arange(task.clients), (trace.rounds, len(every), task.clients))
        mistake = partial(likely_mistake, algorithm, task, everyone)
        return _compare_paths(models, assignments, once, stable, tolerance, every, reason, mistake)
    repeated = _compare_repeated(algorithm, task, trace, models, assignments, tolerance=tolerance)
    if repeated is not None and repeated[0] == "differs":
        return repeated
    replicates, size = models.shape[1], models[:, 0].size
    if for_bound and replicates < FEWEST:
        return "not compared", f"it takes {FEWEST} replicates or more of a random run"
    if for_bound and size * max(REFERENCES[0], replicates) > AFFORDABLE:
        return "not compared", "the comparison takes long for so large a run; assert_same_law does it"
    for least in (REFERENCES[0], min(REFERENCES[1], ENTRIES // size)):
        copies = math.ceil(max(least, REFERENCES[0], replicates) / replicates)
        reference = _own_run(algorithm, task, trace, np.tile(starts, (copies, 1, 1)), 2)
        tests = compare_samples(models, assignments, reference, tolerance)
        kind, sentence = tests.judge()
        if kind == "differs" or tests.chance >= 0:
            break
    if kind == "differs":
        nearby = _own_run(algorithm, task, trace, _perturbed(starts, 2, rounding), 3)
        if compare_samples(nearby.models, nearby.assignments, reference, tolerance).judge()[0] != "differs":
            return kind, sentence
        kind, sentence = (
            "inconclusive",
            f"{sentence}; but starts that differ by rounding also give another law",
        )
    seed = int(trace.settings["seed"]) + 4 * OTHER_SEED
    by_round = compare_rounds(algorithm, task, once, models, assignments, seed=seed, tolerance=tolerance)
    return (kind, sentence) if by_round[0] == "holds" else by_round


def _draws_numbers(algorithm: Algorithm[Any], task: Mixture, starts: np.ndarray, rounds: int) -> bool:
    """Return whether the run draws random numbers. Only then may two runs from the same initial models differ."""
    randomness = Randomness.from_seed(OTHER_SEED)
    streams = (randomness.participation, randomness.assignment, randomness.gradient, randomness.clustering)
    before = [str(stream.bit_generator.state) for stream in streams]
    with np.errstate(all="ignore"):
        state = algorithm.initialise(np.array(starts, dtype=float), task)
        for _ in range(rounds):
            state = algorithm.step(state, task, randomness)
    return before != [str(stream.bit_generator.state) for stream in streams]


def _perturbed(starts: np.ndarray, copies: int, rounding: float) -> np.ndarray:
    """Return (copies R, P, d) initial models that differ from the given ones by rounding, half in each direction.

    If the losses of two models are equal, a client may choose either model. Each direction favours one of the two.
    """
    half = np.random.default_rng(0).standard_normal(((copies + 1) // 2, *starts.shape))
    noise = np.concatenate([half, -half])[:copies]
    return np.asarray((starts + rounding * noise).reshape(-1, *starts.shape[1:]))


def _own_run(
    algorithm: Algorithm[Any], task: Mixture, trace: Trace, starts: np.ndarray, number: int
) -> Trace:
    """Run the library's algorithm from given initial models (R, P, d)."""
    seed = int(trace.settings["seed"]) + number * OTHER_SEED
    with np.errstate(all="ignore"):
        initial = np.asarray(starts, dtype=float)
        return run(algorithm, task, rounds=trace.rounds, seed=seed, replicates=len(starts), initial=initial)


def _close(first: np.ndarray, second: np.ndarray, tolerance: float) -> np.ndarray:
    """Return whether models (rounds + 1, R, P, d) of two runs agree, relative to the largest entry so far."""
    with np.errstate(all="ignore"):
        unit = np.maximum.accumulate(np.abs(second).max(axis=(2, 3), keepdims=True), axis=0)
        same = np.abs(first - second) <= tolerance * unit
    return np.asarray(same | (~np.isfinite(first) & ~np.isfinite(second)))


def _stable(own: Trace, moved: Trace, count: int, tolerance: float) -> np.ndarray:
    """Return whether perturbed initial models lead to the same run up to each round, (rounds + 1, R or 1)."""
    models, assignments = (
        np.tile(rows[:, :count], (1, PERTURBATIONS, *[1] * (rows.ndim - 2)))
        for rows in (own.models, own.assignments)
    )
    same = np.asarray(_close(moved.models, models, tolerance).all(axis=(2, 3)))
    same[1:] &= (moved.assignments == assignments).all(axis=-1)
    return np.logical_and.accumulate(same.reshape(len(same), PERTURBATIONS, count).all(axis=1), axis=0)


def _compare_paths(
    models: np.ndarray,
    assignments: np.ndarray,
    own: Trace,
    stable: np.ndarray,
    tolerance: float,
    numbers: np.ndarray,
    reason: str,
    mistake: Callable[[np.ndarray, np.ndarray, Trace, int], str],
) -> tuple[Kind, str]:
    """Compare the given replicates round by round, up to the first round whose result may depend on rounding.

    If a replicate differs, the reason ends with the likely mistake.
    """
    wrong = ~_close(models, own.models, tolerance) & stable[:, :, None, None]
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        where = f"round {place[0]}, replicate {numbers[place[1]]}, model {place[2]}, coordinate {place[3]}"
        likely = mistake(models, assignments, own, place[1])
        return "differs", (
            f"{where}: {float(models[place])!r} is not {float(own.models[place])!r}, and {reason}{likely}"
        )
    odd = (assignments != own.assignments) & stable[1:, :, None]
    if odd.any():
        step, replicate, client = (int(i) for i in np.argwhere(odd)[0])
        return "differs", (
            f"round {step + 1}, replicate {numbers[replicate]}: client {client} is with model "
            f"{assignments[step, replicate, client]}, not {own.assignments[step, replicate, client]}"
            + mistake(models, assignments, own, replicate)
        )
    if not stable.all():
        step = int(np.argwhere(~stable)[0][0])
        return "inconclusive", f"from round {step} on, a start that differs by rounding gives another run"
    return "holds", f"every round agrees to {tolerance:.0e}, relative to the models"


@Algorithm.register
class _WithParticipants:
    """An algorithm with given participants (rounds, R, k) instead of random participants."""

    def __init__(self, algorithm: Algorithm[Any], participants: np.ndarray) -> None:
        self._algorithm, self._participants, self.drawn = algorithm, participants, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._algorithm, name)

    def step(self, state: Any, task: Mixture, randomness: Randomness) -> Any:
        """Run a round with the given participants."""
        stream: Any = self
        return self._algorithm.step(state, task, replace(randomness, participation=stream))

    def random(self, shape: tuple[int, ...]) -> np.ndarray:
        """Return sort keys of clients: smallest for the next participants, and equal in copies of a replicate."""
        chosen = self._participants[self.drawn % len(self._participants)]
        self.drawn += 1
        keys = np.ones(shape)
        np.put_along_axis(keys, np.tile(chosen, (shape[0] // len(chosen), 1)), 0.0, axis=-1)
        return keys


def _compare_repeated(
    algorithm: Algorithm[Any], task: Mixture, trace: Trace, *arrays: np.ndarray, tolerance: float
) -> tuple[Kind, str] | None:
    """Compare replicates with library runs with the same participants, or return None if anything else is random."""
    models, assignments = arrays
    # if each client has a model, the participants are the clients whose models change
    by_client = algorithm.target == "clients"
    present = (models[1:] != models[:-1]).any(axis=-1) if by_client else assignments >= 0
    count = participant_count(getattr(algorithm, "participation", 1.0), task.clients)
    known = np.flatnonzero((present.sum(axis=-1) == count).all(axis=0))[:REPEATED]
    if count == task.clients or not len(known) or present.shape[-1] != task.clients:
        return None
    participants = np.nonzero(present[:, known])[-1].reshape(trace.rounds, len(known), count)
    given: Any = _WithParticipants(algorithm, participants)
    starts = models[0, known][:, : algorithm.model_count(task)]
    if _draws_numbers(given, task, starts, trace.rounds) or given.drawn != trace.rounds:
        return None
    own = _own_run(given, task, trace, starts, 1)
    rounding = 1e-3 * tolerance * unit_of([own.models[:2]])
    moved = _own_run(given, task, trace, _perturbed(starts, PERTURBATIONS, rounding), 1)
    stable = _stable(own, moved, len(known), tolerance)
    reason = "the participants are the run's participants, and nothing else is random"
    mistake = partial(likely_mistake, algorithm, task, participants)
    arrays = models[:, known], assignments[:, known]
    return _compare_paths(*arrays, own, stable, tolerance, known, reason, mistake)
