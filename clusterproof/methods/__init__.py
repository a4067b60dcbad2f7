"""Every method, written once in the lines of its paper: a round of the server and of *the clients as one value*.

A method is a function of ``clients`` and of its states, with its settings as keywords. A *line* is a function that
computes the work of one client. ``clients.each(line, ...)`` applies it to every client and its values, and
``clients.map(line, ...)`` to the values alone. ``clients.mean(...)`` averages the clients' values for the server. A
method does not fix the type of its vectors; the caller chooses one of these:

- ``exact.exact_clients`` computes with exact numbers, symbols or arrays, and keeps a list of the clients' values.
  Claims in the kernel's language use it, and so does the computation of a round's matrix on quadratics.
- ``algorithms.array_clients`` computes with arrays of any library, for ``run`` and ``train``.
- ``theory.rates.every_client`` represents the values of any number of clients by a mean and a deviation, in the
  kernel's language.

This package imports only the standard library.
"""

from clusterproof.methods.declaration import METHODS, Method, method

__all__ = ["METHODS", "Method", "method"]
