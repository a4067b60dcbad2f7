"""The clients of a method as one value in the kernel's language, for claims about any number of clients.

One object contains the values of all clients, for example a vector of clients of ``functions(count="any")``, or an
array with one row per client. All clients take part in a round, and each line of the method is called once for all
clients.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from clusterproof.methods.exact import ExactClient, descend, descend_with_momentum, pulled


@dataclass(frozen=True)
class AnyNumber:
    """Any number of clients as one value.

    Attributes
    ----------
    client
        The operations of all clients at once, for example an ``ExactClient`` whose gradient takes and returns values
        of all clients.
    average
        Function that returns the mean of a value over the clients.
    count
        A method divides sums over the clients by their number. Here sums are replaced by means, and this number by 1,
        which leads to the same quotient.
    """

    client: Any
    average: Any
    count: int = 1

    def each(self, line: Any, *values: Any) -> Any:
        """Apply one line of the method to all clients and their values, and return the result."""
        return line(self.client, *values)

    def map(self, line: Any, *values: Any) -> Any:
        """Apply one line of the method to the clients' values, and return the result."""
        return line(*values)

    def to_all(self, vector: Any) -> Any:
        """Return the server's vector, which is the same for all clients."""
        return vector

    def mean(self, values: Any) -> Any:
        """Return the mean over the clients."""
        return self.average(values)

    def total(self, values: Any) -> Any:
        """Return the sum over the clients, divided by their number."""
        return self.average(values)

    def where(self, holds: Any, one: Any, other: Any) -> Any:
        """Return the clients' value ``one`` if the condition ``holds``, otherwise ``other``."""
        return one if holds else other


def any_number(clients: Any, steps: Any = 1) -> AnyNumber:
    """Return one value that represents all clients.

    Parameters
    ----------
    clients
        ``f.parts`` of a claim, with ``gradient`` and ``mean``.
    steps
        Number of local steps of every client (K).
    """
    client = ExactClient(clients.gradient, steps, None, None, descend, descend_with_momentum, pulled)
    return AnyNumber(client, clients.mean)
