"""Golden pages: the commands at the heads of ``pages/*.txt`` print the pages below them; names have meanings."""

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clusterproof import checker, theory
from clusterproof.algorithms import ALGORITHMS
from clusterproof.commands.application import main
from clusterproof.running import run
from clusterproof.synthetic import QuadraticMixture, RegressionMixture
from clusterproof.synthetic.softmax import SoftmaxMixture
from clusterproof.theorem import at_most
from clusterproof.theory.pages.facts import ErrorFacts, GroupFacts
from clusterproof.theory.pages.page import Page
from clusterproof.theory.pages.text import filled, table, word

NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?(?![\w])")
ROUNDING = 1e-9
"""Lengths below this are rounding errors, which another machine has others of."""


PAGES = Path(__file__).parent / "pages"

MOST_LINES, WIDTH = 50, 80

SETTINGS = {
    **{
        name: ["--participation 0.5 --local-steps 1", "--task regression --rounds 10 --replicates 3"]
        for name in ("feddyn", "fednova", "fedavgm", "fedadam", "fedyogi", "ditto", "pfedme")
    },
    "cfl-mgd": [
        "--replicates 1 --momentum 0.9 --rounds 30",
        "--data population --replicates 4 --rounds 12",
        "--averaging model --local-steps 3 --replicates 5 --rounds 20",
        "--separation 2.0 --replicates 30 --rounds 20",
        "--samples 20 --separation 0.3 --clients 20 --replicates 20 --rounds 20",
        "--clusters 1 --rounds 20 --replicates 3",
        "--task quadratic --rounds 20",
        "--task logistic --rounds 10 --replicates 5",
        "--rounds 0",
        "--participation 0.5 --replicates 20 --rounds 20",
        "--task quadratic --spread 0",
    ],
    "cfl": [
        "--linkage complete --spread 0.5",
        "--clusters 2",
        "--clusters 5 --clients 50 --rounds 90",
        "--warm-up 5 --replicates 3",
        "--task regression --rounds 10",
        "--rounds 0",
    ],
    "fedavg": [
        "--local-steps 1",
        "--weighting samples",
        "--participation 0.5 --replicates 5 --rounds 30",
        "--server-step-size 0.5",
        "--task regression --rounds 10 --replicates 3",
        "--step-size 2.5 --rounds 20",
        "--condition-number 1",
        "--task noisy-quadratic",
        "--task logistic",
    ],
    "fedbcd": [
        "--variant separate --pull 0.5",
        "--proximal 2 --local-steps 5 --server-step-size 0.5",
        "--rounds 2",
        "--task logistic",
    ],
    "fedlin": [
        "--step-size 0.2",
        "--local-steps 20 --step-size 0.008 --rounds 30",
        "--task logistic",
    ],
    "fedprox": [
        "--proximal 0",
        "--clusters 1",
        "--task logistic --rounds 10",
        "--participation 0.5",
    ],
    "fpfc": [
        "--local-steps 3 --rounds 50",
        "--augmentation 1 --rounds 30",
        "--augmentation 4.5 --rounds 30",
        "--start own --rounds 5",
        "--participation 0.5 --replicates 20 --rounds 20",
        "--concavity 1.9 --rounds 20",
        "--rounds 0",
        "--task logistic --rounds 5",
        "--pair-rule both --participation 0.5 --rounds 5",
    ],
    "gradient-loss": [
        "--replicates 3",
        "--task quadratic --rounds 20",
        "--task quadratic --sign as-printed --step-size 0.05 --rounds 8",
        "--task quadratic --empty-cluster when-empty --clusters 4 --rounds 10 --seed 2",
        "--data fixed --rounds 5",
        "--rounds 0",
    ],
    "ifca": [
        "--data population --replicates 3 --rounds 30",
        "--data population --step-size 1.5 --rounds 10",
        "--clusters 4 --rounds 10 --replicates 30 --samples 20 --separation 0.3 --clients 20",
        "--task log-cosh --rounds 10",
        "--participation 0.5 --replicates 20",
        "--task quadratic",
    ],
    "local": [
        "--local-steps 4 --replicates 3 --rounds 8",
        "--rounds 0",
        "--step-size 2.5",
    ],
    "per-fedavg": [
        "--gradient second-order",
        "--local-steps 3 --replicates 3",
        "--step-size 2.5 --rounds 10",
        "--participation 0.5 --rounds 10",
        "--task regression --rounds 10",
        "--local-steps 5",
    ],
    "proxskip": [
        "--probability 1 --rounds 20 --replicates 3",
        "--probability 0.2 --replicates 20 --rounds 30",
        "--step-size 1.9 --rounds 20 --replicates 5",
        "--task regression --rounds 5 --replicates 2",
        "--replicates 1",
    ],
    "scaffold": [
        "--option I",
        "--step-size 0.5 --rounds 30",
        "--task two-point --rounds 10",
        "--replicates 3 --server-step-size 0.5 --rounds 20",
        "--local-steps 20",
        "--task logistic",
        "--participation 0.5",
        "--replicates 3",
    ],
    "sofl": [
        "--method fedprox --proximal 0.5",
        "--cluster-count elbow --trigger stationary --spread 0 --step-size 0.9",
        "--schedule robbins-monro --clusters 1",
        "--task regression --rounds 30",
        "--rounds 5",
    ],
}
"""Further settings of each algorithm, in which its theorems say other things."""


def golden() -> Iterator[Any]:
    """Yield each command with its page: one an algorithm."""
    for file in sorted(PAGES.glob("*.txt")):
        command, _, page = file.read_text().removeprefix("$ clusterproof ").partition("\n")
        yield pytest.param(command, page, id=command)


def apart(page: str) -> tuple[list[str], list[str]]:
    """Return the words of a page, without its numbers and wherever its lines end, and the numbers."""
    # of two lengths that are rounding one may be 0, which is not told
    told = re.sub(r", to within \S+", "", " ".join(page.split()))
    return NUMBER.sub("#", told).split(), NUMBER.findall(told)


def last_digit(number: str) -> float:
    """Return the size of the last digit of a number as it is written; 0 of a whole number, which is a count."""
    mantissa, mark, exponent = number.partition("e")
    decimals = len(mantissa.partition(".")[2])
    return 10.0 ** (int(exponent or 0) - decimals) if decimals or mark else 0.0


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> list[Page]:
    """The pages that commands print, in their order."""
    found, original = list[Page](), theory.compare

    def compare(*given: Any) -> Page:
        found.append(original(*given))
        return found[-1]

    monkeypatch.setattr("clusterproof.theory.pages.compare.compare", compare)
    return found


def unnamed(text: str, settings: dict[str, Any]) -> list[str]:
    """Return the settings that a text does not give with their values; a step size is in units of 1/L."""
    said = " ".join(text.split()).lower()
    missing = []
    for name, value in settings.items():
        spelled = name.replace("_", " ")
        forms = [f"{spelled} {value:.4g}" if isinstance(value, float) else f"{spelled} {value}".lower()]
        forms += {"local_steps": [f"{value} local step"], "step_size": ["step size "]}.get(name, [])
        forms += ["all clients take part"] * (name == "participation" and value == 1)
        forms += [spelled if value else f"no {spelled}"] * isinstance(value, bool)
        if not any(form in said for form in forms):
            missing.append(name)
    return missing


@pytest.mark.parametrize(("command", "golden"), list(golden()))
def test_a_page_is_the_golden_one(
    command: str, golden: str, capsys: pytest.CaptureFixture[str], printed: list[Page]
) -> None:
    """Also, the record has every setting of the algorithm; the page and its caption have those that are no defaults."""
    assert main(shlex.split(command)) == 0
    page = capsys.readouterr().out
    (found,) = printed
    settings = found.to_dict()["run"]["settings"]
    assert {*settings} == {each.name for each in fields(ALGORITHMS[found.facts.run.algorithm]) if each.init}
    usual = found.to_dict()["run"]["usual"]
    chosen = {name: value for name, value in settings.items() if name not in usual}
    assert unnamed(page, chosen) == unnamed(found.caption, chosen) == []
    assert all(re.search(rf"^{name} +\S", found.verbose(), re.MULTILINE) for name in settings)
    (words, numbers), (golden_words, golden_numbers) = apart(page), apart(golden)
    assert words == golden_words
    for number, known in zip(numbers, golden_numbers, strict=True):
        allowed = 1.01 * max(last_digit(number), last_digit(known))
        assert float(number) == pytest.approx(float(known), rel=0, abs=max(allowed, ROUNDING))
    fits(page)


def fits(page: str) -> None:
    """Require the size of a page, and an answer in its first lines."""
    lines = page.splitlines()
    assert len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= WIDTH
    assert "" in lines[1:3]


def test_every_algorithm_has_a_golden_page() -> None:
    for name in set(ALGORITHMS) - {command.values[0].split()[1] for command in golden()}:
        write = f"(echo '$ clusterproof run {name}'; clusterproof run {name}) > tests/theory/runs/pages/{name}.txt"
        pytest.fail(
            f"{name} has no golden page; read what `clusterproof run {name}` prints, and type: {write}"
        )


@pytest.mark.slow(reason="many runs")
@pytest.mark.parametrize(
    "command", [f"{name} {options}" for name, each in SETTINGS.items() for options in each]
)
def test_every_setting_has_words_for_its_facts(command: str, printed: list[Page]) -> None:
    """No name of a fact is missing in the glossary: on the page, in all that --verbose adds, and in a caption."""
    assert main(["run", *shlex.split(command)]) == 0
    (page,) = printed
    fits(str(page))
    assert max(map(len, page.verbose().splitlines())) <= WIDTH
    assert page.caption
    assert page.frame().height == len(page.theorems) + len(page.further())
    json.dumps(page.to_dict())


def test_a_name_without_a_meaning_is_an_error() -> None:
    with pytest.raises(KeyError):
        word("symbols", "a quantity that nobody explained")
    with pytest.raises(KeyError):
        filled("The number is {nobody's}.", {"somebody's": 1.0})


def test_every_algorithm_and_every_claim_on_runs_has_a_name() -> None:
    unnamed_ones = set(ALGORITHMS) - set(table("algorithms"))
    assert not unnamed_ones, "write their names under [algorithms] in clusterproof/theory/pages/glossary.toml"
    own = {name for name, claim in checker.REGISTRY.items() if claim.module.startswith("clusterproof.")}
    assert {name.partition("#")[0] for name in table("theorems")} <= own
    assert {name for name in own if checker.REGISTRY[name].bound is not None} <= set(table("theorems"))


def state_height(allowed: int) -> None:
    """State a claim that heights 1, 2, ... are at most a number."""

    def bound(task: Any, trace: Any) -> theory.TraceBound:
        measured = np.arange(1.0, trace.rounds + 2)[:, None]
        return theory.TraceBound(
            np.full((trace.rounds + 1, 1), allowed), measured=measured, quantity="height"
        )

    @checker.claim(f"mine/height-{allowed}", bound=bound)
    def height() -> Any:
        """A bound on a height."""
        return at_most(1, one=1)


def test_a_users_claim_has_its_own_quantity(registry: Any) -> None:
    task = QuadraticMixture.random(clusters=2, clients=6, dimension=2)
    trace = run(ALGORITHMS["fedavg"](step_size=0.1), task, rounds=4)  # type: ignore[call-arg]
    for allowed in (0, 9):
        state_height(allowed)
    page = theory.compare(task, trace, ["mine/height-0", "mine/height-9"])
    assert [one.outcome for one in page.facts.theorems[-2:]] == ["is broken", "holds"]
    assert "the height" in str(page)
    assert "mine/height-9" in page.verbose()


def test_no_control_flow_depends_on_a_sentence() -> None:
    """Modules of facts ask no text how it begins, ends or reads; names of options are no sentences."""
    folder = Path(theory.__file__).parent
    asks = re.compile(
        r"\.(?:words|sentence|reason)\.|\.startswith\(|\.endswith\(|re\.(?:match|search|fullmatch)\("
    )
    found = [
        f"{path.name}: {line.strip()}"
        for name in ("pages", "leaderboard", "runs")
        for path in sorted((folder / name).glob("*.py"))
        for line in path.read_text().splitlines()
        if asks.search(line) and not re.search(r'startswith\("(?:-+|clusterproof\.)"\)', line)
    ]
    assert not found


class WithBoth(SoftmaxMixture):
    """As GL-CFL asks: losses and gradients of all models."""

    def losses_and_gradients(self, models: Any, clients: Any, generator: np.random.Generator) -> Any:
        points = [np.repeat(model[None], len(clients), axis=0) for model in models]
        gradients = [self.gradients(point, clients, generator) for point in points]
        return self.losses(models, clients, generator), np.stack(gradients, axis=1)


@pytest.mark.parametrize(
    "algorithm", ["cfl", "per-fedavg", "local", "gradient-loss", "ifca", "fpfc", "fedavg"]
)
def test_a_task_without_known_optima_has_a_page_without_errors(algorithm: str) -> None:
    task = WithBoth(clients=6, clusters=2, features=3, classes=2, largest=30)
    options = {"clusters": 2} if algorithm in ("gradient-loss", "ifca") else {}
    page = theory.compare(task, run(ALGORITHMS[algorithm](step_size=0.1, **options), task, rounds=4))  # type: ignore[arg-type]
    assert (page.facts.task.sizes, page.facts.no_theorem != "") == ((3, 3), True)
    assert page.facts.result(ErrorFacts) is None
    grouped = algorithm in ("cfl", "gradient-loss", "ifca", "fpfc")
    assert (page.facts.result(GroupFacts) is not None) == grouped
    fits(str(page))


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_of_no_round_nothing_holds(algorithm: str) -> None:
    for kind in (QuadraticMixture, RegressionMixture):
        task = kind.random(clusters=2, clients=6, dimension=2)
        options = {"momentum": 0.5} if algorithm == "cfl-mgd" else {}
        page = theory.compare(task, run(ALGORITHMS[algorithm](step_size=0.1, **options), task, rounds=0))  # type: ignore[arg-type]
        told = [one for one in page.theorems if one.claim != "cfl-mgd/remark-1"]
        assert not {"holds", "is broken"} & {one.outcome for one in told}
