"""Bad command lines: exit status 2 and one line that names the argument, its value, the rule and the remedy."""

import os
import re
import shlex
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from command_line import refused
from planting import planted
from tiny_training import TINY, toml_of

from clusterproof.algorithms import runner
from clusterproof.synthetic import TASKS

FILES = {
    "r.json": '{"claims": []}',
    "broken.py": "import no_such_library\n",
    "syntax.py": "def (\n",
    "empty.py": "x = 1\n",
    "run.toml": toml_of(TINY),
    "bad.toml": '[algorithm]\nname = "x"\n',
    "small.toml": "[partition]\nclusters = 3\n",
    "full/file": "precious",
    "seeds/seed-0/configuration.json": "",
    "twice.json": '{"training": {"rounds": 1, "rounds": 2}}',
    "empty.toml": "",
    "long.toml": f"[training]\nseed = 0x{'f' * 10**4}\n",
    "sweep.toml": 'measure = ["error"]\nrounds = 1\nseeds = 1\n[settings]\nclients = 4\n[grid]\nalgorithm = ["ifca"]\n',
    "both.toml": 'measure = ["error"]\nrounds = 1\nseeds = 1\n[settings]\nclients = 4\n[grid]\nclients = [4]\n',
    "bad/cfl-mgd.json": '{"claims": []}',
    "two.py": "class Two:\n    def __init__(self, task, settings):\n        pass\n",
}
"""Files in the current folder, which no command line changes."""

HUGE = "9" * 30
SIZE = 10**15
TRAIN = "train --images 120 --clients-per-cluster 2 --hidden 4"
RATE = "certify --proportion 1 --class smooth"
TABLE = "table fpfc/table-1"

LINES = f"""
chek
--chek
-x
run
run --task
show
verify
claims x
check --sead 3
certify --momentum 0
run ifka                             :: algorithm = 'ifka' | nearest are ifca
run ifca --task regresion            :: "regresion" for --task | Did you mean "regression"
run ifca --step-sise 1               :: --step-sise | Did you mean --step-size?
run cfl-mgd --step-size {{0 -1 nan inf -inf x 1e999 ''}} :: --step-size
run cfl-mgd --step-size -1           :: --step-size = -1.0 | greater than 0 | 1 / task.smoothness
run cfl-mgd --momentum {{1 -.1 nan inf 2 1.0000001}}     :: --momentum
run cfl-mgd --rounds {{-1 x nan 1.5 inf}}       :: --rounds
run ifca --seed {{-1 x 1.5}}                    :: --seed
run ifca --replicates {{0 -3 x}}                :: --replicates
run ifca --clusters {{0 -1 101 x nan}}          :: --clusters
run ifca --models {{0 -1 101 x}}                :: --models
run ifca --models 101                :: --models = 101 | at most the number of clients (100)
run ifca --clients {{0 -1 x}}                   :: --clients
run ifca --dimension {{0 -1 x 2.5}}             :: --dimension
run ifca --condition-number {{0.9 nan inf -1}}  :: --condition-number
run ifca --task logistic --condition-number {{1 nan 1e308}}
run ifca --task quadratic --condition-number {{1e300 nan 0}}
run ifca --separation {{0 -1 nan inf}}          :: --separation
run ifca --task {{regression quadratic}} --separation 1e308
run ifca --noise {{-1 nan inf}}                 :: --noise
run ifca --samples {{0 -1 x}}                   :: --samples
run ifca --participation {{0 1.1 nan -1}}       :: --participation
run ifca --averaging model --local-steps {{0 -2 x}} :: --local-steps
run ifca --proportions {{1 1,2 0,1 -1,2 nan,1 a,b 1, ''}} :: --proportions
run ifca --task quadratic --spread {{-1 nan}}
run ifca --task logistic --signal {{0 nan}}
run ifca --task logistic --support {{0 -1}}
run ifca --clients 1
run cfl-mgd --averaging both
run cfl-mgd --plot run.gif :: --plot = 'run.gif' | must end in one of png, svg, pdf
run cfl-mgd --plot missing/run.png :: --plot = 'missing/run.png' | must be a file that can be written
run cfl-mgd --data stale
run cfl-mgd --sampling odd
run cfl-mgd --update-order none
run cfl-mgd --local-steps 2
run ifca --momentum .5               :: Unknown option: --momentum | run ifca --help
run fedavg --models 2
run fpfc --augmentation {{-1 -.5 0 nan}}  :: --augmentation
run ifca --task quadratic --noise 1
run ifca --task regression --spread 1
run ifca --step-sizes 1
run {{cfl-mgd local}} --{{rounds replicates clients dimension}} {SIZE}
run ifca --task {{{" ".join(TASKS)}}} --{{clients dimension}} {SIZE}
run ifca --rounds 1000000000         :: --rounds = 1000000000 | GiB of memory
run ifca --sampling direct --replicates 100000 :: GiB of memory
run cfl-mgd --step-size=-1           :: --step-size = -1.0
run ifca --clusters 100000000 --clients 100000000
run ifca --task quadratic --dimension 1000000
run ifca --data fixed --dimension 1000000
run ifca --sampling direct --samples 1000000000000
run ifca --task logistic --support 1000000000000
run ifca --out {{. '' full r.json r.json/below}}     :: --out
check --seed {{-1 x}}
check --seeds {{0 x}}
check cfl-mgd/lema-2                 :: the nearest are cfl-mgd/lemma-2
show cfl-mgd/lema-2                  :: the nearest are cfl-mgd/lemma-2
show drift/theorem-1                 :: of a claim of your own, name or load the file, too
show cfl-mgd/lemma-2 --seed -1
check nothing-like-it
check theirs/*                       :: must match the id of a claim
check --paper nobody                 :: --paper = 'nobody' | must be one of | cfl-mgd
check cfl-mgd/lemma-2 --paper ifca   :: must be a claim of ifca
claims --paper nobody
claims --verdict false               :: verdict = 'false'
check --fail-on wrong                :: must be verdicts of
check --json {{. none/report}}
claims --json none/report
check --replay {{. none}}            :: id =
check --replay --evidence {{none r.json}}       :: --evidence = | must be a folder of evidence
check cfl-mgd/lemma-2 --replay --evidence bad :: bad/cfl-mgd.json': must be the JSON of records of evidence
check cfl-mgd/lemma-2 --evidence bad :: bad/cfl-mgd.json': must be the JSON of records of evidence
check --evidence r.json              :: --evidence = 'r.json': must be a folder
check --trace none
check cfl-mgd/theorem-a --trace none
check --replay --{{all verbose}}       :: --replay = True: cannot be combined with --
check --replay --{{trace json}} t :: cannot be combined with --
check --replay --{{seed seeds}} 2      :: cannot be combined with --seed
check --replay --fail-on violated    :: cannot be combined with --fail-on
check --trace t --evidence e         :: cannot be combined with --evidence
check --trace t --json r.json
{{check claims}} {{broken.py syntax.py missing.py empty.py}} :: file =
show cfl-mgd/lemma-2 {{broken.py missing.py empty.py}}      :: file =
claims lacks_ending      :: must be a Python file of claims
run ifca --json none/r.json          :: must be a file that can be written
figures --seed -1 --out x
figures none-such --out figs
figures drift                        :: out = None: must be given to draw; add --out DIR
figures --out figs --format gif
figures eror-per-round --out f       :: id = 'eror-per-round' | nearest are error-per-round
figures drift --set kapa=3 --out f   :: kapa = 3: is not a setting; the settings are | ; write kappa
figures drift --set kappa=.5 --out f :: kappa = 0.5: must be a finite number, at least 1; raise it
figures drift --set kappa=many --out f                           :: kappa = 'many': has the wrong type
figures drift --set kappa=[3,4] --out f                          :: kappa = [3, 4]: has the wrong type
figures error-per-round --set kappa=[4,.5] --out f :: kappa = [4, 0.5]: must be a finite number, at least 1
figures error-per-round --set algorithm=[ifca,fedavgg] --out f    :: must be one of 'cfl-mgd', 'ifca', 'fedavg'
figures error-per-round --set algorithm=fedavg --set momentum=.9 --out f :: momentum = 0.9: is not a parameter of fedavg
figures error-per-round --set 'momentum=[0,.1,.2,.3,.4,.5,.6,.7]' --out f :: make 8 runs; a figure has 1 to 7
figures drift --set kappa --out f    :: --set = 'kappa': must be NAME=VALUE
figures drift --set kappa=3 --set kappa=4 --out f                :: gives kappa twice
figures --set kappa=3 --out f        :: needs the name of a figure
figures {{--width --set=width}}=3 drift --out f                  :: width
certify --condition 4                :: momentum
certify --momentum .5 --condition .5 --class smooth --proportion .5 :: --condition = 0.5
{RATE} --condition 4 --momentum 1    :: --momentum = 1.0: must be at least 0 and below 1
{RATE} --condition 4 --momentum nan  :: --momentum = 'nan': must be a finite number
{RATE} --condition 4 --momentum=-1/10            :: --momentum = -0.1: must be at least 0
{RATE} --momentum 0 --condition 0.5  :: --condition = 0.5: must be at least 1; give L / mu
{RATE} --momentum 0 --condition 1e99999          :: --condition = '1e99999': must be a finite number
{RATE} --momentum 0 --condition 4 --step-size -1 :: --step-size = -1.0: must be greater than 0
{RATE} --momentum 0 --condition 4 --out none/c   :: --out = 'none/c': must be a file that can be written
certify --momentum 0 --condition 4 --class smooth --proportion 0 :: --proportion = 0.0: must be greater than 0
certify --momentum 0 --condition 4 --class convex --proportion 1 :: --class = 'convex': must be one of 'quadratic',
verify {{none .}}                    :: file = | must be a certificate
run ifca --{{rounds seed samples local-steps replicates}} {HUGE} :: = {HUGE}: must be an integer, at most | ; lower it
run sofl --grid {HUGE}               :: = {HUGE}: must be an integer, at most | ; lower it
run cfl --warm-up {HUGE}             :: = {HUGE}: must be an integer, at most | ; lower it
check cfl-mgd/lemma-2 --{{seeds seed}} {HUGE}                    :: must be an integer, at most | ; lower it
table fpfc/table-1 --seeds {HUGE}    :: must be an integer, at most | ; lower it
table fpfc/table-1 --seeds 999999999 :: at most 10000; lower it
train --out f --{{rounds hidden batch-size}} {HUGE}              :: must be an integer, at most | ; lower it
figures drift --out f --seed {HUGE}  :: = {HUGE}: must be an integer, at most | ; lower it
table fpfc/tabel-1                    :: the nearest are fpfc/table-1
{TABLE} --{{seeds jobs}} 0           :: = 0: must be an integer, at least 1
{TABLE} --{{seeds jobs}} 1.5         :: must be an integer
{TABLE} --set rounds=0               :: rounds = 0: must be an integer, at least 1
{TABLE} --set rounds                 :: must be NAME=VALUE
{TABLE} --set ronds=3                :: write rounds
{TABLE} --parquet none/table         :: --parquet
{TABLE} --parquet .                  :: must be a file, not a folder
{TABLE} --out r.json                 :: --out | must be a folder
train --out x --step-size -1         :: --step-size = -1.0 | greater than 0
train --out x --step-sise 1          :: --step-sise | Did you mean --step-size?
train --out x --algorithm ifka       :: --algorithm = 'ifka' | write ifca | MODULE:NAME or FILE.py:NAME
train --out x --algorithm ifca --momentum .5 :: --momentum = '.5' | is an option of cfl-mgd, not of the algorithm ifca
train --out x --algorithm ifca --models 100  :: --models = 100 | at most the number of clients (20)
train --out x --clusters 3           :: --clusters = 3 | must be 1, 2 or 4
train --out x --clients 3            :: --clients = '3' | not of the partition rotated-groups
train --out x --partition rotation   :: --partition = 'rotation' | write rotations
train --out x --network cnn          :: 16
train --out x --network resnet-20 --hidden 3 :: --hidden = '3' | not of the network resnet-20
train --out x --hidden a,b           :: --hidden | 'a,b' | separated by commas
train --out x --hidden 0             :: --hidden = 0 | at least 1
train --out x --hidden 1000000000    :: parameters
train --out x --rounds 1.5           :: --rounds | must be an integer
train --out x --crop 9               :: --crop = 9 | at most 8, the smaller side
train --out x --crop 0               :: --crop = 0 | at least 1
train --out x --contrast 2           :: --contrast = 2 | at most 1
train --out x --brightness nan       :: --brightness | finite
train --out x --augmentation-per epoch       :: --augmentation-per = 'epoch' | use 'image'
train --out x --flip --engine gram   :: --engine = 'gram' | undistorted
train --out x --engine gram --network resnet-20 :: --engine = 'gram' | use 'auto'
train --out x --data mnist --data-dir none   :: none | mnist
train --out x --partition rotations --algorithm local       :: --algorithm = 'local'
train --out x --partition rotations --test-assignment train :: --test-assignment = 'train'
train cfl-mgd                        :: Unexpected argument: cfl-mgd; options are written --name value.
train --out x --config nowhere.toml  :: config = | nowhere.toml
train --out x --config run.toml --step-size -1 :: --step-size = -1.0 | greater than 0
train --out x --config run.toml --algorithm fedavg --momentum .5 :: --momentum = '.5' | not of the algorithm fedavg
train --out x --config run.toml --algorithm fedaug :: --algorithm = 'fedaug' | write fedavg
train --out x --config run.toml --rounds -1   :: --rounds = -1 | at least 0
train --out x --config bad.toml      :: bad.toml: algorithm.name = 'x'
train --out x --config small.toml    :: small.toml: partition.clusters = 3 | 1, 2 or 4
train --out x --step-size {{nan inf}}  :: --step-size = | finite numbers
train --out x --step-size nan        :: --step-size = nan
train --out x --config twice.json    :: --config = 'twice.json' | the name 'rounds' is given twice
train --out x --config empty.toml    :: --config = 'empty.toml' | it is empty
train --out x --config long.toml     :: long.toml: training.seed = 'int'
sweep both.toml                      :: clients = 4: must stand in one table alone
sweep sweep.toml --set smothing=3    :: smothing = 3: is not an option of any run
sweep sweep.toml --parquet o.svg --plot o.svg :: --plot = 'o.svg': must not be that of --parquet too
run ifca --rounds 1 --json o.svg --plot ./o.svg :: --plot = 'o.svg': must not be that of --json too
run ifca --rounds 1 --out o.svg --plot o.svg    :: --plot = 'o.svg': must not be that of --out too
leaderboard fedavg --json o.svg --figure o.svg  :: --figure = 'o.svg': must not be that of --json too
{TABLE} --out o --parquet o          :: --parquet = 'o': must not be that of --out too
conform two.py:Two --as fedavg --timeout {{nan 1e308}} :: --timeout | must be a finite number
train --resume {{nowhere full}}      :: must be the folder of a training run
train --resume seeds :: rerun the command with --seeds | such as seeds/seed-0
train --algorithm IFCA :: write ifca
train --data MNIST :: write mnist
train --resume nowhere --out x       :: --out = 'x' | does not go with --resume
train --resume nowhere --config run.toml     :: --config = 'run.toml' | does not go with --resume
train --resume nowhere --seed 1      :: --seed = 1 | does not go with --resume
"""
"""Each command line with the words of its message; braces hold alternatives."""

POSIX = """
run ifca --out {/proc/run /dev/null/run} :: --out = '/ | another place
check --json /proc/report
check --markdown /dev/null/report
figures --out {/proc/figures /dev/null}
train --out {/proc/run /dev/null/run}    :: out =
"""


def cases(text: str) -> list[Any]:
    found = []
    for row in text.strip().splitlines():
        command, _, words = row.partition("::")
        parts = [part.strip() for part in words.split("|") if part.strip()]
        alternatives = re.split(r"\{(.*?)\}", command.strip())
        alternatives[1::2] = [
            [shlex.join([word]) if word == "" else word for word in shlex.split(each)]
            for each in alternatives[1::2]
        ]
        alternatives[::2] = [[each] for each in alternatives[::2]]
        found += [pytest.param(line, parts, id=line) for line in map("".join, product(*alternatives))]
    return found


def contents(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
        if "__pycache__" not in path.parts  # Python's own, of the modules that a command reads
    }


@pytest.fixture(scope="module", autouse=True)
def nothing_runs() -> Iterator[None]:
    with planted(runner, "run", lambda *_, **__: pytest.fail("a run has started")):
        yield


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def check_refused(capsys: pytest.CaptureFixture[str], folder: Path, line: str, parts: list[str]) -> None:
    before = contents(folder)
    message = refused(capsys, *shlex.split(line))
    assert [part for part in parts if part not in message] == [], message
    assert contents(folder) == before


@pytest.mark.parametrize(("line", "parts"), cases(LINES))
def test_bad_input_is_one_line(
    capsys: pytest.CaptureFixture[str], folder: Path, line: str, parts: list[str]
) -> None:
    check_refused(capsys, folder, line, parts)


@pytest.mark.skipif(os.name != "posix", reason="paths of POSIX systems")
@pytest.mark.parametrize(("line", "parts"), cases(POSIX))
def test_a_path_that_cannot_be_written_is_one_line(
    capsys: pytest.CaptureFixture[str], folder: Path, line: str, parts: list[str]
) -> None:
    check_refused(capsys, folder, line, parts)


@pytest.mark.parametrize(
    ("missing", "line", "extra"),
    [
        ("safetensors", f"{TRAIN} --rounds 1 --out r", "neural"),
    ],
)
def test_a_missing_library_is_named_with_its_extra(
    capsys: pytest.CaptureFixture[str],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    missing: str,
    line: str,
    extra: str,
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    check_refused(capsys, folder, line, [f"pip install '.[{extra}]'"])
