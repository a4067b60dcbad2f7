"""One hypothesis profile for the whole suite: the same examples on every machine and run."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "clusterproof",
    deadline=None,  # tests are not timed
    derandomize=True,
    database=None,
    print_blob=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("clusterproof")


@pytest.fixture
def registry() -> Iterator[dict[str, object]]:
    """The registry of claims, empty for the claims that a test makes."""
    from theory import REGISTRY

    known = dict(REGISTRY)
    REGISTRY.clear()
    yield REGISTRY
    REGISTRY.clear()
    REGISTRY.update(known)
