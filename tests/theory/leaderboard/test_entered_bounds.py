"""Bounds that a user enters are judged by every column, and what is wrong is named in one line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from checkout import ROOT
from leaderboard_settings import A

from clusterproof import InvalidArgument, NoisyQuadraticMixture, QuadraticMixture
from clusterproof.commands.application import main
from clusterproof.theory.leaderboard import Row, leaderboard, violations

BOUNDS = """
from clusterproof.theorem import suppose
from clusterproof.theory.leaderboard import leaderboard_bound

@leaderboard_bound("mine/small", algorithm="fedavg", client_class="strong")
def small(setting):
    suppose("no heterogeneity at all", setting.rounds < 100)
    return setting.distance**2 / 2

@leaderboard_bound("mine/large", algorithm="fedavg", client_class="quadratic")
def large(setting):
    return 2 * setting.distance**2

@leaderboard_bound("mine/other", algorithm="scaffold", client_class="convex")
def other(setting):
    return 0
"""


def test_bounds_of_a_module_are_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.py"
    file.write_text(BOUNDS, encoding="utf-8")
    for client_class in ("strong", "quadratic"):
        rows = leaderboard("fedavg", client_class=client_class, rounds=[1, 100], module=file, **A)
        by = {(row["round"], row["column"]): row for row in rows}
        assert (1, "mine/other") not in by
        assert [row["column"] for row in violations(rows)] == ["mine/small"]
        assert "half of the clients" in str(by[1, "mine/small"]["reason"])
        assert by[100, "mine/small"]["reason"] == "hypothesis fails: no heterogeneity at all"
        large = by[1, "mine/large"]
        assert (large["value"] is None) == (client_class == "strong")
    command = ["leaderboard", "fedavg", "--client-class", "strong", "--rounds", "1", "--module", str(file)]
    for name, value in A.items():
        command += [f"--{name.replace('_', '-')}", str(value)]
    rows_file, figure = tmp_path / "rows.json", tmp_path / "figure.svg"
    command += ["--json", str(rows_file), "--figure", str(figure)]
    assert main([*command, "--fail-on", "violated"]) == 1
    output = capsys.readouterr().out
    assert "mine/small R = 1: violated: half of the clients" in " ".join(output.split())
    assert output.count("violated: half of the clients") == 1
    written = json.loads(rows_file.read_text(encoding="utf-8"))
    assert set(written) == {"setting", "version", "rows"}
    assert written["setting"]["client_class"] == "strong"
    assert {tuple(row) for row in written["rows"]} == {("round", "column", "value", "reason", "violated")}
    assert "<svg" in figure.read_text(encoding="utf-8")


@pytest.mark.slow(reason="a second or more")
def test_a_bound_is_judged_by_the_task_if_it_is_in_the_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The bound is a tenth of D^2, the task at 0.4 from x*."""
    monkeypatch.chdir(tmp_path)
    hessians, centers = np.array([[[0.1]], [[1.0]]]), np.array([[-0.5], [0.5]])
    labels = np.zeros(2, int)
    task = QuadraticMixture(hessians=hessians, centers=centers, labels=labels)
    noisy = NoisyQuadraticMixture(
        hessians=hessians, centers=centers, covariance=np.eye(1) * 1e4, labels=labels
    )
    plane = QuadraticMixture(
        hessians=hessians * np.eye(2), centers=np.hstack([centers, 0 * centers]), labels=labels
    )
    uneven, three = (
        QuadraticMixture(
            hessians=np.reshape(curvatures, (-1, 1, 1)),
            centers=np.array(places)[:, None],
            labels=np.zeros(len(places), int),
        )
        for curvatures, places in (([0.1, 1, 1], [-0.5, 0.5, 0.5]), ([0.1, 1, 1], [-0.5, 0.5, 0.4]))
    )
    Path("small.py").write_text(BOUNDS.replace("**2 / 2", "**2 / 10"), encoding="utf-8")

    def judged(task: object, client_class: str = "strong", **change: object) -> tuple[list[Row], Row]:
        setting = {**A, "module": "small.py", "task": task, **change}
        rows = leaderboard("fedavg", client_class=client_class, rounds=1, **setting)
        return violations(rows), rows[-1]

    for client_class in ("strong", "quadratic"):
        broken, row = judged(task, client_class)
        assert row["value"] is not None
        assert row["value"] > 0.1
        assert [each["column"] for each in broken] == ["mine/small"]
        assert f"the given task has E|x_R - x*|^2 = {row['value']:.6g} > 0.1" in str(broken[0]["reason"])
    for other in (plane, uneven, three):
        reason = judged(other, "quadratic")[1]["reason"]
        assert "half of its clients must be one scalar quadratic" in str(reason)
    for words, (broken, row) in {
        "outside the setting, where gradients have no noise": judged(noisy),
        "its heterogeneity": judged(task, heterogeneity="1/20"),
        "has this sampling": judged(task, sampling="1/4"),
    }.items():
        assert words in str(row["reason"])
        (bound,) = broken  # by another column
        assert "the given task" not in str(bound["reason"])
    assert judged(task, sampling="1/9")[1]["reason"] is None  # 5 of 10 clients
    source = (
        "import numpy as np\nfrom clusterproof import QuadraticMixture\ntask = QuadraticMixture(hessians="
    )
    source += "np.array([[[0.1]], [[1.0]]]), centers=np.array([[-0.5], [0.5]]), labels=np.zeros(2, int))\n"
    Path("own.py").write_text(source, encoding="utf-8")
    command = ["leaderboard", "fedavg", "--client-class=strong", "--rounds=1", "--module=small.py"]
    command += [f"--{name.replace('_', '-')}={value}" for name, value in A.items()]
    assert main([*command, "--task=own.py:task", "--fail-on=violated"]) == 1
    assert "mine/small R = 1: violated: the given task" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x = 1\n", "must define a bound"),
        (BOUNDS.replace("mine/small", "drift"), "must not be the name of another column"),
        (BOUNDS.replace("/ 2", "* float('nan')"), "must return a number"),
        (BOUNDS.replace("/ 2", "+ missing"), "must return a number"),
    ],
)
def test_a_module_that_is_wrong(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "wrong.py"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidArgument, match=message):
        leaderboard("fedavg", client_class="strong", rounds=1, module=file, **A)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("--rounds 0", "rounds"),
        ("--rounds 1,x", "rounds"),
        ("--client-class smooth", "client-class"),
        ("--step-size 1/0", "step-size"),
        ("--step-size 0", "step-size"),
        ("--smoothness 0", "smoothness"),
        ("--strong-convexity 1", "strong-convexity"),
        ("--local-steps 0", "local-steps"),
        ("--server-step-size 0", "server-step-size"),
        ("--sampling 2", "sampling"),
        ("--clients 10", "participants"),
        ("--clients 10 --participants 11", "participants"),
        ("--clients 10 --participants 5 --sampling 1/9", "sampling"),
        ("--figure x.gif", "figure"),
        ("--proximal 1", "proximal"),
        ("--option I", "option"),
        ("--heterogeneity=-1", "heterogeneity"),
        ("--distance=-1", "distance"),
        ("--distance 0 --heterogeneity 0", "distance"),
        ("--task nothing", "task"),
    ],
)
def test_bad_input_is_one_line(change: str, named: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = {f"--{name.replace('_', '-')}": str(value) for name, value in A.items()}
    given |= {"--client-class": "strong", "--rounds": "1"}
    words = change.replace("=", " ").split()
    given |= dict(zip(words[::2], words[1::2], strict=True))
    assert main(["leaderboard", "fedavg", *(f"{name}={value}" for name, value in given.items())]) == 2
    error = capsys.readouterr().err
    assert re.match(rf"error: (Invalid value for )?(--)?{named}( is |: )", error)
    assert error.count("\n") == 1


def test_sampling_is_computed_from_the_clients(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = [f"--{name.replace('_', '-')}={value}" for name, value in A.items()]
    words += ["--client-class=strong", "--rounds=1"]
    printed = []
    for sampling in (["--sampling=1/9"], ["--clients=10", "--participants=5"]):
        assert main(["leaderboard", "fedavg", *words, *sampling, "--json", str(tmp_path / "rows")]) == 0
        printed.append(capsys.readouterr().out)
        assert json.loads((tmp_path / "rows").read_text())["setting"]["sampling"] == "1/9"
    assert printed[0] == printed[1]
    assert "theta = 1/9" in printed[0]
    assert main(["leaderboard", "scaffold", *words, "--clients=10", "--participants=5"]) == 2
    assert capsys.readouterr().err.startswith("error: --participants is 5, but it ")
    words = " ".join(printed[0].split())
    assert "drift hypothesis fails: all clients take part in every round" in words


@pytest.mark.parametrize(("algorithm", "name"), [("fedprox", "proximal"), ("proxskip", "probability")])
def test_a_file_has_the_default_that_was_used(algorithm: str, name: str, tmp_path: Path) -> None:
    settings = []
    for more in ([], [f"--{name}=1/3"]):
        words = [f"--{key.replace('_', '-')}={value}" for key, value in A.items() if key != "local_steps"]
        words += ["--client-class=strong", "--rounds=1", "--json", str(tmp_path / "rows"), *more]
        assert main(["leaderboard", algorithm, *words]) == 0
        settings.append(json.loads((tmp_path / "rows").read_text())["setting"][name])
    assert settings[0] not in (None, "None", settings[1])
    assert settings[1] == "1/3"


def test_the_page_prints_what_it_states(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/how-to/leaderboard.md").read_text(encoding="utf-8")
    for name, content in re.findall(r"(?ms)^New file `(.+?)`:\n\n```python\n(.*?)^```$", page):
        (tmp_path / name).write_text(content, encoding="utf-8")
    first, *_, last = re.findall(r"(?m)^\$ clusterproof (leaderboard .*)$", page.replace("\\\n", " "))
    (instance,) = re.findall(r"```text\n(.*?)```", page, flags=re.DOTALL)
    (values,) = re.findall(r"(?m)(?:^\| .*\n)+", page)[:1]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in values.splitlines()]
    assert main(first.split()) == 0
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert all(row in printed for row in [rows[0], *rows[2:]])
    assert len(rows) == 6
    assert main(last.split()) == 1
    assert instance in capsys.readouterr().out


def test_all_wrong_options_are_named_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--strong-convexity", "3", "--step-size", "0", "--option", "II"]
    assert main(["leaderboard", "fedavg", *words]) == 2
    captured = capsys.readouterr()
    assert not captured.out
    lines = captured.err.splitlines()
    assert {line.split()[1] for line in lines} == {"--strong-convexity", "--step-size", "--option"}
