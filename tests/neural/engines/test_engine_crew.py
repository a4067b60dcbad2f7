"""Clients shared out among the threads of a CPU."""

import copy
import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest
import torch
from small_images import random_partition

from clusterproof.algorithms import ALGORITHMS, Randomness
from clusterproof.neural.engines import crew, passes
from clusterproof.neural.engines.chunks import Chunk
from clusterproof.neural.networks import CNN, MLP
from clusterproof.neural.task import ImageTask

pytestmark = pytest.mark.slow(reason="trains on one thread and on several")

SHAPE = (1, 16, 16)
SIZES = (6, 9, 3, 9, 1, 4, 9)


def stream_of(seed):
    return np.random.default_rng(seed)


def train(network, engine, batch_size, threads, chunk=None):
    """Models, momenta, losses and gradients, computed with that many threads."""
    torch.set_num_threads(threads)
    task = ImageTask(
        partition=random_partition(SIZES, image_shape=SHAPE),
        network=network,
        engine=engine,
        batch_size=batch_size,
        chunk=chunk,
    )
    clients = torch.arange(len(SIZES))
    start = task.initial_models(len(SIZES), (), stream_of(1))
    trained, momenta = task.local_training(
        start,
        torch.zeros_like(start),
        None,
        clients,
        stream_of(2),
        step_size=0.1,
        momentum=0.5,
        proximal=0.0,
        local_steps=3,
    )
    slopes = task.gradients(start, clients, stream_of(3))
    losses = task.losses(start[:2], clients, stream_of(4))
    return [each.clone() for each in (trained, momenta, slopes, losses, task.scores(start[:2]).losses)]


@pytest.mark.parametrize("batch_size", [None, 4])
@pytest.mark.parametrize(
    ("network", "engine"),
    [
        *((MLP(SHAPE, 3, (20,)), engine) for engine in ("gram", "batched", "serial")),
        (CNN(SHAPE, 3), "serial"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_the_bits_do_not_hang_on_the_threads(plant, network, engine, batch_size):
    """A client is computed by one thread, however many there are."""
    expected = train(network, engine, batch_size, 1)
    for threads, chunk, worth in ((3, None, 0), (2, 1, 0), (2, None, 10**9)):
        plant(passes, "SHARED_WORK", worth)
        found = train(network, engine, batch_size, threads, chunk)
        for ours, theirs in zip(found, expected, strict=True):
            assert torch.equal(ours, theirs)


@pytest.mark.parametrize("engine", ["gram", "batched", "serial"])
def test_sums_of_gradients_have_the_same_bits_on_any_number_of_threads(engine):
    """Products of 500 samples with 200 units, which a library shares out among its own threads where it may."""
    found = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        task = ImageTask(
            partition=random_partition((40,) * 26, image_shape=SHAPE),
            network=MLP(SHAPE, 3, (200,)),
            engine=engine,
        )
        models, clients = task.initial_models(2, (), stream_of(1)), torch.arange(26)
        found.append(task.gradient_sums(models, clients, clients % 2, stream_of(2)).clone())
        each = task.gradients(models[clients % 2], clients, stream_of(2))
        expected = torch.stack([each[::2].sum(0), each[1::2].sum(0)])
        torch.testing.assert_close(found[-1], expected, rtol=1e-4, atol=1e-5)
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])


@pytest.mark.parametrize("engine", ["gram", "batched", "serial"])
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda task: pickle.loads(pickle.dumps(task))])
def test_a_copy_of_a_task_computes_the_same(engine, copied):
    task = ImageTask(partition=random_partition(SIZES), network=MLP((1, 4, 4), 3, (6,)), engine=engine)
    models, clients = task.initial_models(2, (), stream_of(1)), torch.arange(len(SIZES))
    how = {"weights": None, "step_size": 0.1, "momentum": 0.0, "proximal": 0.0, "local_steps": 2}
    before, after = (
        one.cluster_training(models, None, clients, clients % 2, stream_of(2), stream_of(3), **how)[1]
        for one in (task, copied(task))
    )
    assert torch.equal(before, after)


@pytest.mark.parametrize("batch_size", [None, 4])
def test_batched_convolutions_on_threads(batch_size):
    """Whose library adds in another order for another number of clients."""
    expected = train(CNN(SHAPE, 3), "batched", batch_size, 1)
    for ours, theirs in zip(train(CNN(SHAPE, 3), "batched", batch_size, 2), expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)


def test_an_algorithm_goes_the_same_way_on_two_threads(plant):
    plant(passes, "SHARED_WORK", 0)

    def models(threads):
        torch.set_num_threads(threads)
        task = ImageTask(partition=random_partition(SIZES), network=MLP((1, 4, 4), 3, (6,)))
        ifca = ALGORITHMS["ifca"](
            step_size=0.2, local_steps=2, averaging="model", participation=0.7, clusters=2
        )
        randomness = Randomness.from_seed(0, "test")
        state = ifca.initialise(task.initial_models(2, (), randomness.initialisation), task)
        for _ in range(4):
            state = ifca.step(state, task, randomness)
        return state.models

    assert torch.equal(models(1), models(2))


def test_every_part_has_a_thread_of_its_own_and_one_thread_of_torch():
    torch.set_num_threads(2)
    meeting = threading.Barrier(3, timeout=10)
    seen = []

    def work(part):
        meeting.wait()  # passes only if three are at work at once
        seen.append((part, threading.get_ident(), torch.get_num_threads()))

    for _ in range(2):
        seen.clear()
        crew.side_by_side(work, ["a", "b", "c"], 3)
        assert sorted(part for part, _, _ in seen) == ["a", "b", "c"]
        assert len({thread for _, thread, _ in seen}) == 3
        assert {threads for _, _, threads in seen} == {1}
        assert torch.get_num_threads() == 2


def test_the_others_end_before_an_error_is_raised():
    """Their results must not be written into memory that the caller uses anew."""
    ended = []
    failed = threading.Event()

    def work(part):
        if part == 0:
            failed.set()
            raise MemoryError("part 0")
        assert failed.wait(10)
        threading.Event().wait(0.2)
        ended.append(part)

    with pytest.raises(MemoryError, match="part 0"):
        crew.side_by_side(work, [0, 1], 2)
    assert ended == [1]


def test_numpy_keeps_its_error_state():
    """It hangs on the context, which a thread does not inherit by itself."""
    seen = []
    with np.errstate(over="raise"):
        crew.side_by_side(lambda _: seen.append(np.geterr()["over"]), [0, 1], 2)
    assert seen == ["raise", "raise"]


@pytest.mark.parametrize("threads", [1, 2])
def test_numpy_keeps_to_a_thread_and_has_its_own_back_afterwards(plant, threads):
    from threadpoolctl import threadpool_info, threadpool_limits

    known = {library.filepath for library in crew.libraries().lib_controllers if library.user_api == "blas"}

    def counts():
        return {
            each["filepath"]: each["num_threads"] for each in threadpool_info() if each["filepath"] in known
        }

    torch.set_num_threads(threads)
    plant(passes, "SHARED_WORK", 0)
    task = ImageTask(partition=random_partition(SIZES), network=MLP((1, 4, 4), 3, (6,)), engine="batched")
    engine = type(task.chosen_engine)
    compute, during = engine.gradients, []

    def watched(self, *arguments):
        during.append(counts())
        return compute(self, *arguments)

    plant(engine, "gradients", watched)
    models, clients, stream = task.initial_models(7, (), stream_of(0)), torch.arange(7), stream_of(1)
    with threadpool_limits(limits=2, user_api="blas"):
        before = counts()
        task.gradients(models, clients, stream)
        task.gradient_sums(models[:1], clients, torch.zeros(7, dtype=torch.int64), stream)
        assert counts() == before
    assert 2 in before.values()
    assert len(during) >= 2 * threads
    assert all(set(seen.values()) == {1} for seen in during)


def test_threads_to_come_have_the_number_that_was_set():
    torch.set_num_threads(2)
    crew.side_by_side(lambda _: None, range(5), 5)  # a size that has no threads yet
    seen = []
    later = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
    later.start()
    later.join()
    assert seen == [2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own():
    crew.side_by_side(lambda _: None, [0, 1], 2)
    child = os.fork()
    if not child:
        seen = []
        crew.side_by_side(seen.append, [0, 1], 2)
        os._exit(0 if sorted(seen) == [0, 1] else 1)
    for _ in range(100):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        time.sleep(0.1)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        pytest.fail("the forked process waits for threads that it does not have")
    assert os.waitstatus_to_exitcode(status) == 0


@pytest.mark.parametrize("positions", [np.arange(3, 10), np.array([4, 1, 9, 2, 0, 7, 8])])
@pytest.mark.parametrize("count", [1, 2, 3, 7, 9])
def test_parts_of_a_chunk(positions, count):
    parts = Chunk.of(positions, 5).split(count)
    assert len(parts) == min(count, 7)
    assert np.concatenate([part.positions for part in parts]).tolist() == positions.tolist()
    sizes = [len(part.positions) for part in parts]
    assert max(sizes) - min(sizes) <= 1
    numbers = np.arange(20)
    for part in parts:
        assert part.width == 5
        assert numbers[part.rows].tolist() == part.positions.tolist()


@pytest.mark.parametrize(("worth", "expected"), [(0, [4, 4]), (10**9, [8])])
def test_small_perceptrons_stay_together(plant, worth, expected):
    """Two threads would wait for the interpreter more than they compute."""
    torch.set_num_threads(2)
    task = ImageTask(partition=random_partition((8,) * 8), network=MLP((1, 4, 4), 3, (6,)), engine="batched")
    engine = type(task.chosen_engine)
    compute, sizes = engine.gradients, []

    def counted(self, points, batch, out):
        sizes.append((len(points), torch.get_num_threads()))
        return compute(self, points, batch, out)

    plant(engine, "gradients", counted)
    plant(passes, "SHARED_WORK", worth)
    task.gradients(task.initial_models(8, (), stream_of(0)), torch.arange(8), stream_of(1))
    assert sizes == [(size, 1) for size in expected]


def test_memory_that_runs_out_in_one_thread_halves_the_chunk(plant):
    torch.set_num_threads(2)
    plant(passes, "SHARED_WORK", 0)
    task = ImageTask(partition=random_partition((8,) * 8), network=MLP((1, 4, 4), 3, (6,)), engine="batched")
    start = task.initial_models(8, (), stream_of(0))
    expected = task.gradients(start, torch.arange(8), stream_of(1)).clone()
    engine = type(task.chosen_engine)
    compute, sizes = engine.gradients, []

    def scarce(self, points, batch, out):
        sizes.append(len(points))
        if len(points) > 2:
            raise MemoryError
        return compute(self, points, batch, out)

    plant(engine, "gradients", scarce)
    with pytest.warns(RuntimeWarning, match="with 8 clients at a time; going on with 4"):
        found = task.gradients(start, torch.arange(8), stream_of(1))
    assert torch.equal(found, expected)
    assert sizes == [4, 4, 2, 2, 2, 2]


def test_more_parts_than_threads_are_done_by_so_many_threads() -> None:
    """Two at a time: more would take each other's caches."""
    together, most, lock = set(), [], threading.Lock()

    def work(part: int) -> None:
        with lock:
            together.add(threading.current_thread().name)
            most.append(part)
        time.sleep(0.01)

    crew.side_by_side(work, range(8), 2)
    assert sorted(most) == list(range(8))
    assert len(together) == 2


def test_results_come_in_the_order_of_the_parts_and_no_thread_waits_for_another() -> None:
    """The first part ends after the third: where two threads ended each pair together, it never would."""
    third = threading.Event()

    def work(part: int) -> int:
        if part == 0:
            assert third.wait(20)
        if part == 2:
            third.set()
        return part

    assert list(crew.in_turn(work, range(9), 2, 4)) == list(range(9))


def test_no_more_parts_are_begun_than_may_wait_for_their_turn() -> None:
    begun: list[int] = []
    results = crew.in_turn(lambda part: begun.append(part) or part, range(9), 2, 3)
    for taken in range(9):
        assert next(results) == taken
        time.sleep(0.01)
        assert len(begun) <= taken + 3


def test_what_a_part_raises_comes_after_those_begun_have_ended() -> None:
    ended: list[int] = []

    def work(part: int) -> None:
        if part == 1:
            raise ValueError(part)
        time.sleep(0.2 if part == 2 else 0.01)
        ended.append(part)

    with pytest.raises(ValueError, match="1"):
        list(crew.in_turn(work, range(9), 2, 3))
    assert sorted(ended) == [0, 2, 3], "the fourth is begun when the first is taken"
    time.sleep(0.1)
    assert len(ended) == 3


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("worth", [0, 10**9])
def test_memory_that_runs_out_counts_nobody_twice(plant, threads, worth):
    torch.set_num_threads(threads)
    plant(passes, "SHARED_WORK", worth)
    task = ImageTask(
        partition=random_partition((8,) * 11),
        network=MLP((1, 4, 4), 3, (6,)),
        engine="batched",
        dtype="float64",
    )
    start, everybody = task.initial_models(2, (), stream_of(0)), torch.arange(11)
    how = {"step_size": 0.1, "momentum": 0.0, "proximal": 0.0, "local_steps": 2}
    trained = task.local_training(start[everybody % 2], None, None, everybody, stream_of(1), **how)[0]
    expected = torch.stack([trained[::2].sum(0), trained[1::2].sum(0)])
    engine, sizes = type(task.chosen_engine), []
    compute = engine.train_clusters

    def scarce(self, start, work):
        sizes.append(len(work.clients))
        if len(work.clients) > 1:
            raise MemoryError
        return compute(self, start, work)

    plant(engine, "train_clusters", scarce)
    with pytest.warns(RuntimeWarning, match="clients at a time; going on with"):
        found = task.cluster_training(
            start, None, everybody, everybody % 2, stream_of(1), stream_of(2), weights=None, **how
        )[1]
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
    assert sizes.count(1) >= 11
