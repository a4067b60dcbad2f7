"""A person who waits for a slow test is told which it is and what it is at; of a quick one nothing is said."""

import io
import re
import time

import pytest
import slow_tests
from command_line import ROOT


def test_a_line_names_the_test_and_what_it_is_at() -> None:
    terminal = io.StringIO()
    with slow_tests.watched("tests/test_page.py::test_it", terminal, pause=0.02):
        slow_tests.doing = "line 3 of 12: clusterproof check"
        until = time.monotonic() + 10
        while not terminal.getvalue().count("\n\n") and time.monotonic() < until:
            time.sleep(0.01)
    assert (
        "tests/test_page.py::test_it: 0 s so far, line 3 of 12: clusterproof check\n" in terminal.getvalue()
    )


@pytest.mark.parametrize("target", ["check", "docs"])
def test_make_says_first_how_long_it_takes(target: str) -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    first = re.search(rf"^{target}: (\S+)", text, re.MULTILINE)
    assert first is not None
    said = re.search(rf"^{first[1]}:\n\t@echo (.*)", text, re.MULTILINE)
    assert said is not None
    assert re.search("minutes?", said[1])


def test_nothing_is_said_of_a_quick_test() -> None:
    terminal = io.StringIO()
    with slow_tests.watched("tests/test_page.py::test_it", terminal):
        pass
    assert terminal.getvalue() == ""
