"""The lessons run as scripts, answer their sliders quickly, and have all their parts."""

import importlib
import itertools
import re
import subprocess
import sys
import time

import pytest
from checkout import CLEAN, ROOT

LESSONS = [path.stem for path in sorted((ROOT / "notes/lessons").glob("lesson_*.py"))]
PARTS = (
    "**The question.**",
    "## The statement",
    "## Proof sketch",
    "## In code",
    "## The figure",
    "## Exercises",
    "**1. By",
    "**2. State it and falsify it.**",
    "## What breaks when an assumption is dropped",
)


def test_there_are_eight() -> None:
    assert [name.split("_")[1] for name in LESSONS] == [str(number) for number in range(1, 9)]


SCRIPT = """
import runpy, sys, warnings
warnings.filterwarnings("error", module="clusterproof|__main__")
for name in sys.argv[1:]:
    print("<<<", name)
    runpy.run_path(name, run_name="__main__")
"""
"""All in one process of their own: they share what takes long to import, and their claims stay out of ours."""


@pytest.fixture(scope="module")
def printed() -> dict[str, str]:
    """What each lesson prints when it runs as a script."""
    paths = [ROOT / "notes/lessons" / f"{name}.py" for name in LESSONS]
    command = [sys.executable, "-c", SCRIPT, *paths]
    done = subprocess.run(command, capture_output=True, text=True, env=CLEAN, timeout=600)
    assert done.returncode == 0, done.stderr
    return dict(zip(LESSONS, done.stdout.split("<<<")[1:], strict=True))


@pytest.mark.parametrize("name", LESSONS)
def test_it_runs_as_a_script_and_its_false_statement_is_refuted(name: str, printed: dict[str, str]) -> None:
    assert re.search(r"(?m)^violated -- at ", printed[name]), printed[name]


@pytest.mark.parametrize("name", LESSONS)
def test_it_has_every_part_and_short_code(name: str) -> None:
    text = (ROOT / "notes/lessons" / f"{name}.py").read_text(encoding="utf-8")
    places = [text.find(part) for part in PARTS]
    assert -1 not in places, name
    assert places == sorted(places), name
    assert text.count("<summary>Solution</summary>") == 2
    shown = re.findall(
        r"@app\.(?:cell|function)\n((?:@\w+\n)?def .*?)(?=\n\n\n@app|\n\n\nif __name__)", text, re.S
    )
    assert shown
    assert max(len(code.strip().splitlines()) for code in shown) <= 22  # a cell's own two lines and twenty


@pytest.mark.parametrize("name", LESSONS)
def test_its_sliders_answer_in_half_a_second_and_the_sentence_changes(name: str) -> None:
    lesson = importlib.import_module(f"clusterproof.notes.lessons.{name}")
    positions = list(itertools.product(*lesson.SLIDERS.values()))
    first, last = (dict(zip(lesson.SLIDERS, values, strict=True)) for values in (positions[0], positions[-1]))
    assert lesson.describe(**first) != lesson.describe(**last)
    middle = dict(zip(lesson.SLIDERS, positions[len(positions) // 2], strict=True))
    lesson.picture(**first).draw_without_rendering()  # what is loaded or computed once
    seconds = []
    for _ in range(3):  # other tests have the cores, too
        started = time.process_time()
        lesson.picture(**middle).draw_without_rendering()
        seconds.append(time.process_time() - started)
    assert min(seconds) < 0.5
