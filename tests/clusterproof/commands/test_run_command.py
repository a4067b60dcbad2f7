"""The command ``run``: every algorithm on every task, every option, the bound, the stored trace, a user's class."""

import inspect
import itertools
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from command_line import make_claim, refused
from tiers import slow_after

from clusterproof import theory
from clusterproof.algorithms import ALGORITHMS, IFCA, FedAvg
from clusterproof.commands.application import app, main
from clusterproof.commands.run import run_algorithm
from clusterproof.experiments.run_defaults import PAGES
from clusterproof.experiments.synthetic_runs import algorithm_parameters, task_parameters
from clusterproof.running import Trace, purity, run
from clusterproof.running.storage import load_trace
from clusterproof.synthetic import TASKS, QuadraticMixture, from_settings
from clusterproof.theory import TraceBound
from clusterproof.theory.pages.facts import GroupFacts

Capture = pytest.CaptureFixture[str]
SMALL = "--task quadratic --clients 4 --dimension 2 --rounds 3"
OPTION = re.compile(r"(?m)^│ (--[a-z0-9-]+)")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ran(words: str, name: str = "run") -> Trace:
    assert main(["run", *words.split(), "--out", name]) == 0
    return load_trace(name)


@pytest.mark.parametrize("name", slow_after(4, "every algorithm", PAGES))
def test_help_lists_the_options_of_an_algorithm_alone_with_the_defaults_of_the_run(
    name: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["run", name, "--help"]) == 0
    first = capsys.readouterr().out
    assert first.count("\n") <= 60
    monkeypatch.setenv("COLUMNS", "300")
    assert main(["run", name, "--help-all"]) == 0
    every = capsys.readouterr().out
    listed = set(re.findall(OPTION, every))
    common = {
        each.name
        for each in inspect.signature(run_algorithm).parameters.values()
        if each.kind is each.KEYWORD_ONLY
    }
    wanted = common.union(algorithm_parameters(name), *map(task_parameters, TASKS))
    assert listed == {"--" + each.replace("_", "-") for each in wanted}
    assert {"--rounds", "--clients", "--csv", "--help-all"} <= set(re.findall(OPTION, first)) < listed
    text = " ".join(every.replace("│", " ").split())
    used = ran(f"{name} --rounds 0 --replicates 1").settings["algorithm"]
    options = re.split(r" --(?=[a-z-]+ (?:INT|FLOAT|STR) )", text)[1:]
    shown = {
        each.split()[0]: found[0] for each in options if (found := re.findall(r"\[default: ([^\]]+)\]", each))
    }
    both = {key: value for key, value in used.items() if key.replace("_", "-") in shown and value is not None}
    assert both
    for key, value in both.items():
        words = shown[key.replace("_", "-")]
        if isinstance(value, str):
            assert words == value, key
        elif re.match(r"[0-9.e-]+$", words):
            assert float(words) == pytest.approx(value, rel=1e-12), key
        else:
            assert words.startswith("1 / "), (key, words)  # of the task's constants
            assert key not in PAGES[name].settings, (key, words)


def same_partition(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two clients share a cluster in the one exactly where they do in the other."""
    return bool(((one[:, None] == one) == (other[:, None] == other)).all())


@pytest.mark.parametrize(("algorithm", "task"), list(zip(ALGORITHMS, itertools.cycle(TASKS))))
def test_every_algorithm_and_every_task_runs(algorithm: str, task: str, capsys: Capture) -> None:
    """And the facts of its page have the error and the groups that are in the stored trace."""
    sizes = "--clients 6 --dimension 3 --rounds 3 --replicates 3 --seed 4 --clusters 2 --proportions 2,1"
    trace = ran(f"{algorithm} --task {task} {sizes} --json run.json")
    output, errors = capsys.readouterr()
    assert errors == ""
    assert f"3 runs of {trace.rounds} rounds" in " ".join(output.split())
    assert (trace.rounds, trace.settings["algorithm"]["algorithm"]) == (3, algorithm)
    assert np.bincount(trace.labels).tolist() == [4, 2]
    page = json.loads(Path("run.json").read_text())["page"]
    told = {one["kind"]: one for one in page["results"]}
    true = sum(same_partition(row, trace.labels) for row in trace.assignments[-1])
    if algorithm in ("cfl", "sofl", "gradient-loss", "fpfc"):
        assert (told["GroupFacts"]["right"], told["GroupFacts"]["runs"]) == (true, 3)
    if algorithm == "fpfc":
        return
    assert trace.errors is not None
    middle = np.sort(trace.errors[-1].max(axis=-1))[1]
    if algorithm == "gradient-loss":  # of the model that a client chose
        chosen = np.take_along_axis(trace.models[-1], trace.assignments[-1][..., None].astype(int), axis=1)
        optima = from_settings(trace.settings["task"]).client_optima
        middle = np.sort(np.linalg.norm(chosen - optima, axis=-1).max(axis=-1))[1]
    assert told["ErrorFacts"]["end"] == pytest.approx(middle)
    if algorithm in ("cfl", "sofl", "gradient-loss"):
        purities = np.sort([purity(row, trace.labels) for row in trace.assignments[-1]])
        assert told["GroupFacts"]["purity"] == pytest.approx(purities[1])


FUSION = "fpfc --task regression --clients 12 --dimension 4 --rounds 80 --strength"
FACTS: dict[str, dict[str, Any]] = {
    f"{FUSION} 0.6": {"most": 2, "right": 1},
    f"{FUSION} 30": {"most": 1, "right": 0, "true": 2},
    # 10 clients in 500 runs
    "ifca --participation 0.1 --rounds 1": {"wrong": 0, "total": 5000, "found": False},
    "cfl-mgd --samples 500 --replicates 30 --rounds 20": {"sizes": [50, 30, 20], "step": 1, "runs": 30},
    "ifca --clusters 2 --samples 500 --replicates 3 --rounds 2": {"sizes": [50, 50], "clients": 100},
    "ifca --task quadratic": {"sizes": [20, 20], "rounds": 50, "clients": 40},
    "ifca --step-size 1e300 --rounds 1": {"rounds": 1},  # without a warning
}


@pytest.mark.parametrize("words", FACTS)
def test_the_page_has_the_defaults_and_what_was_found(words: str, capsys: Capture) -> None:
    """The defaults are those of regression alone, and shares are equal where the clusters are not three."""
    assert main(["run", *words.split(), "--json", "r.json"]) == 0
    assert capsys.readouterr().err == ""
    page = json.loads(Path("r.json").read_text())["page"]
    told: dict[str, Any] = {}
    for part in (page["task"], page["run"], *page["results"]):
        told = {**part, **told}
    assert {name: told[name] for name in FACTS[words]} == FACTS[words]


def test_a_diverging_run_is_one_line(capsys: Capture) -> None:
    message = refused(capsys, *["run", "ifca", "--step-size", "1e300", "--rounds", "20"])
    assert (
        "--step-size is 1e+300, but it led in round 2 to NaN in model 0 of replicate 0. Lower it" in message
    )


def test_run_uses_the_options() -> None:
    trace = ran(
        "cfl-mgd --task regression --clusters 3 --models 2 --clients 9 --dimension 4 --condition-number 5 "
        "--separation 3 --noise .25 --samples 11 --proportions 1,1,1 --data population "
        "--momentum .25 --averaging model --local-steps 2 --reset-momentum --participation .5 --rounds 2"
    )
    algorithm, task = trace.settings["algorithm"], trace.settings["task"]
    assert trace.models.shape == (3, 500, 2, 4)
    expected = {
        "clusters": 2,
        "momentum": 0.25,
        "local_steps": 2,
        "averaging": "model",
        "reset_momentum": True,
    }
    assert expected.items() <= algorithm.items()
    assert (algorithm["participation"], algorithm["step_size"]) == (0.5, pytest.approx(1.0))  # L = 1
    assert (task["noise"], task["samples"], task["data"], len(task["optima"])) == (0.25, 11, "population", 3)
    assert max(task["covariance"]) / min(task["covariance"]) == pytest.approx(5)
    task = TASKS["logistic"].random(clusters=2, clients=40, dimension=20)
    found = ran("fedavg --task logistic --rounds 1", "logistic").settings["algorithm"]["step_size"]
    assert found == 1 / task.smoothness
    plain, given = ran("ifca --rounds 0", "plain"), ran("ifca --rounds 0 --clusters 3", "given")
    assert plain.rounds == 0
    np.testing.assert_array_equal(plain.models, given.models)


def test_a_run_is_that_of_python_with_its_seed(capsys: Capture) -> None:
    """Of the task and of the run, whose participants are drawn; as CSV, which pandas takes, and as a frame."""
    words = "ifca --task quadratic --clients 8 --dimension 3 --participation 0.5 --rounds 4 --replicates 2 --seed 5"
    found = ran(f"{words} --csv run.csv")
    task = QuadraticMixture.random(clusters=2, clients=8, dimension=3, seed=5)
    algorithm = IFCA(step_size=1 / task.smoothness, participation=0.5)
    start = run(algorithm, task, rounds=0, seed=5).models[0]
    expected = run(algorithm, task, rounds=4, replicates=2, seed=5, initial=start)
    assert np.array_equal(found.models, expected.models)
    assert np.array_equal(found.assignments, expected.assignments)
    assert "2 runs of 4 rounds" in capsys.readouterr().out
    frame = found.frame()
    assert polars.read_csv("run.csv").cast(frame.schema).equals(frame)
    pandas = pytest.importorskip("pandas")
    assert pandas.DataFrame(frame.to_dict(as_series=False))["error"].tolist() == frame["error"].to_list()


# ---- bounds


def bounded(name: str, value: float, probability: float = 0.0) -> None:
    make_claim(name, bound=lambda task, trace, failure: TraceBound(np.full((4, 3), value), probability))


def test_a_stored_run_is_compared_with_a_claim(registry: dict[str, Any], capsys: Capture) -> None:
    for name, value in (("p/holds", 1e3), ("p/fails", 0.0)):
        bounded(name, value)
    trace = ran("ifca --clients 5 --rounds 3 --replicates 1")
    bounded("p/rare", 0.0, 0.03)  # once the run is stored, as its page asks every claim
    capsys.readouterr()
    for names, status, words in (
        ("p/holds", 0, r"p/holds  holds  .* above the bound; the law was not compared: .*; slack .*"),
        ("p/holds p/rare", 3, "p/rare  inconclusive  1 replicates could not break"),
    ):
        assert main(["check", *names.split(), "--trace", "run"]) == status
        assert re.search(words, capsys.readouterr().out)
    assert main(["check", "p/holds", "p/rare", "p/fails", "--trace", "run"]) == 1
    assert trace.errors is not None
    worst, _, cluster = np.unravel_index(int(trace.errors.argmax()), trace.errors.shape)
    place = (
        rf"at round {worst}, cluster {cluster + 1}, replicate 0 \(seed 0\)"  # clusters as on the run's page
    )
    assert re.fullmatch(rf"p/fails  broken  error .* {place}.*", capsys.readouterr().out.splitlines()[-1])
    bounded("cfl-mgd/theorem-a", 1e3)
    assert main(["check", "--trace", "run"]) == 0
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first == "the sharpest bound whose hypotheses hold is that of cfl-mgd/theorem-a"
    assert second.startswith("cfl-mgd/theorem-a  holds")
    Path("run/models.parquet").write_bytes(b"short")
    assert "must have the SHA-256" in refused(capsys, "check", "p/holds", "--trace", "run")


FPFC = (
    "fpfc --task quadratic --clients 8 --dimension 3 --rounds 20 --strength 1 --smoothing .5 --threshold .5"
)


def test_a_run_of_fpfc_is_compared_with_its_own_theorem(capsys: Capture) -> None:
    trace = ran(f"{FPFC} --augmentation 10 --json r.json")
    capsys.readouterr()
    task = from_settings(trace.settings["task"])
    told = {one["claim"]: one for one in json.loads(Path("r.json").read_text())["page"]["theorems"]}
    for claim, row in (
        ("theorem-1-models-positive", "theorem-1-models"),
        ("repaired-duals", "repaired-duals"),
    ):
        allowed = theory.bound(f"fpfc/{claim}", task, trace)
        expected = [float(np.ravel(values)[-1]) for values in (allowed.measured, allowed.bound)]
        found = told[f"fpfc/{row}"]
        assert [found["measured"], found["allowed"]] == pytest.approx(expected)
        assert found["ratio"] == pytest.approx(expected[1] / expected[0])
    needs = told["fpfc/theorem-1-models"]["hypotheses"]
    assert [each["name"] for each in needs if each["met"]] == [each["name"] for each in needs]
    assert {"rho", "q"} <= {each["name"] for each in needs}
    assert main(["check", "--trace", "run"]) == 0
    held = [line.split()[0] for line in capsys.readouterr().out.splitlines() if "  holds  " in line]
    assert held == ["fpfc/one-term", "fpfc/repaired-duals", "fpfc/repaired-mapping"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (f"{FPFC} --augmentation 1", "must have rho > 2 L_g = 4 (fpfc/repaired-models)"),
        (f"fedavg {SMALL}", "has no theorem that bounds runs"),
        (
            "fpfc --task regression --clients 8 --dimension 3 --rounds 2",
            "must be a quadratic mixture (fpfc/repaired-models)",
        ),
    ],
)
def test_a_run_without_a_bound_says_why_and_names_no_theorem_of_others(
    words: str, why: str, capsys: Capture
) -> None:
    ran(words)
    assert "cfl-mgd/" not in capsys.readouterr().out
    refusal = refused(capsys, "check", "--trace", "run")
    assert why in refusal
    assert "cfl-mgd/" not in refusal


@pytest.mark.slow(reason="several seconds")
def test_verbose_adds_theorems_hypotheses_and_symbols(capsys: Capture) -> None:
    words = ["run", "cfl-mgd", "--clusters", "2", "--clients", "10", "--rounds", "3", "--replicates", "2"]
    assert main(words) == 0
    page = capsys.readouterr().out
    assert main([*words, "--verbose"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(page)
    more = shown.removeprefix(page)
    assert "Theorem A" in more
    lines = more.splitlines()
    symbols = {line.split()[0] for line in lines[lines.index("Symbols") + 1 :] if not line.startswith(" ")}
    assert symbols >= {"d", "n'", "s", "Delta", "L", "mu", "sigma^2", "v^2"}


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("algorithm", ["fedavg", "fedprox", "scaffold", "fedlin", "proxskip"])
def test_what_a_page_proposes_are_commands(algorithm: str, capsys: Capture) -> None:
    assert main(["run", algorithm]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("Next"))
    commands = [line[10:] for line in lines[start:] if line[10:].startswith("clusterproof ")]
    assert commands
    for proposed in commands:
        command, *words = proposed.partition("  # ")[0].split()[1:]
        assert main([command, *words, *(["--rounds", "1"] if command == "run" else [])]) == 0


# ---- a class of the user's

CODE = """
from dataclasses import dataclass
import numpy as np
from clusterproof.algorithms import FedAvg, GradientLoss, PerFedAvg, State


@dataclass(frozen=True, kw_only=True)
class Own(FedAvg):
    name = "own"


@dataclass(frozen=True, kw_only=True)
class Grouped(GradientLoss):
    name = "grouped"


@dataclass(frozen=True, kw_only=True)
class Slow(PerFedAvg):
    name = "slow"

    @property
    def dynamics(self):
        return PerFedAvg(step_size=self.step_size)


@dataclass(frozen=True, kw_only=True)
class Writes(Own):
    def step(self, state, task, randomness):
        after = super().step(state, task, randomness)
        state.models[...] = after.models
        return after


@dataclass(frozen=True, kw_only=True)
class Raises(Own):
    def step(self, state, task, randomness):
        return {}["a"]


def gap(state, task):
    return np.linalg.norm(np.asarray(state.models) - task.optima.mean(axis=0))


def fails(state, task):
    return {}["a"]
"""


@pytest.fixture
def own() -> None:
    Path("own.py").write_text(CODE)
    Path("other.py").write_text("from own import Raises\n")


def test_a_users_class_runs_as_the_built_in_one_that_it_repeats(own: None, capsys: Capture) -> None:
    """And ends in a page, which names no theorem but those of its dynamics."""
    found = ran(f"own.py:Own {SMALL} --step-size 0.5")
    task = QuadraticMixture.random(clusters=2, clients=4, dimension=2, seed=0)
    expected = run(FedAvg(step_size=0.5), task, rounds=3, initial=found.models[0])
    np.testing.assert_array_equal(found.models, expected.models)
    page = theory.compare(task, found).facts
    assert (page.run.algorithm, page.run.library, dict(page.run.settings)["step_size"]) == ("own", False, 0.5)
    assert (page.no_theorem, page.result(GroupFacts)) == ("no theorem of this algorithm", None)
    assert capsys.readouterr().out.startswith("own on quadratic losses: 1 run of 3 rounds\n")
    for words, claim, said in (
        ("own.py:Grouped", "", ""),
        ("own.py:Slow", "baselines/per-fedavg-fo", "holds"),
        # not that of its dynamics
        ("own.py:Slow --inner-step-size 0.3", "baselines/per-fedavg-fo", "does not apply"),
    ):
        assert main(["run", *words.split(), *SMALL.split(), "--json", "r.json"]) == 0
        told = json.loads(Path("r.json").read_text())["page"]
        outcomes = {one["claim"]: one["outcome"] for one in told["theorems"]}
        assert outcomes.get(claim, "") == said
        groups = [one for one in told["results"] if one["kind"] == "GroupFacts"]
        assert [(one["right"], one["purity"]) for one in groups] == [(1, 1)] * (words == "own.py:Grouped")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "own.py:Writes",
            "must leave the state that `step` receives unchanged; it writes to the state's `models`",
        ),
        ("own.py:Raises", "algorithm is 'own.py:Raises', but it raised KeyError: 'a' ("),
        ("other.py:Raises", "own.py, line "),  # beside the file, none of whose calls is in it
        ("own.py:Own --momentum 0.5", "Unknown option: --momentum"),
        ("fedavg --record momentum --out o", "must be a field of State, which has models, clients"),
        ("fedavg --measure gap --out o", "--measure is 'gap', but it must be MODULE:NAME or FILE.py:NAME"),
        ("fedavg --measure own.py:none --out o", "has no attribute 'none'"),
        (
            "fedavg --measure own.py:fails --out o",
            "--measure is 'own.py:fails', but it raised KeyError: 'a' (",
        ),
    ],
)
def test_mistakes_are_named(words: str, message: str, own: None, capsys: Capture) -> None:
    said = refused(capsys, "run", *words.split(), *SMALL.split())
    assert message in said


def test_recorded_fields_and_a_measure_are_stored_next_to_the_trace(own: None) -> None:
    trace = ran(f"scaffold {SMALL} --local-steps 2 --record control,controls --measure own.py:gap")
    shapes = {name: array.shape for name, array in trace.recorded.items()}
    assert shapes == {"control": (4, 1, 2), "controls": (4, 4, 2)}
    mean = trace.recorded["controls"].mean(axis=1, keepdims=True)
    np.testing.assert_allclose(trace.recorded["control"], mean, atol=1e-9)
    assert trace.recorded["controls"][1:].any()
    task = QuadraticMixture.random(clusters=2, clients=4, dimension=2, seed=0)
    distances = np.linalg.norm(trace.models[:, 0] - task.optima.mean(axis=0), axis=-1)
    np.testing.assert_allclose(trace.measured["gap"], distances, rtol=1e-12)


# ---- --json


def recorded(words: str) -> tuple[dict[str, Any], Trace]:
    trace = ran(f"{words} --json r.json", words.replace(" ", ""))
    return json.loads(Path("r.json").read_text()), trace


def test_the_record_of_a_run_is_that_of_its_trace(capsys: Capture) -> None:
    for words, rows in (
        ("ifca --replicates 3 --rounds 3", "cluster"),
        ("ifca --replicates 3 --rounds 1 --models 5 --noise 9", "model"),
        ("local --rounds 3", None),
        ("fedavg --step-size 1e70 --local-steps 1 --rounds 3", "pooled model"),
    ):
        record, trace = recorded(words)
        capsys.readouterr()
        assert record["settings"] == trace.settings
        assert rows in (None, record["rows"]), words
        for name in ("purity", "adjusted_rand_index", "cluster_count"):
            values = getattr(trace, name)
            assert record[name] == pytest.approx(np.median(values))
            if rows == "model" and name != "cluster_count":
                assert len({*values.tolist()}) == 3
        if rows == "cluster":
            assert trace.errors is not None
            assert record["last_errors"] == pytest.approx(np.median(trace.errors[-1], axis=0).tolist())
            assert record["bound_claim"] == "cfl-mgd/theorem-d"
            assert len(record["bound"]) == len(record["last_errors"]) == 3
            told = next(one for one in record["page"]["results"] if one["kind"] == "ErrorFacts")
            assert told["end"] == pytest.approx(np.median(trace.errors[-1].max(axis=-1)))
        if "1e70" in words:
            assert record["last_errors"] == [None]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_users_file_may_import_pydantic_which_wants_defaults_of_their_types(name: str) -> None:
    """Cyclopts validates by it from then on, also what nobody gives."""
    pytest.importorskip("pydantic")
    command, bound, _ = app.parse_args(["run", name, "--rounds", "1"], exit_on_error=False, print_error=False)
    assert callable(command)
    assert bound.kwargs == {"rounds": 1}
