"""What the site shows of stored reports: their verdicts by id, and one line where a file is no report."""

import json
from pathlib import Path

import pytest

from clusterproof.algorithms import InvalidArgument
from clusterproof.theory.stored_verdicts import read_verdicts


@pytest.mark.parametrize(
    "content", [None, "{", "3", "[3]", "{}x", json.dumps([{"verdict": "violated"}]), json.dumps([["claim"]])]
)
def test_a_file_that_is_no_report_is_refused(content: str | None, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidArgument, match="clusterproof check --all --json") as refusal:
        read_verdicts(path)
    assert refusal.value.argument == "verdicts"
