"""Size of the program: lines of code, of docstrings and in total by package, data files, and skipped formatting.

``python -m benchmarks.size``, or ``make size``. Only files in git count. Lines of code exclude docstrings, comments and
blank lines.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
SKIPPED = re.compile(r"#\s*fmt:\s*(skip|off)")
SKIPPED_AT_MOST = 30
BLANK = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)
OUTER = ("clusterproof", "tests")
"""Folders with a row for each of their subfolders; other folders have one row."""


def count_lines(text: str) -> Counter[str]:
    """Return a module's lines of ``code``, of ``docstrings`` and in total."""
    code: set[int] = set()
    documented: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in BLANK:
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            documented.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return Counter(code=len(code - documented), docstrings=len(documented), lines=len(text.splitlines()))


def tracked_files() -> list[Path]:
    """Return the files that git tracks, relative to the root, without symbolic links."""
    command = ["git", "ls-files", "-z"]
    try:
        found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        found = ""
    if not found:
        sys.exit(f"{ROOT} is no checkout that git can read: install git, run `git clone`, and count there")
    paths = [ROOT / name for name in found.rstrip("\0").split("\0")]
    return [path.relative_to(ROOT) for path in paths if path.is_file() and not path.is_symlink()]


def row_of(path: Path) -> str:
    """Return the row in which a file is counted."""
    outer, *inner = path.parts
    if outer not in OUTER:
        return outer
    return f"{outer}/{inner[0] if len(inner) > 1 else '*'}"


def main() -> None:
    """Print a row for each package, the sums with and without tests, and the other counts."""
    rows: dict[str, Counter[str]] = {}
    skipped = 0
    for path in tracked_files():
        if len(path.parts) == 1 or path.parts[0].startswith("."):
            continue
        row = rows.setdefault(row_of(path), Counter())
        if path.suffix == ".py":
            text = (ROOT / path).read_text(encoding="utf-8")
            row.update(count_lines(text))
            skipped += len(SKIPPED.findall(text))
        elif path.suffix not in (".pyi", ".md"):
            row["data files"] += 1
    columns = ("code", "docstrings", "lines", "data files")
    print(f"{'':<26}" + "".join(f"{column:>12}" for column in columns))
    rows = {name: rows[name] for name in sorted(rows, key=lambda name: (name.startswith("tests"), name))}
    for total, are_tests in (("all but tests", False), ("tests", True)):
        own = {name: row for name, row in rows.items() if name.startswith("tests") == are_tests}
        for name, row in {**own, total: sum(own.values(), Counter())}.items():
            print(f"{name:<26}" + "".join(f"{row[column]:12d}" for column in columns))
    print(f"fmt: skip and fmt: off: {skipped}, at most {SKIPPED_AT_MOST}")


if __name__ == "__main__":
    main()
