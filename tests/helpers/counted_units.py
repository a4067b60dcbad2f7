"""Functions of units that count how often they are computed, by a line in a file."""

import time
from pathlib import Path


def square(number: int, log: str, seconds: float = 0.0) -> int:
    time.sleep(seconds)
    with Path(log).open("a", encoding="utf-8") as file:
        file.write(f"{number}\n")
    return number * number


def in_two_parts(folder: Path) -> str:
    """Store the first part and fail; if it is stored, return it."""
    first = folder / "first"
    if not first.exists():
        folder.mkdir(parents=True)
        first.write_text("kept", encoding="utf-8")
        raise RuntimeError("interrupted")
    return first.read_text(encoding="utf-8")


def fails(number: int) -> int:
    raise ValueError(f"no {number}")


def exits(number: int) -> int:
    raise SystemExit(number)
