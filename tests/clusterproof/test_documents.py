"""Every command in the documents works: run as printed or with smaller options, or only parsed."""

import ast
import contextlib
import importlib
import itertools
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from checkout import CLEAN, ROOT

from clusterproof import FedAvg, QuadraticMixture, run
from clusterproof.commands.application import app, main
from clusterproof.conformance import DEFINITIONS
from clusterproof.figures import FIGURES
from clusterproof.settings import from_settings, values_from_texts
from clusterproof.theory import REGISTRY

LESSONS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "notes/lessons").glob("lesson_*.py"))
PAGES = [
    *(
        "README.md",
        "SECURITY.md",
        "clusterproof/experiments/results/README.md",
        "benchmarks/README.md",
        "notes/README.md",
    ),
    *(
        "notes/your-own.md",
        "notes/fpfc-repaired.md",
        "notes/theorem-d.md",
        "notes/known-to-be-wrong.md",
        "notes/sweeps.md",
        "notes/coming-from.md",
        "notes/teaching.md",
        "notes/runs.md",
        "notes/networks.md",
    ),
    *("notes/your-own-theorem.md", "notes/your-own-algorithm.md", "notes/conformance.md", *LESSONS),
    "notes/leaderboard.md",
    "notes/every-function.md",
    "notes/kernel.md",
    "notes/property-based-tests.md",
    "notes/reviewing.md",
    "notes/maintaining.md",
]
"""All pages with commands."""
LONG = {
    *(
        "README.md",
        "notes/sweeps.md",
        "notes/coming-from.md",
        "clusterproof/experiments/results/README.md",
        "notes/your-own.md",
        "notes/your-own-theorem.md",
        "notes/runs.md",
        "notes/networks.md",
        "notes/every-function.md",
    ),
    *(f"notes/lessons/lesson_{name}.py" for name in ("1_momentum_and_clusters", "4_false_lemma")),
    "notes/lessons/lesson_9_proof_to_network.py",
}
"""Pages whose commands take several seconds."""


@pytest.fixture(autouse=True)
def claims_of_a_page() -> Iterator[None]:
    """Forget the claims that a page's files have stated, as other pages use the same names."""
    with patch.dict(REGISTRY):
        yield


STATUS = {
    r"conform my_fedprox_torch.py:TorchFedProx --as fedprox": 1,
    r"leaderboard .* --module my_bound.py --fail-on violated": 1,
}
"""Exit statuses other than 0, by pattern."""

FAILING = {r'python -c "import test_average; .*': 1}
"""Lines that fail on purpose."""

READ_ONLY = {
    r"check( --verbose)?": "every headline, a minute: `make check`",
    r"check --paper cfl-mgd --all": "every claim of a paper, minutes",
    r"data fetch \w+": "wants the network",
    r"check inexact.py|(check|show) .*local_sgd.py|check my_paper.py": "tests of their own compare what it prints",
    r"check scaffold/contraction scaffold.py": "a test of its own compares what it prints",
    r"check (--all --search|ID) .*": "every claim, the long ones too; a placeholder",
    r"check examples/known_to_be_wrong.py --verbose": "the page's verdicts are compared by a test of the examples",
    r"train": "named, not run: its defaults take a minute",
    r"--install-completion": "writes into the settings of the user's shell",
    r"sweep .+ --dask .+": "wants a cluster: tests of sweeps start one",
}
"""Commands that are not run, and why."""

DIGITS = {
    "--data": "digits",
    "--clients": "8",
    "--samples": "40",
    "--participation": "0.5",
    "--rounds": "2",
}

LITTLE = {
    r"table .+": {},
    r"train --algorithm cfl-mgd .*": {"--rounds": "2"},
    r"train --resume my-training .*": {"--rounds": "4"},
    r"train --data digits .*": {"--rounds": "2", "--evaluate-every": "2"},
    r"train --data mnist .* --seeds 6": {**DIGITS, "--seeds": "1"},
    r"train --data mnist .*": {**DIGITS, "--evaluate-every": "1", "--hidden": "8"},
    r"train --data cifar10 .* --network tutorial-cnn .*": {
        **DIGITS,
        "--evaluate-every": "1",
        "--crop": "6",
        "--least-share": "0.01",
    },
}
"""Commands that take minutes or need files outside the repository: options and the values that replace theirs. Of a
table only the help is shown; of figures, only `contraction-map` is drawn; a claim is shown without its verdict."""


def shell_lines(page: str) -> list[str]:
    """Return the lines for a shell of a page in their order: in a block of code or within a sentence."""
    text = (ROOT / page).read_text(encoding="utf-8").replace("\\\n", " ")
    found = re.findall(r"(?m)^\$ (.*)$|^(?:    |\.venv/bin/)(clusterproof .*)$|`(clusterproof [^`]*)`", text)
    lines = [" ".join(line.partition(" # ")[0].split()) for line in map("".join, found)]
    return [line for line in lines if "NAME" not in line.split() and "FILE" not in line]


def commands(page: str) -> list[str]:
    """Return the arguments of the calls of this program in a page."""
    starts = ("clusterproof ", ".venv/bin/clusterproof ")
    return [line.partition(" ")[2] for line in shell_lines(page) if line.startswith(starts)]


def in_little(line: str) -> list[str]:
    """Return the words of a command as it is run here; none if it is only parsed."""
    words = shlex.split(line)
    if any(re.fullmatch(pattern, line) for pattern in READ_ONLY):
        return []
    smaller = next((others for pattern, others in LITTLE.items() if re.fullmatch(pattern, line)), {})
    for option, value in smaller.items():
        words[words.index(option) + 1] = value
    if re.fullmatch(r"(check|show) [\w-]+/[\w-]+", line) and line != "check cfl-mgd/lemma-2":
        return ["show", words[1], "--no-check"]
    if words[0] == "figures":
        names = list(itertools.takewhile(lambda word: not word.startswith("-"), words[1:]))
        values = [word for option, word in itertools.pairwise(words) if option == "--set"]
        assert set(names) <= set(FIGURES), line
        for name in names:
            from_settings(FIGURES[name], values_from_texts("set", values))
        return ["figures", *names[:1], *words[words.index("--out") :]] if "contraction-map" in names else []
    return [*words[:2], "--help"] if words[0] == "table" and len(words) > 1 else words


def write_files(page: str) -> dict[str, str]:
    """Write the files that a page prints into the working folder, and return their contents by name."""
    files = dict(re.findall(r"(?ms)`([^`\n]+)`:\n\n```(?:python|toml)\n(.*?)^```$", page))
    for name, content in files.items():
        Path(name).write_text(content, encoding="utf-8")
    return files


@pytest.mark.parametrize("page", [*PAGES, "CONTRIBUTING.md"])
def test_commands_are_quoted_for_every_shell(page: str) -> None:
    """Where bash leaves a pattern without a match as it is, zsh refuses the command."""
    for line in shell_lines(page):
        bare = re.sub(r"'[^']*'|\"[^\"$`]*\"", "", line)
        assert re.findall(r"[\[\]*?{}()~^!]|(?<= )=", bare) == [], line


OUTSIDE = {
    r"make .*|git .*|marimo .*|\S*marimo .*|.*pip install .*|python3 -m venv .*": "sets up, or stays open",
    r"clusterproof figures .*--out notes/stored/figures": "draws all stored figures, minutes",
    r"clusterproof data fetch \w+|.* --data mnist .*|.*=cifar10 .*": "wants the network",
    r".* --dask .*": "wants a cluster: tests of sweeps start one",
    r"clusterproof --install-completion": "writes into the settings of the user's shell",
    r"clusterproof table \S+ (?!--help).*": "hours: tests of the tables run each in little",
    r"clusterproof check .*--evidence clusterproof/.*": "would write the records; tests of the catalogue check each",
    r"clusterproof train": "named, not run: its defaults take a minute",
}
"""Lines that no test runs as they are printed, and why."""


@pytest.mark.slow(reason="runs every command of a page, minutes in all")
@pytest.mark.parametrize("page", PAGES)
def test_every_command_runs_in_bash_as_it_is_printed(page: str, tmp_path: Path) -> None:
    program, folder = tmp_path / "bin" / "clusterproof", tmp_path / "work"
    for made in (program.parent, folder):
        made.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m clusterproof "$@"\n', "utf-8")
    program.chmod(0o755)
    path = os.pathsep.join([str(program.parent), str(Path(sys.executable).parent), os.environ["PATH"]])
    for name in ("clusterproof", "examples", "notes"):  # a reader is in a copy of the repository
        (folder / name).symlink_to(ROOT / name)
    with contextlib.chdir(folder):
        write_files((ROOT / page).read_text(encoding="utf-8"))
    for line in shell_lines(page):
        if any(re.fullmatch(pattern, line) for pattern in OUTSIDE):
            continue
        done = subprocess.run(
            ["bash", "-c", line.replace(".venv/bin/", "")],
            cwd=folder,
            env={**CLEAN, "PATH": path, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
        )
        status = {rf"clusterproof {pattern}": code for pattern, code in STATUS.items()} | FAILING
        expected = next((code for pattern, code in status.items() if re.fullmatch(pattern, line)), 0)
        assert done.returncode == expected, (line, done.stdout, done.stderr)


@pytest.mark.parametrize("page", PAGES)
def test_commands_are_parsed(page: str) -> None:
    for line in commands(page):
        app.parse_args(shlex.split(line), exit_on_error=False, print_error=False)


@pytest.mark.parametrize("page", [*PAGES, "CONTRIBUTING.md"])
def test_the_files_that_a_page_names_are_there(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"`((?:clusterproof|tests|notes|examples|benchmarks)/[\w./-]+)", text)
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.slow(reason="runs a page's commands")) if page in LONG else page
        for page in PAGES
    ],
)
def test_commands_run_as_printed(
    page: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    text = (ROOT / page).read_text(encoding="utf-8")
    write_files(text)
    for line in commands(page):
        words = in_little(line)
        if words:
            capsys.readouterr()
            expected = next((code for pattern, code in STATUS.items() if re.fullmatch(pattern, line)), 0)
            assert main(words) == expected, (line, capsys.readouterr())


@pytest.mark.slow(reason="compares a run with its law")
def test_the_runs_of_the_page_about_teaching_are_named_by_what_differs() -> None:
    """A picture for a slide."""
    text = (ROOT / "notes/teaching.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    names: dict[str, Any] = {}
    exec(example, names)
    figure = names["first"].plot(*names["others"], width=12)
    (panel,) = figure.axes
    labels = [text.get_text() for text in panel.get_legend().get_texts()]
    assert labels == ["momentum 0", "momentum 0.5", "momentum 0.9"]


@pytest.mark.slow(reason="several seconds")
def test_the_python_example_of_the_page_about_runs_runs() -> None:
    text = (ROOT / "notes/runs.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(example, "runs.md", "exec"), names)
    assert names["trace"].errors.shape == (51, 1000, 2)


def plans() -> dict[str, str]:
    """Return the plan of each lesson by the lesson's number."""
    sections = (ROOT / "notes/teaching.md").read_text(encoding="utf-8").split("\n## ")
    (section,) = [text for text in sections if text.startswith("Plans for a class")]
    return dict(re.findall(r"(?ms)^### Lesson (\d+): (.*?)(?=^### |\Z)", section))


def sliders_of(lesson: str) -> dict[str, list[float]]:
    """Return the values of each slider of a lesson, without importing it."""
    body = ast.parse((ROOT / f"notes/lessons/{lesson}.py").read_text(encoding="utf-8"))
    (value,) = [
        node.value
        for node in ast.walk(body)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "SLIDERS"
    ]
    values: dict[str, list[float]] = ast.literal_eval(value)
    return values


def positions_named(text: str) -> dict[str, list[float]]:
    """Return the slider values that a text names, such as `momentum = 0.6`, by slider."""
    named: dict[str, list[float]] = {}
    for slider, value in re.findall(r"`(\w+) = ([^`]*)`", text):
        named.setdefault(slider, []).append(ast.literal_eval(value))
    return named


def test_every_lesson_has_a_plan_whose_slider_values_are_its_own() -> None:
    lessons = {Path(name).stem.split("_")[1]: Path(name).stem for name in LESSONS}
    assert list(plans()) == sorted(lessons, key=int)
    for number, plan in plans().items():
        lesson = lessons[number]
        sliders, named = sliders_of(lesson), positions_named(plan)
        assert set(named) == set(sliders), lesson
        for slider, values in named.items():
            assert set(values) <= set(sliders[slider]), (lesson, slider)
        minutes = map(int, re.findall(r"(?m)^\d\. \*[^*]+ \((\d+)\)\.\*", plan))
        assert 4 <= len(re.findall(r"(?m)^\d\. ", plan)) <= 6, lesson
        assert 35 <= sum(minutes) <= 45, lesson
        assert len([line for line in plan.splitlines()[1:] if line]) < 14, lesson


@pytest.mark.slow(reason="computes the figures of all lessons")
@pytest.mark.parametrize("lesson", [Path(name).stem for name in LESSONS])
def test_a_plan_quotes_what_the_lesson_prints(lesson: str) -> None:
    (step,) = re.findall(r"(?ms)^\d\. \*Figure.*?(?=^\d\. )", plans()[lesson.split("_")[1]])
    describe = importlib.import_module(lesson).describe
    named = positions_named(step)
    sentences = [
        describe(**dict(zip(named, values, strict=True))) for values in itertools.product(*named.values())
    ]
    printed = {float(number) for sentence in sentences for number in re.findall(r"\d+\.\d+", sentence)}
    quoted = re.findall(r"\d+\.\d+", re.sub(r"`[^`]*`", "", step))
    assert {number for number in quoted if float(number) not in printed} == set()


def test_the_readme_fits_two_screens() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 120
    assert max(map(len, lines)) <= 120


@pytest.mark.slow(reason="several seconds")
def test_the_readme_prints_what_its_commands_print(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(REGISTRY, "my-paper/lemma-1", raising=False)  # of another test's file
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    write_files(text)
    blocks = re.findall(r"```console\n\$ clusterproof ([^\n\\]*)\n((?!\$).*?)```", text, flags=re.DOTALL)
    assert len(blocks) == 4
    for line, quoted in blocks:
        assert main(shlex.split(line)) == 0
        printed = " ".join(capsys.readouterr().out.split())
        for sentence in quoted.splitlines():
            assert " ".join(sentence.split()) in printed, line


@pytest.mark.slow(reason="shrinks a counterexample")
def test_the_property_in_the_readme_fails_at_the_task_that_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    example = write_files((ROOT / "README.md").read_text(encoding="utf-8"))["test_average.py"]
    names: dict[str, Any] = {}
    exec(compile(example, "README.md", "exec"), names)
    with pytest.raises(AssertionError) as failure:
        names["test_it_reaches_the_optimum"]()
    (printed,) = re.findall(r"task=(QuadraticMixture\(.*\)),", "".join(failure.value.__notes__))
    task = eval(printed, {"QuadraticMixture": QuadraticMixture})  # noqa: S307 - a reader pastes it
    assert (task.clients, task.dimension) == (2, 1)
    curvatures, centers = task.hessians[:, 0, 0], task.centers[:, 0]
    assert sorted(curvatures) == [0.5, 1.0]
    # two local steps of 1/2 scale the distances from the centres by 9/16 and 1/4
    pull = 1 - (1 - curvatures / 2) ** 2
    trace = run(FedAvg(step_size=0.5, local_steps=2), task, rounds=60, seed=0)
    assert trace.models[-1, 0, 0] == pytest.approx(pull @ centers / pull.sum(), abs=1e-12)
    assert curvatures @ centers == pytest.approx(0)  # the optimum is 0, and FedAvg is not there
    assert abs(trace.models[-1, 0, 0]) > 0.001


@pytest.mark.slow(reason="several seconds")
def test_the_recipe_of_a_theorem_of_ones_own_prints_what_it_states(
    registry: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    recipe = (ROOT / "notes/your-own-theorem.md").read_text(encoding="utf-8")
    file = write_files(recipe)["my_paper.py"]
    for line in re.findall(r"(?m)^\$ clusterproof (.*my_paper.py)$", recipe):
        assert main(shlex.split(line)) == 0, line
    output = capsys.readouterr().out
    assert "at step = 1, rounds = 1: 1 > 0.5" in output
    assert "holds on all 440 instances of the grid and" in output
    assert "from clusterproof import load_claims, replay" in output
    Path("my_paper.py").write_text(file.replace("floor=step / 2)", "floor=step)"), encoding="utf-8")
    assert main(["check", "my_paper.py", "--fail-on", "violated"]) == 0


@pytest.mark.slow(reason="several seconds")
def test_the_claims_on_vectors_and_sequences_get_the_verdicts_that_are_printed(
    registry: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    recipe = (ROOT / "notes/your-own-theorem.md").read_text(encoding="utf-8")
    write_files(recipe)
    assert main(["check", "inexact.py"]) == 0
    output = capsys.readouterr().out
    lines = re.findall(r"(?m)^(inexact/\S+  \w+)$", recipe)
    assert len(lines) == 3
    assert all(line in output for line in lines)
    assert "proved by sums of squares" in output


@pytest.mark.slow(reason="runs a torch implementation")
def test_the_page_about_conformance_prints_what_it_states(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "notes/conformance.md").read_text(encoding="utf-8")
    write_files(page)
    (report,) = re.findall(r"```text\n(.*?)```", page, flags=re.DOTALL)
    assert main(["conform", "my_fedprox_torch.py:TorchFedProx", "--as", "fedprox"]) == 1
    assert capsys.readouterr().out == report
    for definition in DEFINITIONS.values():
        compared = "yes" if definition.paper_was_read else "no"
        row = f"| `{definition.name}` | {definition.equation} | {definition.source} | {compared} |"
        assert row in page.replace("\\|", "|")
    for recipe in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL):
        compile(recipe, "recipe", "exec")  # recipes for packages that are not installed are only parsed


def test_the_page_about_conformance_explains_every_setting_and_value() -> None:
    page = (ROOT / "notes/conformance.md").read_text(encoding="utf-8")
    section = page.split("## Settings")[1].split("## What agreement means")[0]
    explained = set(re.findall(r"[`=]([\w-]+)`", section))
    for definition in DEFINITIONS.values():
        options = {**definition.variants, **definition.choices}
        words = [value for values in options.values() for value in values if isinstance(value, str)]
        for word in (*definition.defaults(), *words):
            assert word in explained, word


@pytest.mark.slow(reason="starts pytest")
def test_the_tests_on_the_page_about_conformance_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_files((ROOT / "notes/conformance.md").read_text(encoding="utf-8"))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_my_fedprox.py"],
        cwd=tmp_path,
        env={**CLEAN, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.slow(reason="starts pytest twice and shrinks a failing task")
def test_the_properties_of_a_page_hold_and_find_the_mistake_that_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "notes/property-based-tests.md").read_text(encoding="utf-8")
    right = write_files(page)["my_ifca.py"]

    def tested() -> subprocess.CompletedProcess[str]:
        words = ["-q", "-p", "no:cacheprovider", "--hypothesis-profile", "ci", "test_my_ifca.py"]
        path = {"PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
        command = [sys.executable, "-m", "pytest", *words]
        return subprocess.run(command, cwd=tmp_path, env={**CLEAN, **path}, capture_output=True, text=True)

    assert "3 passed" in tested().stdout
    assert right.count("/ task.clients") == 1
    Path("my_ifca.py").write_text(right.replace("/ task.clients", "/ members.sum()"), encoding="utf-8")
    printed = tested().stdout
    assert "1 failed, 2 passed" in printed
    (quoted,) = re.findall(r"```text\n(.*?)```", page, flags=re.DOTALL)
    mistake = quoted.partition("it is as if ")[2].partition("\n")[0]
    assert f"it is as if {mistake}" in printed
    tasks = re.findall(r"task=(QuadraticMixture\(.*\)),", printed)  # one for each way of failing
    failing = [eval(task, {"QuadraticMixture": QuadraticMixture}) for task in tasks]  # noqa: S307 - a reader pastes them
    assert (2, 1) in {(task.clients, task.dimension) for task in failing}


@pytest.mark.slow(reason="several seconds")
def test_only_the_last_property_of_a_page_sees_that_a_model_without_clients_becomes_0(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    right = write_files((ROOT / "notes/property-based-tests.md").read_text(encoding="utf-8"))["my_ifca.py"]
    assert right.count("state.models.copy()") == right.count("-= ") == 1
    to_zero = right.replace("state.models.copy()", "np.zeros_like(state.models)")
    Path("my_ifca.py").write_text(to_zero.replace("-= ", "= state.models[cluster] - "), encoding="utf-8")
    code = (
        "import test_my_ifca as page; from clusterproof import QuadraticMixture;"
        "task = QuadraticMixture(hessians=[[[1.0]], [[1.0]]], centers=[[0.0], [1.0]], labels=[0, 1]);"
        "page.test_its_rounds_are_those_of_ifca.hypothesis.inner_test(task);"
        "page.test_it_stays_at_the_optima.hypothesis.inner_test(task);"
        "print('both hold');"
        "page.test_a_model_that_no_client_chooses_is_that_of_ifca.hypothesis.inner_test(task)"
    )
    path = {"PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env={**CLEAN, **path}, capture_output=True, text=True)
    assert done.stdout == "both hold\n"
    assert "model 1, coordinate 0: 0.0 is not 101.0" in done.stderr


@pytest.mark.slow(reason="checks two theorems by simulation, and draws")
def test_the_theorem_in_expectation_gets_its_verdicts_and_its_picture(
    registry: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    recipe = (ROOT / "notes/your-own-theorem.md").read_text(encoding="utf-8")
    files = write_files(recipe)
    assert main(["check", "local_sgd.py"]) == 0
    assert main(["check", "scaffold.py"]) == 0
    output = capsys.readouterr().out
    for line in re.findall(r"(?m)^((?:local-sgd|scaffold)\S*/\S+  (?:violated|consistent))$", recipe):
        assert line in output
    assert re.search(r"local-sgd/theorem .* sharp within .1\.[0-3]\d?;", output)
    exec(compile(files["picture.py"], "picture.py", "exec"), {})
    assert capsys.readouterr().out.strip() in recipe
    assert "allowed by the theorem" in Path("local_sgd.svg").read_text(encoding="utf-8")
    sys.modules.pop("local_sgd")
    faster = files["scaffold.py"].replace("** (2 * local_steps)", "** (2 * local_steps + 1)")
    Path("scaffold.py").write_text(faster, encoding="utf-8")
    assert main(["check", "scaffold.py", "--fail-on", "violated"]) == 1


def test_the_first_mistakes_in_an_algorithm_print_what_the_manual_states(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from clusterproof import InvalidArgument, NoisyQuadraticMixture, run

    monkeypatch.chdir(tmp_path)
    manual = (ROOT / "notes/your-own-algorithm.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {"np": np, "replace": replace}
    exec(write_files(manual)["descent.py"], names)
    task = NoisyQuadraticMixture.random(clusters=1, clients=4, dimension=2)
    mistakes = re.findall(r"```python\n(def step.*?)```\n\n```text\n(.*?)\n```", manual, flags=re.DOTALL)
    assert len(mistakes) == 6
    for body, message in mistakes:
        lines = "class Own(Descent):\n" + "".join(f"    {line}\n" for line in body.splitlines())
        exec(lines, names)
        with np.errstate(all="ignore"), pytest.raises(InvalidArgument) as refusal:
            run(names["Own"](step_size=0.5), task, rounds=3)
        assert str(refusal.value) == message


def test_runs_of_the_manual_are_compared_with_fedavg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    manual = (ROOT / "notes/your-own-algorithm.md").read_text(encoding="utf-8")
    *lines, last = write_files(manual)["same_law.py"].splitlines()
    names: dict[str, Any] = {}
    exec("\n".join(lines), names)  # the first comparison holds
    sys.modules.pop("descent")
    with pytest.raises(AssertionError) as different:
        exec(last, names)
    said, printed = (re.sub(r"(\.\d{9})\d+", r"\1", text) for text in (str(different.value), manual))
    assert f"AssertionError: {said}\n" in printed
