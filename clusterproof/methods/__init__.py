"""Every method, written once and in the order of its paper: one round, in which one value stands for all clients.

A method is a function of ``clients`` and of its states, with its settings as keywords. A *line* is a function that
computes the work of one client. ``clients.each(line, ...)`` calls the line with every client and the client's values;
``clients.map(line, ...)`` passes only the values. ``clients.mean(...)`` averages the clients' values for the server. A
method does not fix the type of its vectors. The caller chooses one of these types:

- ``exact.exact_clients`` computes with exact numbers, symbols or arrays, and keeps a list of the clients' values. It
  serves claims in the kernel's language, and the computation of the matrix of a round on quadratic losses.
- ``algorithms.array_clients`` computes with arrays of any library, for ``run`` and ``train``.
- ``any_number`` computes with the values of any number of clients at once, in the kernel's language.

This package imports only the standard library.
"""

from clusterproof.methods.declaration import METHODS, Method, method

__all__ = ["METHODS", "Method", "method"]
