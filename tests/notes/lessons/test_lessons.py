"""The lessons run as scripts, and their sliders change the figure's sentence."""

import importlib
import subprocess
import sys

import pytest
from checkout import CLEAN, ROOT

LESSONS = [path.stem for path in sorted((ROOT / "notes/lessons").glob("lesson_*.py"))]

SCRIPT = """
import pathlib, runpy, sys, warnings
warnings.filterwarnings("error", module="clusterproof|__main__")
sys.path.insert(0, str(pathlib.Path(sys.argv[1]).parent))  # as for a script
for name in sys.argv[1:]:
    print("<<<", name)
    runpy.run_path(name, run_name="__main__")
"""
"""All in one process of their own: they share what takes long to import, and their claims stay out of ours."""


@pytest.mark.slow(reason="runs every lesson as a script")
def test_lessons_run_as_scripts_and_their_false_statements_are_refuted() -> None:
    paths = [ROOT / "notes/lessons" / f"{name}.py" for name in LESSONS]
    command = [sys.executable, "-c", SCRIPT, *paths]
    done = subprocess.run(command, capture_output=True, text=True, env=CLEAN, timeout=600)
    assert done.returncode == 0, done.stderr
    for name, printed in zip(LESSONS, done.stdout.split("<<<")[1:], strict=True):
        assert "\nviolated -- at " in printed, name


@pytest.mark.slow(reason="runs every lesson twice")
@pytest.mark.parametrize("name", LESSONS)
def test_its_sliders_change_the_sentence_and_draw(name: str, claims_of_files: None) -> None:
    lesson = importlib.import_module(name)
    first, last = ({slider: values[end] for slider, values in lesson.SLIDERS.items()} for end in (0, -1))
    assert lesson.describe(**first) != lesson.describe(**last)
    assert lesson.picture(**last).axes
