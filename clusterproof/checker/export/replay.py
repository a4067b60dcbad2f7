"""Judge the evidence in this folder again, with the kernel's own files.

Run it with ``python3 -I -S replay.py``. The exit status is 1 if the evidence of a line does not show its verdict.

The program installs nothing and searches nothing. The folder clusterproof/checker/kernel/ contains all code that runs;
it needs only Python's standard library. Each folder with an evidence.json also contains the claim's text, which Python
never runs.
"""

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    sys.dont_write_bytecode = True

from clusterproof.checker.kernel import Refused, judge  # noqa: E402 - found by the lines above


def word_of(folder: Path) -> tuple[str, str, str]:
    """Return a line's name, and the verdict that the evidence shows; or ``open``, and why no verdict is shown."""
    record = json.loads((folder / "evidence.json").read_text())
    name = record.pop("name")
    try:
        said = judge((folder / "claim.txt").read_text(), [record])
    except Refused as refused:
        return name, "open", str(refused)
    return name, str(said.lines.get((record["statement"], record["line"]), "open")), said.why[0]


if __name__ == "__main__":
    folders = [Path(name).resolve() for name in sys.argv[1:]] or sorted(
        path.parent for path in HERE.glob("*/evidence.json")
    )
    words = []
    for each in folders:
        name, word, why = word_of(each)
        words.append(word)
        print(f"{name}: {word}" + (f" ({why})" if why else ""))
    sys.exit("open" in words or not words)
