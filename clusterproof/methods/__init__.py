"""Each method once, as its paper's lines: a round of the server's vectors and of *the clients as one value*.

A method is a function of ``clients`` and of its states, with its settings as keywords. One client's work is a line:
``clients.each(line, ...)`` runs it for every client, ``clients.map(line, ...)`` only on the clients' values, and
``clients.mean(...)`` takes a mean to the server. The text does not fix what a vector is; the caller chooses:

- ``exact.exact_clients``: exact numbers, symbols, traced functions or arrays, with a list of the clients' values. The
  kernel's language uses it, and so does the map of a round on quadratics, whose columns are the states of a basis.
- ``algorithms.array_clients``: arrays of any library, for ``run`` and ``train``.
- ``theory.rates.every_client``: any number of clients as one point, a mean plus a deviation, in the kernel's language.

This package imports only the standard library.
"""

from clusterproof.methods.declaration import METHODS, Method, method

__all__ = ["METHODS", "Method", "method"]
