"""The child process that imports a user's file, freezes its claims and searches them; the parent judges the results."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from clusterproof.checker import Verdict
from clusterproof.checker.report.judged import judged
from clusterproof.commands import child_process
from clusterproof.common import InvalidArgument
from clusterproof.common.validation import error_line

START = (
    "import json, sys; order = json.loads(sys.argv.pop()); sys.path[:] = order['path']; "
    "from clusterproof.commands import check_child; check_child.carry_out(order)"
)


@dataclass(frozen=True)
class Order:
    """A request to the child. It has the names and files of claims to search, or the claim that ``show`` shows."""

    ids: list[str]
    files: list[str]
    paper: str | None = None
    all_claims: bool = False
    seed: int = 0
    seeds: int = 1
    evidence: str | None = None
    search: bool = False
    show: bool = False
    decide: bool = True


def answers(order: Order) -> Iterator[tuple[str, Any]]:
    """Search in a child process, and yield its messages.

    Yields
    ------
    tuple
        A kind of message and its content:

        - ``"chosen"``: the ids of the claims.
        - ``"failure"``: the index of a claim, and an error.
        - ``"verdict"``: the index of a claim, its verdict by the kernel of this process, and a remark.
        - ``"stated"``: the claims of the files.
        - ``"sources"``: the contents of the files.
        - ``"said"``: sentences about replayed evidence and repeated searches.
        - ``"page"``: the author's statements about the claim that ``show`` shows.
        - ``"listed"``: a table of claims for ``show``, and the id of the first claim.

    Raises
    ------
    InvalidArgument
        If the child rejects its input, or ends too early.
    """
    if child_process.is_child:
        yield from (_decoded(json.dumps([kind, content]).encode()) for kind, content in _search(order))
        return
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]  # as multiprocessing does
    sys.stdout.flush()
    receiving, sending = os.pipe()
    whole = {
        "path": list(map(str, sys.path)),
        "parent": os.getpid(),
        "pipe": sending,
        "order": msgspec.to_builtins(order),
    }
    # -P: modules in the working folder are imported only if this process would do so
    command = [sys.executable, *flags, "-P", "-c", START, json.dumps(whole)]
    fixed = {**os.environ, "PYTHONHASHSEED": "0"}  # the same order of sets in every process
    with subprocess.Popen(command, pass_fds=(sending,), env=fixed) as process:
        os.close(sending)
        begun = done = interrupted = False
        killing = threading.Timer(child_process.GRACE, process.kill)
        try:
            with os.fdopen(receiving, "rb") as messages:
                while True:
                    try:
                        line = messages.readline()
                    except KeyboardInterrupt:  # the child reports its results, unless it is in compiled code
                        if interrupted:
                            process.kill()
                        else:
                            process.terminate()
                            killing.start()
                        interrupted = True
                        continue
                    if not line:
                        break
                    kind, content = _decoded(line)
                    if kind == "said" and not begun:  # the child, or the file, has interrupted the loading
                        raise KeyboardInterrupt
                    begun, done = True, done or kind == "said"
                    yield kind, content
            with suppress(subprocess.TimeoutExpired):  # a thread of the user's code may continue
                process.wait(child_process.GRACE)
        finally:
            killing.cancel()
            if process.poll() is None:
                process.terminate()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(child_process.GRACE)
                process.kill()
    if interrupted:
        raise KeyboardInterrupt
    if not done:
        raise child_process.ended_early("file", order.files, process.returncode)


def _decoded(line: bytes) -> tuple[str, Any]:
    """Decode and validate a message of the child, which may run malicious code.

    Raises
    ------
    InvalidArgument
        If the line is not a valid message, or the message reports an error in the input.
    """
    try:
        kind, content = msgspec.json.decode(line, type=tuple[str, Any])
        if kind == "refused":
            argument, value, rule, remedy, place = msgspec.convert(
                content, tuple[str, str | None, str, str, str]
            )
            raise InvalidArgument(argument, value, rule, remedy, place=place)
        if kind == "verdict":
            index, verdict, remark = msgspec.convert(content, tuple[int, Verdict, str])
            return kind, (index, judged(verdict), remark)
        if kind == "page":
            from clusterproof.commands.show import Page

            return kind, msgspec.convert(content, Page)
        if kind == "listed":
            return kind, msgspec.convert(content, tuple[tuple[list[str], list[list[str]]], str])
        if kind == "failure":
            return kind, msgspec.convert(content, tuple[int, str])
        if kind == "sources":
            return kind, msgspec.convert(content, dict[str, Any])
        return kind, msgspec.convert(content, list[str])
    except (msgspec.ValidationError, msgspec.DecodeError, UnicodeError, RecursionError) as error:
        rule = f"must not interfere with the process that searches it ({error})"
        raise InvalidArgument(
            "file", "the file of claims", rule, "remove the code that writes to the channels of this process"
        ) from error


def carry_out(whole: Mapping[str, Any]) -> None:
    """Search in the child, and send the results to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent, which Ctrl-C reaches too, sends SIGTERM
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    from clusterproof.common.processes import end_with

    end_with(whole["parent"])
    child_process.is_child = True
    order = msgspec.convert(whole["order"], Order)
    sys.argv[1:] = [*order.ids, *order.files]
    # the parent may end, or end this process while it closes its pipe; or the user's code has closed the pipe
    with suppress(OSError, KeyboardInterrupt), os.fdopen(whole["pipe"], "wb", buffering=0) as pipe:

        def say(kind: str, content: Any) -> None:
            rest = memoryview(_encoded([kind, content]) + b"\n")
            while rest:
                rest = rest[pipe.write(rest) :]

        try:
            for kind, content in _search(order):
                say(kind, content)
        except KeyboardInterrupt:
            say("said", [])
        except BaseException as error:
            if isinstance(error, InvalidArgument):
                wrong = error
            elif isinstance(error, SystemExit) or sys.flags.dev_mode:
                raise
            else:
                rule = f"must not raise an error when it is read or searched ({error_line(error)})"
                remedy = "see where: python -X dev -m clusterproof"
                wrong = InvalidArgument("file", ", ".join(order.files), rule, remedy)
            signal.signal(
                signal.SIGTERM, signal.SIG_DFL
            )  # the parent ends this process when it has read this message
            value = None if wrong.value is None else str(wrong.value)
            say("refused", [wrong.argument, value, wrong.rule, wrong.remedy, wrong.place])
            say("said", [])
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _encoded(message: Any) -> bytes:
    """Encode a message as JSON; infinite numbers become null, and halves of surrogate pairs are escaped."""
    try:
        return msgspec.json.encode(message)
    except UnicodeEncodeError:
        text = json.dumps(message, ensure_ascii=False)
        return re.sub("[\ud800-\udfff]", lambda each: rf"\\u{ord(each[0]):x}", text).encode()


def _search(order: Order) -> Iterator[tuple[str, Any]]:
    """Yield the results as plain values."""
    from clusterproof.checker.report.code import builtin
    from clusterproof.commands import check, show

    told = show.told(order) if order.show else _checked(order)
    for kind, content in told:
        if kind == "verdict":
            index, verdict = content
            plain = msgspec.to_builtins(verdict, enc_hook=builtin, str_keys=True)
            yield kind, [index, plain, "" if order.show else check.remark(verdict)]
        else:
            yield kind, msgspec.to_builtins(content)
    if order.show:
        yield "said", []


def _checked(order: Order) -> Iterator[tuple[str, Any]]:
    from clusterproof.checker.report import tables
    from clusterproof.checker.report.stored_evidence import require_writable
    from clusterproof.commands import check, check_evidence, terminal

    ids, files, stated = terminal.ids_and_files([*order.ids, *order.files])
    chosen = check.chosen_of(ids, order.paper, stated, order.all_claims)
    folder = None if order.evidence is None else Path(order.evidence)
    if (
        folder is None and terminal.STANDARD_INPUT in order.files
    ):  # not in the cache, where no later text would find it
        folder = terminal.standard_input().parent / "evidence"
    if folder is not None:
        require_writable({each.paper for each in chosen}, folder)
    seeds = range(order.seed, order.seed + order.seeds)
    recorded = check_evidence.Recorded(folder, seeds, search=order.search)
    yield "chosen", [claim.id for claim in chosen]
    yield "stated", [name for own in stated for name in own]
    yield "sources", tables.sources_of_claims(name for own in stated for name in own)
    for index, answer in check.evaluated(chosen, files, seeds, recorded):
        yield "failure" if isinstance(answer, str) else "verdict", (index, answer)
    recorded.end()
    yield "said", recorded.sentences()
