"""The examples of the documents are their tests: commands and code run, and print what stands below them."""

import importlib
import itertools
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from checkout import CLEAN, ROOT
from hypothesis import settings

from clusterproof import FedAvg, InvalidArgument, NoisyQuadraticMixture, QuadraticMixture, run
from clusterproof.checker import REGISTRY
from clusterproof.checker.export import coqc
from clusterproof.commands.application import app, main
from clusterproof.conformance import DEFINITIONS
from clusterproof.figures import FIGURES
from clusterproof.settings import from_settings, values_from_texts

PAGES = ["README.md", "SECURITY.md", "clusterproof/experiments/results/README.md", "benchmarks/README.md"]
PARTS = ("tutorials", "how-to", "reference", "explanation")
for PATTERN in ("*.md", *(f"{part}/*.md" for part in PARTS), "tutorials/lessons/lesson_*.md"):
    PAGES += sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob(PATTERN))
LONG = [
    "README",
    "state-a-theorem",
    "review-a-paper",
    "theorems-on-every-function",
    "compare-code-with-a-paper",
]
LONG += [
    "move-from-another-library",
    "property-based-tests",
    "leaderboard",
    "train-networks",
    "sweeps",
    "teach",
]
LONG += ["run-page", "user-supplied-code", "agent"]
"""Names of the pages whose commands take several seconds."""
STATUS = {
    r"clusterproof conform my_fedprox_torch.py:TorchFedProx --as fedprox": 1,
    r"clusterproof conform tests/conformance/published_scaffold_mistakes.py:Plato382 --as scaffold": 1,
    r"clusterproof leaderboard .* --module my_bound.py --fail-on violated": 1,
}
"""Exit statuses other than 0, by pattern."""
OUTSIDE = {
    r"make .*|git .*|marimo .*|\S*marimo .*|.*pip install .*|python3 -m venv .*": "sets up, or stays open",
    r"clusterproof figures .*--out docs/stored/figures": "draws all stored figures, minutes",
    r"clusterproof data fetch \w+|.* --data mnist .*|.*=cifar10 .*": "wants the network",
    r".* --dask .*": "wants a cluster: tests of sweeps start one",
    r"clusterproof table \S+ (?!--help).*": "hours: tests of the tables run each in little",
    r"clusterproof check .*--evidence clusterproof/.*": "would write the records; tests of the catalogue check each",
    r"clusterproof --install-completion .*": "writes into the settings of the reader's shell",
    r"clusterproof serve": "waits for an agent's program: tests of the command are one",
    r"clusterproof train": "named, not run: its defaults take a minute",
    r"pytest --hypothesis-profile ci -n auto": "the tests of a command above; its profile has a test of its own",
    r'python -c "import test_average; .*': "a test of its own calls the function",
}
"""Lines that no test runs as they are printed, and why."""
READ_ONLY = {
    r"check( --verbose)?|check --replay|check --paper cfl-mgd --all": "every claim or record: tests of their own",
    r"check --all --search .*": "every claim, the long ones too",
    r"check examples/known_to_be_wrong.py --verbose": "a test of the examples compares the verdicts",
}
"""Commands that are only parsed where no page prints their result, and why."""
LITTLE = {
    r"train --algorithm cfl-mgd .*": {"--rounds": "2"},
    r"train --resume my-training .*": {"--rounds": "4"},
}
"""Commands that take minutes, and whose result no page prints: options and the values that replace theirs. Of a table
only the help is shown; of figures, only `momentum-paths` is drawn; a claim is shown without its verdict."""


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def cleaned(line: str) -> str:
    return " ".join(line.partition(" # ")[0].split())


def shell_lines(page: str) -> list[str]:
    """Return the lines for a shell of a page in their order: in a block of code or within a sentence."""
    text = text_of(page).replace("\\\n", " ")
    found = re.findall(r"(?m)^\$ (.*)$|^(?:    |\.venv/bin/)(clusterproof .*)$|`(clusterproof [^`]*)`", text)
    lines = [cleaned("".join(line)) for line in found]
    return [line for line in lines if not re.search(r"\b(NAME|FILE)\b|^clusterproof export$", line)]


def printed_below(page: str) -> dict[str, list[str]]:
    """Return what a page says that a line prints: in its block, or in the next one of its section if that is text."""
    below: dict[str, list[str]] = {}
    line = None
    parts = text_of(page).replace("\\\n", " ").split("\n```")
    for prose, block in zip(parts[::2], parts[1::2], strict=False):
        line = None if "\n#" in prose else line
        kind, _, content = block.partition("\n")
        if kind == "console":
            for part in f"\n{content}".split("\n$ ")[1:]:
                line, *printed = part.splitlines()
                below[line := cleaned(line)] = [" ".join(each.split()) for each in printed]
        elif kind == "text" and line is not None:
            below[line] += [" ".join(each.split()) for each in content.splitlines()]
        else:
            line = None
    return below


def commands(page: str) -> list[str]:
    """Return the arguments of the calls of this program in a page."""
    starts = ("clusterproof ", ".venv/bin/clusterproof ")
    return [line.partition(" ")[2] for line in shell_lines(page) if line.startswith(starts)]


def status_of(line: str) -> int:
    return next((code for pattern, code in STATUS.items() if re.fullmatch(pattern, line)), 0)


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
        for name in names:
            from_settings(FIGURES[name], values_from_texts("set", values))
        return ["figures", *names[:1], *words[words.index("--out") :]] if "momentum-paths" in names else []
    return [*words[:2], "--help"] if words[0] == "table" and len(words) > 1 else words


def write_files(page: str) -> dict[str, str]:
    """Write the files that a page prints into the working folder, and return their contents by name."""
    files = dict(re.findall(r"(?ms)`([^`\n]+)`:\n\n```(?:python|toml)\n(.*?)^```$", text_of(page)))
    for name, content in files.items():
        Path(name).write_text(content, encoding="utf-8")
    return files


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty working folder, from which modules are imported; its claims and modules are forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # of a file that changes within a second
    with patch.dict(REGISTRY):
        yield tmp_path
    for name in [
        name for name, module in sys.modules.items() if str(tmp_path) in str(getattr(module, "__file__", ""))
    ]:
        del sys.modules[name]


def imported(name: str) -> ModuleType:
    """Import a module of the working folder as it is now, with its neighbours."""
    for path in Path().glob("*.py"):
        sys.modules.pop(path.stem, None)
    importlib.invalidate_caches()
    return importlib.import_module(name)


# ---- commands


@pytest.mark.parametrize("page", [*PAGES, "CONTRIBUTING.md"])
def test_commands_are_parsed_and_quoted_for_every_shell_and_files_are_there(page: str) -> None:
    """Where bash leaves a pattern without a match as it is, zsh refuses the command."""
    for line in shell_lines(page):
        bare = re.sub(r"'[^']*'|\"[^\"$`]*\"", "", line)
        assert re.findall(r"[\[\]*?{}()~^!]|(?<= )=", bare) == [], line
    for line in commands(page):
        app.parse_args(shlex.split(line), exit_on_error=False, print_error=False)
    named = re.findall(r"`((?:clusterproof|tests|docs|examples|benchmarks)/[\w./-]+)", text_of(page))
    assert [path for path in named if not (ROOT / path).exists()] == []


def targets(page: str) -> list[str]:
    """Return the files that a page's relative links name, from the root."""
    links = re.findall(
        r"\]\((?![a-z]+:|#)([^)#\s]+)", re.sub(r"(?ms)^```.*?^```$|`[^`\n]*`", "", text_of(page))
    )
    return [os.path.normpath(os.path.join(os.path.dirname(page), link)) for link in links]


@pytest.mark.parametrize("page", [*PAGES, "CONTRIBUTING.md", "examples/README.md"])
def test_links_lead_to_files(page: str) -> None:
    missing = [name for name in targets(page) if not (ROOT / name).exists()]
    # the site writes its catalogue, and docs/index.md is its first page
    assert [name for name in missing if page != "docs/index.md" or "docs/catalogue/" not in name] == []


@pytest.mark.parametrize("page", [*PAGES, "CHANGELOG.md", "CONTRIBUTING.md", "examples/README.md"])
def test_every_row_of_a_table_has_as_many_cells_as_its_head(page: str) -> None:
    """A row that is broken over lines, or two rows on one line, destroy the table."""
    text = re.sub(r"(?ms)^ *```.*?^ *```$", "", text_of(page))
    for table in re.findall(r"(?m)^\|.*\n\|(?: *:?-+:? *\|)+\n(?:.+\n)*", text):
        counts = {row: len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}
        head = next(iter(counts.values()))
        wrong = [row for row, count in counts.items() if count != head or row[0] + row[-1] != "||"]
        assert wrong == []


def test_the_front_page_has_a_link_to_every_page() -> None:
    pages = {page for page in PAGES if page.startswith("docs/") and "/lessons/" not in page}
    assert pages - set(targets("docs/README.md")) == {
        "docs/README.md",
        "docs/index.md",
        "docs/contributing.md",
    }
    lessons = {page for page in PAGES if "/lessons/" in page}
    assert lessons == {name for name in targets("docs/tutorials/lessons.md") if "/lessons/" in name}


SLOW = pytest.mark.slow(reason="runs a page's commands")


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=SLOW) if Path(page).stem in LONG else page for page in PAGES]
)
def test_commands_run_as_printed_and_print_what_stands_below(
    page: str, here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """In this process; a line that is none of our program's is given to bash."""
    for name in ("clusterproof", "docs", "examples", "tests"):  # a reader is in a copy of the repository
        (here / name).symlink_to(ROOT / name)
    files, below = write_files(page), printed_below(page)
    if page != "docs/how-to/sweeps.md":  # the one whose commands start workers, which import everything again
        monkeypatch.setattr(os, "cpu_count", lambda: 1)
    monkeypatch.setattr(coqc, "missing", str)  # Rocq's answer, which it gives in other tests
    monkeypatch.setattr(coqc, "check", lambda out: None)
    monkeypatch.setattr(coqc, "accepted", lambda out, folder: True)
    for line in shell_lines(page):
        if line.startswith("cd "):
            monkeypatch.chdir(line.removeprefix("cd "))
        elif not any(re.fullmatch(pattern, line) for pattern in OUTSIDE):
            capfd.readouterr()
            status = carry_out(line, as_printed=bool(below.get(line)))
            printed = capfd.readouterr()
            assert status == status_of(line), (line, printed)
            said = " ".join((printed.out + printed.err).split())
            wanted = [each for each in below.get(line, []) if each != "..."]  # where the page cuts the output
            assert [each for each in wanted if each not in said] == [], (line, said)
    if page == "docs/tutorials/state-a-theorem.md":
        stronger_statements_are_seen(files, text_of(page), capfd)


def stronger_statements_are_seen(files: dict[str, str], page: str, capfd: pytest.CaptureFixture[str]) -> None:
    """A repaired bound is proved, a bound that is too sharp is refuted, and the picture says what the page says."""
    capfd.readouterr()
    assert main(["check", "my_paper.py", "local_sgd.py", "--verbose"]) == 0
    output = capfd.readouterr().out
    assert "at step = 1, rounds = 1: 1 > 0.5" in output
    assert re.search(r"local-sgd/theorem .* tight .1\.[0-3]\d?;", output)
    exec(compile(files["picture.py"], "picture.py", "exec"), {})
    assert capfd.readouterr().out.strip() in page
    assert "allowed by the theorem" in Path("local_sgd.svg").read_text(encoding="utf-8")
    for name, old, new, status in (
        ("my_paper.py", "floor=step / 2)", "floor=step)", 0),
        ("scaffold.py", "** (2 * local_steps)", "** (2 * local_steps + 1)", 1),
    ):
        Path(name).write_text(files[name].replace(old, new), encoding="utf-8")
        assert main(["check", name, "--fail-on", "violated,floats"]) == status, name


def carry_out(line: str, *, as_printed: bool) -> int:
    """Return the exit status of a line, run in little or only parsed if the page does not say what it prints."""
    program, _, arguments = line.removeprefix(".venv/bin/").partition(" ")
    if program == "clusterproof":
        words = shlex.split(arguments) if as_printed else in_little(arguments)
        return main(words) if words else status_of(line)
    environment = {**CLEAN, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    environment["PYTHONPATH"] = str(ROOT)
    done = subprocess.run(["bash", "-c", line], env=environment, capture_output=True, text=True)
    print(done.stdout, done.stderr)
    return done.returncode


# ---- code


def test_the_readme_fits_two_screens() -> None:
    lines = text_of("README.md").splitlines()
    assert len(lines) <= 120
    assert max(map(len, lines)) <= 120


@pytest.mark.slow(reason="shrinks a counterexample")
def test_the_property_in_the_readme_fails_at_the_task_that_it_names(here: Path) -> None:
    names: dict[str, Any] = {}
    exec(compile(write_files("README.md")["test_average.py"], "README.md", "exec"), names)
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
def test_the_tests_on_the_page_about_conformance_pass(here: Path) -> None:
    write_files("docs/how-to/compare-code-with-a-paper.md")
    test = imported("test_my_fedprox").test_my_fedprox
    (mark,) = test.pytestmark
    for each in mark.args[1]:
        with suppress(pytest.skip.Exception):  # of what this algorithm has not
            test(*each.values)


def test_the_page_about_conformance_explains_every_definition_setting_and_value() -> None:
    page = text_of("docs/how-to/compare-code-with-a-paper.md")
    section = page.split("## Settings")[1].split("## What agreement means")[0]
    explained = set(re.findall(r"[`=]([\w-]+)`", section))
    for definition in DEFINITIONS.values():
        compared = "yes" if definition.paper_was_read else "no"
        row = f"| `{definition.name}` | {definition.equation} | {definition.source} | {compared} |"
        assert row in page.replace("\\|", "|")
        options = {**definition.variants, **definition.choices}
        words = {value for values in options.values() for value in values if isinstance(value, str)}
        assert {*definition.defaults(), *words} <= explained
    for recipe in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL):
        compile(recipe, "recipe", "exec")  # recipes for packages that are not installed are only parsed


@pytest.mark.slow(reason="draws tasks")
def test_the_properties_of_a_page_find_the_mistakes_that_it_names(here: Path) -> None:
    """The task that is printed fails as it is printed; tests of the strategies shrink to such a one."""
    page = "docs/how-to/property-based-tests.md"
    files = write_files(page)
    right, unshrunk = (
        files["my_ifca.py"],
        files["test_my_ifca.py"].replace("settings\n", "settings, Phase\n", 1),
    )
    unshrunk = unshrunk.replace("deadline=None", "deadline=None, phases=[Phase.generate]")
    Path("test_my_ifca.py").write_text(unshrunk, encoding="utf-8")
    assert right.count("/ task.clients") == right.count("state.models.copy()") == right.count("-= ") == 1
    Path("my_ifca.py").write_text(right.replace("/ task.clients", "/ members.sum()"), encoding="utf-8")
    properties = imported("test_my_ifca")
    properties.test_it_stays_at_the_optima()
    properties.test_a_model_that_no_client_chooses_is_that_of_ifca()
    exec(files["conftest.py"], {})
    assert settings.get_profile("ci").max_examples == 50  # not that of Hypothesis itself
    (message,) = re.findall(r"(?m)^AssertionError: (.*)$", text_of(page))
    mistake = message.partition("it is as if ")[2]
    with pytest.raises(Exception, match=r".*") as failure:
        properties.test_its_rounds_are_those_of_ifca()
    ways = getattr(failure.value, "exceptions", [failure.value])  # one for each way of failing
    assert any(f"it is as if {mistake}" in str(each) for each in ways)
    (printed,) = re.findall(r"task=(QuadraticMixture\(.*\)),", text_of(page))
    task = eval(printed, {"QuadraticMixture": QuadraticMixture})  # noqa: S307 - as a reader
    with pytest.raises(AssertionError, match=re.escape(message)):
        properties.test_its_rounds_are_those_of_ifca.hypothesis.inner_test(task)
    # a model without clients becomes 0, which only the last property sees
    to_zero = right.replace("state.models.copy()", "np.zeros_like(state.models)")
    Path("my_ifca.py").write_text(to_zero.replace("-= ", "= state.models[cluster] - "), encoding="utf-8")
    properties = imported("test_my_ifca")
    properties.test_its_rounds_are_those_of_ifca.hypothesis.inner_test(task)
    properties.test_it_stays_at_the_optima.hypothesis.inner_test(task)
    with pytest.raises(AssertionError, match=r"model 1, coordinate 0: 0\.0 is not 101\.0"):
        properties.test_a_model_that_no_client_chooses_is_that_of_ifca.hypothesis.inner_test(task)


def test_the_manual_of_an_algorithm_prints_what_mistakes_and_a_comparison_print(here: Path) -> None:
    page = "docs/tutorials/write-an-algorithm.md"
    manual, files = text_of(page), write_files(page)
    names: dict[str, Any] = {"np": np, "replace": replace}
    exec(files["descent.py"], names)
    task = NoisyQuadraticMixture.random(clusters=1, clients=4, dimension=2)
    mistakes = re.findall(r"```python\n(def step.*?)```\n\n```text\n(.*?)\n```", manual, flags=re.DOTALL)
    assert len(mistakes) == 6
    for body, message in mistakes:
        exec("class Own(Descent):\n" + "".join(f"    {line}\n" for line in body.splitlines()), names)
        with np.errstate(all="ignore"), pytest.raises(InvalidArgument) as refusal:
            run(names["Own"](step_size=0.5), task, rounds=3)
        assert str(refusal.value) == message
    *lines, last = files["same_law.py"].splitlines()
    exec("\n".join(lines), names)  # the first comparison holds
    with pytest.raises(AssertionError) as different:
        exec(last, names)
    said, printed = (re.sub(r"(\.\d{9})\d+", r"\1", text) for text in (str(different.value), manual))
    assert f"AssertionError: {said}\n" in printed


def test_documents_and_examples_write_every_range_as_a_default() -> None:
    written = [ROOT / page for page in PAGES] + [
        *ROOT.glob("examples/**/*.py"),
        *ROOT.glob("docs/tutorials/lessons/*.py"),
    ]
    assert [path for path in written if "Annotated[" in path.read_text(encoding="utf-8")] == []


@pytest.mark.slow(reason="several seconds")
def test_the_python_examples_of_pages_run() -> None:
    """With fewer replicates, and with a picture for a slide."""
    names: dict[str, Any] = {}
    for page, more, fewer in (
        ("reference/run-page", "1000", "200"),
        ("how-to/teach", "replicates=50", "replicates=5"),
    ):
        (example,) = re.findall(r"```python\n(.*?)```", text_of(f"docs/{page}.md"), flags=re.DOTALL)
        assert more in example
        exec(compile(example.replace(more, fewer), page, "exec"), names)
        if page == "reference/run-page":
            assert f"# {names['trace'].errors.shape}: distance" in example.replace(more, fewer)
    (legend,) = names["first"].plot(*names["others"], width=12).legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == ["momentum 0", "momentum 0.5", "momentum 0.9"]
