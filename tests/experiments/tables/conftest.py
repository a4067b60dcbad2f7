"""What several tables' tests share."""

from collections.abc import Iterator

import pytest
from planting import planted

from clusterproof.experiments.tables import training_run
from clusterproof.experiments.tables.gradient_loss import figures_4_and_5
from clusterproof.neural.data import loading


@pytest.fixture
def without_data() -> Iterator[None]:
    """As if all data sets were there; nothing is trained on them."""
    with (
        planted(training_run, "require_data", lambda name: None),
        planted(loading, "load", lambda name: type("Set", (), {"note": ""}), within=figures_4_and_5.__name__),
    ):
        yield
