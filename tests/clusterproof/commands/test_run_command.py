"""The command that runs an algorithm: every pair, every option, the bound, the stored trace."""

import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import make_claim, refused

from clusterproof import theory
from clusterproof.algorithms import ALGORITHMS, IFCA, purity, run
from clusterproof.algorithms.storage import load_trace
from clusterproof.commands.application import main
from clusterproof.experiments.run_defaults import PAGES
from clusterproof.synthetic import TASKS, QuadraticMixture, from_settings
from clusterproof.theory import TraceBound


def test_no_rounds_are_a_run_of_the_start(tmp_path: Path) -> None:
    assert main(["run", "ifca", "--rounds", "0", "--out", str(tmp_path / "run")]) == 0
    assert load_trace(tmp_path / "run").rounds == 0


def test_a_default_that_is_given_changes_nothing(tmp_path: Path) -> None:
    for folder, more in (("plain", []), ("given", ["--clusters", "3"])):
        assert main(["run", "ifca", "--rounds", "2", "--out", str(tmp_path / folder), *more]) == 0
    plain, given = (load_trace(tmp_path / folder) for folder in ("plain", "given"))
    np.testing.assert_array_equal(plain.models, given.models)
    assert np.bincount(plain.labels).tolist() == [50, 30, 20]


@pytest.mark.parametrize("name", PAGES)
def test_help_shows_the_defaults_of_the_run(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    assert main(["run", name, "--help-all"]) == 0
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert main(["run", name, "--rounds", "0", "--replicates", "1", "--out", str(tmp_path / "run")]) == 0
    used = load_trace(tmp_path / "run").settings["algorithm"]
    options = re.split(r" --(?=[a-z-]+ (?:INT|FLOAT|STR) )", text)
    shown = {
        words.split()[0]: found[0]
        for words in options[1:]
        if (found := re.findall(r"\[default: ([^\]]+)\]", words))
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


@pytest.mark.parametrize(("algorithm", "task"), list(zip(ALGORITHMS, itertools.cycle(TASKS))))
def test_every_algorithm_and_every_task_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, algorithm: str, task: str
) -> None:
    sizes = ["--clients", "6", "--dimension", "3", "--rounds", "3", "--replicates", "3", "--seed", "4"]
    sizes += ["--clusters", "2", "--proportions", "2,1"]
    folder = tmp_path / "run"
    assert main(["run", algorithm, "--task", task, *sizes, "--out", str(folder)]) == 0
    output, errors = capsys.readouterr()
    assert errors == ""
    trace = load_trace(folder)
    assert trace.rounds == 3
    assert trace.settings["algorithm"]["algorithm"] == algorithm
    assert np.bincount(trace.labels).tolist() == [4, 2]
    if algorithm in ("cfl-mgd", "ifca"):
        middle = np.sort(trace.errors[-1].max(axis=-1))[1]
        assert f"{middle:.3g} after round 3 (median; largest " in output
        return
    if algorithm == "fpfc":
        true = sum(same_partition(row, trace.labels) for row in trace.assignments[-1])
        assert f"the true ones in {true} of 3 runs" in output or (true == 3 and "the true ones" in output)
        return
    if algorithm in ("fedavg", "fedprox", "scaffold", "fedlin", "proxskip"):
        middle = np.sort(trace.errors[-1, :, 0])[1]
        shown = re.findall(r"at the start, (\S+) at the +end", " ".join(output.split()))
        assert float(shown[0]) == pytest.approx(middle, rel=6e-3 if middle >= 1e-3 else 6e-2)
        return
    words = " ".join(output.split())
    middle = np.sort(trace.errors[-1].max(axis=-1))[1]
    if algorithm == "gradient-loss":  # of the model that a client chose
        chosen = np.take_along_axis(trace.models[-1], trace.assignments[-1][..., None].astype(int), axis=1)
        optima = from_settings(trace.settings["task"]).client_optima
        middle = np.sort(np.linalg.norm(chosen - optima, axis=-1).max(axis=-1))[1]
    assert f"{middle:.3g} after round 3 (median; largest " in words
    if algorithm in ("cfl", "sofl", "gradient-loss"):
        true = sum(same_partition(row, trace.labels) for row in trace.assignments[-1])
        assert f"the true ones in {true} of 3 runs, all from round" in words
        middle = np.sort([purity(row, trace.labels) for row in trace.assignments[-1]])[1]
        assert f"purity {middle:.3g}" in words


def same_partition(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two clients share a cluster in the one exactly where they do in the other."""
    return bool(((one[:, None] == one) == (other[:, None] == other)).all())


@pytest.mark.parametrize(
    ("strength", "words"),
    [
        ("0.6", "Groups    2, the true ones"),
        ("30", "Groups    1, not the true 2"),
    ],
)
def test_fpfc_says_whether_it_recovers_the_clusters(
    capsys: pytest.CaptureFixture[str], strength: str, words: str
) -> None:
    sizes = ["--clients", "12", "--dimension", "4", "--rounds", "80"]
    assert main(["run", "fpfc", "--task", "regression", "--strength", strength, *sizes]) == 0
    assert words in capsys.readouterr().out


def test_clients_that_never_took_part_are_not_recovered(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "ifca", "--participation", "0.1", "--rounds", "1"]) == 0
    output = capsys.readouterr().out
    assert "0 of 5000 choices of a cluster wrong" in output  # 10 clients in 500 runs
    assert "found" not in output


def test_without_a_model_for_each_cluster_the_page_names_claims_that_bound_the_run(
    registry: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["run", "cfl-mgd", "--clients", "8", "--rounds", "2", "--replicates", "2", "--models", "2"]
    assert main(arguments) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "no theorem of cfl-mgd applies: they need a model for each cluster, here 2 for 3" in words
    make_claim(
        "cfl-mgd/theorem-a",
        bound=lambda task, trace, failure: TraceBound(np.array([[9, 9], [8, 8], [5.125, 5.375]]), 0.03),
    )
    assert main(arguments) == 0
    assert "cfl-mgd/theorem-a says nothing: error <= 5.38 after round 2" in " ".join(
        capsys.readouterr().out.split()
    )


def test_a_stored_run_is_compared_with_a_claim(
    registry: dict[str, Any], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    make_claim("p/holds", bound=lambda task, trace, failure: TraceBound(np.full((4, 3), 1e3)))
    make_claim("p/fails", bound=lambda task, trace, failure: TraceBound(np.zeros((4, 3))))
    folder = str(tmp_path / "run")
    words = ["--clients", "5", "--rounds", "3", "--replicates", "1"]
    assert main(["run", "ifca", *words, "--out", folder]) == 0
    capsys.readouterr()
    make_claim("p/rare", bound=lambda task, trace, failure: TraceBound(np.zeros((4, 3)), 0.03))
    assert main(["check", "p/holds", "--trace", folder]) == 0
    assert re.match(
        r"p/holds  holds  .* above the bound; the law was not compared: .*; slack .*", capsys.readouterr().out
    )
    assert main(["check", "p/holds", "p/rare", "--trace", folder]) == 3
    assert "p/rare  inconclusive  1 replicates could not break" in capsys.readouterr().out
    assert main(["check", "p/holds", "p/rare", "p/fails", "--trace", folder]) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    errors = load_trace(Path(folder)).errors
    worst, _, cluster = np.unravel_index(int(errors.argmax()), errors.shape)
    place = (
        rf"at round {worst}, cluster {cluster + 1}, replicate 0 \(seed 0\)"  # clusters as on the run's page
    )
    assert re.fullmatch(rf"p/fails  broken  error .* {place}.*", last)
    make_claim("cfl-mgd/theorem-a", bound=lambda task, trace, failure: TraceBound(np.full((4, 3), 1e3)))
    assert main(["check", "--trace", folder]) == 0
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first == "the sharpest bound whose hypotheses hold is that of cfl-mgd/theorem-a"
    assert second.startswith("cfl-mgd/theorem-a  holds")
    (tmp_path / "run" / "models.parquet").write_bytes(b"short")
    assert "must have the SHA-256" in refused(capsys, "check", "p/holds", "--trace", folder)


FPFC_RUN = "run fpfc --task quadratic --clients 8 --dimension 3 --rounds 20 --strength 1 --smoothing .5 --threshold .5"


def test_a_run_of_fpfc_is_compared_with_its_own_theorem(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = str(tmp_path / "run")
    assert main([*FPFC_RUN.split(), "--augmentation", "10", "--out", folder]) == 0
    output = capsys.readouterr().out
    trace = load_trace(tmp_path / "run")
    task = from_settings(trace.settings["task"])
    for claim, row in (
        ("theorem-1-models-positive", r"Models    \|grad_w L_0\|\^2 +(\S+) +(\S+)"),
        ("repaired-duals", r"Duals     \|grad_v L_0\|\^2 +(\S+) +(\S+)"),
    ):
        found = re.search(row, output)
        assert found is not None, output
        allowed = theory.bound(f"fpfc/{claim}", task, trace)
        expected = [float(np.ravel(values)[-1]) for values in (allowed.measured, allowed.bound)]
        # D_0 has m in the printed bounds, and m - 1 in the repaired one of the duals
        assert [float(number) for number in found.groups()] == pytest.approx(expected, rel=0.15)
    assert main(["check", "--trace", folder]) == 0
    held = [line.split()[0] for line in capsys.readouterr().out.splitlines() if "  holds  " in line]
    assert held == ["fpfc/one-term", "fpfc/repaired-duals", "fpfc/repaired-mapping"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (f"{FPFC_RUN} --augmentation 1", "must have rho > 2 L_g = 4 (fpfc/repaired-models)"),
        ("run fedavg", "no theorem of this algorithm is a bound on runs"),
        ("run fpfc --task regression", "must be a quadratic mixture (fpfc/repaired-models)"),
    ],
)
def test_a_run_without_a_bound_says_why(
    arguments: str, words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = str(tmp_path / "run")
    assert main([*arguments.split(), "--out", folder]) == 0
    output = capsys.readouterr().out
    assert "cfl-mgd/" not in output
    refusal = refused(capsys, "check", "--trace", folder)
    assert words in refusal
    assert "cfl-mgd/" not in refusal


def test_run_uses_the_options(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = (
        "run cfl-mgd --task regression --clusters 3 --models 2 --clients 9 --dimension 4 --condition-number 5 "
        "--separation 3 --noise .25 --samples 11 --proportions 1 --proportions 1 --proportions 1 --data population "
        "--momentum .25 --averaging model --local-steps 2 --reset-momentum --participation .5 --rounds 2"
    )
    assert main([*arguments.split(), "--out", str(tmp_path / "run")]) == 0
    trace = load_trace(tmp_path / "run")
    algorithm, task = trace.settings["algorithm"], trace.settings["task"]
    assert trace.models.shape == (3, 500, 2, 4)
    assert (algorithm["clusters"], algorithm["momentum"], algorithm["local_steps"]) == (2, 0.25, 2)
    assert (algorithm["averaging"], algorithm["reset_momentum"], algorithm["participation"]) == (
        "model",
        True,
        0.5,
    )
    assert algorithm["step_size"] == pytest.approx(1.0)  # L = 1
    assert (task["noise"], task["samples"], task["data"], len(task["optima"])) == (0.25, 11, "population", 3)
    assert max(task["covariance"]) / min(task["covariance"]) == pytest.approx(5)


def test_the_default_step_is_one_over_the_smoothness(tmp_path: Path) -> None:
    assert main(["run", "fedavg", "--task", "logistic", "--rounds", "1", "--out", str(tmp_path / "r")]) == 0
    settings_ = load_trace(tmp_path / "r").settings
    task = TASKS["logistic"].random(clusters=2, clients=40, dimension=20)
    assert settings_["algorithm"]["step_size"] == 1 / task.smoothness


def test_a_run_is_that_of_python_with_its_seed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the task and of the run, whose participants are drawn."""
    words = "run ifca --task quadratic --clients 8 --dimension 3 --participation 0.5 --rounds 4 --replicates 2 --seed 5"
    assert main([*words.split(), "--out", str(tmp_path / "run")]) == 0
    task = QuadraticMixture.random(clusters=2, clients=8, dimension=3, seed=5)
    algorithm = IFCA(step_size=1 / task.smoothness, participation=0.5)
    start = run(algorithm, task, rounds=0, seed=5).models[0]
    expected = run(algorithm, task, rounds=4, replicates=2, seed=5, initial=start)
    found = load_trace(tmp_path / "run")
    assert np.array_equal(found.models, expected.models)
    assert np.array_equal(found.assignments, expected.assignments)
    assert "4 rounds, 2 runs from one start" in " ".join(capsys.readouterr().out.split())


def test_the_defaults_of_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    """They are those of regression alone, each can be given, and shares are equal where the clusters are not three."""
    words = ["--samples", "500", "--replicates", "30", "--rounds", "20"]
    assert main(["run", "cfl-mgd", *words]) == 0
    output = capsys.readouterr().out
    assert "3 clusters: 50, 30 and 20 of m = 100 clients" in output
    assert "d = 20, n' = 500 new samples per client and round, noise 0.2" in output
    assert "optima >= Delta = 1.6 apart" in output
    assert "L = 1, mu = 0.25" in output
    assert "step 1/L, momentum 0.5, 20 rounds, 30 runs from one start" in output
    assert "0.1 at the start" in output
    assert main(["run", "ifca", "--clusters", "2", *words]) == 0
    assert "2 clusters: 50 and 50 of m = 100 clients" in capsys.readouterr().out
    assert main(["run", "ifca", "--task", "quadratic"]) == 0
    output = capsys.readouterr().out
    assert "2 clusters: 20 and 20 of m = 40 clients" in output
    assert "50 rounds, 1 run" in output


@pytest.mark.slow(reason="several seconds")
def test_verbose_prints_all_theorems_after_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "cfl-mgd", "--clients", "10", "--rounds", "3", "--replicates", "2"]
    assert main(words) == 0
    page = capsys.readouterr().out
    assert main([*words, "--verbose"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(page)
    names = re.findall(r"^cfl-mgd/(\S+)$", shown.removeprefix(page), flags=re.MULTILINE)
    assert names == ["theorem-1", "lemma-2", "remark-1", "theorem-d", "theorem-a", "theorem-a-prime"]


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("algorithm", ["fedavg", "fedprox", "scaffold", "fedlin", "proxskip"])
def test_algorithms_with_one_model_print_their_page(
    algorithm: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """And the commands that it proposes are commands."""
    assert main(["run", algorithm]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{algorithm} on quadratics with known optima"
    assert len(lines) <= 28
    assert max(map(len, lines)) <= 80
    assert any("holds: " in line for line in lines) == (algorithm != "fedprox")
    proposed = [re.split(r"  +", line[10:])[0].removeprefix("clusterproof ") for line in lines[-2:]]
    for command in proposed:
        name, *options = command.split()[1:]
        if command.startswith("run"):
            assert main(["run", name, *options, "--rounds", "1"]) == 0
        else:
            assert main(["show", name]) == 0
