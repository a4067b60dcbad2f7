"""Two hypothesis profiles for the whole suite: the same examples on every machine and run."""

import functools
import gc
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, settings
from planting import planted
from tiers import LARGE

for profile, count in (("clusterproof", LARGE // 2), ("large", LARGE)):
    settings.register_profile(
        profile,
        max_examples=count,
        deadline=None,  # tests are not timed
        derandomize=True,
        database=None,
        print_blob=False,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
settings.load_profile("clusterproof")


@pytest.fixture(scope="session", autouse=True)
def digits_are_read_once() -> Iterator[None]:
    """Keep the table of scikit-learn's digits, which takes longer to read than many a training run."""
    from clusterproof.neural.data import catalogue as digits

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(digits, "_table", functools.cache(digits._table))
        yield


@pytest.fixture(autouse=True)
def files_of_other_tests_are_not_read() -> None:
    """Forget the files that other tests have opened: a sweep takes the digest of each, also of a sparse terabyte."""
    from clusterproof import opened_files

    opened_files._opened.clear()


@pytest.fixture(scope="session", autouse=True)
def user_files_run_in_this_process() -> Iterator[None]:
    """Let ``main`` carry out ``check FILE.py`` and ``conform`` without a child, whose imports take a second."""
    from clusterproof.commands import child_process

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(child_process, "is_child", True)
        yield


@pytest.fixture(scope="session", autouse=True)
def verdicts_are_kept_outside_the_users_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the verdicts on claims of files in a folder of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def no_line_tells_how_far_a_slow_command_is() -> Iterator[None]:
    """Write no progress to standard error: on a slow machine there would be lines that a fast one does not write."""
    from clusterproof.commands import terminal

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(terminal, "PAUSE", 3600.0)
        yield


@pytest.fixture(scope="session", autouse=True)
def the_catalogue_is_there() -> None:
    """Load the papers before a test replaces the registry, whose claims would be gone with the replacement."""
    from clusterproof import checker

    checker.catalogue()


@pytest.fixture(autouse=True)
def claims_of_a_test_end_with_it(
    request: pytest.FixtureRequest, the_catalogue_is_there: None
) -> Iterator[None]:
    """Forget the claims that a test has stated, unless its module keeps them, for other tests read the registry."""
    from clusterproof.checker import REGISTRY

    with nullcontext() if "claims_of_files" in request.fixturenames else patch.dict(REGISTRY):
        yield


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, object]]:
    """The registry of claims, empty for the claims that a test makes, which worker processes would not know."""
    from clusterproof.checker import REGISTRY

    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    with patch.dict(REGISTRY, clear=True):
        yield REGISTRY


@pytest.fixture(scope="module")
def claims_of_files() -> Iterator[None]:
    """Let the tests of a module load files of claims, and forget them when they are done."""
    from clusterproof.checker import REGISTRY

    with patch.dict(REGISTRY):
        yield


@pytest.fixture
def plant() -> Iterator[Callable[..., Any]]:
    """Replace a part of ours until the test ends; returns the true one (``planting.planted``)."""
    with ExitStack() as stack:
        yield lambda *seam, **scope: stack.enter_context(planted(*seam, **scope))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a test that is marked slow without a reason."""
    for item in items:
        for mark in item.iter_markers("slow"):
            if not mark.kwargs.get("reason"):
                raise pytest.UsageError(f'{item.nodeid}: write @pytest.mark.slow(reason="...")')


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over the tests and the modules, which stay to the end."""
    gc.collect()
    gc.freeze()
    # full collections at the usual threshold, 10, take a tenth of the time of the tests
    gc.set_threshold(700, 10, 1000)


def pytest_configure(config: pytest.Config) -> None:
    """Let Ctrl-C interrupt, too, where a shell has started the tests in the background; share the cores."""
    # threads of linear algebra in every worker, or for the small arrays of tests, only wait for one another
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
