"""No name of a claim breaks its proof: Rocq accepts proofs whose quantities and variables have names of the files."""

import keyword
import random
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clusterproof.checker.export.formulas import Exporter
from clusterproof.checker.export.rocq import IMPORTS
from clusterproof.checker.export.rocq_symbols import RULES
from clusterproof.checker.export.rocq_text import OWN, TAKEN
from clusterproof.checker.kernel import judge
from clusterproof.checker.kernel.definitions import WORDS

pytestmark = [
    pytest.mark.skipif(shutil.which("coqc") is None, reason="no coqc (Debian: apt-get install coq)"),
    pytest.mark.slow(reason="ten seconds of Rocq"),
]
TEXT = """\
def stated({0}, {1}, {2}, {3}):
    suppose('small', {1} <= {3})
    {4} = {0} * {1} + {3}
    {5} = {4} * {0} + {4} / {3}
    {6} = known(lambda: {0} / 2 if {0} < {1} else {1} / 2, lambda {7}: ({7} >= 0, {7} <= 1))
    {8}, {5} = iterate(lambda {9}: (({9}[0] + {0} * {6}) / 2, {9}[1]), ({1}, {5}), {2},
                       invariant=lambda {9}, {7}: ({9}[0] >= 0, {9}[0] <= 1, {9}[1] == {5}))
    return at_most({8}, bound={5})

claim('a/b')
statement('', stated, {{'{0}': rationals(0, 1), '{1}': rationals(0, 1), '{2}': integers(0, None), '{3}': choice(1, 2)}},
    {{}}, lines=('',), role='statement')
"""
NAMES = 10
SAMPLE = 40
NAME = re.compile(r"[a-zA-Z]\w*")


def lines_of(names: Iterable[str]) -> list[str]:
    """Return the file of the claim in some names."""
    own = list(names)
    text = TEXT.format(*own)
    witness = {own[0]: "1/2", own[1]: "1/2", own[2]: 2, own[3]: 1}
    record: dict[str, Any] = {"rule": "induction", "witness": witness, "blocks": [], "states": 12}
    record |= {"statement": "", "line": ""}
    said = judge(text, [record])
    assert str(said.lines["", ""]) == "certified", said.why
    return RULES["induction"](Exporter(text, "", record), record, "own")


def words_of_files() -> set[str]:
    """Return the words of a file, of Rocq's grammar, and some of the prelude."""
    lines = lines_of(f"name_{k}" for k in range(NAMES))
    text = re.sub(r"\(\*.*?\*\)", "", "\n".join([IMPORTS, *lines]), flags=re.DOTALL)
    others = random.Random(7).sample(sorted(TAKEN - set(OWN.split())), SAMPLE)
    return {*re.findall(r"[^\W\d]\w*", text), *OWN.split(), *others}


def batches(words: list[str]) -> Iterator[list[str]]:
    """Yield as many different words as the text has names, until each was used."""
    for start in range(0, len(words), NAMES):
        yield (words[start : start + NAMES] + words)[:NAMES]


def test_names_of_the_file_itself_are_no_obstacle(prelude: Path) -> None:
    own = {*WORDS, *keyword.kwlist, "claim", "statement"}
    words = sorted(word for word in words_of_files() - own if NAME.fullmatch(word))
    random.Random(5).shuffle(words)
    modules = list[str]()
    for k, names in enumerate(batches(words)):
        modules += [f"Module T_{k}.", *lines_of(names), f"End T_{k}."]
    assert {
        "list",
        "fst",
        "conj",
        "eq_refl",
        "D",
        "B",
        "entries",
        "space",
        "ranges",
        "goal_0",
        "Rle_antisym",
    } <= {*words}
    (prelude / "names.v").write_text("\n".join([IMPORTS, *modules, ""]))
    command = ["coqc", "-q", "-Q", ".", "Clusterproof", "names.v"]
    run = subprocess.run(command, cwd=prelude, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
