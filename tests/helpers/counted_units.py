"""Functions of units that count how often they are computed, by a line in a file."""

import time
from pathlib import Path


def square(number: int, log: str, seconds: float = 0.0) -> int:
    time.sleep(seconds)
    with Path(log).open("a", encoding="utf-8") as file:
        file.write(f"{number}\n")
    return number * number


def fails(number: int) -> int:
    raise ValueError(f"no {number}")


def exits(number: int) -> int:
    raise SystemExit(number)
