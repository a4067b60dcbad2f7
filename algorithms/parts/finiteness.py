"""What a round asks of a device: whether what clients send is finite, and what the server decides, in one look."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

import numpy as np
from array_api_compat import array_namespace

from clusterproof.algorithms.arrays import Array, all_to_numpy, on_device, to_numpy
from clusterproof.algorithms.validation import InvalidArgument

Check: TypeAlias = tuple[Array, Callable[[], None]]
"""A truth value () of a device, and what raises where it is false."""

_WAITING: ContextVar[list[Check] | None] = ContextVar("checks of a round", default=None)


@contextmanager
def one_look() -> Iterator[None]:
    """Ask a device once, at the end, whether all numbers of a round were finite; its host waits only then.

    Or earlier, where the server must know something, see ``ask``: the checks that wait then go along.

    Whoever carries rounds out puts each into such a block, and reads what came of it afterwards. Without a block,
    and of numbers on the host, every check is made at once.

    Raises
    ------
    InvalidArgument
        What the first check that failed would have raised, also where the round has stumbled over the numbers
        since and raised something else.
    """
    checks: list[Check] = []
    token = _WAITING.set(checks)
    try:
        try:
            yield
        finally:  # Ctrl-C, too, must not leave later checks waiting for an end that does not come
            _WAITING.reset(token)
    except Exception as error:  # whatever numbers that are not finite led to; raised again if not that
        try:
            _settle(checks)
        except InvalidArgument as found:
            raise found from error
        raise
    _settle(checks)


def require(holds: Array, explain: Callable[[], None]) -> None:
    """Call ``explain``, which is to raise, where a truth value () is false: now, or at the end of ``one_look``."""
    checks = _WAITING.get()
    if checks is not None and on_device(holds):
        checks.append((holds, explain))
    elif not bool(holds):
        explain()


def check_finite(points: Array, clients: Array, step_size: float) -> None:
    """Require that every client's model is finite, so that a round does not spoil those of others.

    Parameters
    ----------
    points
        What the participants send, (..., k, d).
    clients
        Participants (..., k).
    step_size
        The algorithm's, for the message.

    Raises
    ------
    InvalidArgument
        If an entry is infinite or NaN; the message names the client. At the end of ``one_look`` on a device.
    """
    xp = array_namespace(points)
    finite = xp.all(xp.isfinite(points), axis=-1)

    def explain() -> None:
        sent = to_numpy(finite)
        client = int(np.broadcast_to(to_numpy(clients), sent.shape)[~sent][0])
        raise InvalidArgument(
            "step_size",
            step_size,
            f"must keep every client's model finite, and that of client {client} is not",
            "lower it below 2 / the largest curvature, or mend that client's data",
        )

    require(xp.all(finite), explain)


def ask(answers: Array) -> np.ndarray:
    """Read truth values of any shape that the rest of a round hangs on.

    From a device in one look with the checks that wait, so that a round has no second one at its end.

    Raises
    ------
    InvalidArgument
        If one of the checks failed: of numbers that are not finite nobody decides anything.
    """
    checks = _WAITING.get()
    if checks is None or not on_device(answers):
        return to_numpy(answers)
    return _settle(checks, answers)[0]


def _settle(checks: list[Check], *answers: Array) -> list[np.ndarray]:
    """Make all checks, and read answers of any shape with them."""
    found = all_to_numpy([*(holds for holds, _ in checks), *answers])  # the look
    waiting = checks.copy()
    checks.clear()
    for holds, (_, explain) in zip(found, waiting, strict=False):  # the answers come after
        if not holds:
            explain()
    return found[len(waiting) :]
