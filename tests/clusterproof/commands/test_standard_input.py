"""A file of claims on standard input: judged as a file is, named -, and kept nowhere."""

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from command_line import command, contents, refused

from clusterproof.checker import REGISTRY
from clusterproof.commands import terminal
from clusterproof.commands.application import main

TEXT = """
from fractions import Fraction
from clusterproof.theorem import Q, Sides, at_most, claim

@claim("standard-input/lemma")
def lemma(x: Fraction = Q[0:1:8]) -> Sides:
    '''x.'''
    return at_most(2 * x, x=x)
"""


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """Put a text on standard input; return the folder of the user's cache."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(request.param.encode())))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    terminal.standard_input.cache_clear()
    with patch.dict(REGISTRY):
        yield tmp_path


@pytest.mark.parametrize("given", [TEXT], indirect=True)
@pytest.mark.parametrize("words", [["-"], ["--verbose", "-"], ["standard-input/lemma", "-"], ["--", "-"]])
def test_a_text_is_judged_and_leaves_nothing(
    given: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", *words]) == 0
    output = capsys.readouterr().out
    assert "standard-input/lemma  violated" in output
    assert "clusterproof show standard-input/lemma -" in output
    assert contents(given) == {}


@pytest.mark.parametrize("given", ["x = 1\ny = ("], indirect=True)
def test_a_mistake_is_named_by_its_line(given: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = refused(capsys, "check", "-")
    assert "'-'" in line
    assert "line 2" in line
    assert "Correct the text" in line


@pytest.mark.parametrize("given", [TEXT], indirect=True)
def test_show_writes_the_record_that_check_writes(given: Path, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("check.json", "show.json")]
    for name, file in zip(("check", "show"), files, strict=True):
        assert main([name, "-", "--json", str(file)]) == 0
    checked, shown = (json.loads(file.read_text(encoding="utf-8")) for file in files)
    assert checked["claims"] == shown["claims"]
    assert {*checked} == {*shown}


@pytest.mark.slow(reason="starts processes")
def test_a_process_reads_its_own_input_and_may_print_to_its_output() -> None:
    done = command("check", "-", "--json", "-", input=TEXT)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["claims"][0]["verdict"] == "violated"
