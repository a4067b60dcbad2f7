"""A claim that is judged as transcribed has its verdict where it is named, and is in no count, list or figure."""

import json
from pathlib import Path
from typing import Any

import pytest
from toy_claims import Digit

from clusterproof import theory
from clusterproof.algorithms import InvalidArgument
from clusterproof.commands.application import main
from clusterproof.theory.checker import Family, Sides, at_most


@pytest.fixture
def stated(registry: dict[str, object]) -> None:
    """State one false claim that is judged as transcribed, and one true claim."""

    def claim(x: Digit, allowed: int) -> Sides:
        """A claim."""
        return at_most(x, allowed=allowed)

    @Family("toy", transcribed=True).claim("read", label="(1)", kind="upper")
    def read(x: Digit) -> Sides:
        """A false claim."""
        return claim(x, 8)

    @Family("toy").claim("compared", label="(2)", kind="upper")
    def compared(x: Digit) -> Sides:
        """A true claim."""
        return claim(x, 9)


def test_it_is_in_no_count(stated: None, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    for options in ([], ["--all"], ["--paper", "toy"]):
        assert main(["check", *options, "--json", str(report)]) == 0
        output = capsys.readouterr().out
        assert "toy/read" not in output
        assert "\n1 claim: 1 certified (seed" in output
        assert "without 1 claim judged as transcribed" in output
        assert [one["claim"] for one in json.loads(report.read_text())] == ["toy/compared"]
    assert main(["claims", "--verdict", "violated,certified", "--json", str(report)]) == 0
    assert [one["id"] for one in json.loads(report.read_text())] == ["toy/compared"]


@pytest.mark.parametrize("command", [["show", "toy/read"], ["check", "toy/*"], ["check", "toy/read"]])
def test_it_has_a_verdict_where_it_is_named(
    stated: None, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    assert main(command) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "toy/read violated" in output
    assert "judged as transcribed: at x = 9: 9 > 8" in output
    assert "1 violated" not in output


def test_it_has_no_figure(stated: None) -> None:
    from clusterproof.figures.verdicts import verdict_figure

    verdict: Any = theory.check("toy/read")
    with pytest.raises(InvalidArgument, match="judged as transcribed"):
        verdict_figure(verdict)
