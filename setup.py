"""Maps the repository's folders to one package: each top folder is a subpackage of ``clusterproof``."""

from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).parent
NO_SUBPACKAGES = ("benchmarks", "clusterproof")  # not installed; the package itself

folders = {"clusterproof": "clusterproof"}
for module in sorted(ROOT.glob("*/__init__.py")):
    if (name := module.parent.name) not in NO_SUBPACKAGES:
        folders[f"clusterproof.{name}"] = name

packages = [
    package
    for dotted, folder in folders.items()
    for package in (dotted, *(f"{dotted}.{name}" for name in find_packages(str(ROOT / folder))))
]


def data_files(folder: Path) -> list[str]:
    """List what commands and type checkers read beside the modules, without what tools keep there for themselves."""
    paths = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file()]
    return [
        path.as_posix()
        for path in paths
        if path.suffix not in (".py", ".pyc") and not any(part.startswith((".", "__")) for part in path.parts)
    ]


setup(
    packages=packages,
    package_dir=folders,
    package_data={dotted: data_files(ROOT / folder) for dotted, folder in folders.items()},
)
