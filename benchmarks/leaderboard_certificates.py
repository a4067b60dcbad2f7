"""Search the stored certificates of the leaderboard again, for the three settings of its manual page.

Run ``python -m benchmarks.leaderboard_certificates``; it writes ``theory/leaderboard/stored``.
"""

from __future__ import annotations

import json
from fractions import Fraction

from clusterproof.theory.certificates import to_json
from clusterproof.theory.certificates.rounds import Algorithm, ClientClass, Round
from clusterproof.theory.leaderboard.best_one_round import STORED, OneRound
from clusterproof.theory.leaderboard.setting import Setting, TaskClass

SETTINGS = {
    "a": (4, Fraction(1, 10), Fraction(1, 64), Fraction(0)),
    "b": (8, Fraction(1, 100), Fraction(1, 128), Fraction(0)),
    "c": (4, Fraction(1, 10), Fraction(1, 64), Fraction(1, 9)),
}
"""K, mu, eta and (N - S) / (S (N - 1)), at L = zeta* = D = 1."""


def main() -> None:
    """Write one file for each setting and class."""
    for path in STORED.glob("*.json"):
        path.unlink()
    for name, (local_steps, strong_convexity, step_size, sampling) in SETTINGS.items():
        for client_class in ClientClass:
            round_ = Round(
                algorithm=Algorithm.FEDAVG,
                client_class=client_class,
                smoothness=Fraction(1),
                strong_convexity=strong_convexity,
                step_size=step_size,
                local_steps=local_steps,
                sampling=sampling,
            )
            lines, one = OneRound(round_), Fraction(1)
            lines.bounds(Setting.from_round(round_, TaskClass.CONVEX, one, one, 1000), [1000])
            documents = [
                f'"{place}": {json.dumps(json.loads(to_json(line)))}'
                for place, line in lines.certificates.items()
                if line is not None
            ]
            text = "{\n" + ",\n".join(documents) + "\n}\n"
            (STORED / f"{name}-{client_class}.json").write_text(text, encoding="utf-8")
            print(f"{name} {client_class}: {len(documents)} certificates, {len(text)} bytes")


if __name__ == "__main__":
    main()
