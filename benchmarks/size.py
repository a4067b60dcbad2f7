"""Size of the program: lines of code, all lines and the docstrings' share by package, data files, skipped formatting.

``python -m benchmarks.size``, or ``make size``. Lines of code are those without docstrings, comments and blank lines.
Symbolic links are not followed.
"""

from __future__ import annotations

import ast
import io
import os
import re
import tokenize
from collections.abc import Iterator
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


def count_lines(text: str) -> tuple[int, int, int]:
    """Return the lines of code, all lines and the lines of docstrings of a module."""
    code, documented = set(), set()
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
    return len(code - documented), len(text.splitlines()), len(documented)


def files_below(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder that is no link, without hidden folders and those of tools."""
    for place, names, files in os.walk(folder):
        names[:] = sorted(
            name for name in names if name[0] not in "._" and not (Path(place) / name).is_symlink()
        )
        yield from (path for name in files if not (path := Path(place) / name).is_symlink())


def main() -> None:
    """Print a row for each folder with Python files, one for all but the tests, and the rest."""
    print(f"{'folder':<16}{'code':>8}{'lines':>8}{'docstrings':>12}{'data files':>12}")
    total, skipped = [0, 0, 0, 0], 0
    for folder in sorted(ROOT.iterdir()):
        if not folder.is_dir() or folder.is_symlink() or folder.name[0] == "." or folder.name == "dist":
            continue
        paths = list(files_below(folder))
        texts = [path.read_text(encoding="utf-8") for path in paths if path.suffix == ".py"]
        if not texts:
            continue
        row = [sum(column) for column in zip(*map(count_lines, texts), strict=True)]
        row.append(sum(path.suffix not in (".py", ".pyi", ".pyc", ".md") for path in paths))
        skipped += sum(len(SKIPPED.findall(text)) for text in texts)
        total = [sum(pair) for pair in zip(total, row, strict=True)] if folder.name != "tests" else total
        print_row(folder.name, row)
    print_row("all but tests", total)
    print(f"fmt: skip and fmt: off: {skipped}, at most {SKIPPED_AT_MOST}")


def print_row(name: str, row: list[int]) -> None:
    """Print one row."""
    code, lines, documented, data = row
    print(f"{name:<16}{code:8d}{lines:8d}{documented / max(lines, 1):12.0%}{data:12d}")


if __name__ == "__main__":
    main()
