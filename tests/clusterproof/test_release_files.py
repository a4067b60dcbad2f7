"""What other machines run is what a developer runs: the same targets, versions and Pythons."""

import re
import tomllib
from itertools import chain

from checkout import ROOT

WORKFLOWS = {
    path.name: path.read_text(encoding="utf-8") for path in (ROOT / ".github/workflows").glob("*.yml")
}
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REQUIREMENTS = [*PROJECT["dependencies"], *chain(*PROJECT["optional-dependencies"].values())]


def pins(name: str) -> dict[str, str]:
    """Read the versions of a constraints file, by normalised name."""
    lines = re.findall(r"(?m)^([\w.-]+)==(.+)$", (ROOT / name).read_text(encoding="utf-8"))
    return {library.lower().replace("_", "-"): version for library, version in lines}


VERSIONS = pins("constraints.txt")


def test_workflows_call_targets_that_exist() -> None:
    called = {name for text in WORKFLOWS.values() for name in re.findall(r"run: make ([\w-]+)", text)}
    assert called <= set(re.findall(r"(?m)^([\w-]+):", MAKEFILE))


def test_every_library_that_is_asked_for_has_its_version() -> None:
    names = {re.split(r"[><\[]", requirement)[0].lower() for requirement in REQUIREMENTS} - {"clusterproof"}
    assert names <= VERSIONS.keys()


def test_the_oldest_versions_are_the_declared_ones() -> None:
    declared = dict(re.findall(r"([\w-]+)>=([\w.]+)", "\n".join(REQUIREMENTS).lower()))
    oldest = pins("constraints-oldest.txt")
    declared = {name: version for name, version in declared.items() if name != "torch"}
    different = {
        name for name, version in declared.items() if not f"{oldest[name]}.".startswith(f"{version}.")
    }
    assert different == set()
