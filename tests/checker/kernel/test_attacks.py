"""Attempts to fool the kernel, each with evidence, in ``attacks/*.txt``.

The first letter of a block says what the words may not be: its statement is false (F: not certified or vacuous), true
(T: not violated), or too much (R for resources, C for crashes). Each line with > is evidence, of a kernel statement.
"""

from pathlib import Path
from typing import Any

import pytest
from kernel_statements import at_most_seconds, blocks_of, executed, in_language, memory_limit, replayed

from clusterproof.checker import kernel

Evidence = Any
FIELDS = {
    "instance": ("instance",),
    "exhausted": (),
    "signs": ("witness", "listed", "between"),
    "squares": ("witness", "blocks", "listed", "between"),
    "induction": ("witness", "blocks", "states", "listed", "between"),
    "dual": ("settings", "witness"),
    "family": ("witness", "proofs", "states", "listed", "between"),
    "empty": ("listed",),
}
"""By rule, what its records may have: what they have not is refused, whatever else they say."""
WRONG = {"F": ("certified", "vacuous"), "T": ("violated",), "R": (), "C": ()}
NOT_FALSE = {"division_of_ints"}
"""By design the division of two ints is a fraction in the language."""


def ev(rule: Any, line: Any = "", **data: Any) -> Evidence:
    own = {
        name: value for name, value in data.items() if type(rule) is not str or name in FIELDS.get(rule, data)
    }
    if own.get("witness", 0) is None:
        del own["witness"]
    if type(own.get("listed")) is bool and (rule != "empty" or own["listed"] is False):
        del own["listed"]
    return {"statement": "", "rule": rule, "line": line, **own}


def bare(**witness: int) -> list[Evidence]:
    """Evidence of each rule as complete as anybody can write it without a proof."""
    more = {"witness": witness, "blocks": [], "settings": [], "proofs": [{"multipliers": {}}]}
    rules = ("exhausted", "signs", "squares", "dual", "family", "empty")
    return [ev(rule, listed=listed, **more) for rule in rules for listed in (False, True)]


def member(start: Any, solution: Any, minimum: Any, triplets: Any, further: Any = ()) -> dict[str, Any]:
    """A listed function."""
    names = ("start", "solution", "minimum", "further", "triplets")
    return {"f": dict(zip(names, (start, solution, minimum, list(further), triplets), strict=True))}


def dual(*paths: Any, line: str = "", setting: Any = None, witness: Any = None) -> Evidence:
    """A dual at one setting: of each path the multipliers of each entry."""
    several = [[{"multipliers": m} if "multipliers" not in m else m for m in path] for path in paths]
    return ev("dual", line, settings=[{"setting": setting or {}, "paths": several}], witness=witness)


def square(*factors: int, width: int = 1) -> dict[str, Any]:
    """A product of factors, times 1."""
    return {"factors": list(factors), "basis": [[[[0] * width, 1]]], "matrix": [[1]]}


def proofs(*witnesses: Any, **more: Any) -> list[Evidence]:
    """Evidence by coefficients alone, with one block for each hypothesis, and by the rules without states."""
    found = []
    for witness in witnesses:
        every = {"witness": witness, "blocks": [], "states": 8, **more}
        found += [ev(rule, **every) for rule in ("induction", "signs", "squares")]
        found += [ev("induction", **every | {"blocks": [[square(place, width=9)]] * 9}) for place in range(8)]
    return [*found, ev("empty"), ev("empty", listed=True), ev("exhausted")]


def deep(n: int) -> Any:
    x: Any = [1]
    for _ in range(n):
        x = [x]
    return x


EVIDENCE = {
    "ev": ev,
    "bare": bare,
    "member": member,
    "dual": dual,
    "proofs": proofs,
    "deep": deep,
    "EXHAUSTED": ev("exhausted"),
    "EMPTY": ev("empty"),
    "AT_ZERO": ev("instance", instance={"n": 0}),
    "FACT": lambda place: [[square(place)]],
    # |x|^2 / 2 from 1, and |x| from 2
    "HALF": member([1], [0], 0, [[[[0], [0], 0], [[1], [1], "1/2"]]]),
    "ABSOLUTE": member([2], [0], 0, [[[[0], [0], 0], [[2], [1], 2], [[1], [1], 1]]]),
}
ATTACKS = [
    pytest.param(
        file.name,
        *block,
        id=f"{file.stem}-{block[0].partition(':')[0][2:]}",
        marks=pytest.mark.slow(reason="the whole fuel takes about one second") if block[0][0] == "R" else (),
    )
    for file in sorted(Path(__file__).with_name("attacks").glob("*.txt"))
    for block in blocks_of(file)
]


@pytest.mark.parametrize(("place", "first", "evidence", "source"), ATTACKS)
def test_no_attack_gets_a_wrong_word(place: str, first: str, evidence: str, source: str) -> None:
    names = executed(source, place)
    try:
        claim = in_language(names["statement"])
    except kernel.Refused:
        return  # where its text is written
    wrong = WRONG[first[0]] if first.partition(":")[0][2:] not in NOT_FALSE else ()
    for record in eval(f"[{evidence or 'EXHAUSTED'}]", {**EVIDENCE, **names}):  # noqa: S307 - text of the files beside
        with at_most_seconds(5), memory_limit(500_000_000):
            shown = replayed(claim, record)
        assert shown.word not in wrong, shown
        assert not shown.why.startswith("MemoryError")
