"""The site, built once: that of ``CLUSTERPROOF_SITE``, or one with a single lesson."""

import os
import warnings
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if given := os.environ.get("CLUSTERPROOF_SITE"):
        return Path(given).resolve()
    from clusterproof.notes.site import build

    out = tmp_path_factory.mktemp("site")
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # Sphinx's own extensions use what it will remove
        assert build(out, lessons=("lesson_4_false_lemma",)) == []
    return out
