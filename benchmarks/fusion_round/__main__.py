"""Time rounds; with ``memory`` or ``many``, see ``fusion_round``, run those."""

from __future__ import annotations

import sys

from benchmarks.fusion_round.memory import many, memory
from benchmarks.fusion_round.rounds import rounds

if __name__ == "__main__":
    {"memory": memory, "many": many}.get(" ".join(sys.argv[1:]), rounds)()
