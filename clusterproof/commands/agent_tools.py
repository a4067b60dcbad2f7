"""Tools of the Model Context Protocol with which an agent calls Clusterproof's commands."""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import anyio
from anyio import to_thread
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent
from pydantic import Field

from clusterproof.commands.child_call import RECORD, Answer, Call

INSTRUCTIONS = """\
Clusterproof searches for counterexamples to inequalities and theorems, and proves them exactly where it can.
State a claim as a Python function, whose arguments are quantities with ranges and whose value is the two sides:

from fractions import Fraction
from clusterproof.theorem import Q, Sides, Z, at_most, claim, suppose

@claim("my-paper/lemma-1", label="Lemma 1")
def lemma_1(x: Fraction = Q[-4:4], y: Fraction = Q[-4:4], n: int = Z[1:9]) -> Sides:
    \"\"\"n |x y| <= n (x^2 + y^2) / 2 wherever x > 0.\"\"\"
    suppose("x > 0", x > 0)
    return at_most(n * abs(x * y), bound=n * (x**2 + y**2) / 2)

A verdict is certified (proved), consistent (not refuted on the instances tried), violated (with a counterexample),
vacuous, ill-posed or inconclusive (these decide nothing). Code is executed, with the rights of this server.
"""
NAME = "text.py"
"""Name of the file for Python source that an agent sends as text."""
RESULTS = {"check": {0}, "show": {0}, "run": {0}, "conform": {0, 1, 3, 4}, "improve": {0, 1}}
"""Exit statuses with which each command has a result; any other status is an error."""
PAUSE = 0.01
"""Seconds between two checks whether a process is still running."""

Text = Annotated[str | None, Field(description="Python source, in place of a file; it is executed")]
File = Annotated[str | None, Field(description="Path of a Python file; it is executed")]
Settings = Annotated[dict[str, str | int | float | bool] | None, Field(description="Values by name")]


def server() -> MCPServer[Any]:
    """Return a server with the tools."""
    from clusterproof import __version__

    made: MCPServer[Any] = MCPServer(
        "clusterproof", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING"
    )
    for tool in (check, show, run, conform, improve):
        made.add_tool(tool)
    return made


# ---- tools


async def check(
    text: Text = None,
    path: File = None,
    evidence: Annotated[
        str | None, Field(description="Folder in which verdicts and their evidence are kept, and replayed")
    ] = None,
) -> CallToolResult:
    """Judge the claims of a text or of a file: search for counterexamples, and prove what can be proved.

    The answer is the record of `clusterproof check --json`. For each claim and line, the record gives the verdict, its
    reason, the counterexample as numbers and as code, and how tight the bound is.
    """
    _one_of(text, path)
    async with _Folder(text) as here:
        # without a folder, the evidence would stay in the user's cache
        kept = evidence or (str(here.path / "evidence") if text is not None else None)
        words = [path or here.text, *([f"--evidence={kept}"] if kept else [])]
        return await here.answer("check", words)


async def show(
    name: Annotated[
        str | None,
        Field(description="Id of a claim, such as cfl-mgd/lemma-2; none if the text states one claim"),
    ] = None,
    text: Text = None,
    path: File = None,
) -> CallToolResult:
    """Show a claim of the catalogue, of a text or of a file as a page.

    The page has the statement, the verdict, the counterexample in fractions, the evidence for the verdict, and the
    claim that repairs it. The record is the same as from `check`.
    """
    if text is not None:
        _one_of(text, path)
    async with _Folder(text) as here:
        file = path or (here.text if text is not None else None)
        return await here.answer("show", [each for each in (name, file) if each])


async def run(
    algorithm: Annotated[
        str,
        Field(
            description="Name, such as fedavg; or a class of your own: FILE.py:NAME, or its NAME in the text"
        ),
    ],
    text: Text = None,
    options: Settings = None,
) -> CallToolResult:
    """Run an algorithm on a synthetic task whose optima are known, and compare it with the theorems about it.

    `clusterproof run ALGORITHM --help` lists the options, such as rounds, seed, task, clients, step-size. The answer is
    the record of `--json`, and the page.
    """
    async with _Folder(text) as here:
        words = [f"--{name.replace('_', '-')}={value}" for name, value in (options or {}).items()]
        return await here.answer("run", [here.named(algorithm), *words])


async def conform(
    implementation: Annotated[
        str, Field(description="Your class: FILE.py:NAME, MODULE:NAME, or its NAME in the text")
    ],
    algorithm: Annotated[str, Field(description="Name of the definition, such as scaffold")],
    text: Text = None,
    settings: Settings = None,
) -> CallToolResult:
    """Compare a class with the definition of a federated algorithm, round by round.

    The answer is the report of `clusterproof conform --json` without the numbers of each run: the verdict, the likely
    mistake, the first difference, and every check.
    """
    async with _Folder(text) as here:
        words = [word for name, value in (settings or {}).items() for word in ("--set", f"{name}={value}")]
        return await here.answer("conform", [here.named(implementation), "--as", algorithm, *words])


async def improve(
    name: Annotated[
        str | None,
        Field(description="Id of a claim, such as proxskip/every-loss; none if the text states one claim"),
    ] = None,
    text: Text = None,
    path: File = None,
    of: Annotated[
        str | None,
        Field(
            description="A term of the bound, which is multiplied, or a constant of the file; none: the whole bound"
        ),
    ] = None,
) -> CallToolResult:
    """Search for the best constant of a claim: the last certified number and the next violated number.

    The answer is the record of `clusterproof improve --json`: every number that was tried, and its verdict. The search
    takes ten times as long as `check`, or longer.
    """
    if text is not None:
        _one_of(text, path)
    async with _Folder(text) as here:
        file = path or (here.text if text is not None else None)
        words = [*(each for each in (name, file) if each), *([f"--of={of}"] if of else [])]
        return await here.answer("improve", words)


# ---- a call


def _one_of(text: str | None, path: str | None) -> None:
    """Require either a text or a path.

    Raises
    ------
    ToolError
        If both or neither are given.
    """
    if (text is None) is (path is None):
        raise ToolError("give either text, the source of a file, or path, where the file is")


TURN = anyio.Lock()
"""Lock that lets one call run at a time."""


class _Folder:
    """A temporary folder for the files of one call and for the text that the agent sends."""

    def __init__(self, given: str | None) -> None:
        self.given = given

    async def __aenter__(self) -> _Folder:
        await TURN.acquire()
        self.place = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.path = Path(self.place.name).resolve()
        if self.given is not None:
            Path(self.text).write_text(self.given, encoding="utf-8")
        return self

    async def __aexit__(self, *_: object) -> None:
        self.place.cleanup()
        TURN.release()

    @property
    def text(self) -> str:
        """Path of the file with the text."""
        return str(self.path / NAME)

    def named(self, reference: str) -> str:
        """Return the reference of a class; if the agent sent a text, the class is in the file with the text."""
        return reference if self.given is None else f"{self.text}:{reference.rpartition(':')[2]}"

    async def answer(self, command: str, words: Sequence[str]) -> CallToolResult:
        """Run a command in a child process; if this task is cancelled, the child ends."""
        call = Call([command, *words, "--json", str(self.path / RECORD)], self.path)
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(call.start)
        try:
            while call.is_running():
                await anyio.sleep(PAUSE)
        except BaseException:
            call.stop()
            raise
        return _result(command, call.answer(), f"{self.path}{os.sep}")


def _result(command: str, answer: Answer, folder: str) -> CallToolResult:
    """Return a command's result without the folder's name.

    It contains a summary, the page or JSON text, and the record.
    """
    output, error = (each.replace(folder, "") for each in (answer.output, answer.error))
    record = answer.record and json.loads(json.dumps(answer.record).replace(folder, ""))
    if command == "conform" and record:
        del record["runs"]  # arrays do not help a conversation
    is_error = answer.status not in RESULTS[command]
    if is_error:
        said = error or f"clusterproof {command} ended with exit status {answer.status}"
        said = said if answer.status == 2 else f"{said}; correct the text and call {command} again"
    elif record:
        said = _summary(command, record, output)
    else:  # a list of a paper's claims
        said = f"{len(output.splitlines())} lines"
    details = output if command in ("show", "run") else json.dumps(record) if record else ""
    content: list[Any] = [TextContent(type="text", text=each) for each in (said, details) if each]
    return CallToolResult(content=content, structured_content=record, is_error=is_error)


def _summary(command: str, record: Mapping[str, Any], output: str) -> str:
    """Return a summary of a command's result in one line."""
    if command == "conform":
        return f"{record['verdict']}: {record['algorithm']}: {record['sentence']}"
    if command in ("run", "improve"):
        return output.partition("\n")[0]
    claims = [each for each in record["claims"] if "#" not in each["claim"]] or record["claims"]
    counts = Counter(each["verdict"] for each in claims)
    first = next((each for each in claims if each["verdict"] == "violated"), claims[0])
    counted = ", ".join(f"{count} {word}" for word, count in counts.items())
    return f"{counted}. {first['claim']} is {first['verdict']}: {first['reason']}"
