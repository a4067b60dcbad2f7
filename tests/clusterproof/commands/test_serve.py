"""The agent's door, opened by the official SDK's own client: right answers, mistakes, and calls that are cancelled."""

import json
import os
import re
import sys
import time
from collections.abc import Awaitable, Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import anyio
import pytest
from checkout import ROOT
from command_line import refused
from mcp import StdioServerParameters, stdio_client
from mcp.client.client import Client
from mcp_types import CallToolResult

from clusterproof.commands.application import main

HEAD = """\
from fractions import Fraction
from clusterproof.theorem import Q, Sides, at_most, claim
"""
LEMMA = """
@claim("agent/{name}")
def {name}(x: Fraction = Q[0:1:8], y: Fraction = Q[0:1:8]) -> Sides:
    '''{factor} x y <= x^2 + y^2.'''
    return at_most({factor} * x * y, squares=x**2 + y**2)
"""
FALSE, TRUE = (HEAD + LEMMA.format(name="young", factor=factor) for factor in ("3", "2"))
OWN = (ROOT / "examples/paper-repository/our_fedavg.py").read_text(encoding="utf-8")
Door = Callable[..., Awaitable[CallToolResult]]


def session(visit: Callable[[Door], Awaitable[None]], folder: Path) -> None:
    """Start a server in a folder, visit it by the SDK's client, and require that it ends by itself."""
    variables = {"PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
    parameters = StdioServerParameters(
        command=sys.executable, args=["-P", "-m", "clusterproof", "serve"], env=variables, cwd=folder
    )

    async def visited() -> None:
        async with Client(stdio_client(parameters)) as client:
            listed = (await client.list_tools()).tools
            assert [tool.name for tool in listed] == ["check", "show", "run", "conform", "improve"]

            async def door(tool: str, /, **arguments: Any) -> CallToolResult:
                return await client.call_tool(tool, arguments)

            await visit(door)

    anyio.run(visited)


def summary(answer: CallToolResult) -> str:
    """Return the first text of an answer, which is one line unless several claims failed."""
    return answer.content[0].text


def record(answer: CallToolResult) -> dict[str, Any]:
    assert answer.is_error is False, summary(answer)
    assert "\n" not in summary(answer)
    assert answer.structured_content is not None
    return answer.structured_content


def verdicts(answer: CallToolResult) -> dict[str, str]:
    return {each["claim"]: each["verdict"] for each in record(answer)["claims"]}


def is_mistake(answer: CallToolResult, *words: str) -> None:
    assert answer.is_error is True, summary(answer)
    assert answer.structured_content is None
    assert [word for word in words if word not in summary(answer)] == [], summary(answer)
    assert "Traceback" not in summary(answer)


def test_other_commands_need_no_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A mistyped command lists all of them; only serve itself names the extra."""
    for name in [name for name in sys.modules if name.partition(".")[0] in ("mcp", "mcp_types")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "clusterproof.commands.agent_tools", raising=False)
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert "check" in refused(capsys, "chek")
    assert "agent" in refused(capsys, "serve")


def test_options_are_read_where_pydantic_is_imported() -> None:
    """Cyclopts then holds defaults against annotations, and some are words."""
    assert "pydantic" in sys.modules
    for algorithm in ("ifca", "fedbcd"):
        assert main(["run", algorithm, "--rounds", "1"]) == 0


def test_a_false_lemma_is_refuted_and_a_mistake_is_an_answer(tmp_path: Path) -> None:
    async def visit(door: Door) -> None:
        is_mistake(await door("check", text=f"{HEAD}x = ("), "text.py, line 3", "never closed")
        answer = await door("check", text=FALSE)
        assert verdicts(answer) == {"agent/young": "violated"}
        x, y = (Fraction(record(answer)["claims"][0]["counterexample"][name]) for name in "xy")
        assert 3 * x * y > x**2 + y**2
        assert summary(answer).startswith("1 violated. agent/young is violated: at x = ")

    session(visit, tmp_path)
    assert not (tmp_path / "cache").exists()  # nothing of a text stays


@pytest.mark.slow(reason="a session of twenty calls")
def test_a_session_of_twenty_calls_of_which_five_are_wrong(tmp_path: Path) -> None:
    kept = str(tmp_path / "evidence")
    Path(tmp_path, "lemma.py").write_text(TRUE, encoding="utf-8")
    answers: list[CallToolResult] = []

    async def visit(door: Door) -> None:
        async def ask(tool: str, /, **arguments: Any) -> CallToolResult:
            answers.append(await door(tool, **arguments))
            return answers[-1]

        first = await ask("check", text=FALSE)
        assert verdicts(first) == {"agent/young": "violated"}
        is_mistake(await ask("check", text=TRUE.replace("return", "retrun")), "text.py, line 7")
        assert verdicts(await ask("check", text=TRUE, evidence=kept)) == {"agent/young": "certified"}
        (written,) = Path(kept).iterdir()
        (evidence,) = json.loads(written.read_text(encoding="utf-8"))["evidence"]
        assert (evidence["claim"], evidence["rule"]) == ("agent/young", "squares")
        assert verdicts(await ask("check", path="lemma.py")) == {"agent/young": "certified"}
        is_mistake(await ask("check"), "text", "path")
        assert verdicts(await ask("show", path="lemma.py")) == {"agent/young": "certified"}
        both = await ask("check", text=FALSE + LEMMA.format(name="weaker", factor=1))
        assert verdicts(both) == {"agent/young": "violated", "agent/weaker": "certified"}
        assert summary(both).startswith("1 violated, 1 certified. agent/young is violated")

        page = await ask("show", name="cfl-mgd/lemma-2")
        assert record(page)["claims"][0]["verdict"] == "violated"
        assert "Repaired by" in page.content[1].text
        own = await ask("show", text=FALSE)
        assert "3 > 2" in own.content[1].text
        assert record(own)["claims"] == record(first)["claims"]  # the same facts
        is_mistake(await ask("check", text="import os\nos._exit(0)"), "exit status 0", "remove")
        is_mistake(
            await ask("check", text=TRUE.replace("2 * x", "2 / x")), "text.py, line 7", "x = 0", "again"
        )

        run = await ask("run", algorithm="fedavg", options={"rounds": 5, "step-size": 0.5})
        assert record(run)["settings"]["rounds"] == 5
        assert record(run)["settings"]["algorithm"]["step_size"] == 0.5
        assert run.content[1].text.startswith(summary(run))
        is_mistake(await ask("run", algorithm="fedavg", options={"roundz": 5}), "--roundz", "--rounds")
        assert record(await ask("run", algorithm="ifca"))["cluster_count"] == 3

        right = await ask("conform", implementation="OurFedAvg", algorithm="fedavg", text=OWN)
        assert record(right)["verdict"] == "conforms"
        wrong = OWN.replace("model -= ", "model -= 2 * ")
        for place in ({"text": wrong}, {"implementation": "wrong.py:OurFedAvg"}):
            (tmp_path / "wrong.py").write_text(wrong, encoding="utf-8")
            given = {"implementation": "OurFedAvg", "algorithm": "fedavg"} | place
            differs = await ask("conform", **given)
            assert record(differs)["verdict"] == "differs"
            assert "runs" not in record(differs)
        settings = {"weighting": "clients"}
        other = await ask(
            "conform", implementation="OurFedAvg", algorithm="fedavg", text=OWN, settings=settings
        )
        assert record(other)["verdict"] == "variant"

        loud = await ask("check", text=f"{FALSE}\nprint('{{}}')\nimport os\nos.write(1, b'x')")
        again = await ask("check", text=FALSE)
        for answer in (loud, again):  # printing breaks no message, and the same text has the same facts
            assert record(answer)["claims"] == record(first)["claims"]
        assert {*record(again)["sources"]} == {"text.py"}
        assert "load_claims('text.py')" in record(again)["claims"][0]["code"]

    session(visit, tmp_path)
    assert len(answers) == 20
    assert sum(answer.is_error or False for answer in answers) == 5


@pytest.mark.slow(reason="proves a lemma")
def test_the_session_of_the_page_is_answered_as_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs/how-to/agent.md").read_text(encoding="utf-8")
    steps = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)\n```", page, flags=re.DOTALL)
    (false, wrong, right), printed = zip(*steps, strict=True)
    assert "New file `contraction.py`:\n\n```python" in page
    (tmp_path / "contraction.py").write_text(right, encoding="utf-8")

    async def visit(door: Door) -> None:
        answers = [await door("check", text=text) for text in (false, wrong)]
        answers.append(await door("check", path="contraction.py", evidence="evidence"))
        for answer, line in zip(answers, printed, strict=True):
            assert line in summary(answer)
        assert [answer.is_error for answer in answers] == [False, True, False]

    session(visit, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["check", "contraction.py", "--replay", "--evidence", "evidence"]) == 0
    assert "evidence for 1 line: 1 certified" in capsys.readouterr().out


BUSY = """
import os, subprocess, sys, time
started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
with open({file!r}, "w") as file:
    file.write(f"{{os.getpid()}} {{started.pid}}")
while True:
    pass
"""
TURN = """
import time
for word in ("begin", "end"):
    with open({file!r}, "a") as file:
        file.write(word + "\\n")
    time.sleep(0.3)
"""


def has_ended(process: int) -> bool:
    """Return whether a process has ended; a zombie has."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    status = Path(f"/proc/{process}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z"


def wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.slow(reason="starts a server, waits for processes")
def test_a_cancelled_call_ends_its_processes_and_one_call_runs_at_a_time(tmp_path: Path) -> None:
    busy, turns = tmp_path / "processes", tmp_path / "turns"

    async def visit(door: Door) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: door("check", text=BUSY.format(file=str(busy))))
            await anyio.to_thread.run_sync(wait_until, lambda: busy.exists() and " " in busy.read_text())
            tasks.cancel_scope.cancel()
        for process in map(int, busy.read_text().split()):
            await anyio.to_thread.run_sync(wait_until, lambda process=process: has_ended(process))
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(lambda: door("check", text=TURN.format(file=str(turns))))
        assert turns.read_text().split() == ["begin", "end"] * 3
        assert verdicts(await door("check", text=FALSE)) == {"agent/young": "violated"}

    session(visit, tmp_path)


@pytest.mark.slow(reason="starts a server, waits for processes")
def test_a_call_ends_when_the_client_goes_away(tmp_path: Path) -> None:
    busy = tmp_path / "processes"

    async def visit(door: Door) -> None:
        with anyio.move_on_after(0.01):  # until it is sent
            await door("check", text=BUSY.format(file=str(busy)))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: door("check", text=BUSY.format(file=str(busy))))
            await anyio.to_thread.run_sync(wait_until, lambda: busy.exists() and " " in busy.read_text())
            raise ConnectionAbortedError

    with pytest.raises(BaseExceptionGroup):
        session(visit, tmp_path)
    first = int(busy.read_text().split()[0])
    wait_until(lambda: has_ended(first))
