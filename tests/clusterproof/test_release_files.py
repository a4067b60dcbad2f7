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
VERSIONS = dict(re.findall(r"(?m)^([\w.-]+)==(.+)$", (ROOT / "constraints.txt").read_text(encoding="utf-8")))


def test_workflows_call_targets_that_exist() -> None:
    called = {name for text in WORKFLOWS.values() for name in re.findall(r"run: make ([\w-]+)", text)}
    assert called <= set(re.findall(r"(?m)^([\w-]+):", MAKEFILE))


def test_every_supported_python_is_tried() -> None:
    assert PROJECT["requires-python"] == ">=3.11"
    matrices = [line for text in WORKFLOWS.values() for line in re.findall(r"python: \[(.*)\]", text)]
    assert set(matrices) == {'"3.11", "3.12", "3.13", "3.14"'}


def test_the_hooks_are_of_the_version_that_make_lint_uses() -> None:
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert re.findall(r"rev: v(\S+)", hooks) == [VERSIONS["ruff"]]
    assert re.findall(r"id: (\S+)", hooks) == ["ruff-check", "ruff-format"]


def test_every_library_that_is_asked_for_has_its_version() -> None:
    requirements = [*PROJECT["dependencies"], *chain(*PROJECT["optional-dependencies"].values())]
    names = {re.split(r"[><\[]", requirement)[0] for requirement in requirements} - {"clusterproof"}
    # Flower's extra has an environment of its own, whose versions exclude ours
    deploy = (ROOT / "constraints-deploy.txt").read_text(encoding="utf-8")
    pinned = {**VERSIONS, **dict(re.findall(r"(?m)^([\w.-]+)==(.+)$", deploy))}
    known = {name.lower().replace("_", "-") for name in pinned}
    assert {name.lower().replace("_", "-") for name in names} <= known


def test_the_citation_has_the_projects_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"(?m)^version: (.+)$", citation) == [PROJECT["version"]]
    assert f"## {PROJECT['version']}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
