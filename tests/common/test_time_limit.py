"""A computation is stopped after its time, and not where the exception would be lost."""

import gc
import signal
import time
import weakref

import pytest

from clusterproof.common.limits import TimeLimitExceeded, time_limit

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there is no such timer")


def busy(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(10_000))  # reading the clock takes the system's time, which is not limited


def test_what_takes_longer_is_stopped_and_nothing_afterwards() -> None:
    handler = signal.getsignal(signal.SIGVTALRM)
    with pytest.raises(TimeLimitExceeded), time_limit(0.02):
        busy(60)
    with time_limit(60):
        busy(0.02)
    busy(0.05)
    assert signal.getsignal(signal.SIGVTALRM) is handler


def test_an_object_that_is_deleted_meanwhile_is_deleted_to_the_end() -> None:
    deleted = []

    class Large:
        def __del__(self) -> None:
            busy(0.1)
            deleted.append(True)

    def use() -> None:
        Large()
        busy(60)

    with pytest.raises(TimeLimitExceeded), time_limit(0.02):
        use()
    assert deleted == [True]


def test_a_weak_reference_that_ends_meanwhile_is_removed_to_the_end() -> None:
    gc.collect()  # what other tests have left is not deleted within the limit
    removed = []

    class Slow(set[object]):
        def discard(self, item: object) -> None:
            busy(0.1)
            removed.append(item)

    known = weakref.WeakSet[type]()
    known.data = Slow()  # type: ignore[attr-defined]
    known.add(type("Short", (), {}))

    def use() -> None:
        gc.collect()
        busy(60)

    with pytest.raises(TimeLimitExceeded), time_limit(0.02):
        use()
    assert len(removed) == 1


@pytest.mark.slow(reason="a second or more")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_exception_that_a_callback_loses_is_raised_again() -> None:
    class Short:
        pass

    objects = [Short()]
    reference = weakref.ref(objects[0], lambda _: busy(0.1))

    def use() -> None:
        objects.clear()
        busy(60)

    with pytest.raises(TimeLimitExceeded), time_limit(0.02):
        use()
    assert reference() is None


def test_waiting_is_stopped_if_it_counts() -> None:
    handler = signal.getsignal(signal.SIGALRM)
    with pytest.raises(TimeLimitExceeded), time_limit(0.02, waiting=True):
        time.sleep(60)
    assert signal.getsignal(signal.SIGALRM) is handler
