"""Say again what the evidence in this folder shows, by the kernel's own files.

Run it by ``python3 -I -S replay.py``.

Nothing is installed and nothing is searched: clusterproof/checker/kernel/ has all that runs, on Python's standard
library. Each folder with an evidence.json has the statement's source beside it.
"""

import importlib
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    sys.dont_write_bytecode = True

from clusterproof.checker.kernel import Source, induction, replay, vocabulary  # noqa: E402 - found by the lines above


def word_of(folder: Path) -> tuple[str, str, str]:
    """Return a record's claim, and the word that it supports."""
    record = json.loads((folder / "evidence.json").read_text())
    words = vars(vocabulary) | {"iterate": induction.iterate, "known": induction.known}
    known = [value for value in words.values() if callable(value)]
    source = Source({id(value): value for value in known}, lambda value: value)
    statement = importlib.import_module(f"{folder.name}.statement").statement(source)
    shown = replay(statement, record, says_nothing=record["says_nothing"])
    word = "ill-posed" if record["ill_posed"] and shown.word == "violated" else str(shown.word)
    return record["name"], word, shown.why


if __name__ == "__main__":
    folders = [Path(name).resolve() for name in sys.argv[1:]] or sorted(
        path.parent for path in HERE.glob("*/evidence.json")
    )
    for each in folders:
        name, word, why = word_of(each)
        print(f"{name}: {word}" + (f" ({why})" if why else ""))
