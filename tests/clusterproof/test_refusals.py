"""Bad command lines: exit status 2 and one line that names the argument, its value, the rule and the remedy."""

import os
import re
import shlex
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from command_line import contents, refused
from planting import planted
from tiny_training import TINY, toml_of

from clusterproof.running import runner

SWEEP = 'measure = ["error"]\nrounds = 1\nseeds = 1\n'
FILES = {
    "r.json": '{"claims": []}',
    "broken.py": "import no_such_library\n",
    "syntax.py": "def (\n",
    "empty.py": "x = 1\n",
    "two.py": "class Two:\n    def __init__(self, task, settings):\n        pass\n",
    "full/file": "precious",
    "begun/configuration.json": "",
    "bad/cfl-mgd.json": '{"claims": []}',
    "sweep.toml": SWEEP + '[settings]\nclients = 4\n[grid]\nalgorithm = ["ifca"]\n',
    "both.toml": SWEEP + "[settings]\nclients = 4\n[grid]\nclients = [4]\n",
    "run.toml": toml_of(TINY),
    "twice.json": '{"training": {"rounds": 1, "rounds": 2}}',
    "empty.toml": "",
    "bad.toml": '[algorithm]\nname = "x"\n',
    "own.toml": '[algorithm]\nname = "own.py:Own"\n',
    "negative.toml": "[algorithm]\nstep_size = -1\n",
    "typo.toml": "[algorithm]\nlocal_step = 3\n",
    "many.toml": "[algorithm]\nclusters = 100\n",
    "small.toml": "[partition]\nclusters = 3\n",
    "cluster.toml": "[partition]\ncluster = 2\n",
    "hiden.toml": "[network]\nhiden = [4]\n",
    "flat.toml": "training = 1\n",
    "long.toml": f"[training]\nseed = 0x{'f' * 10**4}\n",
    "digits.toml": f"rounds = 1{'0' * 20_000}\n",
}
"""Files in the current folder, which no command line changes."""


def rows() -> Iterator[Any]:
    """Yield each command line of the table with the words of its refusal."""
    for row in Path(__file__).with_name("refusals.txt").read_text(encoding="utf-8").splitlines():
        command, _, words = row.partition("::")
        parts = re.split(r"\{(.*?)\}", command.strip())
        parts[1::2] = [[word or "''" for word in shlex.split(each)] for each in parts[1::2]]
        parts[::2] = [[each] for each in parts[::2]]
        for line in map("".join, product(*parts)) if not row.startswith("#") else ():
            yield pytest.param(line, [part.strip() for part in words.split("|") if part.strip()], id=line)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What is in the working folder of all rows, in which no run starts."""
    place = tmp_path_factory.mktemp("refusals")
    for name, content in FILES.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(content)
    before = os.getcwd()
    with (
        pytest.MonkeyPatch.context() as patch,
        planted(runner, "run", lambda *_, **__: pytest.fail("a run has started")),
    ):
        for name in ("XDG_CACHE_HOME", "CLUSTERPROOF_DATA"):
            patch.setenv(name, str(place / "cache"))
        os.chdir(place)
        yield contents(place)
        os.chdir(before)


@pytest.mark.skipif(os.name != "posix", reason="some paths are those of POSIX systems")
@pytest.mark.parametrize(("line", "words"), list(rows()))
def test_bad_input_is_one_line(
    capsys: pytest.CaptureFixture[str], folder: dict[str, Any], line: str, words: list[str]
) -> None:
    message = refused(capsys, *shlex.split(line))
    assert [word for word in words if word not in message] == [], message
    assert contents(Path.cwd()) == folder
