"""The site, built once: that of ``CLUSTERPROOF_SITE``, or one with two lessons."""

import os
import warnings
from pathlib import Path

import pytest

LESSONS = ("lesson_0_clients_and_clusters", "lesson_4_false_lemma")


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if given := os.environ.get("CLUSTERPROOF_SITE"):
        return Path(given).resolve()
    from clusterproof.commands.application import app
    from notes.site.build import build

    out = tmp_path_factory.mktemp("site")
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # Sphinx's own extensions use what it will remove
        help_pages = app.generate_docs(output_format="markdown")
        assert build(out, command_line=help_pages, lessons=LESSONS) == []
    return out
