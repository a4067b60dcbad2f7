"""The digest of a source: everything below a package, and the libraries that decide on the bits."""

from importlib import metadata
from pathlib import Path

import pytest

from clusterproof.tables.machine.source import source_digest


def test_a_digest_is_of_all_modules_below_and_of_the_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = tmp_path / "deep_source" / "room"
    below.mkdir(parents=True)
    for place in (below.parent, below):
        (place / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))

    def digest() -> str:
        source_digest.cache_clear()
        return source_digest(("deep_source",))

    digests = [digest()]
    (below / "module.py").write_text("x = 1\n", encoding="utf-8")
    digests.append(digest())
    (below / "module.py").write_text("x = 2\n", encoding="utf-8")
    digests.append(digest())
    true = metadata.version
    for library in ("numpy", "scipy"):
        monkeypatch.setattr(
            metadata, "version", lambda name, own=library: "0.0" if name == own else true(name)
        )
        digests.append(digest())
    monkeypatch.setattr(metadata, "version", true)
    assert len(set(digests)) == 5
    assert digest() == digests[2]
