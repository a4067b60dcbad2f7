"""The lessons run, their sliders change the figure's sentence, and their plans for a class quote what they print."""

import ast
import itertools
import re
import sys
from pathlib import Path

import pytest
from checkout import ROOT

from docs.site import lessons

LESSONS = {
    path.stem.split("_")[1]: path.stem
    for path in sorted((ROOT / "docs/tutorials/lessons").glob("lesson_*.md"))
}


def plans() -> dict[str, str]:
    """Return the plan of each lesson by the lesson's number."""
    page = (ROOT / "docs/how-to/teach.md").read_text(encoding="utf-8")
    (section,) = [text for text in page.split("\n## ") if text.startswith("Plans for a class")]
    return dict(re.findall(r"(?ms)^### Lesson (\d+): (.*?)(?=^### |\Z)", section))


def positions_named(text: str) -> dict[str, list[float]]:
    """Return the slider values that a text names, such as `momentum = 0.6`, by slider."""
    named: dict[str, list[float]] = {}
    for slider, value in re.findall(r"`(\w+) = ([^`]*)`", text):
        named.setdefault(slider, []).append(ast.literal_eval(value))
    return named


def test_every_lesson_has_a_plan_whose_slider_values_are_its_own() -> None:
    assert list(plans()) == sorted(LESSONS, key=int)
    for number, plan in plans().items():
        text = (ROOT / f"docs/tutorials/lessons/{LESSONS[number]}.md").read_text(encoding="utf-8")
        (sliders,) = re.findall(r"(?ms)^SLIDERS = (\{.*?\})$", text)
        known, named = ast.literal_eval(sliders), positions_named(plan)
        assert set(named) == set(known), number
        assert all(set(values) <= set(known[slider]) for slider, values in named.items()), number
        minutes = map(int, re.findall(r"(?m)^\d\. \*[^*]+ \((\d+)\)\.\*", plan))
        assert 4 <= len(re.findall(r"(?m)^\d\. ", plan)) <= 6, number
        assert 35 <= sum(minutes) <= 45, number


@pytest.mark.slow(reason="runs every lesson")
@pytest.mark.parametrize("number", LESSONS)
def test_a_lesson_refutes_its_false_statement_and_its_sliders_give_what_its_plan_quotes(
    number: str,
    claims_of_files: None,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """The lesson uses the functions of the run, which keep their results. It is converted in this process."""
    from marimo.__main__ import main as marimo

    monkeypatch.setattr(
        "marimo._cli.utils.stdout", sys.__stdout__
    )  # marimo keeps the stdout of the first test
    monkeypatch.setattr(
        lessons, "_marimo", lambda *words: marimo(["-q", *map(str, words)], standalone_mode=False)
    )
    _, names = lessons.module_of(ROOT / f"docs/tutorials/lessons/{LESSONS[number]}.md", tmp_path).app.run()
    assert re.search(r"(?m)^violated -- at ", capsys.readouterr().out)
    describe, sliders = names["describe"], names["SLIDERS"]
    first, last = ({slider: values[end] for slider, values in sliders.items()} for end in (0, -1))
    assert describe(**first) != describe(**last)
    assert names["picture"](**last).axes
    (step,) = re.findall(r"(?ms)^\d\. \*Figure.*?(?=^\d\. )", plans()[number])
    named = positions_named(step)
    said = [
        describe(**dict(zip(named, values, strict=True))) for values in itertools.product(*named.values())
    ]
    printed = {float(value) for sentence in said for value in re.findall(r"\d+\.\d+", sentence)}
    quoted = {float(value) for value in re.findall(r"\d+\.\d+", re.sub(r"`[^`]*`", "", step))}
    assert quoted <= printed
