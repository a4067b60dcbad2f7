"""A Flower server: a ``ServerApp`` that holds the state and asks the clients by messages."""

from __future__ import annotations

import io
import json
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import Context, Message, MessageType, RecordDict
from flwr.serverapp import Grid, ServerApp

from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.atomic import check_writable, write_whole
from clusterproof.algorithms.validation import check_count, check_name, check_number
from clusterproof.deployment.federation import DEPLOYED, Patience, Record, run_federation
from clusterproof.deployment.flower_records import read_options, read_reply, request_record
from clusterproof.deployment.messages import Reply, Request
from clusterproof.deployment.remote_task import RemoteTask

PAUSE = 0.2
"""Seconds between two looks for replies."""

LOOK = 2.0
"""Seconds between two looks for nodes that come and go."""

TOGETHER = 16
"""Replies that are pulled at a time."""

LATE = 20
"""How many times the allowed time a node may take to answer before its silence is final."""


class Roster:
    """Which node is which client, and how long to wait for it.

    Parameters
    ----------
    grid
        Flower's.
    clients
        m.
    seconds
        How long a reply may take, from when it is asked for.
    at_once
        How many nodes are asked at a time at most: what a server's link takes, or the cores of one machine.
    report
        Takes a line on nodes that are refused or fail.
    """

    def __init__(
        self, grid: Grid, clients: int, seconds: float, at_once: int, report: Callable[[str], None]
    ) -> None:
        self._grid = grid
        self._at_once = at_once
        self._report = report
        self._clients = clients
        self._seconds = seconds
        self._nodes: dict[int, int] = {}
        self._asked_who: dict[str, int] = {}
        self._introduced: set[int] = set()
        self._silent: set[int] = set()
        self._failed: set[int] = set()
        self._late: dict[str, int] = {}
        self.round = 0

    def present(self) -> list[int]:
        """Clients whose nodes are connected and do not keep silent; asks new nodes who they are."""
        connected = self._look()
        self._hear_late_ones()
        deadline = time.monotonic() + self._seconds
        while self._asked_who and time.monotonic() < deadline:
            if self._hear_who():
                connected = self._look()
            time.sleep(PAUSE)
        self._nodes = {client: node for client, node in self._nodes.items() if node in connected}
        out = self._silent | self._failed
        return sorted(client for client, node in self._nodes.items() if node not in out)

    def _look(self) -> set[int]:
        """Nodes that are connected; those that nobody knows are asked who they are, a few at a time."""
        connected = set(self._grid.get_node_ids())
        known = {*self._nodes.values(), *self._asked_who.values(), *self._introduced}
        new = sorted(connected - known)[: max(0, self._at_once - len(self._asked_who))]
        messages = [Message(RecordDict(), dst_node_id=node, message_type=MessageType.QUERY) for node in new]
        if messages:
            self._asked_who |= dict(zip(self._grid.push_messages(messages), new, strict=True))
        return connected

    def _hear_who(self) -> bool:
        """Take what nodes say of who they are; whether any did."""
        before = len(self._asked_who)
        for message in self._pull(list(self._asked_who)):
            node = self._asked_who.pop(message.metadata.reply_to_message_id, None)
            if node is not None:
                self._introduced.add(node)
                self._register(node, RecordDict() if message.has_error() else message.content)
        return len(self._asked_who) < before

    def exchange(self, requests: Mapping[int, Request]) -> dict[int, Reply]:
        """Send each client its request, and give what comes back in time and can be read."""
        nodes = {self._nodes[client]: client for client in requests if client in self._nodes}
        contents = {node: request_record(requests[client], self.round) for node, client in nodes.items()}
        replies = {}
        for node, content in self._carry(contents).items():
            try:
                replies[nodes[node]] = read_reply(content)
            except (KeyError, TypeError, ValueError) as error:
                self._report(f"client {nodes[node]} sent what is no reply: {error}")
        return replies

    def begin_round(self) -> None:
        """Ask those whose app failed once more; those who kept silent are heard when they answer at last."""
        self.round += 1
        self._failed.clear()

    def _hear_late_ones(self) -> None:
        """See whether a node that kept silent has answered since."""
        for message in self._pull(list(self._late)):
            node = self._late.pop(message.metadata.reply_to_message_id, None)
            if node is not None:
                self._silent.discard(node)

    def _register(self, node: int, content: RecordDict) -> None:
        """Take a node for the client that it says it is; the node that was it before was restarted, or is a stranger.

        Who may connect at all is for Flower's authentication of SuperNodes to say.
        """
        try:
            client = content.config_records["facts"]["client"]
        except KeyError:
            client = None
        if not isinstance(client, int) or isinstance(client, bool) or not 0 <= client < self._clients:
            rule = f"client {client!r} is outside 0 .. {self._clients - 1}"
            self._report(f"node {node} is refused: {rule}")
            return
        if client in self._nodes:
            self._report(f"client {client} is node {node} now, no longer node {self._nodes[client]}")
        self._nodes[client] = node

    def _carry(self, contents: Mapping[int, RecordDict]) -> dict[int, RecordDict]:
        """Send messages and wait for replies, no longer than is allowed, and not for nodes that others replaced."""
        unsent = deque(contents)
        waiting: dict[str, tuple[int, float]] = {}  # node, and when its time is over
        found: dict[int, RecordDict] = {}
        looked = time.monotonic()
        while unsent or waiting:
            nodes = [unsent.popleft() for _ in range(min(len(unsent), self._at_once - len(waiting)))]
            deadline = time.monotonic() + self._seconds
            waiting |= {sent: (node, deadline) for sent, node in self._send(nodes, contents)}
            for message in self._pull(list(waiting)):
                node, _ = waiting.pop(message.metadata.reply_to_message_id, (None, 0.0))
                if node is not None and message.has_error():
                    self._report(f"node {node}: {message.error.reason}")
                    self._failed.add(node)
                elif node is not None:
                    found[node] = message.content
            if not (waiting or unsent):
                break
            time.sleep(PAUSE)
            now = time.monotonic()
            lost = {sent for sent, (_, deadline) in waiting.items() if deadline < now}
            if now - looked > LOOK:
                looked = now
                connected = self._look()
                self._hear_who()
                here = connected & set(self._nodes.values())
                lost |= {sent for sent, (node, _) in waiting.items() if node not in here}
            for sent in lost:
                # not asked anew before this has been answered: who is slow must not be given more to do
                self._late[sent], _ = waiting.pop(sent)
                self._silent.add(self._late[sent])
        return found

    def _send(self, nodes: list[int], contents: Mapping[int, RecordDict]) -> list[tuple[str, int]]:
        """Send nodes their messages, and give the messages' names."""
        messages = [
            Message(
                contents[node], dst_node_id=node, message_type=MessageType.TRAIN, ttl=LATE * self._seconds
            )
            for node in nodes
        ]
        return list(zip(self._grid.push_messages(messages), nodes, strict=True)) if messages else []

    def _pull(self, messages: list[str]) -> Iterator[Message]:
        """Pull what has come, a few messages at a time: Flower bounds the size of an answer."""
        for start in range(0, len(messages), TOGETHER):
            yield from self._grid.pull_messages(messages[start : start + TOGETHER])


app = ServerApp()
"""Takes the run's configuration, see ``local.CONFIG``; writes ``models.npz``, ``record.json`` and ``log.txt``."""


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Run the federation that the configuration describes."""
    config: dict[str, Any] = dict(context.run_config)
    out = Path(config["out"])
    for name in ("models.npz", "record.json"):
        check_writable("out", out / name)

    def report(line: str) -> None:
        print(line, flush=True)
        with open(out / "log.txt", "a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    try:
        record = run_as_configured(grid, config, report)
    except InvalidArgument as error:
        write_whole("out", out / "record.json", json.dumps({"error": str(error)}).encode())
        raise
    store(record, out)


def run_as_configured(grid: Grid, config: Mapping[str, Any], report: Callable[[str], None]) -> Record:
    """Run a federation.

    Parameters
    ----------
    grid
        Flower's.
    config
        See ``local.CONFIG``.
    report
        Takes a line on each round, on each client that is left out, and on nodes.

    Raises
    ------
    InvalidArgument
        If an entry of the configuration is not as it must be, or clients stay away.
    """
    for name in ("clients", "clusters", "dimension", "rounds", "fewest", "at-once"):
        check_count(name, config[name], at_least=1, remedy="give an integer")
    for name in ("reply-seconds", "patience-seconds"):
        check_number(name, config[name], above=0, remedy="give a number of seconds")
    check_name("algorithm", str(config["algorithm"]), list(DEPLOYED))
    algorithm = DEPLOYED[str(config["algorithm"])](**read_options(config, "parameters"))
    roster = Roster(grid, config["clients"], float(config["reply-seconds"]), config["at-once"], report)
    task = RemoteTask(
        clients=config["clients"],
        clusters=config["clusters"],
        dimension=config["dimension"],
        exchange=roster.exchange,
        name=str(config["task"]),
    )
    forget, rounds = task.begin_round, int(config["rounds"])

    def begin_round() -> None:
        forget()
        roster.begin_round()

    task.begin_round = begin_round  # type: ignore[method-assign]
    return run_federation(
        algorithm,
        task,
        rounds=rounds,
        seed=int(config["seed"]),
        present=roster.present,
        patience=Patience(fewest=config["fewest"], seconds=float(config["patience-seconds"])),
        report=report,
    )


def store(record: Record, out: Path) -> None:
    """Write what happened; the record last, which says that all of it is there."""
    file = io.BytesIO()
    shapes = {model.shape for model in record.models[1:]}
    assert len(shapes) <= 1
    np.savez(file, first=record.models[0], models=np.array(record.models[1:]))
    write_whole("out", out / "models.npz", file.getvalue())
    said = {
        "participants": record.participants,
        "assignments": record.assignments,
        "absences": record.absences,
    }
    write_whole("out", out / "record.json", json.dumps(said).encode())
