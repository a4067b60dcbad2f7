"""What several tables' tests share."""

from collections.abc import Iterator

import pytest
from planting import planted

from clusterproof.neural.data import loading
from clusterproof.tables import training_run


@pytest.fixture
def without_data() -> Iterator[None]:
    """As if all data sets were there; nothing is trained on them."""
    room = "clusterproof.tables.gradient_loss"
    with (
        planted(training_run, "require_data", lambda name: None),
        planted(loading, "load", lambda name: type("Set", (), {"note": ""}), within=room),
    ):
        yield
