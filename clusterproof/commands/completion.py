"""Names that a shell completes, read when the user presses Tab."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def claims(_: Any) -> Iterable[str]:
    """Return the ids of all claims."""
    from clusterproof.theory.report.stored_verdicts import recorded_ids

    return recorded_ids()


def papers(context: Any) -> Iterable[str]:
    """Return the names of the papers."""
    return dict.fromkeys(name.partition("/")[0] for name in claims(context))


def definitions(_: Any) -> Iterable[str]:
    """Return the algorithms that an implementation can be compared with."""
    from clusterproof.conformance import DEFINITIONS

    return list(DEFINITIONS)


def data_sets(_: Any) -> Iterable[str]:
    """Return the names of the data sets."""
    from clusterproof.neural.data.loading import DATASETS

    return list(DATASETS)


def figures(_: Any) -> Iterable[str]:
    """Return the names of the figures."""
    from clusterproof.figures import FIGURES

    return list(FIGURES)
